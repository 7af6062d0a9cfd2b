"""Limits that are checked before parsing; no short text is expensive."""

import time

import pytest
from binding.clinic import CLINIC
from laws import for_each
from sqlglot.tokenizer_core import TokenType

from gateway.binding.bind import bind
from gateway.binding.text.lexer import DEPTH, LENGTH, check_lexing, tokens_of
from gateway.errors import Code, Refusal

_LONG = 20.0  # seconds; the texts take milliseconds, and machines are busy
_PREFIX = "SELECT COUNT(*) FROM patients WHERE "
EXPENSIVE = {
    "brackets": _PREFIX + "(" * 5000 + "1" + ")" * 5000,
    "types": "SELECT " + "date(" * 22 + "1" + ")" * 22,
    "uuids": "SELECT " + "uuid(" * 22 + "1" + ")" * 22,
    "arrays": "SELECT " + "array[" * 22 + "1" + "]" * 22,
    "casts": "SELECT " + "int[" * 22 + "1" + "]" * 22,
    "many small types": "SELECT " + ",".join(["int[int[int[int[1]]]]"] * 500),
    "subqueries": "SELECT * FROM " + "(SELECT * FROM " * 5000 + "patients" + ") t" * 5000,
    "cases": "SELECT " + "CASE WHEN " * 5000 + "1" + " END" * 5000,
    "negations": _PREFIX + "NOT " * 5000 + "smoker",
    "minuses": "SELECT " + "- " * 5000 + "1",
    "sums": "SELECT " + "+".join(["1"] * 4000),
    "unions": " UNION ALL ".join(["SELECT 1"] * 3000),
    "a doubling CTE": "WITH c0 AS (SELECT patient_id FROM patients)"
    + "".join(
        f", c{i} AS (SELECT a.patient_id FROM c{i - 1} a JOIN c{i - 1} b ON a.patient_id = b.patient_id)"
        for i in range(1, 25)
    )
    + " SELECT COUNT(*) FROM c24",
    "a doubling text": "WITH c0 AS (SELECT name AS x FROM patients)"
    + "".join(f", c{i} AS (SELECT x || x AS x FROM c{i - 1})" for i in range(1, 40))
    + " SELECT COUNT(x) FROM c39",
    "joins": "SELECT COUNT(*) FROM patients p"
    + "".join(f" JOIN patients p{i} ON p{i}.patient_id = p.patient_id" for i in range(600)),
    "grouping sets": "SELECT COUNT(*) FROM patients GROUP BY "
    + ", ".join(["CUBE (region, birth_year, income, smoker)"] * 8),
}


@for_each("name", EXPENSIVE)
def test_bind_refuses_quickly_when_a_text_is_made_to_be_expensive(name: str) -> None:
    """Deep, exponential and doubling texts are refused at once, without a crash."""
    before = time.perf_counter()
    with pytest.raises(Refusal) as caught:
        bind(EXPENSIVE[name], CLINIC)
    assert time.perf_counter() - before < _LONG
    assert caught.value.code in {Code.SQL_TOO_LARGE, Code.CLAUSE_UNSUPPORTED}


def test_tokens_refuses_a_text_that_is_too_long() -> None:
    """The length is looked at before anything else."""
    with pytest.raises(Refusal) as caught:
        tokens_of(" " * (LENGTH + 1))
    assert caught.value.code is Code.SQL_TOO_LARGE


@pytest.mark.parametrize(
    "text", ["IN ($1,$2,$3)", "= $1-$2", "= $1+$2||$3", "= any($1)", "< $1::int"]
)
def test_tokens_takes_parameters_that_stand_close(text: str) -> None:
    """What drivers write without blanks reads as it does with them, at the places where it is."""
    tokens = tokens_of(f"a {text}")
    apart = tokens_of(f"a {text}".replace("$", " $").replace("-", " - "))
    assert [one.token_type for one in tokens] == [one.token_type for one in apart]
    holes = [one.start for one in tokens if one.token_type is TokenType.PARAMETER]
    assert holes == [place for place, sign in enumerate(f"a {text}") if sign == "$"]


@pytest.mark.parametrize("text", ["SELECT \x011", "SELECT $1, \x01", "SELECT n'\\' || $1 || '"])
def test_tokens_refuses_what_only_looks_like_a_parameter(text: str) -> None:
    """The sign that stands for `$` inside is no way to write a parameter, and a string that is read otherwise is none."""
    with pytest.raises(Refusal) as caught:
        check_lexing(tokens_of(text))
    assert caught.value.code is Code.SQL_SYNTAX


def test_tokens_keeps_strings_with_dollars_and_marks() -> None:
    """Inside a string nothing is a parameter."""
    assert [one.text for one in tokens_of("SELECT '$1,$2', '\x011'")][1::2] == ["$1,$2", "\x011"]


def test_tokens_takes_brackets_as_deep_as_allowed() -> None:
    """Depth up to the limit is fine."""
    assert tokens_of("(" * DEPTH + ")" * DEPTH)


@pytest.mark.parametrize("sql", ["SELECT 1 --\rx", "SELECT\xa01", "SELECT '\x00'", "SELECT\u20031"])
def test_bind_refuses_signs_that_databases_read_differently(sql: str) -> None:
    """Blanks and line ends that PostgreSQL reads otherwise do not get through."""
    with pytest.raises(Refusal) as caught:
        bind(sql, CLINIC)
    assert caught.value.code is Code.SQL_SYNTAX
