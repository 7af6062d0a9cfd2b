"""What rows of the table of functions say of NULL and of exact values, held against both databases."""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from datetime import date
from decimal import Decimal
from fractions import Fraction
from typing import Any, Final

import pytest
from engines.extremes import ROWS, Databases, answers, bound, scalars
from engines.scalar_cases import ALL

from gateway.catalog.types import Family
from gateway.catalog.values import Value
from gateway.engines.sql.partial_select import Dialect
from gateway.errors import Refusal
from gateway.functions.exact_values import Known, NotComputed
from gateway.functions.function import Function, Gaps, Nulls
from gateway.functions.range_arithmetic import NOTHING
from gateway.functions.table import FUNCTIONS
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call, Literal, walk_scalar
from gateway.ranges.expressions import bounds_of

_UNREADABLE: Final = object()
"""A value that is no value of the catalog: a decimal that DuckDB shows as a double."""
_LIMITED: Final = frozenset({Family.WHOLE, Family.DATE})
"""What leaves such a type is NULL: that is no gap of the function."""


def calls(subject: str) -> list[Call]:
    """All calls in the expressions of a subject, each once."""
    made = (one for sql in ALL[subject] for one in walk_scalar(bound(sql)) if isinstance(one, Call))
    return list(dict.fromkeys(made))


def value_of(shown: Any, family: Family) -> Any:  # noqa: ANN401 - whatever a driver gives
    """What a driver gives, as the catalog has values."""
    if isinstance(shown, float):
        return Fraction(repr(shown)) if family is Family.FLOAT else _UNREADABLE
    if isinstance(shown, Decimal):
        return Fraction(shown)
    if family is Family.EXACT and isinstance(shown, int) and not isinstance(shown, bool):
        return Fraction(shown)
    return shown


def told_wrong(
    function: Function, call: Call, operands: Sequence[Any], result: Value | None
) -> Iterator[str]:
    """What the row says of these operands that is not so."""
    missing = any(one is None for one in operands)
    if missing and function.nulls is Nulls.STRICT and result is not None:
        yield f"not NULL of NULL: {result}"
    fits = call.type.family not in _LIMITED and bounds_of(call, {}) is not NOTHING
    if not missing and function.gaps is Gaps.NONE and fits and result is None:
        yield "NULL of operands that are there"
    known: Known
    try:
        if function.evaluate is None or any(one is _UNREADABLE for one in (*operands, result)):
            return
        strict = missing and function.nulls is Nulls.STRICT
        known = None if strict else function.evaluate(call, operands)
    except NotComputed:
        return
    if known != result or isinstance(known, date) is not isinstance(result, date):
        yield f"{known} is computed, not {result}"


def found_wrong(
    databases: Databases, dialect: Dialect, subject: str, function: Function | None = None
) -> list[str]:
    """What rows of the table say that the database does not do, for all rows of the table of extremes."""
    rendering = scalars(dialect)
    wrong = []
    for call in calls(subject):
        try:
            items = [rendering.sql(one) for one in (call, *call.parts)]
        except (Refusal, BrokenPlan):
            continue  # an operand that nothing bounds
        row_of = FUNCTIONS[call.function] if function is None else function
        if row_of.name != call.function:
            continue
        for number, shown in enumerate(answers(databases.of(dialect), items)[:ROWS]):
            result, *operands = (
                value_of(value, one.type.family)
                for value, one in zip(shown, (call, *call.parts), strict=True)
            )
            operands = [
                part.value if isinstance(part, Literal) else value
                for part, value in zip(call.parts, operands, strict=True)
            ]
            said = told_wrong(row_of, call, operands, result)
            wrong += [f"{call.function} {operands} in row {number}: {one}" for one in said]
    return wrong


@pytest.mark.parametrize("dialect", ["postgresql", "duckdb"])
@pytest.mark.parametrize("subject", sorted(ALL))
def test_rows_of_the_table_say_what_the_database_does(
    databases: Databases, dialect: Dialect, subject: str
) -> None:
    """STRICT functions give NULL for NULL, those without gaps give values, and exact values are the database's."""
    assert found_wrong(databases, dialect, subject)[:10] == []


def test_rows_that_say_something_else_are_found(databases: Databases) -> None:
    """The check fails for a ceiling that is told to be a floor, COALESCE told to be STRICT, and Python's own `!=`."""
    ceiling = replace(FUNCTIONS["floor"], evaluate=FUNCTIONS["ceil"].evaluate)
    strict = replace(FUNCTIONS["coalesce"], nulls=Nulls.STRICT)
    rooted = replace(FUNCTIONS["sqrt"], gaps=Gaps.NONE)
    unlike = replace(FUNCTIONS["is distinct from"], evaluate=lambda _, both: both[0] != both[1])
    assert found_wrong(databases, "duckdb", "mixed", unlike)
    assert found_wrong(databases, "postgresql", "numbers", ceiling)
    assert found_wrong(databases, "postgresql", "compared", strict)
    assert found_wrong(databases, "postgresql", "numbers", rooted)
