"""Dashboards whose windows roll daily for weeks: answered where released sizes show the days to be large."""

from dataclasses import replace
from datetime import date

import pytest
from laws import for_each
from overlap.rolling import Dashboard, rolled
from samples import Samples

from gateway.errors import Code

_OPEN = "WHERE order_date >= DATE '{first}'"
_CLOSED = "WHERE order_date >= DATE '{first}' AND order_date < DATE '{last}'"
_BY_DAY = "SELECT order_date, COUNT(*) FROM orders {0} GROUP BY 1"
_TILES = (
    "SELECT COUNT(*) FROM orders {0}",
    "SELECT SUM(amount) FROM orders {0}",
    "SELECT date_trunc('week', order_date), COUNT(*) FROM orders {0} GROUP BY 1",
    (
        "SELECT c.region, date_trunc('month', o.order_date), COUNT(*) FROM orders o "
        "JOIN customers c ON c.customer_id = o.customer_id {0} GROUP BY 1, 2"
    ),
)


def _where(condition: str, *tiles: str) -> tuple[str, ...]:
    return tuple(one.replace("{0}", condition) for one in tiles)


_METABASE = (
    'WHERE "public"."orders"."order_date" >= CAST((CAST(now() AS timestamp) + (INTERVAL \'-30 day\')) AS date) '
    'AND "public"."orders"."order_date" < CAST(now() AS date)'
)
_METABASE_DAYS = (
    'SELECT CAST("public"."orders"."order_date" AS date) AS "order_date", COUNT(*) AS "count" FROM "public"."orders" '
    f'{_METABASE} GROUP BY CAST("public"."orders"."order_date" AS date) '
    'ORDER BY CAST("public"."orders"."order_date" AS date) ASC'
)
_GRAFANA = "WHERE ordered_at BETWEEN '{since}' AND '{until}'"
_SUPERSET = (
    "WHERE ordered_at >= TO_TIMESTAMP('{first} 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') "
    "AND ordered_at < TO_TIMESTAMP('{last} 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US')"
)

HONEST = (
    Dashboard("open windows of literals", _where(_OPEN, _BY_DAY, *_TILES)),
    Dashboard(
        "frequent customers of a window",
        (
            (
                "SELECT COUNT(*) FROM (SELECT customer_id FROM orders WHERE order_date >= DATE '{first}' "
                "GROUP BY 1 HAVING COUNT(*) >= 2) t"
            ),
        ),
        (
            (
                "SELECT order_date, COUNT(DISTINCT customer_id), COUNT(*) FROM orders "
                "WHERE order_date >= DATE '{first}' GROUP BY 1"
            ),
        ),
        days=8,
    ),
    Dashboard("closed windows of literals", _where(_CLOSED, *_TILES), _where(_CLOSED, _BY_DAY)),
    Dashboard(
        "open windows by the clock",
        _where("WHERE order_date >= current_date - 30", _BY_DAY, *_TILES[:3]),
    ),
    Dashboard(
        "one window in several spellings",
        (
            *_where("WHERE order_date > now() - interval '30 days'", *_TILES[:2]),
            *_where("WHERE order_date >= current_date - 29", _BY_DAY),
            *_where("WHERE NOT order_date < now()::date - 29", _TILES[2]),
        ),
    ),
    Dashboard(
        "moments by the clock, to the microsecond",
        _where(
            "WHERE ordered_at >= now() - interval '30 days'",
            "SELECT COUNT(*) FROM orders {0}",
            "SELECT SUM(amount) FROM orders {0}",
            "SELECT date_trunc('day', ordered_at), COUNT(*) FROM orders {0} GROUP BY 1",
            "SELECT c.region, COUNT(*) FROM orders o JOIN customers c USING (customer_id) {0} GROUP BY 1",
        ),
    ),
    Dashboard(
        "moments from the beginning of a day",
        _where(
            "WHERE ordered_at >= date_trunc('day', now() - interval '30 days')",
            "SELECT COUNT(*) FROM orders {0}",
            "SELECT date_trunc('day', ordered_at), COUNT(*) FROM orders {0} GROUP BY 1",
            "SELECT status, COUNT(*) FROM orders {0} GROUP BY 1",
        ),
    ),
    Dashboard(
        "as Metabase asks",
        (
            f'SELECT COUNT(*) AS "count" FROM "public"."orders" {_METABASE}',
            f'SELECT SUM("public"."orders"."amount") AS "sum" FROM "public"."orders" {_METABASE}',
        ),
        (_METABASE_DAYS,),
    ),
    Dashboard(
        "as Grafana asks, once a day",
        (
            f"SELECT count(*) FROM orders {_GRAFANA}",
            f"SELECT date_trunc('day', ordered_at) AS \"time\", count(*) FROM orders {_GRAFANA} GROUP BY 1 ORDER BY 1",
            f"SELECT status, count(*) FROM orders {_GRAFANA} GROUP BY 1",
        ),
    ),
    Dashboard(
        "as Superset asks",
        (
            f"SELECT count(*) AS count FROM public.orders {_SUPERSET} LIMIT 50000",
            (
                f"SELECT status AS status, sum(amount) AS s FROM public.orders {_SUPERSET} "
                "GROUP BY status ORDER BY s DESC LIMIT 10000"
            ),
        ),
        (
            (
                f"SELECT DATE_TRUNC('day', ordered_at) AS ordered_at, count(*) AS count FROM public.orders {_SUPERSET} "
                "GROUP BY DATE_TRUNC('day', ordered_at) ORDER BY count DESC LIMIT 10000"
            ),
        ),
    ),
    Dashboard(
        "one region by itself, with its chart by day",
        _where("WHERE status = 'sent' AND order_date >= DATE '{first}'", _BY_DAY, *_TILES[:3]),
    ),
    Dashboard(
        "counts of customers",
        _where(
            _OPEN,
            "SELECT COUNT(DISTINCT customer_id) FROM orders {0}",
            "SELECT order_date, COUNT(DISTINCT customer_id) FROM orders {0} GROUP BY 1",
            "SELECT AVG(amount) FROM orders {0}",
        ),
    ),
    Dashboard(
        "days of a dearer chart alone, that is bought once",
        _where(_OPEN, *_TILES[:3]),
        (
            "SELECT order_date, COUNT(*) FROM orders WHERE order_date >= DATE '2026-01-01' GROUP BY 1",
        ),
        price=2,
    ),
)


# days in which the window's end and its beginning come into another month, and into another week
_NINE_DAYS = date(2026, 2, 24)
_A_MONTH = "one region by itself, with its chart by day"
# on these first days one draw of a day's size is less than six deviations above `min_units`
_UNLUCKY = (date(2026, 2, 18), date(2026, 2, 20), date(2026, 2, 22))


def _sampled(board: Dashboard) -> Dashboard:
    """One board for a month, and the others for nine days; all for a month by `--full-samples`."""
    if Samples.full or board.title == _A_MONTH:
        return board
    return replace(board, days=9, begin=_NINE_DAYS)


@pytest.mark.parametrize(
    "board", HONEST, ids=lambda one: one.title
)  # seconds each: not all in one process
def test_dashboard_rolls_for_weeks(board: Dashboard) -> None:
    """Every tile is answered on every day."""
    board = _sampled(board)
    found = rolled(board)
    assert not [(one.day, one.tile, str(one.refusal)) for one in found.refused]
    assert found.answered == board.days * len((*board.first, *board.tiles))


@pytest.mark.parametrize("begin", _UNLUCKY, ids=str)
def test_dashboard_of_a_filter_rolls_from_any_first_day(begin: date) -> None:
    """The first chart shows each day openly, so that a low draw of the day that leaves the window refuses no tile."""
    [board] = (one for one in HONEST if one.title == "one region by itself, with its chart by day")
    assert not rolled(replace(board, days=4, begin=begin)).refused


@for_each("board", HONEST)
def test_dashboard_rolls_in_any_order(board: Dashboard) -> None:
    """The same over some days, in another order of its tiles."""
    assert not rolled(replace(board, days=5), order=1).refused


def test_tile_of_a_new_day_is_answered_when_the_chart_has_loaded() -> None:
    """A tile that loads before the chart on the first day of a closed window is answered on its reload."""
    tiles = _where(_CLOSED, _BY_DAY, *_TILES)
    found = rolled(Dashboard("any order", tiles, days=8))
    assert found.refused
    assert not any(one.tile == tiles[0] for one in found.refused)
    again = rolled(Dashboard("reloaded", tiles[1:], (*tiles[:1],), days=8))
    assert not again.refused


_BY_DAY_OPEN = _where(_OPEN, _BY_DAY)
ATTACKS = (
    Dashboard("no size of a day is known", _where(_OPEN, *_TILES[:2])),
    Dashboard("weeks alone are known", _where(_OPEN, _TILES[2], _TILES[0])),
    Dashboard(
        "the days of others are known",
        _where(f"{_OPEN} AND status = 'returned'", _TILES[0]),
        _where(f"{_OPEN} AND status = 'paid'", _BY_DAY),
    ),
    Dashboard(
        "the days of all are known",
        _where(f"{_OPEN} AND status = 'returned'", _TILES[0]),
        _BY_DAY_OPEN,
    ),
    Dashboard(
        "the days are known to have next to nobody",
        _where(f"{_OPEN} AND status = 'returned'", _TILES[0]),
        _where(f"{_OPEN} AND status = 'returned'", _BY_DAY),
    ),
    Dashboard(
        "one amount beside the day", _where(f"{_OPEN} AND amount = 1999", _TILES[0]), _BY_DAY_OPEN
    ),
    Dashboard(
        "one amount left out of the last day",
        (
            _TILES[0].replace("{0}", _OPEN),
            "SELECT COUNT(*) FROM orders WHERE order_date >= DATE '{first}' AND NOT (order_date = DATE '{first}' AND amount = 77)",
        ),
        _BY_DAY_OPEN,
    ),
    Dashboard(
        "each day in groups that are found in the data",
        _where(_OPEN, "SELECT coupon, COUNT(*) FROM orders {0} GROUP BY 1"),
        _BY_DAY_OPEN,
    ),
    Dashboard(
        "each day in a hundred groups",
        _where(_OPEN, "SELECT amount / 20, COUNT(*) FROM orders {0} GROUP BY 1"),
        _BY_DAY_OPEN,
    ),
    Dashboard(
        "minutes of moments, where days are known",
        (
            "SELECT COUNT(DISTINCT customer_id) FROM orders WHERE ordered_at >= TIMESTAMPTZ '{until}' - interval '30 days'",
            (
                "SELECT COUNT(DISTINCT customer_id) FROM orders "
                "WHERE ordered_at >= TIMESTAMPTZ '{until}' - interval '30 days' + interval '9 seconds'"
            ),
        ),
        (
            "SELECT date_trunc('day', ordered_at), COUNT(*) FROM orders WHERE ordered_at >= DATE '2026-01-01' GROUP BY 1",
        ),
    ),
)


@for_each("board", ATTACKS)
def test_windows_that_roll_over_few_people_are_refused(board: Dashboard) -> None:
    """A size that is unknown, small, of others, or of many groups together clears nothing."""
    found = rolled(replace(board, days=4))
    assert any(one.tile in board.tiles for one in found.refused)
    assert {one.refusal.code for one in found.refused} <= {Code.DIFFERENCING, Code.SMALL_GROUP}
    assert all(one.refusal.hint for one in found.refused)


def test_hint_names_the_chart_that_helps() -> None:
    """Whoever made the dashboard reads which chart to load first; and it helps."""
    [refused, *_] = rolled(Dashboard("count alone", _where(_OPEN, _TILES[0]), days=2)).refused
    assert "GROUP BY `orders.order_date`" in (refused.refusal.hint or "")
    assert not rolled(Dashboard("with it", _where(_OPEN, _TILES[0]), _BY_DAY_OPEN, days=2)).refused
