"""Released seconds as intervals: PostgreSQL's interval of them for every number, or NULL from guards."""

from collections.abc import Iterator
from datetime import timedelta

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.twin import Twin, TwinRefused, TwinSession, visible_tables

_TIMES = "now() - make_date(birth_year, 6, 1)"
_SHOWN = "extract(day FROM i) || ' ' || extract(epoch FROM i - extract(day FROM i)::int * interval '1 day')"
_DAY = 86_400
_MOST_DAYS = 2**31 - 1
_FIT = (
    *(0.0, -0.0, 5e-324, -1e-310, 1e-7, 0.25, -0.25, 86_399.9999999, 86_400.0, -86_400.5, 1e9),
    *(9_223_372_036_854.0, 9_223_372_036_855.0, -9_223_372_036_855.0, 3.4e13, -3.4e13),
    *(_MOST_DAYS * _DAY + 86_399.0, -_MOST_DAYS * _DAY - 86_399.0, -(2.0**31) * _DAY),
)
_BEYOND = (
    *(2.0**31 * _DAY, -(2.0**31) * _DAY - _DAY, 1e18, -1e18, 1.7e308, -1.7e308),
    *(float("inf"), float("-inf"), float("nan")),
)
_PLACES = {
    "a cell of a group": f"SELECT sum({_TIMES}) FROM patients GROUP BY region",
    "percentiles": f"SELECT percentile_cont(ARRAY[0.1, 0.5]) WITHIN GROUP (ORDER BY {_TIMES}) FROM patients",
    "ORDER BY": f"SELECT count(*) FROM patients GROUP BY region ORDER BY avg({_TIMES})",
    "HAVING": f"SELECT count(*) FROM patients GROUP BY region HAVING avg({_TIMES}) < interval '1 day'",
    "a sum of two": f"SELECT coalesce(max({_TIMES}), interval '1 day') FROM patients",
}


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(CLINIC)) as session:
        yield session


def _finishing(sql: str, value: float, *, guarded: bool) -> str:
    """The finishing over a release of which every measure is this number."""
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    assert bound.finishing.guarded is not None
    made = bound.finishing.guarded if guarded else bound.finishing
    numbers = ", ".join(f"CAST('{value!r}' AS double precision) AS m{n}" for n in (1, 2))
    release = f"\"_r1\" AS MATERIALIZED (SELECT CAST('north' AS text) AS k1, {numbers})"
    return f"WITH {release} {made.text()}"


@pytest.mark.parametrize("guarded", [False, True])
def test_every_number_of_days_that_fits_is_its_interval(
    session: TwinSession, *, guarded: bool
) -> None:
    """Days and the rest of the last, to a microsecond, with and without guards, far beyond what seconds alone hold."""
    for value in _FIT:
        sql = _finishing(f"SELECT sum({_TIMES}) AS i FROM patients", value, guarded=guarded)
        text = session.run(f"SELECT {_SHOWN} FROM ({sql}) AS t(i)")[0][0]
        assert isinstance(text, str), value
        days, rest = text.split()
        assert abs(float(rest)) < _DAY
        assert int(days) * int(float(rest) * 1e6) >= 0, value  # both of one sign
        assert int(days) * _DAY + float(rest) == pytest.approx(value, rel=1e-15, abs=1e-6), value


def test_beyond_every_interval_the_text_raises_and_its_guard_is_null(session: TwinSession) -> None:
    """The guarded text runs where the plain one raises, and gives the notice with its NULL."""
    for value in _BEYOND:
        sql = f"SELECT sum({_TIMES}) FROM patients"
        with pytest.raises(TwinRefused):
            session.run(_finishing(sql, value, guarded=False))
        assert session.run(_finishing(sql, value, guarded=True))[0][0] is None


@pytest.mark.parametrize("sql", _PLACES.values(), ids=_PLACES)
def test_no_number_raises_wherever_the_interval_stands(session: TwinSession, sql: str) -> None:
    """In a cell, in an array, in an order and in a condition."""
    for value in (*_FIT, *_BEYOND):
        session.run(_finishing(sql, value, guarded=True))


def test_ordinary_numbers_read_as_postgresql_shows_them(session: TwinSession) -> None:
    """As `justify_hours` has them."""
    for value in (
        0.5,
        -3.25,
        90_061.5,
        -200_000.0,
        timedelta(days=20_000, hours=5).total_seconds(),
    ):
        found = session.run(_finishing(f"SELECT avg({_TIMES}) FROM patients", value, guarded=False))
        plain = session.run(f"SELECT justify_hours({value!r} * interval '1 second')")
        assert found[0][0] == plain[0][0]
