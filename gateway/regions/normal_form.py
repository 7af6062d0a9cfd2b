"""Normal form of expressions: equivalent ones have one text, as far as that is easy.

INVARIANT: the result has the value of the input for every row, NULL included.
"""

from collections.abc import Iterable
from dataclasses import replace
from datetime import date, datetime, timedelta
from types import MappingProxyType
from typing import Final

from gateway.catalog.types import Family
from gateway.functions.calendar import months_later
from gateway.functions.exact_values import NotComputed
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import (
    Call,
    Cast,
    Literal,
    Moment,
    Ref,
    Scalar,
    Shift,
    StagedMember,
    StagedValue,
    map_parts,
    walk_scalar,
)
from gateway.plan.sql_text import scalar_sql
from gateway.ranges.enumerate import evaluate_at
from gateway.regions.region_work import compute_once

MIRRORED: Final = MappingProxyType(
    {"=": "=", "<>": "<>", "<": ">", "<=": ">=", ">": "<", ">=": "<="}
    | {one: one for one in ("is distinct from", "is not distinct from")}
)
OPPOSITE: Final = MappingProxyType(
    {
        "=": "<>",
        "<>": "=",
        "<": ">=",
        "<=": ">",
        ">": "<=",
        ">=": "<",
        "is null": "is not null",
        "is not null": "is null",
        "is true": "is not true",
        "is not true": "is true",
        "is false": "is not false",
        "is not false": "is false",
        "is distinct from": "is not distinct from",
        "is not distinct from": "is distinct from",
    }
)
_WITH_NOT: Final = MappingProxyType({"not like": "like", "not ilike": "ilike"})
_SAME: Final = MappingProxyType({"is unknown": "is null", "is not unknown": "is not null"})
_BESIDE_NULL: Final = MappingProxyType(
    {"is distinct from": "is not null", "is not distinct from": "is null"}
)
_COMMUTING: Final = frozenset({"+", "*"})
_EPOCH: Final = date(1970, 1, 1)


def normal(scalar: Scalar) -> Scalar:
    """The expression in normal form, with all its parts."""
    if isinstance(scalar, Literal | Ref):
        return scalar
    return compute_once("normal", scalar, None, lambda: _normal(scalar))


def _normal(scalar: Scalar) -> Scalar:
    match scalar:
        case Call():
            made: Scalar = _call(scalar, tuple(normal(one) for one in scalar.parts))
        case Cast(what, kind):
            inner = normal(what)
            made = inner if inner.type == kind else Cast(inner, kind)
        case _:
            made = map_parts(scalar, normal)
    return _folded(made)


def conjunction(conditions: Iterable[Scalar]) -> Scalar:
    return _joined("and", tuple(conditions))


def _folded(scalar: Scalar) -> Scalar:
    """The value as a constant, if the expression reads no column."""
    if isinstance(scalar, Literal | Ref):
        return scalar
    if any(
        isinstance(one, Ref | Moment | StagedValue | StagedMember) for one in walk_scalar(scalar)
    ):
        return scalar
    if isinstance(scalar, Shift):
        return _shifted(scalar)
    try:
        return Literal(evaluate_at(scalar, None, None), scalar.type)
    except NotComputed:
        return scalar


def _shifted(shift: Shift) -> Scalar:
    start = shift.moved
    if not isinstance(start, Literal) or not isinstance(start.value, date):
        return shift
    value = start.value
    try:
        day = value.date() if isinstance(value, datetime) else value
        days = months_later((day - _EPOCH).days, shift.months) + shift.days
        moved = _EPOCH + timedelta(days=days)
        if shift.type.family is Family.DATE:
            return shift if shift.microseconds else Literal(moved, shift.type)
        time = value.timetz() if isinstance(value, datetime) else datetime.min.time()
        moment = datetime.combine(moved, time) + timedelta(microseconds=shift.microseconds)
    except OverflowError:
        return shift
    return Literal(moment, shift.type)


def _call(  # noqa: PLR0911 - one answer for each kind
    call: Call, parts: tuple[Scalar, ...]
) -> Scalar:
    function = _SAME.get(call.function, call.function)
    if function in {"and", "or"}:
        return _joined(function, parts)
    if function == "not":
        return _negated(parts[0])
    if function in _WITH_NOT:
        return _negated(replace(call, function=_WITH_NOT[function], parts=parts))
    if function in MIRRORED and _order(parts[0]) > _order(parts[1]):
        return _call(replace(call, function=MIRRORED[function]), (parts[1], parts[0]))
    if function in _BESIDE_NULL and isinstance(parts[1], Literal) and parts[1].value is None:
        return Call(_BESIDE_NULL[function], (parts[0],), BOOLEAN, nullable=False)
    if function in _COMMUTING and len(parts) == 2:  # noqa: PLR2004 - two sides
        kept = parts if call.type.family is Family.TEXT else tuple(sorted(parts, key=_order))
        return replace(call, parts=kept)
    if function == "in":
        return _in(call, parts)
    return replace(call, function=function, parts=parts)


def _order(scalar: Scalar) -> tuple[bool, str]:
    """Sort key: columns before constants, then by text."""
    return isinstance(scalar, Literal), scalar_sql(scalar)


def _in(call: Call, parts: tuple[Scalar, ...]) -> Scalar:
    what, *members = parts
    kept = [one for _, one in sorted({scalar_sql(one): one for one in members}.items())]
    if len(kept) == 1:
        return _call(Call("=", (what, kept[0]), BOOLEAN, call.nullable), (what, kept[0]))
    return replace(call, parts=(what, *kept))


def _joined(function: str, parts: tuple[Scalar, ...]) -> Scalar:
    """AND or OR without repeated parts and without parts that change nothing."""
    flat: dict[str, Scalar] = {}
    for one in parts:
        nested = one.parts if isinstance(one, Call) and one.function == function else (one,)
        flat |= {scalar_sql(each): each for each in nested}
    neutral, final = (True, False) if function == "and" else (False, True)
    kept = [
        one
        for _, one in sorted(flat.items())
        if not (isinstance(one, Literal) and one.value is neutral)
    ]
    if any(isinstance(one, Literal) and one.value is final for one in kept):
        return Literal(final, BOOLEAN)
    if not kept:
        return Literal(neutral, BOOLEAN)
    if len(kept) == 1:
        return kept[0]
    return Call(function, tuple(kept), BOOLEAN, any(one.nullable for one in kept))


def _negated(scalar: Scalar) -> Scalar:
    if isinstance(scalar, Literal):
        value = None if scalar.value is None else scalar.value is not True
        return Literal(value, scalar.type)
    if isinstance(scalar, Call):
        if scalar.function == "not":
            return scalar.parts[0]
        if scalar.function in {"and", "or"}:
            other = "or" if scalar.function == "and" else "and"
            return _joined(other, tuple(_negated(one) for one in scalar.parts))
        if (opposite := OPPOSITE.get(scalar.function)) is not None:
            return replace(scalar, function=opposite)
    return Call("not", (scalar,), BOOLEAN, scalar.nullable)
