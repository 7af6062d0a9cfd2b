"""Hours of days over a domain of years are regions, exactly, with and without a zone."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from random import Random
from zoneinfo import ZoneInfo

from laws import for_each
from regions.ward import VISITS, WARD, column, scope
from samples import draws

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Dataset
from gateway.regions.cells import contains

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(2022, 1, 1, tzinfo=UTC), datetime(2025, 12, 31, tzinfo=UTC)


def _ward(last: datetime = _LAST) -> Dataset:
    """Visits with a moment between the years."""
    seen = column("seen", "timestamp with time zone", Interval(_FIRST, last, Fraction(1)))
    table = replace(VISITS, columns=(*VISITS.columns, seen))
    return replace(WARD, tables=tuple(table if one is VISITS else one for one in WARD.tables))


def _moments() -> list[datetime]:
    """By chance, and around every change of a clock in Berlin."""
    chance = Random(11)  # noqa: S311 - moments to look at
    length = int((_LAST - _FIRST).total_seconds())
    found = [_FIRST + timedelta(seconds=chance.randrange(length)) for _ in range(draws(400))]
    for year in range(2022, 2026):
        for month in (3, 10):
            last = datetime(year, month, 31, 1, tzinfo=UTC)
            change = last - timedelta(days=(last.weekday() + 1) % 7)
            found += [change + timedelta(minutes=30 * step) for step in range(-6, 7)]
            found.append(change - timedelta(microseconds=1))
    return found


_ASKED = [
    ("extract(hour FROM seen) = 9", "UTC", lambda hour: hour == 9),
    ("extract(hour FROM seen) BETWEEN 9 AND 17", "UTC", lambda hour: 9 <= hour <= 17),
    (
        "extract(hour FROM seen AT TIME ZONE 'Europe/Berlin') = 2",
        "Europe/Berlin",
        lambda hour: hour == 2,
    ),
    (
        "extract(hour FROM seen AT TIME ZONE 'Europe/Berlin') >= 22",
        "Europe/Berlin",
        lambda hour: hour >= 22,
    ),
    (
        "NOT extract(hour FROM seen AT TIME ZONE 'Europe/Berlin') < 3",
        "Europe/Berlin",
        lambda hour: hour >= 3,
    ),
    (
        "extract(hour FROM seen AT TIME ZONE 'Asia/Kolkata') <= 5",
        "Asia/Kolkata",
        lambda hour: hour <= 5,
    ),
]


@for_each("asked", _ASKED)
def test_hour_of_a_moment_is_the_region_that_a_clock_shows(asked: tuple[str, str, object]) -> None:
    """Over four years, every moment around a change of the clock included."""
    condition, zone, is_held = asked
    assert callable(is_held)
    found = scope(f"SELECT COUNT(*) FROM visits WHERE {condition}", _ward())
    assert not found.unreadable
    [box] = found.region.boxes
    cells = box.along("visits.seen")
    assert cells is not None
    for moment in _moments():
        cell = (moment - _EPOCH) // timedelta(microseconds=1)
        held = is_held(moment.astimezone(ZoneInfo(zone)).hour)
        assert contains(cells, cell) is held, moment


def test_hours_of_many_years_are_opaque() -> None:
    """So many spans would take seconds to compare; days and months of as many years are regions."""
    long = _ward(datetime(2049, 12, 31, tzinfo=UTC))
    assert scope("SELECT COUNT(*) FROM visits WHERE extract(hour FROM seen) = 9", long).unreadable
    assert not scope(
        "SELECT COUNT(*) FROM visits WHERE extract(month FROM seen) = 9", long
    ).unreadable
    assert not scope(
        "SELECT COUNT(*) FROM visits WHERE seen::date = DATE '2040-05-04'", long
    ).unreadable


def test_two_spellings_of_hours_are_one_region() -> None:
    """Hours of two conditions meet as sets of moments."""
    asked = (
        "extract(hour FROM seen) IN (9, 10)",
        "extract(hour FROM seen) >= 9 AND extract(hour FROM seen) < 11",
    )
    one, other = (
        scope(f"SELECT COUNT(*) FROM visits WHERE {each}", _ward()).region for each in asked
    )
    assert one == other
