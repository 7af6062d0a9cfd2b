"""Connectives, and tests of NULL and truth."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from sqlalchemy import Boolean, and_, literal_column, or_
from sqlalchemy import not_ as sql_not
from sqlalchemy.sql.elements import Grouping

from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.pieces import Render, Rendering
from gateway.plan.scalars import Call


def _and(rendering: Rendering, call: Call) -> Sql:
    return and_(*(rendering.sql(one) for one in call.parts)).self_group()


def _or(rendering: Rendering, call: Call) -> Sql:
    return or_(*(rendering.sql(one) for one in call.parts)).self_group()


def _not(rendering: Rendering, call: Call) -> Sql:
    negated: Sql = sql_not(rendering.sql(call.parts[0]).self_group())
    return negated


def _test(operator: str, truth: str) -> Render:
    def render(rendering: Rendering, call: Call) -> Sql:
        what = Grouping(rendering.sql(call.parts[0]))
        made: Sql = what.op(operator, return_type=Boolean())(literal_column(truth))
        return made

    return render


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {
        "and": _and,
        "or": _or,
        "not": _not,
        "is null": _test("IS", "NULL"),
        "is not null": _test("IS NOT", "NULL"),
        "is unknown": _test("IS", "NULL"),
        "is not unknown": _test("IS NOT", "NULL"),
        "is true": _test("IS", "TRUE"),
        "is false": _test("IS", "FALSE"),
        "is not true": _test("IS NOT", "TRUE"),
        "is not false": _test("IS NOT", "FALSE"),
    }
)
