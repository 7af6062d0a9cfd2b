"""Staged subqueries: the inner query is answered first, and all stages are priced together and charged once."""

from collections.abc import Mapping
from fractions import Fraction
from typing import Any

import pytest
from endtoend.clinic_gateway import AskedGateway
from endtoend.clinic_policy import PRICE
from endtoend.conftest import Poor

from gateway.errors import Code, Refusal
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter, latest_records

# a statement and how many releases and measurements it has, where noise is Laplace's
_STAGED = {
    "above a mean": ("SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)", 2),
    "among the frequent": (
        """SELECT SUM(cost) FROM visits WHERE diagnosis IN
        (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 30)""",
        2,
    ),
    "series limit": (
        """SELECT date_trunc('month', visit_date), v.diagnosis, COUNT(*) FROM visits v JOIN
        (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 2) t
        ON t.diagnosis = v.diagnosis GROUP BY 1, 2""",
        2,
    ),
    "CTE against rows": (
        """WITH means AS (SELECT region, AVG(income) AS mean FROM patients GROUP BY region)
        SELECT COUNT(*) FROM patients p JOIN means m ON m.region = p.region WHERE p.income > m.mean""",
        2,
    ),
    "three, one in another": (
        """SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits WHERE weight >
        (SELECT AVG(weight) FROM visits))""",
        3,
    ),
}


def _records(gateway: AskedGateway, since: int) -> list[Mapping[str, Any]]:
    """What the trail says of questions, the oldest first."""
    with gateway.foundation.engine.connect() as connection:
        found = latest_records(connection, 50, RecordFilter(subject="alice"))
    return [one for one in found if one["seq"] > since]


def _last(gateway: AskedGateway) -> int:
    return max((int(one["seq"]) for one in _records(gateway, -1)), default=-1)


@pytest.mark.parametrize("dataset", ["laplace", "gaussian"])
@pytest.mark.parametrize(("sql", "releases"), _STAGED.values(), ids=_STAGED)
def test_stages_are_charged_once_and_together(
    gateway: AskedGateway, dataset: str, sql: str, releases: int
) -> None:
    """One charge, at the price of one question, that is split over the measurements of all releases."""
    before = _last(gateway)
    answer = gateway.answer(sql, dataset)
    charged, answered = _records(gateway, before)
    assert (charged["kind"], answered["kind"]) == (RecordKind.CHARGED, RecordKind.ANSWERED)
    parts = charged["measurements"]
    assert len({one["name"].partition(".")[0] for one in parts}) == releases
    assert sum(Fraction(one["share"]) for one in parts) == 1
    assert Fraction(charged["price"]) == Fraction(PRICE)
    assert answer.charged.value == Fraction(PRICE)


def test_stages_cost_nothing_where_the_source_is_not_reached(poor: Poor) -> None:
    """All of a statement is prepared at the source before any of it is charged."""
    gateway = poor.gateway
    (sql, _), *_ = _STAGED.values()
    gateway.answer(sql, "poor")
    poor.take_source_away()
    before = _last(gateway)
    with pytest.raises(Refusal, check=lambda one: one.code is Code.SOURCE_UNAVAILABLE):
        gateway.answer(sql, "poor")
    assert RecordKind.CHARGED not in {one["kind"] for one in _records(gateway, before)}


def test_stages_are_refused_together_when_their_whole_price_is_not_left(poor: Poor) -> None:
    """Nothing of a statement is charged where not all of it is."""
    gateway = poor.gateway
    first, second, *others = (sql for sql, _ in _STAGED.values())
    gateway.answer(first, "poor")
    gateway.answer(second, "poor")
    before = _last(gateway)
    for other in others:
        with pytest.raises(Refusal, check=lambda one: one.code is Code.BUDGET_EXHAUSTED):
            gateway.answer(other, "poor")
    assert {one["kind"] for one in _records(gateway, before)} == {RecordKind.REFUSED}
