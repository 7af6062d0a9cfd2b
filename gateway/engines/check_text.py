"""What a CHECK constraint says, read from the text a source's own catalog gives for it.

Understood are comparisons of one column with constants, joined by AND. The text is not an analyst's, but
the parser is the same, so it is measured in the same way before it is read.

INVARIANT: a text of which any part is not understood says nothing; nothing is guessed.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from types import MappingProxyType
from typing import Final

from sqlglot import exp

from gateway.binding.bind import parse
from gateway.binding.limits import check_kept, tokens_of
from gateway.binding.names import fold
from gateway.catalog.types import Kind
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
class Constant:
    """A literal as it is written, with the types it is cast to, the inner one first."""

    text: str
    quoted: bool
    casts: tuple[Kind, ...] = ()


@dataclass(frozen=True)
class Comparison:
    """What holds of a column wherever it is not null. `cast` is the type the column itself is cast to."""

    column: str
    operator: Operator
    constants: tuple[Constant, ...]
    cast: Kind | None = None


class _UnclearError(Exception):
    """A part that is not understood."""


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


def comparisons(text: str) -> tuple[Comparison, ...]:
    """All that the text demands, or nothing."""
    # whether a backslash means itself depends on a setting of whoever asks
    if len(text) > LENGTH or "\\" in text:
        return ()
    bracketed = f"({text})"
    try:
        tokens = tokens_of(bracketed)
        check_kept(tokens)
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
    return fold(node.this), cast


def _array(node: exp.Expression) -> tuple[Constant, ...]:
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
    return tuple(Constant(one.text, one.quoted, (*one.casts, *casts)) for one in inner)


def _constant(node: exp.Expression) -> Constant:
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
    return Constant(sign + text, quoted, casts)


def _type(node: exp.Expression) -> Kind:
    """A type without brackets: what stands in them would round or cut."""
    kind = _TYPES.get(node.this) if _is(node, exp.DataType, "this") else None
    if kind is None:
        raise _UnclearError
    return kind


def _bare(node: exp.Expression) -> exp.Expression:
    while _is(node, exp.Paren, "this"):
        node = node.this
    return node


def _is(node: exp.Expression, kind: type[exp.Expression], *parts: str) -> bool:
    """Whether a node is of exactly this kind, with these parts and no other."""
    return type(node) is kind and all(
        name in parts or not value for name, value in node.args.items()
    )
