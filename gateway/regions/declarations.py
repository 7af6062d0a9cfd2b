"""Digest of what a policy declares of the tables that a plan reads.

The shape of a scope leaves it out: moving the end of a domain leaves queries comparable. But an answer is
reused only if everything is declared as it was. That includes the unit path of a table, because another path gives
its rows other units. It includes columns that a query does not name: two queries that read different columns of the
same tables must be found equal. It leaves out `values_per_unit`, because the digest of a slot says how far a unit moves a count of
values; and digests of tables with one row of each unit stay what they were.
"""

from gateway.catalog.tables import Column, Dataset, Table
from gateway.digest import digest
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Scan


def declarations(plan: Node, dataset: Dataset) -> str:
    """A digest of the tables of a plan; a plan may show fewer of their columns than the dataset has."""
    tables = {one.table.name: one.table for one in walk_nodes(plan) if isinstance(one, Scan)}
    told = [_table(dataset.table(name) or shown) for name, shown in sorted(tables.items())]
    return digest("\n".join(told))


def _table(table: Table) -> str:
    columns = [_column(one) for one in sorted(table.columns, key=lambda one: one.name)]
    path = [] if table.path is None else [str(table.path)]
    return "\n".join([repr((table.name, table.protection)), *path, *columns])


def _column(column: Column) -> str:
    joins = None if column.joins is None else str(column.joins)
    of = (column.name, str(column.type), column.domain, column.column_class, column.nullable, joins)
    stored = ("read as stored",) if column.is_path_key else ()
    return repr((*of, column.longest, *stored))
