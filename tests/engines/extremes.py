"""A table of extreme values in both databases, and expressions over it, rendered and plain.

The columns of `stored` hold what a database can hold; `seen` holds what is enforced of it. An expression is
rendered over the enforced columns of `stored`, and PostgreSQL's own answer is asked of `seen`.
"""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from fractions import Fraction
from typing import Any, Final

from sqlalchemy import Connection, Engine, column, select, table, text
from sqlalchemy.exc import DBAPIError
from sqlglot import exp

from gateway.binding.bind import parse
from gateway.binding.expressions import ScalarBinder as Binder
from gateway.binding.scope import Visible
from gateway.binding.text.lexer import tokens_of
from gateway.catalog.domains import Anything, Bound, Domain, Interval
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.sql.clamp import clamp_column
from gateway.engines.sql.expressions import ScalarSql
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.functions.range_arithmetic import Range
from gateway.plan.relations import Scan, StagedRows
from gateway.plan.scalars import Scalar
from gateway.ranges.relations import ranges_of

_ONE: Final = Fraction(1)


def _within(low: Bound, high: Bound) -> Interval:
    return Interval(low, high, _ONE)


_NUMBERS: Final[list[str | None]] = ["0", "1", "-1", None, "0.5", "-2.5", "1e9", "-1e9", "3.25"]
_FLOATS: Final[list[str | None]] = [
    *_NUMBERS,
    *("NaN", "Infinity", "-Infinity", "-0.0", "5e-324", "-5e-324", "1e-200", "2.5", "3.5"),
    *("1e308", "-1e308", "0.1", "1e-16"),
]
_DATES: Final[list[str | None]] = [
    *(None, "infinity", "-infinity", "0001-01-01", "9999-12-31", "2024-02-29", "2023-12-31"),
    *("2000-01-01", "1900-02-28", "2021-01-03", "1970-01-01", "5000-06-30", "0004-02-29"),
]
_STAMPS: Final[list[str | None]] = [
    *(f"{one} 13:14:15.678901" if one and one[0].isdigit() else one for one in _DATES),
    *("9999-12-31 23:59:59.999999", "0001-01-01 00:00:00", "2024-03-31 00:00:00"),
]
_TEXTS: Final[list[str | None]] = [
    *(None, "", "a", "A", "abc", "a,b,c", "ÄöÜß", "añb日本", "😀x", "  12 ", "-7", "+5", "1e3"),
    *("12.5", "1_000", "0x10", "99999999999999999999999", "NaN", "inf", "2024-02-30"),
    *("2024-02-29", "0000-01-01", "yesterday", "true", "%", "a_c", "\\", "xxaxx", "\tz", "1e99"),
    *(".5", "5.", "1e-99", "İı", "éa", "Z"),
]
ZONE: Final = "Asia/Kolkata"
"""Of the session in PostgreSQL: a clock that is half an hour away from all of Europe's."""
_MOMENTS: Final[list[str | None]] = [
    *(None if one is None else f"{one}+00" if one[0].isdigit() else one for one in _STAMPS),
    # around changes of the clocks in Berlin, São Paulo, Lord Howe and Apia
    *("2024-03-31 00:59:59.999999+00", "2024-03-31 01:00:00+00", "2024-10-26 23:30:00+00"),
    *("2024-10-27 00:30:00+00", "2024-10-27 00:59:59.999999+00", "2024-10-27 01:30:00+00"),
    *("2018-02-18 01:30:00+00", "2018-02-18 02:30:00+00", "2018-11-04 02:59:59.999999+00"),
    *("2018-11-04 03:00:00+00", "2024-04-06 14:45:00+00", "2024-04-06 15:15:00+00"),
    *("2011-12-30 09:59:59.999999+00", "2011-12-30 10:00:00+00", "2024-10-05 15:45:00+00"),
    *("2024-02-29 18:30:00+00", "2024-02-29 18:29:59.999999+00", "2024-06-30 22:00:00+00"),
]
_LOCAL: Final[list[str | None]] = [
    *_STAMPS,
    *("2024-03-31 02:00:00", "2024-03-31 02:30:00", "2024-03-31 03:00:00", "2024-10-27 02:30:00"),
    *("2024-10-27 01:59:59.999999", "2024-10-27 03:00:00", "2018-11-04 00:00:00"),
    *("2018-11-04 00:30:00", "2018-11-04 01:00:00", "2018-02-17 23:30:00", "2018-02-18 00:00:00"),
    *("2011-12-29 23:59:59.999999", "2011-12-30 12:00:00", "2011-12-31 00:00:00"),
    *("2024-10-06 02:15:00", "2024-04-07 01:45:00"),
]
STORED: Final[dict[str, tuple[str, Domain, list[str | None]]]] = {
    "s": ("smallint", Anything(), ["0", "1", "-1", None, "32767", "-32768", "7"]),
    "i": ("integer", Anything(), ["0", "1", "-1", None, "2147483647", "-2147483648", "12"]),
    "j": ("integer", _within(-100, 100), ["0", "3", "-7", None, "2147483647", "100", "99"]),
    "b": (
        "bigint",
        Anything(),
        ["0", "1", "-1", None, "9223372036854775807", "-9223372036854775808", "36"],
    ),
    "n": ("numeric(12,2)", _within(Fraction(-(10**9)), Fraction(10**9)), _NUMBERS),
    "m": ("numeric", _within(Fraction(-(10**12)), Fraction(10**12)), [*_NUMBERS, "0.3333333333"]),
    "w": ("numeric", Anything(), [*_NUMBERS, "9" * 28, "-" + "9" * 28, "0.0000000001"]),
    "f": ("double precision", _within(Fraction(-(10**9)), Fraction(10**9)), _FLOATS),
    "p": ("double precision", _within(Fraction(1), Fraction(300)), _FLOATS),
    "g": ("double precision", Anything(), _FLOATS),
    "r": (
        "real",
        _within(Fraction(-1000), Fraction(1000)),
        ["0", "0.5", "-2.5", None, "NaN", "0.1"],
    ),
    "t": ("text", Anything(), _TEXTS),
    "v": ("character varying(24)", Anything(), _TEXTS),
    "c": ("character(3)", Anything(), ["a", "ab", "abc", "", None, " a", "A", "b"]),
    "o": ("boolean", Anything(), ["true", "false", None]),
    "d": ("date", Anything(), _DATES),
    "e": ("date", _within(date(2020, 1, 1), date(2026, 12, 31)), _DATES),
    "z": ("timestamp without time zone", Anything(), _STAMPS),
    "y": (
        "timestamp without time zone",
        _within(datetime(2020, 1, 1), datetime(2026, 12, 31)),  # noqa: DTZ001 - without zone
        _STAMPS,
    ),
    "k": (
        "timestamp with time zone",
        _within(datetime(2010, 1, 1, tzinfo=UTC), datetime(2026, 12, 31, tzinfo=UTC)),
        _MOMENTS,
    ),
    "q": ("timestamp with time zone", Anything(), _MOMENTS),
    "l": (
        "timestamp without time zone",
        _within(datetime(2010, 1, 1), datetime(2026, 12, 31)),  # noqa: DTZ001 - without zone
        _LOCAL,
    ),
}
ONLY_POSTGRESQL: Final = {
    "n": ["NaN"],
    "m": ["NaN", "Infinity", "-Infinity", "1e-300", "1e300"],
    "w": ["NaN", "Infinity", "-Infinity", "1e-5000", "1e5000", "-1e400"],
    "d": ["4713-01-01 BC", "294276-12-31"],
    "z": ["4713-01-01 BC", "294276-12-31"],
    "q": ["4713-01-01 BC", "294276-12-31"],
}
ROWS: Final = 80
TABLE: Final = Table(
    "stored",
    (
        Column("id", parse_type("bigint")),
        *(Column(name, parse_type(of), domain) for name, (of, domain, _) in STORED.items()),
    ),
    Protection("id", 1, 1),
)
SCAN: Final = Scan(TABLE, "stored", "person")
RANGES: Final[Mapping[str, Range]] = ranges_of(SCAN)
_FIELDS: Final = {one.name: made for one, made in zip(TABLE.columns, SCAN.fields, strict=True)}


def bound(sql: str) -> Scalar:
    """The expression, as the gateway understands it."""

    def look_up(node: exp.Column) -> Visible:
        field = _FIELDS[node.name]
        return Visible(node.name, field.type, field)

    query = f"SELECT {sql}"
    return Binder(look_up, ZONE).bind(parse(query, tokens_of(query)).expressions[0])


def rows(dialect: Dialect) -> list[list[str | None]]:
    """The same values in both, and a few more that only PostgreSQL has."""
    chance = random.Random(7)  # noqa: S311 - a seed, no secret
    made = []
    for number in range(ROWS):
        one: list[str | None] = [str(number)]
        for _, _, values in STORED.values():
            one.append(values[number] if number < len(values) else chance.choice(values))
        made.append(one)
    if dialect == "postgresql":
        for number in range(6):
            extra: list[str | None] = [str(ROWS + number)]
            for name in STORED:
                more = ONLY_POSTGRESQL.get(name)
                extra.append(more[number % len(more)] if more else None)
            made.append(extra)
    return made


def fill(engine: Engine, dialect: Dialect) -> None:
    """Make `stored` and `seen`."""
    kinds = {name: of for name, (of, _, _) in STORED.items()}
    if dialect == "duckdb":
        kinds |= {"m": "decimal(38,10)", "w": "decimal(38,10)"}
    columns = ", ".join(["id bigint", *(f"{name} {kind}" for name, kind in kinds.items())])
    names = ["id", *kinds]
    types = ["bigint", *kinds.values()]
    slots = ", ".join(
        f"CAST(CAST(:{name} AS text) AS {kind})" for name, kind in zip(names, types, strict=True)
    )
    with engine.begin() as connection:
        connection.execute(text(f"CREATE TABLE stored ({columns})"))
        for row in rows(dialect):
            connection.execute(
                text(f"INSERT INTO stored VALUES ({slots})"),
                dict(zip(names, row, strict=True)),
            )
        connection.execute(text(f"CREATE TABLE seen ({columns})"))
        if dialect == "postgresql":
            connection.exec_driver_sql(ATTEMPTED)
        chosen = select(*enforced_columns(dialect).values()).select_from(_STORED)
        found = connection.execute(chosen.order_by(_STORED.c.id)).all()
        assert len(found) == len(rows(dialect))
        plain = ", ".join(f":{name}" for name in names)
        for one in found:
            connection.execute(
                text(f"INSERT INTO seen VALUES ({plain})"),
                dict(zip(names, one, strict=True)),
            )


_STORED: Final = table("stored", *(column(one.name) for one in TABLE.columns))


def enforced_columns(dialect: Dialect) -> dict[str, Sql]:
    return {
        made.id: clamp_column(dialect, TABLE, one, _STORED.c[one.name])
        for one, made in zip(TABLE.columns, SCAN.fields, strict=True)
    }


def scalars(dialect: Dialect, staged: Mapping[str, StagedRows] | None = None) -> ScalarSql:
    return ScalarSql(dialect, enforced_columns(dialect), RANGES, staged or {})


def answers(connection: Connection, items: Iterable[Sql]) -> list[tuple[Any, ...]]:
    """The values of the expressions in every row of both databases' common part."""
    chosen = select(*(one.label(f"x{at}") for at, one in enumerate(items)))
    ordered = chosen.select_from(_STORED).order_by(_STORED.c.id)
    return [tuple(row) for row in connection.execute(ordered).all()]


@dataclass(frozen=True)
class Databases:
    postgresql: Connection
    duckdb: Connection

    def of(self, dialect: Dialect) -> Connection:
        return self.postgresql if dialect == "postgresql" else self.duckdb


@dataclass(frozen=True)
class Raised:
    """What PostgreSQL said instead of a value."""

    sqlstate: str


def plainly(connection: Connection, sql: str) -> list[Any]:
    """PostgreSQL's own values of the expression, and what it raised in rows where it raises."""
    try:
        with connection.begin_nested():
            found = connection.exec_driver_sql(_values(sql, "true"))
            return [row[0] for row in found]
    except DBAPIError:
        pass
    states = connection.exec_driver_sql(
        "SELECT id, attempted(%s, id) FROM seen ORDER BY id", (sql,)
    ).all()
    there = [number for number, state in states if state is None]
    values = iter(_in_rows(connection, sql, there))
    return [next(values) if state is None else Raised(state) for _, state in states]


def _in_rows(connection: Connection, sql: str, numbers: list[int]) -> list[Any]:
    """The values in these rows; one that no Python value can be counts as raised."""
    if not numbers:
        return []
    try:
        with connection.begin_nested():
            where = f"id IN ({', '.join(map(str, numbers))})"
            return [row[0] for row in connection.exec_driver_sql(_values(sql, where))]
    except DBAPIError:
        if len(numbers) == 1:
            return [Raised("beyond the year 9999")]
    half = len(numbers) // 2
    return [
        *_in_rows(connection, sql, numbers[:half]),
        *_in_rows(connection, sql, numbers[half:]),
    ]


def _values(sql: str, where: str) -> str:
    chosen = f"SELECT {sql} FROM seen WHERE {where} ORDER BY id"
    return chosen.replace("%", "%%")


ATTEMPTED: Final = """
CREATE FUNCTION attempted(sql text, number bigint) RETURNS text LANGUAGE plpgsql AS $$
BEGIN
  EXECUTE 'SELECT count(' || sql || ') FROM seen WHERE id = $1' USING number;
  RETURN NULL;
EXCEPTION WHEN others THEN
  RETURN SQLSTATE;
END $$
"""
