"""What a WHERE clause says about domains: comparisons of a bare column with a literal.

INVARIANT: a domain only ever becomes narrower, and only to values that a row must have to get through
the filter. What is not understood narrows nothing.
"""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import date, datetime, timedelta
from fractions import Fraction

from gateway.catalog.domains import Bound, Domain, Interval, Values, distance
from gateway.catalog.values import Value
from gateway.plan.fields import Field
from gateway.plan.scalars import Call, Literal, Ref, Scalar

_MIRRORED = {"=": "=", "<": ">", "<=": ">=", ">": "<", ">=": "<="}


def conjuncts(condition: Scalar) -> Iterator[Scalar]:
    """The conditions that must all be true."""
    if isinstance(condition, Call) and condition.function == "and":
        for part in condition.parts:
            yield from conjuncts(part)
    else:
        yield condition


def narrowed(fields: Iterable[Field], condition: Scalar) -> tuple[Field, ...]:
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
        column, operator, values = compared
        present.add(column.id)
        before = domains.get(column.id, column.domain)
        domains[column.id] = _narrow(before, operator, values, column.type.resolution)
    return tuple(
        replace(
            one,
            domain=domains.get(one.id, one.domain),
            nullable=one.nullable and one.id not in present,
        )
        for one in fields
    )


def _column_and_literals(condition: Scalar) -> tuple[Field, str, tuple[Value, ...]] | None:
    if not isinstance(condition, Call) or condition.function not in {*_MIRRORED, "in"}:
        return None
    first, *others = condition.parts
    operator = condition.function
    if isinstance(first, Literal) and operator != "in":
        first, others, operator = others[0], [first], _MIRRORED[operator]
    if not isinstance(first, Ref):
        return None
    values = tuple(
        one.value for one in others if isinstance(one, Literal) and one.value is not None
    )
    return (first.field, operator, values) if len(values) == len(others) else None


def _narrow(
    domain: Domain, operator: str, values: tuple[Value, ...], resolution: Fraction | None
) -> Domain:
    if isinstance(domain, Values) and operator in {"=", "in"}:
        kept = tuple(value for value in domain if value in values)
        return Values(kept) if kept else domain
    if isinstance(domain, Interval):
        return _within(domain, operator, values, exact=resolution == domain.step)
    return domain


def _within(domain: Interval, operator: str, values: tuple[Value, ...], *, exact: bool) -> Interval:
    """`exact`: the type itself keeps values on the steps, so below a step means at most the one before."""
    bounds = [value for value in values if isinstance(value, Bound) and _fits(domain, value)]
    if len(bounds) != len(values):
        return domain
    low: Bound = domain.low
    high: Bound = domain.high
    # the ends move inwards in whole steps, so that the step still divides the width
    if operator in {"=", "in", ">", ">="}:
        lowest = min(bounds, key=lambda bound: distance(domain.low, bound))
        low = _at_least(domain, lowest, beyond=exact and operator == ">")
    if operator in {"=", "in", "<", "<="}:
        highest = max(bounds, key=lambda bound: distance(domain.low, bound))
        high = _at_most(domain, highest, beyond=exact and operator == "<")
    if distance(low, high) < 0:
        return domain
    return Interval(low, high, domain.step)


def _fits(domain: Interval, bound: Bound) -> bool:
    if isinstance(bound, bool):
        return False
    try:
        distance(domain.low, bound)
    except TypeError:
        return False
    return True


def _at_least(domain: Interval, bound: Bound, *, beyond: bool) -> Bound:
    """The first value of the domain that is not before `bound`, or that is after it."""
    away = distance(domain.low, bound)
    steps = away // domain.step + 1 if beyond else -(-away // domain.step)
    return _value_at(domain, Fraction(max(0, steps)))


def _at_most(domain: Interval, bound: Bound, *, beyond: bool) -> Bound:
    """The last value of the domain that is not after `bound`, or that is before it."""
    away = distance(domain.low, bound)
    steps = -(-away // domain.step) - 1 if beyond else away // domain.step
    return _value_at(domain, Fraction(min(steps, domain.size - 1)))


def _value_at(domain: Interval, steps: Fraction) -> Bound:
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
