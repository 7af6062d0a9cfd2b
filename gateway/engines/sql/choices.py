"""Comparing values, and choosing one of several: what meets is brought into one type first."""

from collections.abc import Sequence
from typing import Final

from sqlalchemy import case, cast, func
from sqlalchemy.types import TIMESTAMP

from gateway.catalog.types import Family
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.number_types import as_number, common_number
from gateway.engines.sql.pieces import TEXT, Rendering, binary, test
from gateway.plan.scalars import Call, Case, Literal, Scalar
from gateway.plan.types import NUMBERS, TIMES

_COMPARED: Final = {
    "=": "=",
    "<>": "<>",
    "<": "<",
    "<=": "<=",
    ">": ">",
    ">=": ">=",
    "is distinct from": "IS DISTINCT FROM",
    "is not distinct from": "IS NOT DISTINCT FROM",
}
FUNCTIONS: Final = frozenset({*_COMPARED, "coalesce", "greatest", "least", "nullif"})


def call_of(rendering: Rendering, call: Call) -> Sql | None:
    name, parts = call.function, call.parts
    if name in _COMPARED:
        left, right = met(rendering, parts)
        return test(left, _COMPARED[name], right)
    if name == "nullif":
        left, right = met(rendering, parts)
        return func.nullif(left, right, type_=left.type)
    if len(parts) == 1:
        return rendering.sql(parts[0])
    given = met(rendering, parts)
    match name:
        case "coalesce":
            return func.coalesce(*given, type_=given[0].type)
        case "greatest":
            return func.greatest(*given, type_=given[0].type)
        case _:
            return func.least(*given, type_=given[0].type)


def case_of(rendering: Rendering, scalar: Case) -> Sql:
    *results, otherwise = met(rendering, scalar.results)
    whens = [rendering.sql(when) for when, _ in scalar.branches]
    return case(*zip(whens, results, strict=True), else_=otherwise)


def among(rendering: Rendering, call: Call) -> Sql:
    """`x IN (…)` of constants."""
    what, *values = met(rendering, call.parts)
    return what.in_(values)


def met(rendering: Rendering, scalars: Sequence[Scalar]) -> list[Sql]:
    """The values in one type, in which equality and order are what PostgreSQL says of them."""
    families = {one.type.family for one in scalars}
    if families == {Family.TEXT}:
        return [binary(_plain(rendering, one)) for one in scalars]
    if families == {Family.WHOLE}:
        return [rendering.sql(one) for one in scalars]
    if families <= NUMBERS:
        kind = common_number(rendering, scalars)
        return [as_number(rendering, one, kind) for one in scalars]
    if families == TIMES:
        return [cast(rendering.sql(one), TIMESTAMP()) for one in scalars]
    return [rendering.sql(one) for one in scalars]


def _plain(rendering: Rendering, scalar: Scalar) -> Sql:
    made = rendering.sql(scalar)
    return made if isinstance(scalar, Literal) else cast(made, TEXT)
