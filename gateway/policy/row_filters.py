"""Row filters in a plan: rows that a subject may not read take no part in the answer.

INVARIANT: the filter stands directly above every scan of the table, wherever in the plan that is, so nothing of
a forbidden row gets anywhere. Values are compared as data; none is ever SQL text.
"""

from collections.abc import Mapping

from gateway.catalog.tables import Dataset
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import BOOLEAN
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import rewrite_plan
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.policy.decide import Rows
from gateway.policy.row_rules import BoundRows, BoundTest


def filter_rows(plan: Aggregate, dataset: Dataset, rows: Mapping[str, Rows]) -> Aggregate:
    """The plan restricted to the rows that the decision permits; `dataset` is the whole one."""

    def permitted(node: Node) -> Node:
        if not isinstance(node, Scan) or node.table.name not in rows:
            return node
        # a rule may name a column that the subject does not see
        whole = dataset.table(node.table.name)
        scan = node if whole is None else Scan(whole, node.alias, node.unit)
        return Filter(scan, _joined("and", [_clause(one, scan) for one in rows[node.table.name]]))

    made = rewrite_plan(plan, permitted)
    if not isinstance(made, Aggregate):
        raise BrokenPlan("a release that is none any more")
    return made


def _clause(alternatives: frozenset[BoundRows], scan: Scan) -> Scalar:
    either = [
        _joined("and", [_test(test, scan) for test in one.tests])
        for one in sorted(alternatives, key=repr)
    ]
    return _joined("or", either)


def _test(test: BoundTest, scan: Scan) -> Scalar:
    for column, one in zip(scan.table.columns, scan.fields, strict=True):
        if column.name == test.column:
            among = tuple(Literal(value, one.type) for value in test.values)
            return Call("in", (Ref(one), *among), BOOLEAN, one.nullable)
    raise BrokenPlan("a row rule over a column that is not scanned")


def _joined(word: str, conditions: list[Scalar]) -> Scalar:
    if len(conditions) == 1:
        return conditions[0]
    return Call(word, tuple(conditions), BOOLEAN, any(one.nullable for one in conditions))
