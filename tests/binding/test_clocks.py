"""Clocks in bound statements: the zone of a session is written into the plan, and left out where it changes nothing."""

from datetime import UTC, datetime
from fractions import Fraction

import pytest

from gateway.binding.bind import StatementCache, bind
from gateway.binding.bound import Cut
from gateway.catalog.domains import Interval
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.errors import Refusal
from gateway.plan.print import explain_plan
from gateway.plan.scalars import Scalar
from gateway.plan.sql_text import scalar_sql

_DAYS = Interval(
    datetime(2020, 1, 1, tzinfo=UTC), datetime(2026, 12, 31, tzinfo=UTC), Fraction(1, 1_000_000)
)
_EVENTS = Dataset(
    "shop",
    "person",
    (
        Table(
            "events",
            (
                Column("person", parse_type("bigint")),
                Column("at", parse_type("timestamptz"), _DAYS),
                Column("local", parse_type("timestamp")),
                Column("day", parse_type("date")),
            ),
            Protection("person", 10, 4),
        ),
    ),
)


def _plan(sql: str, zone: str) -> str:
    bound = bind(sql, _EVENTS, zone=zone)
    assert isinstance(bound, Cut)
    return explain_plan(bound.releases[0].plan)


def _condition(where: str, zone: str) -> str:
    plan = _plan(f"SELECT COUNT(*) FROM events WHERE {where}", zone)
    return next(line.strip()[8:-1] for line in plan.splitlines() if "filter" in line)


def _key(key: str, zone: str) -> Scalar:
    bound = bind(f"SELECT {key}, COUNT(*) FROM events GROUP BY 1", _EVENTS, zone=zone)
    assert isinstance(bound, Cut)
    return bound.releases[0].plan.keys[0][1]


@pytest.mark.parametrize(
    ("where", "shown"),
    [
        # a text is read on the session's clock, one with an offset is not
        ("at >= '2024-07-01'", "events.at >= cast('2024-06-30 22:00:00+00:00' as {})"),
        ("at >= '2024-07-01Z'", None),
        ("at >= '2024-07-01 00:00+00'", "events.at >= cast('2024-07-01 00:00:00+00:00' as {})"),
        ("at >= DATE '2024-01-01'", "events.at >= cast('2023-12-31 23:00:00+00:00' as {})"),
        # the second of two hours that the clock shows, and an hour that it skips
        ("at < '2024-10-27 02:30'", "events.at < cast('2024-10-27 01:30:00+00:00' as {})"),
        ("at < '2024-03-31 02:30'", "events.at < cast('2024-03-31 01:30:00+00:00' as {})"),
        # no change of the clock is near: columns are compared with constants
        (
            "at AT TIME ZONE 'Asia/Tokyo' < '2024-07-01'",
            "events.at < cast('2024-06-30 15:00:00+00:00' as {})",
        ),
        (
            "local > TIMESTAMPTZ '2024-07-01 00:00+00'",
            "events.local > cast('2024-07-01 02:00:00' as timestamp without time zone)",
        ),
        # one is near: the clock stays
        (
            "at AT TIME ZONE 'Europe/Berlin' < '2024-03-31 02:30'",
            "timezone('Europe/Berlin', events.at) < cast('2024-03-31 02:30:00' as timestamp without time zone)",
        ),
        ("local > now()", "events.local > localtimestamp"),
        ("at > now()", "events.at > current_timestamp"),
        (
            "date_trunc('day', at) >= date_trunc('month', now())",
            "date_trunc('day', timezone('Europe/Berlin', events.at)) >= date_trunc('month', localtimestamp)",
        ),
    ],
)
def test_comparison_names_a_clock_where_it_needs_one(where: str, shown: str | None) -> None:
    """Moments are compared with moments, local times with local times."""
    if shown is None:
        with pytest.raises(Refusal):
            _condition(where, "Europe/Berlin")
        return
    assert _condition(where, "Europe/Berlin") == shown.format("timestamp with time zone")


@pytest.mark.parametrize(
    ("key", "shown"),
    [
        ("date_trunc('month', at)", "date_trunc('month', timezone('Europe/Berlin', events.at))"),
        ("date_trunc('hour', at)", "trunc_in_zone('hour', events.at, 'Europe/Berlin')"),
        ("at::date", "cast(timezone('Europe/Berlin', events.at) as date)"),
        ("extract(dow from at)", "extract(dow from timezone('Europe/Berlin', events.at))"),
        ("extract(epoch from at)", "extract(epoch from timezone('UTC', events.at))"),
        ("to_char(at, 'YYYY-MM')", "date_trunc('month', timezone('Europe/Berlin', events.at))"),
        (
            "date_bin('15 minutes', at, '2024-07-01 02:15')",
            "date_bin('0 days 900000000 microseconds', events.at, cast('1970-01-01 00:00:00+00:00' as timestamp with time zone))",
        ),
        (
            "date_bin(interval '1 week', local, '2024-07-01')",
            "date_bin('7 days 0 microseconds', events.local, cast('1970-01-05 00:00:00' as timestamp without time zone))",
        ),
        (
            "date_bin('1 day', local, TIMESTAMPTZ '2024-07-01 00:00+00')",
            "date_bin('1 days 0 microseconds', timezone('Europe/Berlin', events.local), cast('1970-01-01 00:00:00+00:00' as timestamp with time zone))",
        ),
        (
            "date_trunc('day', at, 'Asia/Tokyo')",
            "timezone('Asia/Tokyo', date_trunc('day', timezone('Asia/Tokyo', events.at)))",
        ),
        (
            "date_trunc('week', at + interval '1 day') - interval '1 day'",
            "(date_trunc('week', (timezone('Europe/Berlin', events.at) + interval '0 months 1 days 0 microseconds')) + interval '0 months -1 days 0 microseconds')",
        ),
    ],
)
def test_key_names_the_session_clock(key: str, shown: str) -> None:
    """A period is grouped by what the clock shows; the finishing adds the zone again."""
    assert scalar_sql(_key(key, "Europe/Berlin")) == shown


def test_statement_is_another_one_in_another_zone() -> None:
    """What is remembered of a text belongs to the zone that it was bound in."""
    remembered = StatementCache(_EVENTS)
    sql = "SELECT at::date, COUNT(*) FROM events GROUP BY 1"
    berlin = remembered.bind(sql, zone="Europe/Berlin")
    assert remembered.bind(sql, zone="Europe/Berlin") is berlin
    tokyo = remembered.bind(sql, zone="Asia/Tokyo")
    assert isinstance(berlin, Cut)
    assert isinstance(tokyo, Cut)
    assert explain_plan(berlin.releases[0].plan) != explain_plan(tokyo.releases[0].plan)
    assert (berlin.zone, tokyo.zone) == ("Europe/Berlin", "Asia/Tokyo")
