"""Expressions over one row: frozen nodes from an allow-list, each of which can be made total.

INVARIANT: every node knows its type, whether it can be NULL, and the source columns it tells of; an
expression made of others tells of all of theirs.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from typing import ClassVar, TypeAlias

from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType
from gateway.catalog.values import Value
from gateway.plan.fields import BOOLEAN, Field

ANYTHING = Anything()


@dataclass(frozen=True, slots=True)
class Ref:
    """A column of the relation below."""

    field: Field

    @property
    def type(self) -> ColumnType:
        return self.field.type

    @property
    def nullable(self) -> bool:
        return self.field.nullable

    @property
    def domain(self) -> Domain:
        return self.field.domain

    @property
    def parts(self) -> tuple["Scalar", ...]:
        return ()


@dataclass(frozen=True, slots=True)
class Literal:
    """A constant; None is NULL. `value` is exact, as the catalog reads values."""

    value: Value | None
    type: ColumnType
    parts: ClassVar[tuple["Scalar", ...]] = ()

    @property
    def nullable(self) -> bool:
        return self.value is None

    @property
    def domain(self) -> Domain:
        return ANYTHING if self.value is None else Values((self.value,))


@dataclass(frozen=True, slots=True)
class Moment:
    """`current_date`, `now()` and their like: one constant for the whole statement, folded later."""

    function: str
    type: ColumnType
    nullable: ClassVar[bool] = False
    domain: ClassVar[Domain] = ANYTHING
    parts: ClassVar[tuple["Scalar", ...]] = ()


@dataclass(frozen=True, slots=True)
class Call:
    """A function or an operator of the allow-list in `gateway.functions.table`."""

    function: str
    parts: tuple["Scalar", ...]
    type: ColumnType
    nullable: bool = True

    @property
    def domain(self) -> Domain:
        """The set of the results of `left` over listed texts; of other results nothing is known here."""
        if self.function != "left":
            return ANYTHING
        text, length = self.parts
        if not isinstance(text.domain, Values) or not isinstance(length, Literal):
            return ANYTHING
        return _beginnings(text.domain, length.value)


@dataclass(frozen=True, slots=True)
class Shift:
    """A date or timestamp moved by an interval that is known from the text."""

    moved: "Scalar"
    months: int
    days: int
    microseconds: int
    type: ColumnType
    domain: ClassVar[Domain] = ANYTHING

    @property
    def parts(self) -> tuple["Scalar", ...]:
        return (self.moved,)

    @property
    def nullable(self) -> bool:
        return True  # out of range becomes NULL


@dataclass(frozen=True, slots=True)
class Cast:
    """A cast that gives NULL where PostgreSQL would raise."""

    what: "Scalar"
    type: ColumnType
    domain: ClassVar[Domain] = ANYTHING
    nullable: ClassVar[bool] = True

    @property
    def parts(self) -> tuple["Scalar", ...]:
        return (self.what,)


@dataclass(frozen=True, slots=True)
class Case:
    """CASE: the first branch whose condition is true, else `otherwise`."""

    branches: tuple[tuple["Scalar", "Scalar"], ...]
    otherwise: "Scalar"
    type: ColumnType

    @property
    def parts(self) -> tuple["Scalar", ...]:
        return (*(part for branch in self.branches for part in branch), self.otherwise)

    @property
    def results(self) -> tuple["Scalar", ...]:
        return (*(result for _, result in self.branches), self.otherwise)

    @property
    def nullable(self) -> bool:
        return any(result.nullable for result in self.results)

    @property
    def domain(self) -> Domain:
        """The set of the results, where all of them are known by name."""
        known: dict[Value, None] = {}
        for result in self.results:
            if isinstance(result, Literal) and result.value is None:
                continue
            if not isinstance(result.domain, Values):
                return ANYTHING
            known |= dict.fromkeys(result.domain.values)
        return Values(tuple(known)) if known else ANYTHING


@dataclass(frozen=True, slots=True)
class StagedValue:
    """The one value of a constant relation that is released before this plan runs."""

    constant: str
    type: ColumnType
    nullable: ClassVar[bool] = True
    domain: ClassVar[Domain] = ANYTHING
    parts: ClassVar[tuple["Scalar", ...]] = ()


@dataclass(frozen=True, slots=True)
class StagedMember:
    """Whether a value is among those of a constant relation that is released before this plan runs."""

    what: "Scalar"
    constant: str
    type: ClassVar[ColumnType] = BOOLEAN
    nullable: ClassVar[bool] = True
    domain: ClassVar[Domain] = ANYTHING

    @property
    def parts(self) -> tuple["Scalar", ...]:
        return (self.what,)


def _beginnings(listed: Values, length: Value | None) -> Domain:
    """The beginnings of these texts, each once."""
    texts = [one for one in listed.values if isinstance(one, str)]
    if type(length) is not int or length < 0 or len(texts) < len(listed.values):
        return ANYTHING
    return Values(tuple(dict.fromkeys(one[:length] for one in texts)))


Scalar: TypeAlias = Ref | Literal | Moment | Call | Shift | Cast | Case | StagedValue | StagedMember


Change: TypeAlias = Callable[[Scalar], Scalar]


def map_parts(scalar: Scalar, change: Change) -> Scalar:
    """The expression with `change` of each of its parts, in their order; what has no parts is returned as it is."""
    match scalar:
        case Call():
            return replace(scalar, parts=tuple(map(change, scalar.parts)))
        case Shift():
            return replace(scalar, moved=change(scalar.moved))
        case Cast() | StagedMember():
            return replace(scalar, what=change(scalar.what))
        case Case():
            branches = tuple((change(when), change(then)) for when, then in scalar.branches)
            return replace(scalar, branches=branches, otherwise=change(scalar.otherwise))
        case _:
            return scalar


def transform(scalar: Scalar, change: Change) -> Scalar:
    """The expression with `change` of everything in it, from the innermost parts outwards."""
    return change(map_parts(scalar, partial(transform, change=change)))


def column_ids(*scalars: Scalar) -> frozenset[str]:
    """The ids of the columns that the expressions read."""
    return frozenset(
        one.field.id for scalar in scalars for one in walk_scalar(scalar) if isinstance(one, Ref)
    )


def walk_scalar(scalar: Scalar) -> Iterator[Scalar]:
    """The expression and everything in it."""
    stack: list[Scalar] = [scalar]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(one.parts)


def scalar_origins(*scalars: Scalar) -> frozenset[ColumnRef]:
    """The source columns that the expressions tell of."""
    return frozenset(
        origin
        for scalar in scalars
        for one in walk_scalar(scalar)
        if isinstance(one, Ref)
        for origin in one.field.origins
    )
