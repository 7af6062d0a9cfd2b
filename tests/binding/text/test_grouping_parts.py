"""Conditions as parts of `CUBE`, `ROLLUP` and `GROUPING SETS` are read as PostgreSQL reads them."""

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.binding.text.lexer import tokens_of
from gateway.binding.text.round_trip import grouping_parts_in_brackets
from gateway.errors import Code, Refusal

_PARTS = {
    "a comparison": ("CUBE (birth_year >= 1990)", "CUBE ((birth_year >= 1990))"),
    "LIKE": ("ROLLUP (region LIKE 'n,%', smoker)", "ROLLUP ((region LIKE 'n,%'), smoker)"),
    "IS NULL and BETWEEN": (
        "CUBE (region IS NULL, birth_year BETWEEN 1 AND 3)",
        "CUBE ((region IS NULL), (birth_year BETWEEN 1 AND 3))",
    ),
    "ISNULL": ("CUBE (region ISNULL)", "CUBE ((region ISNULL))"),
    "IN behind brackets": (
        "ROLLUP ((birth_year) + 1 IN (1, 2), smoker)",
        "ROLLUP (((birth_year) + 1 IN (1, 2)), smoker)",
    ),
    "AND with a comment": (
        "CUBE (smoker AND NOT smoker /* , */, region)",
        "CUBE ((smoker AND NOT smoker) /* , */, region)",
    ),
    "IS DISTINCT FROM": (
        "CUBE (region IS DISTINCT FROM 'x')",
        "CUBE ((region IS DISTINCT FROM 'x'))",
    ),
    "sets in sets": (
        "GROUPING SETS (birth_year > 3, (), ROLLUP (smoker = true, region))",
        "GROUPING SETS ((birth_year > 3), (), ROLLUP ((smoker = true), region))",
    ),
}
_KEPT = (
    "CUBE (region, birth_year / 10)",
    "CUBE ((birth_year >= 1990), (region, smoker))",
    "GROUPING SETS ((birth_year >= 1990, region), ())",
    "ROLLUP (abs(CASE WHEN smoker THEN 1 ELSE 2 END))",
    "birth_year >= 1990, region",
)


def _asked(keys: str) -> str:
    return f"SELECT COUNT(*) FROM patients GROUP BY {keys}"


def _bound(keys: str) -> Cut:
    found = bind(_asked(keys), CLINIC)
    assert isinstance(found, Cut)
    return found


@pytest.mark.parametrize(("written", "bracketed"), _PARTS.values(), ids=_PARTS)
def test_condition_gets_brackets_and_means_the_same(written: str, bracketed: str) -> None:
    """The statement is the one that is written with brackets."""
    sql = _asked(written)
    assert grouping_parts_in_brackets(sql, tokens_of(sql)) == _asked(bracketed)
    one, other = _bound(written), _bound(bracketed)
    assert one.releases == other.releases
    assert one.finishing.text() == other.finishing.text()


@pytest.mark.parametrize("keys", _KEPT)
def test_all_other_parts_stay_as_they_are(keys: str) -> None:
    """Brackets of several keys would make one composite key of them."""
    sql = _asked(keys)
    assert grouping_parts_in_brackets(sql, tokens_of(sql)) == sql


@pytest.mark.parametrize("keys", ["CUBE (", "CUBE (smoker = ", "ROLLUP (smoker = true", "CUBE )"])
def test_text_that_is_no_query_is_refused(keys: str) -> None:
    """Brackets that do not match are left to the parser."""
    with pytest.raises(Refusal) as refused:
        bind(_asked(keys), CLINIC)
    assert refused.value.code is Code.SQL_SYNTAX
