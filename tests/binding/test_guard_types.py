"""Guards over operands of every type: what PostgreSQL computes, it computes beside an undefined number as well.

Each expression stands beside `1 / z`, where z is 0: the statement as it is written raises, so the guarded one runs.
"""

from collections.abc import Iterable, Iterator, Mapping
from itertools import product

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import parse
from gateway.binding.guards import with_guards
from gateway.binding.staging import render_sql
from gateway.binding.text.lexer import tokens_of
from gateway.twin import Twin, TwinRefused, TwinSession, visible_tables

_VALUES: Mapping[str, tuple[str, ...]] = {
    "date": ("2024-12-01", "2000-02-29"),
    "timestamp": ("2024-12-01 10:00:00",),
    "timestamptz": ("2024-12-01 10:00:00+02",),
    "time": ("12:00",),
    "interval": ("1 mon 2 days 03:00", "-5 days"),
    "numeric": ("7", "-2.5", "0"),
    "smallint": ("3", "-32768", "0"),
    "integer": ("7", "-2147483648", "0"),
    "bigint": ("7", "9223372036854775807", "0"),
    "double precision": ("2.5", "1e308", "0"),
    "real": ("1.5", "0"),
    "text": ("x", "1"),
    "boolean": ("true",),
    "uuid": ("00000000-0000-0000-0000-000000000000",),
}
_ARITHMETIC = (
    *("{} + {}", "{} - {}", "{} * {}", "{} / {}", "{} % {}", "{} ^ {}"),
    *("mod({}, {})", "log({}, {})"),
)
_OPERATORS = (
    *_ARITHMETIC,
    *("{} || {}", "{} = {}", "div({}, {})", "power({}, {})"),
    *("greatest({}, {})", "coalesce({}, {})", "nullif({}, {})"),
)
_BESIDE = (
    *("a - a + a", "(a - a) * 2", "(a - a) / 2", "- (a - a)", "CAST(a - a AS text)", "(SELECT a)"),
    *("lag(a) OVER ()", "sum(a) OVER ()", "extract(epoch FROM a)", "date_trunc('day', a)"),
    *("a - CASE WHEN true THEN date '2024-01-01' ELSE a END", "coalesce(time '12:00', a) + a"),
    *("(a - a)::integer", "(SELECT (a - a) * x FROM (VALUES (1)) v(x) WHERE (a - a) * x < x)"),
    *(f"{name}(a)" for name in ("ln", "log", "log10", "sqrt", "cbrt", "exp", "asin", "acos")),
    *(f"{name}(a)" for name in ("asind", "acosd", "atanh", "acosh", "sinh", "round", "sign")),
    *("ntile(a) OVER ()", "factorial(least(a, 40))"),
    *(f"CAST(a AS {of})" for of in (*_VALUES, "numeric(4,2)", "varchar(2)")),
)
# what a calendar or an interval cannot hold raises with guards as without: the analyst's own numbers are that large
_BEYOND = ("22008",)
_POWERS = ("^", "power")


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(CLINIC)) as session:
        yield session


def _guarded(sql: str) -> str:
    made = with_guards(parse(sql, tokens_of(sql)))
    assert made is not None
    return render_sql(made)


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else f"'{value}'"


def _shown(session: TwinSession, sql: str) -> object:
    try:
        return session.run(sql)[0][0]
    except TwinRefused as refused:
        return refused


def _disagreements(
    session: TwinSession,
    expression: str,
    types: tuple[str, str],
    rows: Iterable[tuple[str | None, str | None]],
) -> Iterator[str]:
    """Where the guarded text gives no value of PostgreSQL's, no NULL for an error, or another column."""

    def over(row: tuple[str | None, str | None], query: str) -> str:
        a, b = (f"CAST({_quoted(v)} AS {of})" for v, of in zip(row, types, strict=True))
        return f"WITH r AS MATERIALIZED (SELECT {a} AS a, {b} AS b, 0 AS z) {query}"

    nothing, written = (None, None), f"SELECT {expression} AS x, 1 / z AS y FROM r"
    about = f"{expression} of {types}"
    try:
        plain = session.describe(over(nothing, written)).columns
    except TwinRefused:
        return  # there is no such operator of these types
    guarded = _guarded(written)
    try:
        if session.describe(over(nothing, guarded)).columns != plain:
            yield f"{about}: another type"
    except TwinRefused as refused:
        yield f"{about}: {refused}"
        return
    for row in (nothing, *rows):
        expected = _shown(session, over(row, f"SELECT {expression} FROM r"))
        found = _shown(session, over(row, guarded))
        if isinstance(expected, TwinRefused):
            if expected.sqlstate in _BEYOND and isinstance(found, TwinRefused):
                continue
            expected = None
        if found != expected and not (found is None and any(p in expression for p in _POWERS)):
            yield f"{about}, {row}: {found}, not {expected}"


def test_operators_of_every_pair_of_types_give_values_or_null(session: TwinSession) -> None:
    """Between two columns: the guard follows from both operands, never from the result alone."""
    found = [
        one
        for operator, *types in product(_OPERATORS, _VALUES, _VALUES)
        for one in _disagreements(
            session,
            operator.format("a", "b"),
            (types[0], types[1]),
            product(_VALUES[types[0]], _VALUES[types[1]]),
        )
    ]
    assert not found


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "without a type"])
def test_constants_beside_a_column_are_no_error(session: TwinSession, *, typed: bool) -> None:
    """PostgreSQL computes constants while it plans, in branches that no row reaches as well."""
    found: list[str] = []
    for operator, of, other in product(_ARITHMETIC, _VALUES, _VALUES):
        if not typed and of == "text":
            continue  # `'7' - a` is of JSON, and raises for what is none
        # a constant divisor of 0, or logarithm of one, raises whatever was released, and is found before the charge
        constant = f"CAST('{_VALUES[other][0]}' AS {other})" if typed else f"'{_VALUES[other][0]}'"
        rows = tuple((value, None) for value in _VALUES[of])
        for operands in (("a", constant), (constant, "a")):
            found += _disagreements(session, operator.format(*operands), (of, of), rows)
    assert not found


def test_null_beside_a_column_changes_no_function(session: TwinSession) -> None:
    """A guard around NULL would give it a type, and PostgreSQL would look for another function."""
    found: list[str] = []
    for operator, of in product(_OPERATORS, _VALUES):
        rows = tuple((value, None) for value in _VALUES[of])
        for operands in (("a", "NULL"), ("NULL", "a")):
            found += _disagreements(session, operator.format(*operands), (of, of), rows)
    assert not found


def test_expressions_of_every_type_give_values_or_null(session: TwinSession) -> None:
    """Functions, casts and sums within others."""
    found = [
        one
        for expression, of in product(_BESIDE, _VALUES)
        for one in _disagreements(
            session, expression, (of, of), [(value, None) for value in _VALUES[of]]
        )
    ]
    assert not found


@pytest.mark.parametrize(
    "condition",
    [
        "a + time '12:00' > timestamp '2024-01-01' + time '12:00' + (a - a) * interval '1 day'",
        """EXISTS (SELECT FROM (VALUES (timestamp '2024-01-01')) v(t)
            WHERE v.t < a + time '12:00' AND v.t < a - date '2000-01-01' + date '2020-01-01')""",
    ],
    ids=["of its own columns", "of those around it"],
)
def test_constants_in_a_condition_are_no_error_while_it_is_estimated(
    session: TwinSession, condition: str
) -> None:
    """The planner computes even more of a condition than of a result, to guess how many rows it keeps."""
    first = "WITH r AS MATERIALIZED (SELECT date '2024-12-01' AS a, 0 AS z)"
    written = f"SELECT 1 / z AS y FROM r WHERE {condition}"
    assert list(session.run(f"{first} {_guarded(written)}")[0]) == [None]
