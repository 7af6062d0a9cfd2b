"""Which values CHECK constraints leave to a column, and whether all of them are in its domain.

A CHECK passes where it is null, so all of this is about values that are not null. Floats are left out:
databases differ in where NaN stands, and decimal texts are no floats. Of a decimal number an upper bound
excludes NaN and infinity, which stand above all numbers, and nothing is within an interval without one.

INVARIANT: a value that the source's constraints admit is within the `Enforced` made of them.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from fractions import Fraction
from typing import Final

from gateway.catalog.domains import Bound, Domain, Interval, Values, distance
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import Value, ValueUnfit, read_value
from gateway.engines.check_text import Comparison, Constant, Operator

_WHOLE: Final = frozenset({Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT})
_TEXTS: Final = frozenset({Kind.TEXT, Kind.VARCHAR})
_OFFSET: Final = re.compile(r"[+-][0-9]{2}(:?[0-9]{2})?")
_SHORT_OFFSET: Final = re.compile(r".*[0-9][+-][0-9]{2}")
_MOST_LISTED: Final = 10_000
# DuckDB's decimal without brackets rounds to three digits, PostgreSQL's does not
_DIGIT: Final = Fraction(1, 1000)


@dataclass(frozen=True)
class Enforced:
    """All values are from `low` to `high` and among `members`; what is None is not enforced."""

    low: Bound | None = None
    high: Bound | None = None
    members: frozenset[Value] | None = None


def enforced(said: Iterable[Comparison], of: ColumnType, *, exact_text: bool) -> Enforced:
    """What is left of a column of this type, by what is said of it."""
    found = Enforced()
    if of.family is Family.TEXT and not exact_text:
        return found
    for one in said:
        if one.cast is not None and not (of.kind is Kind.VARCHAR and one.cast is Kind.TEXT):
            continue
        read = [_value(constant, of) for constant in one.constants]
        values = frozenset(value for value in read if value is not None)
        if None not in read and values:
            found = _tightened(found, one.operator, values, of)
    return found


def is_within(found: Enforced, domain: Domain, of: ColumnType) -> bool:
    """Whether every value of a column of this type that is left is one of the domain."""
    match domain:
        case Values():
            left = found.members if found.members is not None else _listed(found)
            return left is not None and all(value in domain for value in left)
        case Interval():
            if found.members is not None:
                return all(value in domain for value in found.members)
            return _is_inside(found, domain, of)
        case _:
            return False


def _is_inside(found: Enforced, domain: Interval, of: ColumnType) -> bool:
    if found.low is None or found.high is None or of.resolution is None:
        return False
    from_low, to_high = distance(domain.low, found.low), distance(found.high, domain.high)
    # the source's values are one resolution apart: all are on the domain's grid when one is
    on_grid = not of.resolution % domain.step and not from_low % domain.step
    return from_low >= 0 and to_high >= 0 and on_grid


def _listed(found: Enforced) -> frozenset[Value] | None:
    low, high = found.low, found.high
    if not isinstance(low, int) or not isinstance(high, int) or high - low >= _MOST_LISTED:
        return None
    return frozenset(range(low, high + 1))


def _tightened(
    found: Enforced, operator: Operator, values: frozenset[Value], of: ColumnType
) -> Enforced:
    if operator is Operator.AMONG:
        members = values if found.members is None else found.members & values
        return replace(found, members=members)
    (value,) = values
    if isinstance(value, bool) or not isinstance(value, int | Fraction | date):
        return found
    match operator:
        case Operator.AT_LEAST | Operator.ABOVE:
            bound = _moved(value, of, 1) if operator is Operator.ABOVE else value
            higher = found.low is None or distance(found.low, bound) > 0
            return replace(found, low=bound) if higher else found
        case _:
            bound = _moved(value, of, -1) if operator is Operator.BELOW else value
            lower = found.high is None or distance(bound, found.high) > 0
            return replace(found, high=bound) if lower else found


def _moved(value: Bound, of: ColumnType, way: int) -> Bound:
    """The next value of the type; the same where there is no next, which is only more than is left."""
    if of.resolution is None:
        return value
    try:
        if isinstance(value, datetime):
            return value + way * timedelta(microseconds=1)
        if isinstance(value, date):
            return value + way * timedelta(days=1)
    except OverflowError:
        return value
    return value + way if isinstance(value, int) else value + way * of.resolution


def _value(constant: Constant, of: ColumnType) -> Value | None:
    """The value of the column's own type that a constant is, if it surely is one."""
    if not _is_plain(constant, of):
        return None
    text = constant.text
    if of.kind is Kind.TIMESTAMPTZ and _SHORT_OFFSET.fullmatch(text):
        text += "00"
    try:
        value = read_value(text, of)
    except ValueUnfit:
        return None
    if isinstance(value, Fraction) and constant.casts:
        whole = any(kind in _WHOLE for kind in constant.casts)
        return None if value % (1 if whole else _DIGIT) else value
    return value


def _is_plain(constant: Constant, of: ColumnType) -> bool:
    casts = constant.casts
    match of.family:
        case Family.WHOLE:
            return set(casts) <= _WHOLE and bool(casts or not constant.quoted)
        case Family.EXACT:
            return set(casts) <= {*_WHOLE, Kind.NUMERIC} and bool(casts or not constant.quoted)
        case Family.TEXT if of.kind in _TEXTS:
            return constant.quoted and bool(casts) and set(casts) <= _TEXTS
        case Family.TIMESTAMP if of.kind is Kind.TIMESTAMPTZ:
            # without an offset it would be the zone of whoever writes a row
            zoned = _OFFSET.search(constant.text[len("2020-01-01") :]) is not None
            return constant.quoted and casts == (of.kind,) and zoned
        case Family.DATE | Family.TIMESTAMP | Family.UUID:
            return constant.quoted and casts == (of.kind,)
        case _:
            return False
