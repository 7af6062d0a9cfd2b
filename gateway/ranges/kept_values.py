"""Which listed values of a grouping key the conditions of a statement leave.

`WHERE extract(hour FROM at) NOT IN (3, 4)` leaves 22 of 24 hours. A condition is decided for a value of the key, or for a
value of what the key is computed from: a column, or a part of a time. What cannot be decided keeps the group. Conditions of
subqueries and of inner joins count, too: every row that is grouped passed them. Where no value is left, no group is.

INVARIANT: no row that passes all conditions has a value that is left out here. A condition is decided only from values that
every source tells apart, and only over a list that has every value of a row: a declared step is no fact about rows.
INVARIANT: nothing of the data is known here; each key is decided by itself, so that groups stay all combinations.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from operator import itemgetter
from typing import Final

from gateway.catalog.domains import Interval, Values
from gateway.catalog.types import Family, Kind
from gateway.catalog.values import Value
from gateway.functions.exact_values import NotComputed
from gateway.functions.function import Function
from gateway.functions.range_arithmetic import Bounds
from gateway.functions.table import function_of
from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Field
from gateway.plan.joins import Join, Mark
from gateway.plan.narrowed_domains import conjuncts, is_short
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.rewrite import replace_columns
from gateway.plan.scalars import Call, Literal, Ref, Scalar, column_ids, transform, walk_scalar
from gateway.ranges.enumerate import Listed, evaluate_at, list_values

_COMPARED: Final = frozenset(
    {Family.WHOLE, Family.EXACT, Family.BOOLEAN, Family.TEXT, Family.DATE, Family.TIMESTAMP}
)
_MOST_WORK: Final = 400_000  # parts of expressions, times the values for which they are computed


def conditions_of(plan: Aggregate) -> tuple[Scalar, ...]:
    """What is true of every row that is grouped: each conjunct that reads no more than one key does, and is decidable."""
    keys = [column_ids(key) for _, key in plan.keys]
    return tuple(
        one
        for one in _of_rows(plan.child)
        if (read := column_ids(one)) and any(read <= each for each in keys) and _is_decidable(one)
    )


def _of_rows(node: Node) -> list[Scalar]:
    """The conjuncts of filters that every row of the relation passed, over its columns."""
    match node:
        case Filter():
            return [*map(_plain, conjuncts(node.condition)), *_of_rows(node.child)]
        case Join(left=left, right=right, condition=condition):
            if node.outer:
                # rows without a partner have NULL on the right side, whatever is true of that side
                return _of_rows(left)
            mine = [] if condition is None else [_plain(one) for one in conjuncts(condition)]
            return [*mine, *_of_rows(left), *_of_rows(right)]
        case Window() | Mark():
            return _of_rows(node.child)
        case Project() | PerUnit():
            items = node.items if isinstance(node, Project) else node.keys
            named = zip(node.fields, (made for _, made in items), strict=False)
            back = {made.field.id: one for one, made in named if isinstance(made, Ref)}
            return [
                _plain(replace_columns(one, back))
                for one in _of_rows(node.child)
                if column_ids(one) <= back.keys()
            ]
        case _:
            return []


def _plain(scalar: Scalar) -> Scalar:
    """The expression without what filters say of it: a column is the same column below a filter and above it."""

    def again(one: Scalar) -> Scalar:
        if isinstance(one, Ref):
            return Ref(Field(one.field.id, one.type))
        return replace(one, nullable=True) if isinstance(one, Call) else one

    return transform(scalar, again)


def keep_values(
    key: Scalar, found: Listed, conditions: Sequence[Scalar], columns: Mapping[str, Bounds]
) -> Listed:
    """The values of the key that some row which passes the conditions may have; none, where no row passes."""
    read = column_ids(key)
    mine = [one for one in conditions if column_ids(one) <= read]
    whole = _plain(key)
    decided = _affordable(mine, key, len(found))
    kept = frozenset(one for one in found if _may_hold(decided, whole, one))
    for atom, values in _atoms(key, columns):
        decided = _affordable(mine, key, len(values))
        if atom == key or not decided:
            continue
        part = _plain(atom)
        try:
            kept &= {
                evaluate_at(whole, part, one) for one in values if _may_hold(decided, part, one)
            }
        except NotComputed:
            continue
    return kept


def _affordable(conditions: Sequence[Scalar], key: Scalar, values: int) -> list[Scalar]:
    """The conditions that are decided for so many values, the shortest first."""
    sizes = [(sum(1 for _ in walk_scalar(one)), one) for one in conditions]
    left = _MOST_WORK // max(1, values) - sum(1 for _ in walk_scalar(key))
    found = []
    for size, one in sorted(sizes, key=itemgetter(0)):
        left -= size
        if left < 0:
            break
        found.append(one)
    return found


def _may_hold(conditions: Sequence[Scalar], atom: Scalar, value: Value | None) -> bool:
    """Whether no condition is known to be false or NULL where the atom has the value."""
    return all(_is_open(one, atom, value) for one in conditions)


def _is_open(condition: Scalar, atom: Scalar, value: Value | None) -> bool:
    if value is not None and not is_short(value):
        return True
    try:
        return evaluate_at(condition, atom, value) is True
    except NotComputed:
        return True


def _is_decidable(condition: Scalar) -> bool:
    """Whether every source compares the same: no doubles, no blanks at the end of a `char(n)`, few digits."""
    return all(
        one.type.family in _COMPARED
        and one.type.kind is not Kind.CHAR
        and (not isinstance(one, Literal) or one.value is None or is_short(one.value))
        for one in walk_scalar(condition)
    )


def _atoms(key: Scalar, columns: Mapping[str, Bounds]) -> Iterator[tuple[Scalar, Listed]]:
    """What the key is computed from, with every value that it has in some row."""
    for one in dict.fromkeys(walk_scalar(key)):
        if _is_listed_whole(one) and (values := list_values(one, columns)) is not None:
            yield one, values


def _is_listed_whole(one: Scalar) -> bool:
    if isinstance(one, Call):
        row: Function = function_of(one)
        return row.time_part is not None
    if not isinstance(one, Ref):
        return False
    domain, family = one.domain, one.type.family
    if isinstance(domain, Interval):
        # rows may lie between the steps of a domain, but not between those of the type
        return family in {Family.WHOLE, Family.DATE} and domain.step == one.type.resolution
    return isinstance(domain, Values) or family is Family.BOOLEAN
