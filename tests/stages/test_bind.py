"""Time zones of whoever asks: what today is, and what would mean something else elsewhere."""

from datetime import UTC, date, datetime

import pytest

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.time_zone import depends_on_zone, fold_moments, is_zone_dependent
from gateway.catalog.tables import Column, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.errors import Code, UnsupportedSql
from gateway.plan.fields import BOOLEAN, DATE, TEXT, TIMESTAMP, TIMESTAMPTZ, Field
from gateway.plan.print import explain_plan
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, Shift
from gateway.stages.bind import moment_in, require_zone_does_not_matter

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


def _cut(where: str) -> Cut:
    bound = bind(f"SELECT COUNT(*) FROM events WHERE {where}", _EVENTS)
    assert isinstance(bound, Cut)
    return bound


@pytest.mark.parametrize(
    ("zone", "today"),
    [
        ("UTC", date(2026, 11, 18)),
        ("Europe/Berlin", date(2026, 11, 19)),
        ("America/New_York", date(2026, 11, 18)),
        ("<+05>-05", date(2026, 11, 18)),  # not known by its name: UTC
        ("../../etc/passwd", date(2026, 11, 18)),
    ],
)
def test_today_is_the_day_of_the_zone(zone: str, today: date) -> None:
    """`current_date` is the day on the calendar of whoever asks."""
    (release,) = _cut("day = current_date").releases
    assert f"'{today}'" in explain_plan(fold_moments(release.plan, moment_in(zone, _LATE)))


@pytest.mark.parametrize(
    ("where", "reads"),
    [
        ("day > '2026-01-01'", False),
        ("at IS NOT NULL", False),
        ("local > now()", False),
        ("local > '2026-01-01 10:00'", False),
        ("at > '2026-01-01 10:00'", True),
        ("day = '2026-01-01' OR at BETWEEN '2026-01-01' AND '2026-01-02'", True),
    ],
)
def test_zone_matters_where_a_text_is_read_as_a_moment(where: str, *, reads: bool) -> None:
    """What the zone would change is seen, and refused in another zone than UTC; all else is not."""
    cut = _cut(where)
    assert any(depends_on_zone(one.plan) for one in cut.releases) is reads
    require_zone_does_not_matter(cut, "Etc/UTC")
    if not reads:
        require_zone_does_not_matter(cut, "Europe/Berlin")
        return
    with pytest.raises(UnsupportedSql, match="Berlin") as caught:
        require_zone_does_not_matter(cut, "Europe/Berlin")
    assert caught.value.code is Code.CLAUSE_UNSUPPORTED


_AT = Ref(Field("events.at", TIMESTAMPTZ, texts=1))
_LOCAL = Ref(Field("events.local", TIMESTAMP, texts=1))


@pytest.mark.parametrize(
    ("scalar", "reads"),
    [
        (_AT, False),
        (Call("=", (_AT, _AT), BOOLEAN), False),
        (Call("is null", (_AT,), BOOLEAN), False),
        (Call("=", (_AT, _LOCAL), BOOLEAN), True),
        (Call("date_trunc", (Literal("day", TEXT), _AT), TIMESTAMPTZ), True),
        (Cast(_AT, DATE), True),
        (Cast(_LOCAL, TIMESTAMPTZ), True),
        (Shift(_AT, 0, 1, 0, TIMESTAMPTZ), True),
        (Call("not", (Call("is null", (Cast(_AT, DATE),), BOOLEAN),), BOOLEAN), True),
    ],
)
def test_zone_matters_where_a_time_with_a_zone_is_taken_apart(
    scalar: Scalar, *, reads: bool
) -> None:
    """Comparing moments looks at no clock; whatever takes one apart, or makes one of a local time, does."""
    assert is_zone_dependent(scalar) is reads
