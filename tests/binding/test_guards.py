"""Guards of a finishing: NULL where PostgreSQL raises, its value and type where it does not."""

from collections.abc import Iterator

import pytest
from binding.cases import every
from binding.clinic import CLINIC

from gateway.binding.bind import bind, parse
from gateway.binding.bound import Cut
from gateway.binding.guards import can_raise, with_guards
from gateway.binding.staging import render_sql
from gateway.binding.text.lexer import tokens_of
from gateway.errors import Refusal
from gateway.twin import Twin, TwinRefused, TwinSession, visible_tables

_WHOLE = ("smallint", "integer", "bigint")
_NUMBERS = (*_WHOLE, "numeric", "numeric(9,2)", "real", "double precision")
_VALUES = ("0", "1", "-1", "3", "-400", "32767")
_LONGEST = 300
_OF_NUMBERS = (
    *("7 / a", "a / a", "7.5 / a", "a / (a - 1)", "interval '1 day' / a", "1 - 100 / a"),
    *("ln(a)", "log(a)", "log10(a)", "sqrt(a)", "sqrt(a - 1)", "exp(a)", "asin(a)", "acos(a)"),
    *("power(a, -1)", "power(a, 0.5)", "a ^ 2", "2 ^ a", "power(-2, a)", "a ^ a", "power(1000, a)"),
    *("CAST(a AS smallint)", "CAST(a * 100 AS smallint)", "CAST(a AS numeric(4,2))"),
    *("CAST(a AS text)", "CAST(CAST(a AS text) AS integer)", "CAST(a AS double precision)"),
    *("a * CAST(2 AS double precision)", "a - CAST(a AS double precision) * 86400"),
    "CAST(a AS smallint) * 32767::smallint - CAST(a AS double precision)",
    *("ln(sqrt(a) / a)", "CASE WHEN a > 0 THEN 1 / a ELSE ln(a) END"),
)
_OF_WHOLE = (
    *("7 % a", "mod(7, a)", "div(7, a)", "CAST(a AS integer) % a"),
    *("a * a * 32767", "a + 32767::smallint", "a - 9223372036854775807", "2147483647 - a"),
    *(
        "(SELECT x * a FROM (VALUES (1), (2)) v(x) WHERE x > a)",
        "(SELECT x FROM (VALUES (a)) v(x))",
    ),
)
_OF_EXACT = ("log(2.0, a)", "log(a, 8.0)", "div(7.5, a)", "mod(7.5, a)")
_TEXTS = (
    "1",
    "-2.5",
    "none",
    "",
    "2024-02-29",
    "2024-02-30",
    "true",
    "12:30",
    " 7 ",
    "99999999999",
)
_OF_TEXTS = (
    *("CAST(a AS integer)", "CAST(a AS numeric)", "CAST(a AS date)", "CAST(a AS boolean)"),
    *("CAST(a AS double precision)", "CAST(a AS bigint) + 1", "a::timestamp", "a || 'x'"),
)


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(CLINIC)) as session:
        yield session


def _guarded(sql: str) -> str:
    tree = parse(sql, tokens_of(sql))
    made = with_guards(tree)
    return render_sql(tree if made is None else made)


def _shown(session: TwinSession, sql: str) -> object:
    try:
        return tuple(session.run(sql)[0])
    except TwinRefused as refused:
        return refused.sqlstate


def _is_beyond(found: object) -> bool:
    """Whether it is a power that no double is as large as, nor as small as."""
    return isinstance(found, tuple) and len(found[0] or "") > _LONGEST


def _disagreements(
    session: TwinSession,
    expressions: tuple[str, ...],
    types: tuple[str, ...],
    values: tuple[str, ...],
) -> Iterator[str]:
    """Every expression over every value of every type."""
    for expression in expressions:
        for of in types:
            sql = f"SELECT {expression} FROM r"
            first = f"WITH r AS (SELECT CAST(NULL AS {of}) AS a)"
            try:
                plain = session.describe(f"{first} {sql}").columns
            except TwinRefused:
                continue  # there is no such operator of this type
            guarded = _guarded(sql)
            if session.describe(f"{first} {guarded}").columns != plain:
                yield f"{expression} of {of}: another name or type"
            every_value = ", ".join(f"('{value}')" for value in values)
            there = (
                f"WITH t(v) AS (VALUES {every_value}), r AS (SELECT CAST(v AS {of}) AS a FROM t)"
            )
            for value, found in zip(values, session.run(f"{there} {guarded}"), strict=True):
                one = f"WITH r AS MATERIALIZED (SELECT CAST('{value}' AS {of}) AS a)"
                expected = _shown(session, f"{one} {sql}")
                wanted = (None,) if isinstance(expected, str) or _is_beyond(expected) else expected
                if tuple(found) != wanted:
                    yield f"{expression} of {value} as {of}: {tuple(found)}, not {wanted}"


def test_guarded_numbers_are_postgresql_s_own_or_null(session: TwinSession) -> None:
    """Of every type, the same value and the same type; NULL for nothing but an error."""
    found = [
        *_disagreements(session, _OF_NUMBERS, _NUMBERS, _VALUES),
        *_disagreements(session, _OF_WHOLE, _WHOLE, _VALUES),
        *_disagreements(session, _OF_EXACT, ("numeric",), _VALUES),
        *_disagreements(session, _OF_TEXTS, ("text", "varchar"), _TEXTS),
    ]
    assert not [one[:150] for one in found]


def test_what_reads_no_column_is_not_guarded() -> None:
    """It raises whatever is released, and is found before the charge."""
    for text in ("1 / 0", "ln(0)", "CAST('x' AS integer)", "7 / '0'", "a / 0"):
        tree = parse(f"SELECT {text} FROM r", tokens_of(f"SELECT {text} FROM r"))
        assert with_guards(tree) is None
        assert can_raise(tree)


def test_columns_in_an_order_cannot_raise() -> None:
    """They are not rehearsed."""
    sql = "SELECT a, b AS c FROM r ORDER BY a DESC NULLS LAST"
    assert not can_raise(parse(sql, tokens_of(sql)))


def test_guards_of_golden_statements_are_read_as_the_statements_are(session: TwinSession) -> None:
    """PostgreSQL gives both the same names and types, so none is left out."""
    seen = 0
    for case in every():
        if case.refused:
            continue
        plain = bind(case.sql, CLINIC)
        if not isinstance(plain, Cut) or plain.finishing.guarded is None:
            continue
        try:
            bound = bind(case.sql, CLINIC, describe=lambda sql: session.describe(sql).columns)
        except Refusal:
            continue
        assert isinstance(bound, Cut)
        assert bound.finishing.guarded == plain.finishing.guarded, case.sql
        seen += 1
    assert seen
