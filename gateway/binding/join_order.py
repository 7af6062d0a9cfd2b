"""The order in which relations of a FROM are joined, and the conditions of WHERE and ON as parts.

Relations with commas between them are joined so that each meets what is joined before by an equality: a child is joined
with its parent before a grandparent is, wherever they stand. An equality that stands in every arm of an OR is a condition
of its own.

INVARIANT: every condition of an ON is a condition of one of the joins. What is taken from WHERE is an equality of two
columns, and is the condition of one inner join in its place.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Final

from sqlglot import exp

from gateway.binding.expressions import ScalarBinder
from gateway.binding.scope import Scope, Visible
from gateway.catalog.tables import ColumnRef, Dataset
from gateway.errors import Code, LimitExceeded, Refusal, UnsupportedSql
from gateway.plan.fields import BOOLEAN, Field, Protected
from gateway.plan.joins import Join, column_equalities, is_on_unit
from gateway.plan.node import Node
from gateway.plan.scalars import Call, Scalar, column_ids


@dataclass(frozen=True, eq=False)
class JoinPart:
    """A condition that relations may be joined by. It is `required` if it stands in an ON, `implied` if the arms of an OR
    have it in common; others stand in WHERE.
    """

    node: exp.Expression
    required: bool = False
    implied: bool = False


_Found = list[tuple[JoinPart, Scalar]]
MOST_RELATIONS: Final = 32
"""The work of finding an order grows with the cube of the number of relations."""


class JoinOrder:
    """Joins relations whose columns are in one scope; `parts` are the conditions that are left."""

    def __init__(self, dataset: Dataset, scope: Scope, parts: list[JoinPart], zone: str) -> None:
        self._dataset = dataset
        self._zone = zone
        self._scope = scope
        self._parts = parts
        self._taken: list[exp.Expression] = []
        self._read: dict[int, frozenset[str] | None] = {}

    def joined(self, relations: list[Node]) -> Node:
        """The relations as one, beginning with the first that has rows of persons."""
        if len(relations) > MOST_RELATIONS:
            raise LimitExceeded(
                Code.SQL_TOO_LARGE, f"more than {MOST_RELATIONS} relations are joined with commas"
            )
        sides = dict(enumerate(relations))
        protected = [place for place, one in sides.items() if isinstance(one.label, Protected)]
        last = min(protected, default=0)
        plan = sides.pop(last)
        while sides:
            place = self._next(plan, sides)
            other = sides.pop(place)
            found = self._between(plan, other)
            condition = conjoin([one for _, one in found])
            with naming_key(self._dataset, condition, plan, other):
                sides_in_order = (other, plan) if place < last else (plan, other)
                plan = Join(*sides_in_order, condition)
            last = min(last, place)
            used = [one for one, _ in found]
            self._parts = [one for one in self._parts if one not in used]
            self._taken += [one.node for one in used]
        return plan

    def has_taken(self, node: exp.Expression) -> bool:
        """Whether the condition is one of a join now."""
        return any(node is one for one in self._taken)

    def _next(self, plan: Node, sides: dict[int, Node]) -> int:
        """Which relation is joined next: the first one that meets the rows there are."""
        for place, node in sides.items():
            if self._is_ready(plan, node, [one for one in sides.values() if one is not node]):
                return place
        return next((one for one in sides if self._meet(plan, sides[one])), next(iter(sides)))

    def _is_ready(self, plan: Node, node: Node, others: list[Node]) -> bool:
        if isinstance(plan.label, Protected) and isinstance(node.label, Protected):
            found = conjoin([one for _, one in self._between(plan, node)])
            return is_on_unit(found, plan, node)
        if frozenset() in node.claims:
            return True  # it has one row
        # a public relation may be unique by several columns together: it waits for all that it is compared with
        return self._meet(plan, node) and not any(self._meet(node, one) for one in others)

    def _meet(self, left: Node, right: Node) -> bool:
        """Whether a condition compares both."""
        mine, theirs = {one.id for one in left.fields}, {one.id for one in right.fields}
        read = (self._columns(one) for one in self._parts)
        return any(
            ids is not None and ids & mine and ids & theirs and ids <= mine | theirs for ids in read
        )

    def _between(self, left: Node, right: Node) -> _Found:
        """The conditions that both can be joined by; a required one that needs no other relation, too."""
        fields = (*left.fields, *right.fields)
        mine, theirs = {one.id for one in left.fields}, {one.id for one in right.fields}
        scalars = ScalarBinder(
            lambda column: refresh_column(self._scope.find(column), fields), self._zone
        )
        found = []
        for part in self._parts:
            ids = self._columns(part)
            if ids is None or not ids <= mine | theirs:
                continue
            if (ids & mine and ids & theirs) or part.required:
                found.append((part, scalars.condition(part.node, filtering=True)))
        return found

    def _columns(self, part: JoinPart) -> frozenset[str] | None:
        """The ids of the columns that the condition reads; None: WHERE will bind it, as it names what is no column here."""
        if id(part) not in self._read:
            scalars = ScalarBinder(self._scope.find, self._zone)
            try:
                found = column_ids(scalars.condition(part.node, filtering=True))
            except Refusal:
                if part.required:
                    raise
                found = None
            self._read[id(part)] = found
        return self._read[id(part)]


@contextmanager
def naming_key(
    dataset: Dataset, condition: Scalar | None, left: Node, right: Node
) -> Iterator[None]:
    """Name the declared key in the refusal of a join that compares a key off the unit path."""
    try:
        yield
    except UnsupportedSql as refusal:
        if refusal.code is not Code.UNIT_EQUALITY:
            raise
        for pair in column_equalities(condition, left, right):
            for one, other in (pair, pair[::-1]):
                for origin in one.origins:
                    column = dataset.find(origin)
                    if column is not None and column.joins in other.origins:
                        raise _off_path_refusal(origin) from refusal
        raise


def _off_path_refusal(origin: ColumnRef) -> UnsupportedSql:
    return UnsupportedSql(
        Code.UNIT_EQUALITY,
        f"`{origin}` is not the unit path of `{origin.table}`, so it may lead to another person",
        "join protected tables on their unit keys, or on a key of a unit path",
    )


def is_column_equality(node: exp.Expression) -> bool:
    return (
        isinstance(node, exp.EQ)
        and isinstance(node.this, exp.Column)
        and isinstance(node.expression, exp.Column)
    )


def common_equalities(parts: list[exp.Expression]) -> list[exp.Expression]:
    """Equalities of two columns that stand in every arm of one of the conditions: where it is true, they are."""
    found = []
    for part in parts:
        if not isinstance(part, exp.Or):
            continue
        first, *others = [
            {
                frozenset({one.this, one.expression}): one
                for one in _conjuncts_of(arm)
                if is_column_equality(one)
            }
            for arm in _arms(part)
        ]
        found += [one for key, one in first.items() if all(key in other for other in others)]
    return found


def _arms(node: exp.Expression) -> Iterator[exp.Expression]:
    while isinstance(node, exp.Paren):
        node = node.this
    if isinstance(node, exp.Or):
        yield from _arms(node.this)
        yield from _arms(node.expression)
    else:
        yield node


def conjoin(parts: list[Scalar]) -> Scalar | None:
    """All of the conditions as one."""
    if len(parts) < 2:  # noqa: PLR2004 - nothing to put together
        return parts[0] if parts else None
    flat: list[Scalar] = []
    for part in parts:
        flat += part.parts if isinstance(part, Call) and part.function == "and" else (part,)
    return Call("and", tuple(flat), BOOLEAN, any(one.nullable for one in flat))


def refresh_column(visible: Visible, fields: tuple[Field, ...]) -> Visible:
    """The column as it is in the plan now: joins and filters change what is known of it."""
    if visible.field is None:
        return visible
    for one in fields:
        if one.id == visible.field.id:
            return visible if one is visible.field else replace(visible, field=one)
    return visible


def conjunct_nodes(where: exp.Expression | None) -> list[exp.Expression]:
    """The conditions of a WHERE or ON that must all be true, as they were written."""
    if where is None:
        return []
    return _conjuncts_of(where.this if isinstance(where, exp.Where) else where)


def _conjuncts_of(node: exp.Expression) -> list[exp.Expression]:
    parts: list[exp.Expression] = []
    stack = [node]
    while stack:
        node = stack.pop()
        while isinstance(node, exp.Paren):
            node = node.this
        if isinstance(node, exp.And):
            stack += [node.expression, node.this]
        else:
            parts.append(node)
    return parts
