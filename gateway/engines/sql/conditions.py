"""Connectives, tests of NULL and truth, comparisons, and choices such as CASE and GREATEST.

Values that are compared, and the alternatives of a choice, are brought into one type first.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final

from sqlalchemy import Boolean, and_, case, cast, func, literal_column, or_
from sqlalchemy import not_ as sql_not
from sqlalchemy.sql.elements import Grouping
from sqlalchemy.types import TIMESTAMP

from gateway.catalog.types import Family
from gateway.engines.sql.number_types import as_number, common_number
from gateway.engines.sql.partial_select import Sql
from gateway.engines.sql.pieces import TEXT, Render, Rendering, binary, compare
from gateway.plan.fields import NUMBERS, TIMES
from gateway.plan.scalars import Call, Case, Literal, Scalar


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


def render_comparison(operator: str) -> Render:
    def render(rendering: Rendering, call: Call) -> Sql:
        left, right = comparable_values(rendering, call.parts)
        return compare(left, operator, right)

    return render


def _first_not_null(rendering: Rendering, call: Call) -> Sql:
    given = comparable_values(rendering, call.parts)
    return func.coalesce(*given, type_=given[0].type)


def _greatest(rendering: Rendering, call: Call) -> Sql:
    given = comparable_values(rendering, call.parts)
    return func.greatest(*given, type_=given[0].type)


def _least(rendering: Rendering, call: Call) -> Sql:
    given = comparable_values(rendering, call.parts)
    return func.least(*given, type_=given[0].type)


def _null_if(rendering: Rendering, call: Call) -> Sql:
    left, right = comparable_values(rendering, call.parts)
    return func.nullif(left, right, type_=left.type)


def _of_several(render: Render) -> Render:
    """What is chosen of one argument is that one."""
    return lambda rendering, call: (
        rendering.sql(call.parts[0]) if len(call.parts) == 1 else render(rendering, call)
    )


def render_case(rendering: Rendering, scalar: Case) -> Sql:
    *results, otherwise = comparable_values(rendering, scalar.results)
    whens = [rendering.sql(when) for when, _ in scalar.branches]
    return case(*zip(whens, results, strict=True), else_=otherwise)


def render_membership(rendering: Rendering, call: Call) -> Sql:
    """`x IN (…)` of constants."""
    what, *values = comparable_values(rendering, call.parts)
    return what.in_(values)


def comparable_values(rendering: Rendering, scalars: Sequence[Scalar]) -> list[Sql]:
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


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {
        **{name: render_comparison(name) for name in ("=", "<>", "<", "<=", ">", ">=")},
        "is distinct from": render_comparison("IS DISTINCT FROM"),
        "is not distinct from": render_comparison("IS NOT DISTINCT FROM"),
        "in": render_membership,
        "coalesce": _of_several(_first_not_null),
        "greatest": _of_several(_greatest),
        "least": _of_several(_least),
        "nullif": _null_if,
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
