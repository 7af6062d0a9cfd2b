"""Tables that every row of a release was inner-joined with. A row's unit is guaranteed to have a row in each of
them.

A table is joined in this sense if it is scanned on the way of the rows: below filters, projections, windows,
groupings by person and marks, on either side of an inner join, on the preserved side of a left join. Rows of
persons are joined on the person alone (`plan/fields.py`), so the joined row is the unit's own. Then a column of
the table is the same in all rows of a unit, wherever it is read, if the table has one row for each unit.

No table is reported if a table of one row for each unit is read beside the way: on the far side of a left join,
inside EXISTS or IN, below a UNION ALL. A region assumes that the row exists, because the policy says so; but
nothing enforces it, and such a statement may ask for just the units without one.

A region is read as if a column that the source keeps from being NULL never were. Enforcing a domain may blank
it nevertheless. That is harmless in expressions that are NULL or keep their value when a column becomes NULL:
if such a condition is true with NULL, it is true with any value. Other expressions must not be made of such
columns.

INVARIANT: if a table is reported, a row of the release is in its region, with some value in the place of each
column that was blanked although it is declared never to be NULL.
"""

from collections.abc import Iterator
from itertools import chain
from typing import Final

from gateway.catalog.domains import Values
from gateway.catalog.tables import Column, ColumnRef
from gateway.catalog.types import Family
from gateway.functions.function import Nulls
from gateway.functions.table import function_of
from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.joins import Join, Mark
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Case, Ref, Scalar, walk_scalar
from gateway.regions.base_columns import has_one_row

# sources may have values of these types that become NULL here: NaN, infinity
_WITH_OTHERS: Final = frozenset({Family.EXACT, Family.FLOAT, Family.DATE, Family.TIMESTAMP})


def joined_tables(plan: Aggregate) -> frozenset[str]:
    """The protected tables of one row for each unit that all rows of the release were joined with."""
    blanks = frozenset(chain.from_iterable(map(_blanked, walk_nodes(plan))))
    if any(_is_made_of(one, blanks) for one in _conditions(plan.child)):
        return frozenset()
    through, beside = _ways(plan.child)
    return frozenset() if beside else through


def can_be_blanked(column: Column) -> bool:
    """Whether enforcing the domain makes values of the source NULL."""
    return isinstance(column.domain, Values) or column.type.family in _WITH_OTHERS


def _ways(node: Node) -> tuple[frozenset[str], frozenset[str]]:
    """The tables on the way of the rows, and those beside it; all of one row for each unit."""
    match node:
        case Scan():
            return _scanned(node), frozenset()
        case Filter() | Project() | Window() | PerUnit():
            return _ways(node.child)
        case Mark():
            through, beside = _ways(node.child)
            return through, beside | _scanned(node.inner)
        case Join():
            (left, beside_left), (right, beside_right) = map(_ways, node.below)
            if node.outer:
                return left, beside_left | _scanned(node.right)
            return left | right, beside_left | beside_right
        case _:
            return frozenset(), _scanned(node)


def _scanned(node: Node) -> frozenset[str]:
    return frozenset(
        one.table.name
        for one in walk_nodes(node)
        if isinstance(one, Scan) and has_one_row(one.table)
    )


def _blanked(node: Node) -> Iterator[ColumnRef]:
    """Columns that are read as NOT NULL although enforcing the domain may make them NULL."""
    if isinstance(node, Scan) and node.table.protection is not None:
        for column in node.table.columns:
            own = column is node.table.unit_column
            if not column.nullable and not own and can_be_blanked(column):
                yield ColumnRef(node.table.name, column.name)


def _conditions(node: Node) -> Iterator[Scalar]:
    """The conditions on rows, and the expressions that they are made of."""
    match node:
        case Filter():
            yield node.condition
        case Project():
            yield from (one for _, one in node.items)
        case PerUnit():
            yield from (one for _, one in node.keys)
        case Join() | Mark() if node.condition is not None:
            yield node.condition
    for one in node.below:
        yield from _conditions(one)


def _is_made_of(scalar: Scalar, columns: frozenset[ColumnRef]) -> bool:
    """Whether something in it that is not strict reads one of the columns."""
    return any(
        not _is_strict(one) and any(_reads(each, columns) for each in walk_scalar(one))
        for one in walk_scalar(scalar)
    )


def _is_strict(scalar: Scalar) -> bool:
    """Whether it is NULL or keeps its value when a column it reads becomes NULL."""
    if isinstance(scalar, Call):
        return function_of(scalar).nulls is not Nulls.OWN
    return not isinstance(scalar, Case)


def _reads(scalar: Scalar, columns: frozenset[ColumnRef]) -> bool:
    return isinstance(scalar, Ref) and not columns.isdisjoint(scalar.field.origins)
