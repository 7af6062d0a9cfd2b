"""Bins of one length are cells of the axis of their column, exactly, as conditions and as keys."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction

from laws import for_each
from regions.ward import VISITS, WARD, column, scope

from gateway.catalog.domains import Interval
from gateway.catalog.tables import Dataset
from gateway.regions.cells import contains

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_FIRST, _LAST = datetime(2022, 1, 1, tzinfo=UTC), datetime(2022, 3, 31, tzinfo=UTC)
_TICK = timedelta(microseconds=1)
_BINS = [
    ("7 days", timedelta(days=7), datetime(2024, 1, 1, tzinfo=UTC)),
    ("90 minutes", timedelta(minutes=90), datetime(2022, 2, 1, 0, 7, 0, 1, tzinfo=UTC)),
    ("1 day", timedelta(days=1), datetime(2020, 1, 1, tzinfo=UTC)),
]


def _ward() -> Dataset:
    """Visits with a moment within three months."""
    seen = column("seen", "timestamp with time zone", Interval(_FIRST, _LAST, Fraction(1)))
    table = replace(VISITS, columns=(*VISITS.columns, seen))
    return replace(WARD, tables=tuple(table if one is VISITS else one for one in WARD.tables))


def _cell(moment: datetime) -> int:
    return (moment - _EPOCH) // _TICK


@for_each("asked", _BINS)
def test_comparison_of_a_bin_is_a_region(asked: tuple[str, timedelta, datetime]) -> None:
    """A bound within a bin asks for the bins after it; the moments around each boundary are in or out as in PostgreSQL."""
    length, width, origin = asked
    bound = datetime(2022, 2, 2, 10, 30, tzinfo=UTC)
    found = scope(
        f"SELECT COUNT(*) FROM visits WHERE date_bin('{length}', seen, TIMESTAMPTZ '{origin}') >= '{bound}'",
        _ward(),
    )
    assert not found.unreadable
    [box] = found.region.boxes
    cells = box.along("visits.seen")
    assert cells is not None
    edge = origin + ((bound - origin) // width) * width
    for moment in (edge, edge + width - _TICK, edge + width, edge + 2 * width, _FIRST, _LAST):
        begins = origin + ((moment - origin) // width) * width
        assert contains(cells, _cell(moment)) is (begins >= bound)


@for_each("asked", _BINS)
def test_groups_of_a_bin_have_cells(asked: tuple[str, timedelta, datetime]) -> None:
    """Every listed group is the cells from its beginning to the next."""
    length, width, origin = asked
    found = scope(
        f"SELECT date_bin('{length}', seen, TIMESTAMPTZ '{origin}'), COUNT(*) FROM visits GROUP BY 1",
        _ward(),
    )
    [key] = found.keys
    assert key.axis is not None
    assert key.cells is not None
    assert key.values is not None
    for value, cells in zip(key.values, key.cells, strict=True):
        if isinstance(value, datetime):
            inside = max(value, _FIRST)
            assert contains(cells, _cell(inside))
            assert contains(cells, _cell(min(value + width - _TICK, _LAST)))
            # the first cells and the last reach beyond the domain
            outside = (one for one in (value - _TICK, value + width) if _FIRST <= one <= _LAST)
            assert not any(contains(cells, _cell(one)) for one in outside)
