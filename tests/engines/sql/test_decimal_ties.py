"""Conditions on a decimal column at their ties: DuckDB, PostgreSQL and the reading of the auditor say the same."""

import operator
import random
from collections.abc import Iterator
from fractions import Fraction
from typing import Any, Final

import pytest
from sqlalchemy import Connection, StaticPool, column, create_engine, select, table, text

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.engines.sql.clamp import clamp_column
from gateway.engines.sql.expressions import ScalarSql
from gateway.engines.sql.partial_select import Dialect
from gateway.plan.fields import BOOLEAN, NUMERIC
from gateway.plan.relations import Scan
from gateway.plan.scalars import Call, Literal, Ref, Scalar, transform
from gateway.plan.sql_text import decimal_sql
from gateway.postgres_server import Lease
from gateway.ranges.relations import ranges_of
from gateway.regions.base_columns import bases_of
from gateway.regions.cells import contains
from gateway.regions.grid import grid_of
from gateway.regions.tabulate import tabulate_condition

_PROBES: Final = 200
_SEED: Final = 20_260_102
_FACTORS: Final = (
    "0.07",
    "1.1",
    "2.3",
    "0.7",
    "1.19",
    "0.001",
    "3",
    "19.99",
    "0.333",
    "-0.07",
    "12.345678",
)
_HOLDS: Final = {
    "=": operator.eq,
    "<>": operator.ne,
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
}
_SIGNS: Final = tuple(_HOLDS)
_LONG: Final = Fraction(1, 10**43)


_TABLE: Final = Table(
    "ties",
    (
        Column("id", parse_type("bigint")),
        Column(
            "cost", parse_type("numeric"), Interval(Fraction(0), Fraction(5000), Fraction(1, 100))
        ),
        Column(
            "paid",
            parse_type("numeric(12,2)"),
            Interval(Fraction(0), Fraction(5000), Fraction(1, 100)),
        ),
    ),
    Protection("id", 1, 1),
)
_SCAN: Final = Scan(_TABLE, "ties", "person")
_STORED: Final = table("ties", *(column(one.name) for one in _TABLE.columns))
_DIALECTS: Final[tuple[Dialect, ...]] = ("postgresql", "duckdb")


def _costs() -> list[Fraction]:
    """Values that doubles get wrong, with their neighbours, and both ends."""
    chance = random.Random(_SEED)  # noqa: S311 - a seed, no secret
    drawn = {Fraction(chance.randrange(500_000), 100) for _ in range(60)} | {Fraction(136_838, 100)}
    near = {one + Fraction(by, 100) for one in drawn for by in (-1, 0, 1)}
    return sorted(one for one in near | {Fraction(0), Fraction(5000)} if 0 <= one <= 5000)


_COSTS: Final = _costs()


@pytest.fixture(scope="module")
def ties(sample_server: Lease) -> Iterator[dict[Dialect, Connection]]:
    """The same costs in both databases; DuckDB's are DECIMAL(12,2) below a policy that says `numeric`."""
    address = sample_server.address.url(
        user=sample_server.superuser,
        password=sample_server.superuser_password,
        database="postgres",
    )
    engines = {
        "postgresql": create_engine(address.set(drivername="postgresql+psycopg")),
        "duckdb": create_engine("duckdb:///:memory:", poolclass=StaticPool),
    }
    made: dict[Dialect, Connection] = {}
    for dialect in _DIALECTS:
        connection = made[dialect] = engines[dialect].connect()
        connection.execute(
            text("CREATE TEMP TABLE ties (id bigint, cost decimal(12,2), paid decimal(12,2))")
        )
        rows = ", ".join(
            f"({at}, {decimal_sql(one)}, {decimal_sql(one)})" for at, one in enumerate(_COSTS)
        )
        connection.execute(text(f"INSERT INTO ties VALUES {rows}"))
    yield made
    for dialect in _DIALECTS:
        made[dialect].close()
        engines[dialect].dispose()


def _found(connection: Connection, dialect: Dialect, conditions: list[Scalar]) -> list[list[Any]]:
    """The truth of each condition for each cost."""
    columns = {
        made.id: clamp_column(dialect, _TABLE, one, _STORED.c[one.name])
        for one, made in zip(_TABLE.columns, _SCAN.fields, strict=True)
    }
    rendering = ScalarSql(dialect, columns, ranges_of(_SCAN), {})
    truths: list[list[Any]] = []
    for at in range(0, len(conditions), 50):
        items = [
            rendering.sql(one).label(f"x{place}")
            for place, one in enumerate(conditions[at : at + 50])
        ]
        rows = connection.execute(select(*items).select_from(_STORED).order_by(_STORED.c.id)).all()
        truths += [list(one) for one in zip(*rows, strict=True)]
    return truths


def _number(value: Fraction) -> Literal:
    return Literal(value, NUMERIC)


def _probes(name: str) -> list[tuple[Scalar, list[bool]]]:
    """Conditions at a tie, and what exact arithmetic says of each cost."""
    chance = random.Random(_SEED)  # noqa: S311 - a seed, no secret
    place = [one.name for one in _TABLE.columns].index(name)
    cost = Ref(_SCAN.fields[place])
    made: list[tuple[Scalar, list[bool]]] = []
    for number in range(_PROBES):
        factor = Fraction(_FACTORS[number % len(_FACTORS)])
        moved = Fraction(chance.randrange(-999, 1000), 1000) if number % 3 == 0 else Fraction(0)
        tie = chance.choice(_COSTS) * factor + moved
        sign = _SIGNS[number % len(_SIGNS)]
        grown: Scalar = Call("*", (cost, _number(factor)), NUMERIC)
        if moved:
            grown = Call("+", (grown, _number(moved)), NUMERIC)
        expected = [_HOLDS[sign](one * factor + moved, tie) for one in _COSTS]
        made.append((Call(sign, (grown, _number(tie)), BOOLEAN), expected))
    return made


@pytest.mark.parametrize("name", ["cost", "paid"])
def test_conditions_at_ties_are_exact_when_factors_are_no_doubles(
    ties: dict[Dialect, Connection], name: str
) -> None:
    """Both databases select at each tie the rows that exact arithmetic selects, and the auditor reads these."""
    probes = _probes(name)
    conditions = [one for one, _ in probes]
    found = {one: _found(ties[one], one, conditions) for one in _DIALECTS}
    for (condition, expected), ours, theirs in zip(
        probes, found["postgresql"], found["duckdb"], strict=True
    ):
        assert ours == theirs == expected, condition
        assert _read(condition, name) == expected, condition


def _read(condition: Scalar, name: str) -> list[bool] | None:
    """What the auditor reads of each cost; None: the condition is opaque."""
    base = next(one for one in bases_of(_TABLE, "ties") if one.field.id == f"ties.{name}")
    over = transform(condition, lambda one: Ref(base.field) if isinstance(one, Ref) else one)
    grid = grid_of(base.field.type)
    if base.axis is None or grid is None:
        return None
    truths = tabulate_condition(over, base.field, base.axis)
    return None if truths is None else [contains(truths[0], grid.at(one)) for one in _COSTS]


def test_doubles_select_other_rows_at_ties(ties: dict[Dialect, Connection]) -> None:
    """The control: doubles are wrong at some of these ties."""
    tie = text("SELECT count(*) FROM ties WHERE CAST(cost AS DOUBLE) * 0.07e0 > 95.7866e0")
    exact = text("SELECT count(*) FROM ties WHERE cost > 1368.38")
    assert ties["duckdb"].execute(tie).scalar_one() != ties["duckdb"].execute(exact).scalar_one()


def test_conditions_are_opaque_when_no_decimal_holds_them() -> None:
    """A constant or a product with more digits than a decimal of DuckDB has is not read."""
    for name in ("cost", "paid"):
        place = [one.name for one in _TABLE.columns].index(name)
        cost = Ref(_SCAN.fields[place])
        constant = _number(Fraction(136_838, 100) + _LONG)
        assert _read(Call(">=", (cost, constant), BOOLEAN), name) is None
        grown = Call("*", (cost, _number(1 + _LONG)), NUMERIC)
        assert _read(Call(">", (grown, _number(Fraction(1))), BOOLEAN), name) is None
        assert _read(Call(">", (cost, _number(Fraction(1))), BOOLEAN), name) is not None


def test_differences_of_multiples_are_the_number_itself(ties: dict[Dialect, Connection]) -> None:
    """`cost*3 - cost*2 <> cost` selects nobody on either database."""
    cost = Ref(_SCAN.fields[1])
    three, two = (Call("*", (cost, _number(Fraction(one))), NUMERIC) for one in (3, 2))
    condition = Call("<>", (Call("-", (three, two), NUMERIC), cost), BOOLEAN)
    for dialect in _DIALECTS:
        assert not any(_found(ties[dialect], dialect, [condition])[0])
