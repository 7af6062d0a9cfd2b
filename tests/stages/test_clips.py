"""What an answer and an estimate say of histograms of norms, and how long a failed one is remembered."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, cast

from gateway.datasets.dataset import FailedHistograms
from gateway.requests.request import Estimate
from gateway.stages.clips import WantedHistogram, add_histograms, with_histograms
from gateway.stages.purchase import Bill, Quote, Released
from gateway.units import Delta, Epsilon

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_NOTHING: Any = None


def _bill(charged: str, rho: str | None = None) -> Bill:
    price = Epsilon.parse(charged)
    return Bill(Quote(()), price=price, charged=price, rho=None if rho is None else Fraction(rho))


def _released(bill: Bill) -> Released:
    return Released(_NOTHING, bill, {}, {}, {})


def _wanted(price: str) -> WantedHistogram:
    privacy = SimpleNamespace(
        default_price=Epsilon.parse("1"),
        lowest_price=Epsilon.parse("0.001"),
        highest_price=Epsilon.parse("9"),
    )
    query = SimpleNamespace(
        policy=SimpleNamespace(privacy=privacy),
        epsilon=Epsilon.parse(price),
        cut=SimpleNamespace(releases=(), traced=None),
    )
    return WantedHistogram(cast("Any", query), _NOTHING, ())


def test_charge_of_an_answer_is_the_sum_and_its_price_its_own() -> None:
    """In both units; a histogram that was found after all costs nothing and is not told."""
    done = with_histograms(
        _released(_bill("1", "1/8")), [_bill("0.1", "1/80"), _bill("0.1", "1/80"), _bill("0")]
    )
    assert done.bill.charged == Epsilon.parse("1.2")
    assert done.bill.price == Epsilon.parse("1")
    assert done.bill.rho == Fraction(12, 80)
    assert done.bill.notices == ("epsilon 0.2 of this was charged for 2 histograms of norms",)


def test_answer_is_as_it_was_where_nothing_was_paid_for_histograms() -> None:
    """The very same value, so that repeats find what they kept for it."""
    done = _released(_bill("1"))
    assert with_histograms(done, ()) is done
    assert with_histograms(done, [_bill("0")]) is done
    assert with_histograms(done, [_bill("0.1")]).bill.rho is None


def test_estimate_adds_the_price_of_histograms_to_what_is_charged() -> None:
    """The whole query is paid under the new clip, also if it would be topped up now; one that costs nothing buys none."""
    query = _wanted("1").query
    estimate = Estimate(Epsilon.parse("0.25"), Delta.zero(), ())
    for one in (estimate, replace(estimate, price=Epsilon.parse("1"))):
        more = add_histograms(query, one, [_wanted("0.1"), _wanted("0.1")])
        assert more.price == Epsilon.parse("1.2")
        assert [said for said in more.notices if "2 histograms of norms" in said]
        assert add_histograms(query, one, ()) is one
    free = replace(estimate, price=Epsilon.zero())
    assert add_histograms(query, free, [_wanted("0.1")]) is free


def test_failed_histogram_is_remembered_for_a_day_and_for_its_subject() -> None:
    """For these keys alone."""
    failures = FailedHistograms()
    failures.note("alice", "visits by day", _NOON)
    for later, there in ((timedelta(0), True), (timedelta(hours=23), True), (timedelta(1), False)):
        assert failures.has("alice", "visits by day", _NOON + later) is there
    assert not failures.has("bob", "visits by day", _NOON)
    assert not failures.has("alice", "visits", _NOON)
