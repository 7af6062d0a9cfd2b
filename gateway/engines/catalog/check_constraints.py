"""CHECK constraints: what they say, parsed from the catalog's text, and the values that they leave to a column.

The parser understands comparisons of one column with constants, joined by AND. The text is not an analyst's,
but the parser is the same, so the same size limits apply before it.

A CHECK passes where it is NULL, so all of this is about values that are not NULL. Floats are left out:
databases order NaN differently, and decimal texts are no floats. For a decimal number, an upper bound excludes
NaN and infinity, which are above all numbers, and no value is within an interval without one.

INVARIANT: a text with any part that is not understood proves nothing; nothing is guessed. INVARIANT: a value
that the source's constraints admit is within the `ConstraintLimits` made of them.
"""

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import date, datetime, timedelta
from enum import StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from gateway.binding.bind import parse
from gateway.binding.text.dialect import fold_name
from gateway.binding.text.lexer import check_lexing, tokens_of
from gateway.catalog.domains import Bound, Domain, Interval, Values, domain_width
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.catalog.values import InvalidValue, Value, read_value
from gateway.errors import Refusal

LENGTH: Final = 2_000
_NUMBER: Final = re.compile(r"[0-9]+(\.[0-9]+)?")


class Operator(StrEnum):
    AT_LEAST = ">="
    ABOVE = ">"
    AT_MOST = "<="
    BELOW = "<"
    AMONG = "in"


@dataclass(frozen=True)
class ConstraintLiteral:
    """A literal as it is written, with the types it is cast to, the inner one first."""

    text: str
    quoted: bool
    casts: tuple[Kind, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """A comparison that holds for every value of a column that is not NULL. `cast` is the type the column is cast to."""

    column: str
    operator: Operator
    constants: tuple[ConstraintLiteral, ...]
    cast: Kind | None = None


class _UnclearError(Exception):
    """A part of the constraint is not understood."""


_TYPES: Final = MappingProxyType(
    {
        exp.DataType.Type.SMALLINT: Kind.SMALLINT,
        exp.DataType.Type.INT: Kind.INTEGER,
        exp.DataType.Type.BIGINT: Kind.BIGINT,
        exp.DataType.Type.DECIMAL: Kind.NUMERIC,
        exp.DataType.Type.TEXT: Kind.TEXT,
        exp.DataType.Type.VARCHAR: Kind.VARCHAR,
        exp.DataType.Type.DATE: Kind.DATE,
        exp.DataType.Type.TIMESTAMP: Kind.TIMESTAMP,
        exp.DataType.Type.TIMESTAMPTZ: Kind.TIMESTAMPTZ,
        exp.DataType.Type.UUID: Kind.UUID,
    }
)
_OPERATORS: Final[Mapping[type[exp.Expression], Operator]] = MappingProxyType(
    {
        exp.GTE: Operator.AT_LEAST,
        exp.GT: Operator.ABOVE,
        exp.LTE: Operator.AT_MOST,
        exp.LT: Operator.BELOW,
        exp.EQ: Operator.AMONG,
    }
)
_TURNED: Final = MappingProxyType(
    {
        Operator.AT_LEAST: Operator.AT_MOST,
        Operator.ABOVE: Operator.BELOW,
        Operator.AT_MOST: Operator.AT_LEAST,
        Operator.BELOW: Operator.ABOVE,
        Operator.AMONG: Operator.AMONG,
    }
)


def parse_comparisons(text: str) -> tuple[Comparison, ...]:
    """The comparisons that the constraint enforces; none if a part of it is not understood."""
    # whether a backslash means itself depends on a setting of whoever asks
    if len(text) > LENGTH or "\\" in text:
        return ()
    bracketed = f"({text})"
    try:
        tokens = tokens_of(bracketed)
        check_lexing(tokens)
        tree = parse(bracketed, tokens)
        return tuple(one for part in _parts(tree) for one in _compared(part))
    except (Refusal, _UnclearError):
        return ()


def _parts(tree: exp.Expression) -> Iterator[exp.Expression]:
    left = [tree]
    while left:
        node = _bare(left.pop())
        if _is(node, exp.And, "this", "expression"):
            left += [node.this, node.expression]
        else:
            yield node


def _compared(node: exp.Expression) -> Iterator[Comparison]:
    if _is(node, exp.Between, "this", "low", "high"):
        column, cast = _column(node.this)
        yield Comparison(column, Operator.AT_LEAST, (_constant(node.args["low"]),), cast)
        yield Comparison(column, Operator.AT_MOST, (_constant(node.args["high"]),), cast)
    elif _is(node, exp.In, "this", "expressions"):
        column, cast = _column(node.this)
        listed = tuple(_constant(one) for one in node.expressions)
        yield Comparison(column, Operator.AMONG, listed, cast)
    elif (operator := _OPERATORS.get(type(node))) is not None:
        if not _is(node, type(node), "this", "expression"):
            raise _UnclearError
        yield _two_sides(operator, node.this, node.expression)
    else:
        raise _UnclearError


def _two_sides(operator: Operator, left: exp.Expression, right: exp.Expression) -> Comparison:
    if operator is Operator.AMONG and _is(right, exp.Any, "this"):
        column, cast = _column(left)
        return Comparison(column, operator, _array(right.this), cast)
    if any(True for _ in right.find_all(exp.Column)):
        operator, left, right = _TURNED[operator], right, left
    column, cast = _column(left)
    return Comparison(column, operator, (_constant(right),), cast)


def _column(node: exp.Expression) -> tuple[str, Kind | None]:
    node, cast = _bare(node), None
    if _is(node, exp.Cast, "this", "to"):
        node, cast = _bare(node.this), _type(node.args["to"])
    if not _is(node, exp.Column, "this") or not _is(node.this, exp.Identifier, "this", "quoted"):
        raise _UnclearError
    return fold_name(node.this), cast


def _array(node: exp.Expression) -> tuple[ConstraintLiteral, ...]:
    node = _bare(node)
    casts: tuple[Kind, ...] = ()
    if _is(node, exp.Cast, "this", "to"):
        # PostgreSQL compares a varchar as text, and says so of the whole list
        of = node.args["to"]
        if of.this is not exp.DataType.Type.ARRAY or len(of.expressions) != 1:
            raise _UnclearError
        node, casts = _bare(node.this), (_type(of.expressions[0]),)
    if not _is(node, exp.Array, "expressions"):
        raise _UnclearError
    inner = [_constant(one) for one in node.expressions]
    return tuple(ConstraintLiteral(one.text, one.quoted, (*one.casts, *casts)) for one in inner)


def _constant(node: exp.Expression) -> ConstraintLiteral:
    node = _bare(node)
    casts: tuple[Kind, ...] = ()
    while _is(node, exp.Cast, "this", "to"):
        node, casts = _bare(node.this), (_type(node.args["to"]), *casts)
    sign = ""
    if _is(node, exp.Neg, "this"):
        node, sign = _bare(node.this), "-"
    if not _is(node, exp.Literal, "this", "is_string"):
        raise _UnclearError
    text, quoted = str(node.this), bool(node.is_string)
    if not quoted and not _NUMBER.fullmatch(text):
        raise _UnclearError  # with an exponent it may be a float
    if sign and quoted:
        raise _UnclearError
    return ConstraintLiteral(sign + text, quoted, casts)


def _type(node: exp.Expression) -> Kind:
    """A type without a precision, which would round or cut values."""
    kind = _TYPES.get(node.this) if _is(node, exp.DataType, "this") else None
    if kind is None:
        raise _UnclearError
    return kind


def _bare(node: exp.Expression) -> exp.Expression:
    while _is(node, exp.Paren, "this"):
        node = node.this
    return node


def _is(node: exp.Expression, kind: type[exp.Expression], *parts: str) -> bool:
    """Whether a node is of exactly this kind, with these arguments and no others."""
    return type(node) is kind and all(
        name in parts or not value for name, value in node.args.items()
    )


_WHOLE: Final = frozenset({Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT})
_TEXTS: Final = frozenset({Kind.TEXT, Kind.VARCHAR})
_OFFSET: Final = re.compile(r"[+-][0-9]{2}(:?[0-9]{2})?")
_SHORT_OFFSET: Final = re.compile(r".*[0-9][+-][0-9]{2}")
_MOST_LISTED: Final = 10_000
# DuckDB's decimal without brackets rounds to three digits, PostgreSQL's does not
_DIGIT: Final = Fraction(1, 1000)


@dataclass(frozen=True)
class ConstraintLimits:
    """All values are from `low` to `high` and among `members`; None is not enforced."""

    low: Bound | None = None
    high: Bound | None = None
    members: frozenset[Value] | None = None


def constraint_limits(
    said: Iterable[Comparison], of: ColumnType, *, exact_text: bool
) -> ConstraintLimits:
    """The limits of a column of this type under these comparisons."""
    found = ConstraintLimits()
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


def is_within(found: ConstraintLimits, domain: Domain, of: ColumnType) -> bool:
    """Whether every value within these limits is one of the domain."""
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


def _is_inside(found: ConstraintLimits, domain: Interval, of: ColumnType) -> bool:
    if found.low is None or found.high is None or of.resolution is None:
        return False
    from_low, to_high = domain_width(domain.low, found.low), domain_width(found.high, domain.high)
    # the source's values are one resolution apart: all are on the domain's grid when one is
    on_grid = not of.resolution % domain.step and not from_low % domain.step
    return from_low >= 0 and to_high >= 0 and on_grid


def _listed(found: ConstraintLimits) -> frozenset[Value] | None:
    low, high = found.low, found.high
    if not isinstance(low, int) or not isinstance(high, int) or high - low >= _MOST_LISTED:
        return None
    return frozenset(range(low, high + 1))


def _tightened(
    found: ConstraintLimits, operator: Operator, values: frozenset[Value], of: ColumnType
) -> ConstraintLimits:
    if operator is Operator.AMONG:
        members = values if found.members is None else found.members & values
        return replace(found, members=members)
    (value,) = values
    if isinstance(value, bool) or not isinstance(value, int | Fraction | date):
        return found
    match operator:
        case Operator.AT_LEAST | Operator.ABOVE:
            bound = _moved(value, of, 1) if operator is Operator.ABOVE else value
            higher = found.low is None or domain_width(found.low, bound) > 0
            return replace(found, low=bound) if higher else found
        case _:
            bound = _moved(value, of, -1) if operator is Operator.BELOW else value
            lower = found.high is None or domain_width(bound, found.high) > 0
            return replace(found, high=bound) if lower else found


def _moved(value: Bound, of: ColumnType, way: int) -> Bound:
    """The next value of the type, or the same if there is none; that can only widen the limits."""
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


def _value(constant: ConstraintLiteral, of: ColumnType) -> Value | None:
    """The value of a constant in the column's type; None if it is not certainly one."""
    if not _is_plain(constant, of):
        return None
    text = constant.text
    if of.kind is Kind.TIMESTAMPTZ and _SHORT_OFFSET.fullmatch(text):
        text += "00"
    try:
        value = read_value(text, of)
    except InvalidValue:
        return None
    if isinstance(value, Fraction) and constant.casts:
        whole = any(kind in _WHOLE for kind in constant.casts)
        return None if value % (1 if whole else _DIGIT) else value
    return value


def _is_plain(constant: ConstraintLiteral, of: ColumnType) -> bool:
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
