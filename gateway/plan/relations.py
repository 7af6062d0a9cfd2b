"""Relations of a plan: scans, filters, projections, and constants with their staged rows; and what a filter says of
domains.

These nodes read one relation or none. Staged rows are public or released before a plan runs; constants read them.

A filter narrows domains by comparisons of a bare column with a literal. A scan keeps values within the ends of a
domain and in the digits of their type. It does not move them onto a declared step: between two steps there may be
any number of values. So an end moves inwards past a value only where the type itself says that none is there, and
else outwards to the next declared step, which keeps every value.

INVARIANT: a domain only ever becomes narrower, and every value that gets through the filter is between its ends or
in its set. What is not understood, or compared with digits that a source may not see, narrows nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import ClassVar, Final

from gateway.catalog.domains import Bound, Domain, Interval, Values, domain_width
from gateway.catalog.tables import LONGEST_TEXT, Column, ColumnRef, Table
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.errors import Code, UnsupportedSql
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import (
    Field,
    Label,
    PathKey,
    Protected,
    Public,
    ReleasedLabel,
    Tie,
    column_id,
)
from gateway.plan.node import (
    NO_CLAIMS,
    BrokenPlan,
    Claims,
    Node,
    SameRows,
    is_unit,
    make_field,
    plan_size,
    require_boolean,
    require_columns,
    walk_nodes,
    with_own_ids,
)
from gateway.plan.scalars import Call, Literal, Ref, Scalar

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
_DIGITS: Final = 15
"""Two decimal numbers of no more digits are two doubles, in which a source may compare them."""


def conjuncts(condition: Scalar) -> Iterator[Scalar]:
    """The conditions that must all be true."""
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.parts:
            yield from conjuncts(part)
    else:
        yield condition


def narrow_fields(fields: Iterable[Field], condition: Scalar) -> tuple[Field, ...]:
    """The columns as they are after the filter."""
    domains: dict[str, Domain] = {}
    present: set[str] = set()
    for conjunct in conjuncts(condition):
        compared = _column_and_literals(conjunct)
        if compared is None:
            if (
                isinstance(conjunct, Call)
                and conjunct.function == "is not null"
                and isinstance(conjunct.parts[0], Ref)
            ):
                present.add(conjunct.parts[0].field.id)
            continue
        column, operator, literals = compared
        present.add(column.id)
        before = domains.get(column.id, column.domain)
        domains[column.id] = _narrow(before, operator, literals, column.type)
    return tuple(
        replace(
            one,
            domain=domains.get(one.id, one.domain),
            nullable=one.nullable and one.id not in present,
        )
        for one in fields
    )


def _column_and_literals(condition: Scalar) -> tuple[Field, str, list[Literal]] | None:
    if not isinstance(condition, Call) or condition.function not in {*_MIRRORED, "in"}:
        return None
    first, *others = condition.parts
    operator = condition.function
    if isinstance(first, Literal) and operator != "in":
        first, others, operator = others[0], [first], _MIRRORED[operator]
    if not isinstance(first, Ref):
        return None
    literals = [one for one in others if isinstance(one, Literal) and one.value is not None]
    return (first.field, operator, literals) if len(literals) == len(others) else None


def _narrow(domain: Domain, operator: str, literals: list[Literal], of: ColumnType) -> Domain:
    values = [one.value for one in literals if one.value is not None]
    if isinstance(domain, Values) and operator in {"=", "in"}:
        return _among(domain, values, of)
    if isinstance(domain, Interval) and all(_is_seen(one, of) for one in literals):
        return _within(domain, operator, values, exact=of.resolution == domain.step)
    return domain


def _among(domain: Values, values: list[Value], of: ColumnType) -> Values:
    if of.kind is Kind.REAL or not all(map(_is_short, [*domain, *values])):
        return domain
    wanted = {_without_blanks(value, of) for value in values}
    kept = tuple(value for value in domain if _without_blanks(value, of) in wanted)
    return Values(kept) if kept else domain


def _without_blanks(value: Value, of: ColumnType) -> Value:
    """The blanks at the end of a `char(n)` tell no values apart."""
    return value.rstrip(" ") if of.kind is Kind.CHAR and isinstance(value, str) else value


def _is_seen(literal: Literal, of: ColumnType) -> bool:
    """Whether every source compares the column with the literal as it stands."""
    whole = of.family is Family.WHOLE and literal.type.family is Family.WHOLE
    return whole or (literal.value is not None and _is_short(literal.value))


def _is_short(value: Value) -> bool:
    if isinstance(value, bool) or not isinstance(value, int | Fraction):
        return True
    return any(
        (value * 10**places).denominator == 1 and abs(value * 10**places) < 10**_DIGITS
        for places in range(_DIGITS + 1)
    )


def _within(domain: Interval, operator: str, values: list[Value], *, exact: bool) -> Interval:
    """`exact`: the type itself keeps values on the steps, so below a step means at most the one before."""
    bounds = [value for value in values if isinstance(value, Bound) and _fits(domain, value)]
    if len(bounds) != len(values):
        return domain
    low: Bound = domain.low
    high: Bound = domain.high
    # the ends move in whole steps, so that the step still divides the width
    if operator in {"=", "in", ">", ">="}:
        lowest = min(bounds, key=lambda bound: domain_width(domain.low, bound))
        away = domain_width(domain.low, lowest) / domain.step
        low = _value_at(domain, _first(away, beyond=operator == ">") if exact else floor(away))
    if operator in {"=", "in", "<", "<="}:
        highest = max(bounds, key=lambda bound: domain_width(domain.low, bound))
        away = domain_width(domain.low, highest) / domain.step
        high = _value_at(domain, -_first(-away, beyond=operator == "<") if exact else ceil(away))
    if domain_width(low, high) < 0:
        return domain
    return Interval(low, high, domain.step)


def _first(away: Fraction, *, beyond: bool) -> int:
    """The first whole number that is not below, or that is above."""
    return floor(away) + 1 if beyond else ceil(away)


def _fits(domain: Interval, bound: Bound) -> bool:
    if isinstance(bound, bool):
        return False
    try:
        domain_width(domain.low, bound)
    except TypeError:
        return False
    return True


def _value_at(domain: Interval, steps: int) -> Bound:
    if steps <= 0:
        return domain.low
    if steps >= domain.size - 1:
        return domain.high
    away = steps * domain.step
    if isinstance(domain.low, datetime):
        return domain.low + timedelta(microseconds=int(away * 1_000_000))
    if isinstance(domain.low, date):
        return domain.low + timedelta(days=int(away))
    after = domain.low + away
    return int(after) if isinstance(domain.low, int) else after


@dataclass(frozen=True)
class Scan:
    """A table of the source; its domains are enforced here, rows without a unit are dropped here.

    A row of a table with a unit path has the unit at its end. Rows are dropped whose path leads to no row, or to no unit.
    """

    table: Table
    alias: str
    unit: str
    below: ClassVar[tuple[Node, ...]] = ()
    scalars: ClassVar[tuple[Scalar, ...]] = ()
    claims: ClassVar[Claims] = NO_CLAIMS
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)
    label: Label = field(init=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        protection = self.table.protection
        label: Label = Public()
        if protection is not None:
            label = Protected(self.unit, protection.rows_per_unit, protection.groups_per_unit)
        object.__setattr__(self, "fields", tuple(map(self._field, self.table.columns)))
        object.__setattr__(self, "label", label)

    def _field(self, column: Column) -> Field:
        protected = not self.table.public
        ties = column is self.table.unit_column
        keys = frozenset(self._keys(column))
        is_edge = any(not one.own for one in keys)
        # enforcing turns NaN into NULL; and values outside of a set, but where the source has no NULL,
        # these have no group to be in
        blanks = protected and column.type.family is Family.FLOAT
        return Field(
            column_id(self.alias, column.name),
            column.type,
            column.domain,
            nullable=not ties and not is_edge and (column.nullable or blanks),
            origins=frozenset({ColumnRef(self.table.name, column.name)})
            if protected
            else frozenset(),
            tie=Tie.ALWAYS if ties else Tie.NONE,
            keys=keys,
        )

    def _keys(self, column: Column) -> Iterator[PathKey]:
        path = self.table.path
        if path is not None and path.edge.column.name == column.name:
            yield PathKey(path.edge.target, own=False)
        if column.is_path_key and not self.table.public:
            yield PathKey(ColumnRef(self.table.name, column.name), own=True)


@dataclass(frozen=True)
class Constant:
    """A relation whose rows are public or released before the plan runs.

    With `one_for` an engine keeps one row for each combination of values of these columns, as it compares them itself,
    and one row in all where there are none; None: it keeps all rows.
    """

    name: str
    fields: tuple[Field, ...]
    label: Public | ReleasedLabel
    claims: Claims = NO_CLAIMS
    one_for: tuple[str, ...] | None = None
    below: ClassVar[tuple[Node, ...]] = ()
    scalars: ClassVar[tuple[Scalar, ...]] = ()
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        if any(one.tie is not Tie.NONE or one.origins for one in self.fields):
            raise BrokenPlan("a constant relation tells of persons")
        if self.one_for is not None and not {one.id for one in self.fields} >= set(self.one_for):
            raise BrokenPlan("a constant relation without a column that its rows differ in")


@dataclass(frozen=True)
class Filter(SameRows):
    """The rows for which the condition is true."""

    child: Node
    condition: Scalar
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_boolean(self.condition)
        require_columns(self)
        object.__setattr__(self, "fields", narrow_fields(self.child.fields, self.condition))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return (self.condition,)


@dataclass(frozen=True)
class Project(SameRows):
    """New columns from old ones. A bare reference hands on its tie; an expression never makes one."""

    child: Node
    alias: str
    items: tuple[tuple[str, Scalar], ...]
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_columns(self)
        named = tuple(
            make_field(column_id(self.alias, name), scalar) for name, scalar in self.items
        )
        object.__setattr__(self, "fields", with_own_ids(named))

    @property
    def claims(self) -> Claims:
        back = {
            scalar.field.id: one.id
            for (_, scalar), one in zip(self.items, self.fields, strict=True)
            if isinstance(scalar, Ref)
        }
        return frozenset(
            frozenset(back[each] for each in key) for key in self.child.claims if key <= back.keys()
        )

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for _, scalar in self.items)


@dataclass(frozen=True)
class Window(SameRows):
    """Every row of `child` with window functions over the rows of the same person."""

    child: Node
    items: tuple[tuple[str, WindowCall], ...]
    fields: tuple[Field, ...] = field(init=False)
    size: int = field(init=False, compare=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "size", plan_size(self.below))
        require_columns(self)
        added = []
        for name, call in self.items:
            # a sample is of rows of each person, whatever columns are there: it is the gateway's own
            is_own = call.function == "sample_number"
            if not is_own and not any(is_unit(key) for key in call.partition):
                raise UnsupportedSql(
                    Code.ORDER_OF_PERSONS,
                    f"the window of `{call.function}` contains rows of different persons",
                    "add the unit key to PARTITION BY, or aggregate first",
                )
            added.append(Field(name, call.type, origins=call.origins))
        object.__setattr__(self, "fields", (*self.child.fields, *added))

    @property
    def scalars(self) -> tuple[Scalar, ...]:
        return tuple(scalar for _, call in self.items for scalar in call.scalars)


def stored_tables(plan: Node) -> frozenset[str]:
    """The tables of the source that the plan reads, those on unit paths too."""
    scans = (one for one in walk_nodes(plan) if isinstance(one, Scan))
    return frozenset(name for one in scans for name in one.table.stored_tables)


def below_filters(node: Node) -> Node:
    """What is below the filters."""
    return below_filters(node.child) if isinstance(node, Filter) else node


@dataclass(frozen=True, slots=True)
class StagedRows:
    """Rows with one value for each of `columns`, in their order; None is NULL."""

    columns: tuple[tuple[str, ColumnType], ...]
    rows: tuple[tuple[Value | None, ...], ...]

    def __post_init__(self) -> None:
        if any(len(row) != len(self.columns) for row in self.rows):
            raise ValueError("a staged row is shorter or longer than its columns")


def null_if_too_long(value: Value | None) -> Value | None:
    """The value as expressions over rows read it: NULL where it is a text longer than any that is read.

    Not a part of it: keys are never changed, and a licence may rest on these values.
    """
    return None if isinstance(value, str) and len(value) > LONGEST_TEXT else value
