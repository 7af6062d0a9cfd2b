"""Clamped columns, lattice integers, canonical keys and staged values over extreme values."""

from datetime import date, datetime
from fractions import Fraction
from math import floor
from typing import Any, Final

import pytest
from engines.extremes import (
    RANGES,
    ROWS,
    STORED,
    TABLE,
    Databases,
    answers,
    bound,
    enforced_columns,
    scalars,
)
from sqlalchemy import column, func, literal_column, select, text

from gateway.catalog.domains import Anything, Interval, Values
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import Family, parse_type
from gateway.engines.exact_rows import column_value
from gateway.engines.sql.clamp import clamp_column
from gateway.engines.sql.expressions import ScalarSql
from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.plan.fields import BIGINT, NUMERIC, TEXT
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import Scalar, StagedMember, StagedValue
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.measurement import DistanceOrigin, Total

DIALECTS: Final[tuple[Dialect, ...]] = ("postgresql", "duckdb")
both_dialects = pytest.mark.parametrize("dialect", DIALECTS)


@both_dialects
def test_enforced_columns_are_within_their_domains(databases: Databases, dialect: Dialect) -> None:
    """Whatever is stored, a column above its scan is NULL or a finite value of its domain."""
    columns = list(enforced_columns(dialect).values())
    found = answers(databases.of(dialect), columns)
    seen = 0
    for row in found:
        for one, given in zip(TABLE.columns, row, strict=True):
            value = column_value(given, one.type)
            if value is None:
                continue
            seen += 1
            if isinstance(one.domain, Interval):
                assert one.domain.low <= value <= one.domain.high  # type: ignore[operator]
            if isinstance(value, date):
                assert 1 <= value.year <= 9999
    assert seen > ROWS * len(STORED) // 2


@both_dialects
def test_enforced_values_are_clamped_or_null(databases: Databases, dialect: Dialect) -> None:
    """Beyond an end is the end; NaN and the infinities are NULL; inside nothing is moved."""
    rows = databases.of(dialect).execute(
        select(
            text("CAST(p AS text)"),
            clamp_column(dialect, TABLE, TABLE.column("p") or TABLE.columns[0], column("p")),
        ).select_from(text("stored"))
    )
    found = {stored.lower(): value for stored, value in rows if stored is not None}
    for name in ("nan", "infinity" if dialect == "postgresql" else "inf"):
        assert found[name] is None
    assert found["-infinity" if dialect == "postgresql" else "-inf"] is None
    assert {found["0" if dialect == "postgresql" else "0.0"], found["2.5"]} == {1.0, 2.5}
    assert max(one for one in found.values() if one is not None) == 300.0


@both_dialects
def test_enforced_sets_make_other_values_null(databases: Databases, dialect: Dialect) -> None:
    """A value outside its set is NULL, told by its bytes."""
    one = Column("t", parse_type("text"), Values(("a", "abc")))
    there = Table("stored", (one,))
    made = clamp_column(dialect, there, one, column("t"))
    rows = databases.of(dialect).execute(select(made).select_from(text("stored"))).scalars().all()
    assert set(rows) == {"a", "abc", None}


def test_enforced_unit_is_handed_on_untouched() -> None:
    """A clamp would make two persons one."""
    key = Column("id", parse_type("bigint"), Interval(0, 5, Fraction(1)))
    there = Table("stored", (key,), Protection("id", 1, 1))
    given: Sql = column("id")
    assert clamp_column("duckdb", there, key, given) is given


def test_enforced_step_is_left_out_only_where_a_domain_is_proven() -> None:
    """A proof speaks of the domain; where there is none, values still have to be finite."""
    clamped = Column(
        "p", parse_type("double precision"), Interval(Fraction(0), Fraction(1), Fraction(1))
    )
    free = Column("p", parse_type("double precision"), Anything())
    given: Sql = column("p")
    there = Table("stored", (clamped,))
    assert clamp_column("duckdb", there, clamped, given, proven=True) is given
    assert clamp_column("duckdb", Table("stored", (free,)), free, given, proven=True) is not given


LATTICES: Final = [
    ("j", Lattice(Fraction(1), -100, 100)),
    ("j", Lattice(Fraction(1), 5, 7)),
    ("i", Lattice(Fraction(1), -(2**30) + 1, 2**30 - 1)),
    ("i", Lattice(Fraction(3), -1000, 1000)),
    ("b", Lattice(Fraction(2**34), -(2**29), 2**29)),
    ("j", Lattice(Fraction(1, 8), -800, 800)),
    ("j * j", Lattice(Fraction(1), 0, 10_000)),
    ("n", Lattice(Fraction(1, 100), -(10**6), 10**6)),
    ("n", Lattice(Fraction(1), -(10**9), 10**9)),
    ("n", Lattice(Fraction(7, 100), -(10**6), 10**6)),
    ("m", Lattice(Fraction(1, 4), -(10**6), 10**6)),
    ("m", Lattice(Fraction(4), -(10**9), 10**9)),
    ("w", Lattice(Fraction(1), -10, 10)),
    ("f", Lattice(Fraction(2), -(5 * 10**8), 5 * 10**8)),
    ("f", Lattice(Fraction(1, 2**10), -(10**9), 10**9)),
    ("f", Lattice(Fraction(1000), -(10**6), 10**6)),
    ("p", Lattice(Fraction(1, 100), 100, 30_000)),
    ("f * f", Lattice(Fraction(2**31), 0, 2**29)),
    ("g", Lattice(Fraction(1, 2**1000), -5, 5)),
    ("extract(year from d)", Lattice(Fraction(1), 1900, 2100)),
    ("d", Lattice(Fraction(1), -30_000, 30_000)),
    ("z", Lattice(Fraction(86_400_000_000), -30_000, 30_000)),
    ("case when o then j end", Lattice(Fraction(1), -100, 100)),
]


@both_dialects
@pytest.mark.parametrize(("sql", "on"), LATTICES)
def test_lattice_integers_are_the_nearest_within_the_lattice(
    databases: Databases, dialect: Dialect, sql: str, on: Lattice
) -> None:
    """NULL for NULL, else the nearest whole number of steps, cut to the ends, whatever the value."""
    scalar = bound(sql)
    rendering = scalars(dialect)
    total = Total(scalar, on, DistanceOrigin.MIDDLE)
    rows = answers(databases.of(dialect), [rendering.lattice(total), rendering.sql(scalar)])
    assert any(made is not None for made, _ in rows)
    for made, given in rows:
        value = _number(given, scalar)
        if value is None:
            assert made is None
            continue
        exactly = value / on.step
        nearest = min(max(floor(exactly + Fraction(1, 2)), on.low), on.high)
        assert type(made) is int
        assert on.low <= made <= on.high
        # ties and the last digit of a double may go either way
        assert made == nearest or abs(exactly - made) <= Fraction(1, 2) + Fraction(1, 10**6)


@both_dialects
def test_lattice_clamp_does_not_rest_on_ranges(databases: Databases, dialect: Dialect) -> None:
    """Even where the range that is handed in is wrong, the integer is within the lattice."""
    wrong = {name: type(one)(Fraction(0), Fraction(1), Fraction(1)) for name, one in RANGES.items()}
    rendering = ScalarSql(dialect, enforced_columns(dialect), wrong, {})
    on = Lattice(Fraction(1, 100), 0, 100)
    items = [
        rendering.lattice(Total(bound(one), on, DistanceOrigin.LOW)) for one in ("j", "n", "f", "m")
    ]
    found = [one for row in answers(databases.of(dialect), items) for one in row if one is not None]
    assert set(found) <= set(range(101))
    assert {0, 100} <= set(found)


def _number(given: Any, scalar: Scalar) -> Fraction | None:  # noqa: ANN401 - as the driver gives it
    if isinstance(given, datetime):
        away = given - datetime(1970, 1, 1)  # noqa: DTZ001 - without a zone
        return Fraction((away.days * 86_400 + away.seconds) * 10**6 + away.microseconds)
    if isinstance(given, date):
        return Fraction((given - date(1970, 1, 1)).days)
    value = column_value(given, scalar.type)
    return None if value is None else Fraction(value)  # type: ignore[arg-type]


@both_dialects
def test_keys_of_equal_values_are_one_group(databases: Databases, dialect: Dialect) -> None:
    """-0 and 0, 1.0 and 1.00 are one key; texts that differ in case are two."""
    rendering = scalars(dialect)
    keys = [rendering.key(bound(one)) for one in ("g", "n", "m", "t", "v", "d", "z", "o", "i", "r")]
    for key in keys:
        found = databases.of(dialect).execute(select(key).group_by(key)).scalars().all()
        assert len(set(map(str, found))) == len(found)
    zeros = [row[0] for row in answers(databases.of(dialect), keys[:1]) if row[0] == 0]
    assert all(str(one) == "0.0" for one in zeros)


def test_keys_of_decimals_have_no_trailing_zeros(databases: Databases) -> None:
    """Each of equal decimals is shown alike, so their hashes are one."""
    key = scalars("postgresql").key(bound("n"))
    shown = [str(row[0]) for row in answers(databases.postgresql, [key]) if row[0] is not None]
    assert "0.5" in shown
    assert not any("." in one and one.endswith("0") for one in shown)


STAGED: Final = {
    "one": StagedRows((("x", BIGINT),), ((12,),)),
    "none": StagedRows((("x", BIGINT),), ()),
    "huge": StagedRows((("x", NUMERIC),), ((Fraction(10**30),),)),
    "some": StagedRows((("x", BIGINT),), ((0,), (12,), (7,))),
    "with_null": StagedRows((("x", BIGINT),), ((0,), (None,))),
    "many": StagedRows((("x", BIGINT),), tuple((one,) for one in range(500))),
    "texts": StagedRows((("x", TEXT),), (*((f"'{one}\\",) for one in range(90)), ("a",))),
    "fractions": StagedRows((("x", NUMERIC),), tuple((Fraction(one, 4),) for one in range(90))),
}


@both_dialects
def test_staged_values_and_members_are_as_in_sql(databases: Databases, dialect: Dialect) -> None:
    """One value or NULL; IN over no rows is false, over rows with NULL it is true or NULL."""
    rendering = scalars(dialect, STAGED)
    members = {
        name: StagedMember(bound(of), name)
        for name, of in (
            *(("none", "i"), ("some", "i"), ("with_null", "i"), ("many", "i"), ("texts", "t")),
            ("fractions", "n"),
        )
    }
    values = [StagedValue("one", BIGINT), StagedValue("none", BIGINT), StagedValue("huge", NUMERIC)]
    given = [bound("i"), bound("t"), bound("n"), *members.values(), *values]
    found = answers(databases.of(dialect), [rendering.sql(one) for one in given])
    for i, t, n, none, some, with_null, many, texts, fractions, one, nothing, huge in found:
        assert none is False
        assert some is (None if i is None else i in {0, 12, 7})
        assert with_null is (True if i == 0 else None)
        assert many is (None if i is None else 0 <= i < 500)
        assert texts is (None if t is None else t == "a")
        assert fractions is (None if n is None else Fraction(n) * 4 in range(90))
        assert (one, nothing, huge) == (12, None, None)


def test_every_family_has_an_extreme_column() -> None:
    """A family that is added to the catalog has to be tried here."""
    assert {one.type.family for one in TABLE.columns} == set(Family) - {Family.UUID}


def test_number_beyond_bigint_is_outside_of_its_domain(databases: Databases) -> None:
    """The nearest end of an interval, NULL without one; small unsigned numbers have the declared type."""
    wide, most = "170141183460469231731687303715884105727::HUGEINT", 2**64 - 1
    inside = Interval(0, 100, Fraction(1))
    for stored, sql, domain, expected in (
        ("hugeint", wide, inside, 100),
        ("hugeint", f"-{wide}", inside, 0),
        ("hugeint", "7::HUGEINT", inside, 7),
        ("hugeint", wide, Anything(), None),
        ("hugeint", "-9223372036854775808::HUGEINT", Anything(), -(2**63)),
        ("ubigint", f"{most}::UBIGINT", inside, 100),
        ("ubigint", f"{most}::UBIGINT", Anything(), None),
        ("ubigint", f"{most}::UBIGINT", Values((1, 2)), None),
        ("ubigint", "2::UBIGINT", Values((1, 2)), 2),
        ("uinteger", "4294967295::UINTEGER", Anything(), 2**32 - 1),
        ("uinteger", "NULL::UINTEGER", inside, None),
    ):
        column = Column("n", parse_type("bigint"), domain, stored_type=stored)
        table = Table("t", (Column("u", parse_type("bigint")), column), Protection("u", 1, 1))
        made = clamp_column("duckdb", table, column, literal_column(sql))
        found = databases.duckdb.execute(select(made, func.typeof(made))).one()
        assert tuple(found) == (expected, "BIGINT"), sql
