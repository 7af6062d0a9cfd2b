"""Fan-out: joins in which a row of persons may meet several rows of a public table.

A join with a public table is read as one in which a row of persons meets one row. Where no constraint of the source
says so, it may meet several. Then nothing bounds how many rows a unit has: what it adds to counts and sums is weighted
by their number (`sensitivity/clip.py`), and whatever needs a bound on its rows is refused.

INVARIANT: a join that is not marked here, and whose key is not proven when the release is bounded, is refused there. So
an outdated proof costs an answer, and no bound.

Conditions on the public table alone are put where its rows are counted, so that rows which nobody asks for count for
nothing there.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Final

from gateway.bounding.row_samples import kept_of_person
from gateway.errors import Code, Unbounded
from gateway.plan.aggregates import PerUnit
from gateway.plan.fields import BOOLEAN, Protected
from gateway.plan.joins import Join, UnionAll, is_cut
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import Node, walk_nodes
from gateway.plan.relations import Filter, Scan, Window, below_filters
from gateway.plan.rewrite import rebuild_node, replace_columns, rewrite_plan
from gateway.plan.scalars import Call, Scalar, column_ids

PAIRED: Final = 10
"""A pair of rows of one person may take a tenth of a row: there are more of them."""
MATCHED: Final = 3
"""A row of a person beside one of a public table may take a third: there are fewer than of pairs."""
_COUNTED: Final = frozenset({"count", "sum"})


def mark_fan_out(plan: Node, meets_one: Callable[[Join], bool]) -> Node:
    """The plan in which the joins that may multiply rows are marked; the same object where none may.

    `meets_one`: whether it is proven that a row of persons meets one row of the public table.
    """

    def mark(node: Node) -> Node:
        if not isinstance(node, Join) or node.several or not _meets_table(node) or meets_one(node):
            return node
        return replace(node, several=True)

    marked = rewrite_plan(plan, mark)
    for node in walk_nodes(marked):
        _require_bound(node)
    return marked


def meets_tables(plan: Node) -> bool:
    """Whether rows of persons meet rows of a public table somewhere in it, so that proofs of its keys matter."""
    return any(isinstance(one, Join) and _meets_table(one) for one in walk_nodes(plan))


def gather_conditions(plan: Node, above: tuple[Scalar, ...] = ()) -> Node:
    """The plan with the conditions on a public table of which several rows are met in the join with it.

    `above` are conditions that the rows of the plan have to meet anyway. They stay where they are, too.
    """
    match plan:
        case Filter():
            return _over(plan, ((*above, *conjuncts(plan.condition)),))
        case Join():
            found = (
                above
                if plan.condition is None or plan.outer
                else (*above, *conjuncts(plan.condition))
            )
            made = _over(plan, (found, () if plan.outer else found))
            return (
                _with_conditions(made, above) if isinstance(made, Join) and made.several else made
            )
        case _:
            return _over(plan, ((),) * len(plan.below))


def _over(node: Node, above: tuple[tuple[Scalar, ...], ...]) -> Node:
    below = tuple(gather_conditions(one, each) for one, each in zip(node.below, above, strict=True))
    return node if below == node.below else rebuild_node(node, below)


def _with_conditions(join: Join, above: tuple[Scalar, ...]) -> Join:
    """The join with those of the conditions that read the public table alone. An outer join keeps rows without a partner."""
    if join.outer or join.condition is None:
        return join
    read = {one.id: one for one in public_side(join).fields}
    there = tuple(conjuncts(join.condition))
    asked = (replace_columns(one, read) for one in above if column_ids(one) <= read.keys())
    added = tuple(one for one in asked if column_ids(one) and one not in there)
    if not added:
        return join
    every = (*there, *added)
    return replace(join, condition=Call("and", every, BOOLEAN, any(one.nullable for one in every)))


def public_side(join: Join) -> Node:
    """The side that is no rows of persons, of a join of persons with a public table."""
    return join.left if isinstance(join.right.label, Protected) else join.right


def row_share(node: Node) -> int:
    """Into how many parts the time of a row is divided for its rows: 1 where they are no more than those of the tables."""
    share = max((row_share(one) for one in node.below), default=1)
    if not isinstance(node, Join):
        return share
    if is_cut(node):
        return PAIRED
    return share if not node.several else MATCHED if share == 1 else PAIRED


def may_be_pairs(node: Node) -> bool:
    """Whether its rows may be pairs: of rows of one person, or of such a row and a public one."""
    return row_share(node) > 1


def pairs_of(node: Node) -> int:
    """How often one person may have `MOST_PAIRS` rows; 0: no more than some of each row of the tables."""
    below = [pairs_of(one) for one in node.below]
    if isinstance(node, UnionAll):
        return sum(below)
    if isinstance(node, Join) and node.several:
        # where the rows of a person are cut before the join, they are pairs, or are sampled above
        mine = node.right if public_side(node) is node.left else node.left
        return max(*below, int(kept_of_person(mine) is not None))
    return max([*below, int(isinstance(node, Join) and is_cut(node))])


def multiplied_tables(plan: Node) -> tuple[str, ...]:
    """The public tables of which a row of persons may meet several rows, each once."""
    found = (_table_of(one) for one in walk_nodes(plan) if isinstance(one, Join) and one.several)
    return tuple(dict.fromkeys(one for one in found if one is not None))


def _table_of(join: Join) -> str | None:
    scan = below_filters(public_side(join))
    return scan.table.name if isinstance(scan, Scan) else None


def _meets_table(join: Join) -> bool:
    """Whether rows of persons meet rows of a public table by equal columns."""
    persons = [isinstance(one.label, Protected) for one in join.below]
    return any(persons) and not all(persons) and bool(join.assumed_unique)


def _require_bound(node: Node) -> None:
    """Refuse what is computed from all rows of a person where nothing bounds them."""
    if not isinstance(node, PerUnit | Window):
        return
    below = node.child.label
    if not isinstance(below, Protected) or below.rows is not None or below.expected is None:
        return
    if isinstance(node, Window):
        raise _unbounded("a window function over the rows of a person")
    if any(one.function in _COUNTED for _, one in node.measures):
        raise _unbounded("a count or sum for each person")


def _unbounded(what: str) -> Unbounded:
    return Unbounded(
        Code.FAN_OUT,
        f"{what} has no bound, as a row can match several rows of the other table",
        "aggregate by the unit key first and join the result, or join on columns that are unique in the other table",
    )
