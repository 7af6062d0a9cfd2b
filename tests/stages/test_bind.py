"""Clocks of whoever asks: what today is, and what no plan may leave to a session."""

from dataclasses import replace
from datetime import UTC, date, datetime

import pytest

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.time_zone import fold_moments, require_named_clocks
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.catalog.zones import clock_time, find_session_zone
from gateway.errors import Code, UnsupportedSql
from gateway.functions.time_bins import call_date_bin
from gateway.plan.fields import BOOLEAN, DATE, TEXT, TIMESTAMP, TIMESTAMPTZ
from gateway.plan.node import BrokenPlan
from gateway.plan.print import explain_plan
from gateway.plan.relations import Filter, Scan
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, Shift

_LATE = datetime(2026, 11, 18, 23, 30, tzinfo=UTC)
_EVENTS = Dataset(
    "shop",
    "person",
    (
        Table(
            "events",
            (
                Column("person", parse_type("bigint")),
                Column("at", parse_type("timestamp with time zone")),
                Column("local", parse_type("timestamp without time zone")),
                Column("day", parse_type("date")),
            ),
            Protection("person", 10, 4),
        ),
    ),
)


def _cut(where: str, zone: str) -> Cut:
    bound = bind(f"SELECT COUNT(*) FROM events WHERE {where}", _EVENTS, zone=zone)
    assert isinstance(bound, Cut)
    return bound


@pytest.mark.parametrize(
    ("zone", "today"),
    [
        ("UTC", date(2026, 11, 18)),
        ("Europe/Berlin", date(2026, 11, 19)),
        ("America/New_York", date(2026, 11, 18)),
        ("<+05>-05", date(2026, 11, 19)),
    ],
)
def test_today_is_the_day_of_the_zone(zone: str, today: date) -> None:
    """`current_date` is the day on the calendar of whoever asks."""
    (release,) = _cut("day = current_date", zone).releases
    shown = explain_plan(fold_moments(release.plan, clock_time(zone, _LATE)))
    assert f"'{today}'" in shown


@pytest.mark.parametrize("zone", ["../../etc/passwd", "WEIRD3", "Europe/Atlantis"])
@pytest.mark.parametrize(
    "where", ["day = current_date", "at > '2026-01-01'", "at::date = '2026-01-01'", "day < at"]
)
def test_clock_is_refused_when_nobody_knows_its_rules(zone: str, where: str) -> None:
    """A session may have a zone that PostgreSQL makes of a formula; what reads its clock is refused."""
    assert find_session_zone(zone) == zone
    with pytest.raises(UnsupportedSql, match="no known rules") as caught:
        _cut(where, zone)
    assert caught.value.code is Code.CLAUSE_UNSUPPORTED
    assert _cut("at IS NOT NULL AND at < '2026-01-01 10:00+01'", zone).releases


_ROWS = Scan(_EVENTS.tables[0], "events", "person")
_AT, _LOCAL = Ref(_ROWS.fields[1]), Ref(_ROWS.fields[2])
_BERLIN = Literal("Europe/Berlin", TEXT)


@pytest.mark.parametrize(
    ("scalar", "reads"),
    [
        (_AT, False),
        (Call("=", (_AT, _AT), BOOLEAN), False),
        (Call("is null", (_AT,), BOOLEAN), False),
        (Call("timezone", (_BERLIN, _AT), TIMESTAMP), False),
        (Call("=", (_AT, Call("timezone", (_BERLIN, _LOCAL), TIMESTAMPTZ)), BOOLEAN), False),
        (Call("=", (_AT, _LOCAL), BOOLEAN), True),
        (Call("coalesce", (_AT, _LOCAL), TIMESTAMPTZ), True),
        (Call("date_trunc", (Literal("day", TEXT), _AT), TIMESTAMPTZ), True),
        (call_date_bin(60_000_000, _AT, 0), False),
        (call_date_bin(60_000_000, _LOCAL, 0), False),
        (replace(call_date_bin(60_000_000, _LOCAL, 0), type=TIMESTAMPTZ), True),
        (replace(call_date_bin(60_000_000, _AT, 0), type=TIMESTAMP), True),
        (Cast(_AT, DATE), True),
        (Cast(_LOCAL, TIMESTAMPTZ), True),
        (Shift(_AT, 0, 1, 0, TIMESTAMPTZ), True),
        (Call("not", (Call("is null", (Cast(_AT, DATE),), BOOLEAN),), BOOLEAN), True),
    ],
)
def test_plan_that_reads_a_clock_names_its_zone(scalar: Scalar, *, reads: bool) -> None:
    """Comparing moments looks at no clock; what takes one apart, or makes one, says by which clock it does."""
    plan = Filter(_ROWS, Call("is null", (scalar,), BOOLEAN))
    if not reads:
        require_named_clocks(plan)
        return
    with pytest.raises(BrokenPlan, match="clock"):
        require_named_clocks(plan)
