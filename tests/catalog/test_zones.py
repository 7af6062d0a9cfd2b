"""Time zones: the changes of offset, and the local times and moments that follow from them."""

from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest

from gateway.catalog.zones import OffsetChange, TimeZone, find_zone, first_reaching

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HOUR = 3_600_000_000
_ZONES = (
    *("Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe", "Pacific/Apia"),
    *("Asia/Kathmandu", "Africa/Casablanca", "America/St_Johns", "UTC"),
)


def _us(moment: datetime) -> int:
    return (moment - _EPOCH) // timedelta(microseconds=1)


def _zone(name: str) -> TimeZone:
    found = find_zone(name)
    assert found is not None
    return found


@pytest.mark.parametrize("name", _ZONES)
def test_clock_shows_what_python_says_through_two_decades(name: str) -> None:
    """The listed changes give the local time of every half hour, and of the microseconds around each change."""
    zone, rules = _zone(name), ZoneInfo(name)
    low, high = _us(datetime(2005, 1, 1, tzinfo=UTC)), _us(datetime(2025, 1, 1, tzinfo=UTC))
    tried = list(range(low, high, 37 * _HOUR // 2))
    tried += [one.since + by for one in zone.changes(low, high)[1:] for by in (-1, 0, 1)]
    for moment in tried:
        shown = (_EPOCH + timedelta(microseconds=moment)).astimezone(rules).replace(tzinfo=UTC)
        assert zone.local_of(moment) == _us(shown), (name, moment)


@pytest.mark.parametrize("name", _ZONES)
def test_moment_shows_its_local_time_where_the_clock_does(name: str) -> None:
    """Of two moments with one local time the later is given; a time that is skipped has the offset before."""
    zone = _zone(name)
    low, high = _us(datetime(2009, 1, 1, tzinfo=UTC)), _us(datetime(2019, 1, 1, tzinfo=UTC))
    for change in zone.changes(low, high)[1:]:
        before = zone.offset_at(change.since - 1)
        for by in (-_HOUR, -1, 0, 1, _HOUR // 2):
            moment = change.since + by
            back = zone.moment_of(zone.local_of(moment))
            assert back in {moment, moment + before - change.offset}
            assert back >= moment
        if change.offset > before:
            skipped = change.since + before + (change.offset - before) // 2
            assert zone.moment_of(skipped) == skipped - before


@pytest.mark.parametrize("name", _ZONES)
def test_spans_are_the_moments_of_a_local_day(name: str) -> None:
    """Each moment is in the spans of the day that its clock shows, and in no other."""
    zone, day = _zone(name), 24 * _HOUR
    low, high = _us(datetime(2011, 1, 1, tzinfo=UTC)), _us(datetime(2012, 12, 31, tzinfo=UTC))
    covered = 0
    for place in range((low - 2 * day) // day, (high + 2 * day) // day):
        for first, last in zone.spans(place * day, (place + 1) * day, low, high):
            assert zone.local_of(first) // day == zone.local_of(last) // day == place
            covered += last - first + 1
    assert covered == high - low + 1


@pytest.mark.parametrize(
    ("name", "found"),
    [
        ("europe/berlin", "Europe/Berlin"),
        ("etc/utc", "UTC"),
        ("GMT", "UTC"),
        ("<+0530>-05:30", "<+0530>-05:30"),
        ("Europe/Atlantis", None),
        ("../../etc/passwd", None),
        ("/etc/passwd", None),
        ("", None),
        ("Europe", None),
    ],
)
def test_zone_is_found_by_its_name_alone(name: str, found: str | None) -> None:
    """Names are PostgreSQL's, in any case; what leads out of its directory is no name."""
    zone = find_zone(name)
    assert (None if zone is None else zone.name) == found


def test_offset_of_a_formula_counts_to_the_west() -> None:
    """PostgreSQL shows `SET TIME ZONE 5.5` as `<+05:30>-05:30`: the number behind is west of Greenwich."""
    assert _zone("<+05:30>-05:30").offset_at(0) == 11 * _HOUR // 2
    assert _zone("<-03>+03").offset_at(0) == -3 * _HOUR


def test_bound_is_reached_at_no_one_time_when_the_clock_is_put_back() -> None:
    """Within an hour that comes twice, local times before a bound are no half-line of moments."""
    changes = (OffsetChange(0, 2 * _HOUR), OffsetChange(10 * _HOUR, _HOUR))
    assert first_reaching(changes, 1, 9 * _HOUR) == 7 * _HOUR
    assert first_reaching(changes, 1, 11 * _HOUR + _HOUR // 2) is None
    assert first_reaching(changes, 1, 13 * _HOUR) == 12 * _HOUR


@pytest.mark.parametrize(
    ("name", "keeps"),
    [("Europe/Berlin", True), ("America/New_York", True), ("America/Sao_Paulo", False)],
)
def test_zone_keeps_midnights_where_no_day_begins_late(name: str, *, keeps: bool) -> None:
    """Where summer time begins at midnight, a day begins at one o'clock."""
    assert _zone(name).keeps_midnights is keeps
