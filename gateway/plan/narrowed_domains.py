"""What a filter says of the domains of columns.

A filter narrows domains by comparisons of a bare column with a literal. A scan keeps values within the ends of a
domain and in the digits of their type. It does not move them onto a declared step: between two steps there may be
any number of values. So an end moves inwards past a value only where the type itself says that none is there, and
else outwards to the next declared step, which keeps every value.

INVARIANT: a domain only ever becomes narrower, and every value that gets through the filter is between its ends or
in its set. What is not understood, or compared with digits that a source may not see, narrows nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from math import ceil, floor
from typing import Final

from gateway.catalog.domains import Bound, Domain, Interval, Values, domain_width
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value
from gateway.plan.fields import TIMES, Field
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
        return _among(domain, literals, of)
    if isinstance(domain, Interval) and all(_is_seen(one, of) for one in literals):
        return _within(domain, operator, values, exact=of.resolution == domain.step)
    return domain


def _among(domain: Values, literals: list[Literal], of: ColumnType) -> Values:
    values = [one.value for one in literals if one.value is not None]
    if any({of.family, one.type.family} >= TIMES for one in literals):
        return domain  # a date equals the timestamp of its midnight, but not in Python
    if of.kind is Kind.REAL or not all(map(is_short, [*domain, *values])):
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
    return whole or (literal.value is not None and is_short(literal.value))


def is_short(value: Value) -> bool:
    """Whether every source tells it apart from others with as few digits."""
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
