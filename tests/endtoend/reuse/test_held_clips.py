"""A release that a subject holds keeps its clip: other prices and other measures are answered from it, or top it up.

Noise is reproducible here, so a clip that differs differs each time.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

import pytest
from endtoend.reuse.datasets import (
    CLIPPED,
    CLIPPED_AUDITED,
    CLIPPED_OPEN,
    CLIPPED_ZCDP,
    Opened,
    opened,
)
from endtoend.reuse.test_norm_histograms import MORE, PRICE, bought, limit
from endtoend.reuse.two_gateways import World, world
from fix_servers import SharedServers

from gateway.admin.actions import refresh_data
from gateway.cancellation import CancelEvent
from gateway.postgres_server import Lease
from gateway.release_cache.cache import ReleaseCaches
from gateway.requests.request import Accuracy, Answer, CacheUse, Estimate
from gateway.stages.repeat_cache import Repeats

_YEARS: Final = "SELECT extract(year FROM visit_date) AS y, {} FROM visits GROUP BY 1"
_MONTHS: Final = "SELECT extract(month FROM visit_date) AS m, {} FROM visits GROUP BY 1"
_COUNT: Final = _YEARS.format("COUNT(*) AS n")
_FOUND: Final = "SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis"


@pytest.fixture(scope="module")
def houses(sample_server: Lease, servers: SharedServers) -> Iterator[Opened]:
    with opened(
        sample_server, servers, clipped=16, clipped_zcdp=20, clipped_open=2, clipped_audited=2
    ) as one:
        yield one


@dataclass(frozen=True)
class Asked:
    """A dataset that nobody has asked, with reproducible noise."""

    world: World

    def ask(
        self, sql: str, who: str = "alice", epsilon: str | None = None, **more: object
    ) -> Answer:
        place = self.world.place
        self.world.chance.begin(sql)
        return self.world.asking.answer(
            place.subject(who), place.request(sql, epsilon, **more), CancelEvent()
        )

    def estimate(self, sql: str, epsilon: str | None = None, **more: object) -> Estimate:
        place = self.world.place
        return self.world.asking.estimate(
            place.subject("alice"), place.request(sql, epsilon, **more)
        )

    def restarted(self) -> "Asked":
        """Another gateway on the same state: it remembers nothing."""
        services, opened_ = self.world.asking.services, self.world.place.opened
        caches = ReleaseCaches(opened_.foundation.engine, opened_.foundation.trail.seal)
        again = replace(services, caches=caches, repeats=Repeats())
        return Asked(replace(self.world, asking=replace(self.world.asking, services=again)))


@contextmanager
def _asked(houses: Opened, kind: str) -> Iterator[Asked]:
    with world(houses, kind) as there:
        yield Asked(there)


@pytest.fixture(autouse=True)
def _chance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gateway.noise.mechanism._asked_again", lambda _: False)


@pytest.fixture(params=[CLIPPED, CLIPPED_ZCDP])
def there(request: pytest.FixtureRequest, houses: Opened) -> Iterator[Asked]:
    with _asked(houses, request.param) as one:
        yield one


@pytest.fixture
def zcdp(houses: Opened) -> Iterator[Asked]:
    with _asked(houses, CLIPPED_ZCDP) as one:
        yield one


def _best(there: Asked, sql: str, epsilon: str | None = None) -> float:
    """The best clip, which somebody gets who takes nothing from earlier releases; of no trust group with alice."""
    return limit(there.ask(sql, "dave", epsilon, fresh=True))


_FORMS: Final = tuple(
    form.format(measure)
    for measure in ("AVG(cost) AS a", "SUM(cost) AS s", "COUNT(*) AS n")
    for form in (_YEARS, _MONTHS)
)


def _statement(there: Asked, low: str, high: str) -> str:
    """A statement whose best clip is another one at the higher price."""
    for sql in _FORMS:
        if _best(there, sql, low) != _best(there, sql, high):
            return sql
    pytest.fail("the best clips do not depend on the price")


def test_higher_price_tops_up_the_held_release(there: Asked) -> None:
    """The clip stays, and the difference is charged, as of a table with one row of each person."""
    gaussian = there.world.place.dataset.startswith(CLIPPED_ZCDP)
    low, high = "20", "40" if gaussian else "28"
    sql = _statement(there, low, high)
    first = there.ask(sql, epsilon=low)
    told = there.estimate(sql, high)
    more = there.ask(sql, epsilon=high)
    assert limit(more) == limit(first) != _best(there, sql, high)
    assert more.charged == told.price
    square = Fraction(high) ** 2 - Fraction(low) ** 2
    if gaussian:
        assert more.charged.value == Fraction(high) - Fraction(low)
    else:
        assert square <= more.charged.value**2 <= square * (1 + Fraction(1, 2**30))
    assert [there.ask(sql, epsilon=one).charged.value for one in (low, high)] == [0, 0]


def test_lower_price_is_answered_from_the_held_release(there: Asked) -> None:
    """Whatever the best clip would be at that price; the estimate says so."""
    sql = _statement(there, "4", "28")
    first = there.ask(sql, epsilon="28")
    for epsilon in ("28", "12", "4"):
        told, again = there.estimate(sql, epsilon), there.ask(sql, epsilon=epsilon)
        assert (again.reused, again.charged.value) == (CacheUse.SAME, Fraction(0))
        assert told.price.value == 0
        assert (again.rows, limit(again)) == (first.rows, limit(first))
    assert limit(first) != _best(there, sql, "4")


def test_fewer_measures_are_answered_from_the_held_release(there: Asked) -> None:
    """At the same price they would be more exact, so that without a named price nothing is charged."""
    first = there.ask(_YEARS.format("COUNT(cost) AS n, SUM(cost) AS s, COUNT(DISTINCT cost) AS d"))
    part = there.ask(_YEARS.format("COUNT(cost) AS n, SUM(cost) AS s"))
    assert (part.reused, part.charged.value) == (CacheUse.SAME, Fraction(0))
    assert limit(part) == limit(first)
    named = there.ask(_YEARS.format("COUNT(cost) AS n, SUM(cost) AS s"), epsilon="20")
    assert 0 < named.charged.value < PRICE
    assert limit(named) == limit(first)


def test_measures_that_are_the_same_are_answered_from_the_held_release(there: Asked) -> None:
    """A mean is measured as a sum and a count, and its best clip alone would be smaller."""
    for form in (_YEARS, _MONTHS):
        first = there.ask(form.format("COUNT(cost) AS n, SUM(cost) AS s"))
        mean = there.ask(form.format("AVG(cost) AS a"))
        assert (mean.reused, mean.charged.value) == (CacheUse.SAME, Fraction(0))
        assert limit(mean) == limit(first) > _best(there, form.format("AVG(cost) AS a"))


def test_count_is_not_taken_from_a_release_that_loses_far_more_of_its_rows(zcdp: Asked) -> None:
    """The clip of a mean may take most rows away, and a mean with it is right; a count is measured under its own."""
    mean, count = _MONTHS.format("AVG(cost) AS a"), _MONTHS.format("COUNT(cost) AS n")
    first, answer = zcdp.ask(mean), zcdp.ask(count)
    assert answer.charged.value == PRICE
    assert limit(answer) == _best(zcdp, count) >= 2 * limit(first)


def test_measure_beside_held_ones_is_measured_under_their_clip(zcdp: Asked) -> None:
    """What is missing alone is charged: one of three measurements."""
    first = zcdp.ask(_YEARS.format("SUM(cost) AS s"), epsilon="20")
    more = zcdp.ask(_YEARS.format("SUM(cost) AS s, COUNT(*) AS n"), epsilon="20")
    assert more.charged.value == PRICE / 3
    assert limit(more) == limit(first)


def test_accuracy_is_taken_from_the_held_release(there: Asked) -> None:
    """A lesser accuracy costs nothing, a greater one the difference to it."""
    there.ask(_COUNT)
    for margin, share in ((40, 1), (80, 0), (30, 1)):
        accuracy = Accuracy(margin=Fraction(margin))
        told = there.estimate(_COUNT, accuracy=accuracy)
        answer = there.ask(_COUNT, accuracy=accuracy)
        assert answer.charged == told.price
        assert bool(answer.charged.value) <= bool(share)
    again = there.ask(_COUNT, accuracy=Accuracy(margin=Fraction(30)))
    assert again.charged.value == 0


def test_fresh_answer_has_the_best_clip(zcdp: Asked) -> None:
    """It is measured anew at its whole price, and takes nothing from what is held."""
    sql = _statement(zcdp, "20", "40")
    first = zcdp.ask(sql, epsilon="20")
    fresh = zcdp.ask(sql, epsilon="40", fresh=True)
    assert fresh.charged.value == 40
    assert limit(fresh) == _best(zcdp, sql, "40") != limit(first)


def test_clip_that_is_far_from_the_best_one_is_kept_for_repeats_alone(there: Asked) -> None:
    """A release of before there was a histogram: its repeats cost nothing, and a higher price gets the best clip."""
    first = there.ask(_COUNT, epsilon="1")
    there.ask(_YEARS.format("SUM(cost) AS s"))
    again = there.ask(_COUNT, epsilon="1")
    assert (again.rows, again.charged.value, limit(again)) == (
        first.rows,
        Fraction(0),
        limit(first),
    )
    better = there.ask(_COUNT, epsilon="1.2")
    assert better.charged.value == Fraction(6, 5)
    assert limit(better) < limit(first)


def test_clip_is_kept_by_another_gateway_until_data_are_refreshed(zcdp: Asked) -> None:
    """What is held stands in the log; after a refresh nothing is."""
    sql = _statement(zcdp, "20", "40")
    first = zcdp.ask(sql, epsilon="20")
    again = zcdp.restarted()
    assert again.ask(sql, epsilon="10").rows == first.rows
    more = again.restarted().ask(sql, epsilon="40")
    assert (more.charged.value, limit(more)) == (PRICE, limit(first))
    foundation, place = zcdp.world.place.opened.foundation, zcdp.world.place
    refresh_data(foundation.journal, foundation.trail, place.dataset, actor="dave", now=place.clock)
    anew = zcdp.ask(sql, epsilon="40")
    assert anew.charged.value == 40 + MORE
    assert limit(anew) != limit(first)


def test_repeat_looks_for_a_held_clip_once(zcdp: Asked) -> None:
    """While nothing happens; the age of what is held counts."""
    sql = _statement(zcdp, "4", "40")
    first = zcdp.ask(sql, epsilon="40")
    for days in (0, 3, 3.9):
        zcdp.world.place.later(days)
        assert zcdp.ask(sql, epsilon="4").rows == first.rows
    zcdp.world.place.later(0.2)
    anew = zcdp.ask(sql, epsilon="4")
    assert anew.charged.value == 4
    assert limit(anew) != limit(first)


@pytest.mark.parametrize(
    ("kind", "other"), [(CLIPPED, "dave"), (CLIPPED_OPEN, "dave"), (CLIPPED_AUDITED, "carol")]
)
def test_releases_of_others_change_no_clip(houses: Opened, kind: str, other: str) -> None:
    """Neither strangers' nor those of a trust group, also where all answers are told: their accounts paid for the clip."""
    clips = []
    for others in (False, True):
        with _asked(houses, kind) as there:
            for form in (_YEARS, _MONTHS):
                there.ask(form.format("COUNT(*)").replace("GROUP", "WHERE cost > 9 GROUP"))
            if others:
                for measure in ("COUNT(*) AS n", "AVG(cost) AS a"):
                    for form in (_YEARS, _MONTHS):
                        there.ask(form.format(measure), other, "60")
            mine = [_YEARS.format("SUM(cost) AS s"), _COUNT, _MONTHS.format("AVG(cost) AS a")]
            clips.append([limit(there.ask(sql, epsilon=one)) for sql in mine for one in ("3", "5")])
    assert clips[0] == clips[1]


def test_number_of_groups_is_taken_from_the_held_release(zcdp: Asked) -> None:
    """Of groups that are found in the data; before, and for everybody else, it is a guess of the policy."""
    first = zcdp.ask(_FOUND)
    assert len(first.rows) < 30
    assert zcdp.ask(_FOUND).rows == first.rows
    fresh = zcdp.ask(_FOUND, fresh=True)
    assert limit(fresh) > limit(first)
    assert limit(zcdp.ask(_FOUND, "dave")) == limit(first)


def test_held_clip_buys_no_histogram(zcdp: Asked) -> None:
    """What is answered for nothing needs none; where one is bought the estimate tells the whole price."""
    zcdp.ask(_COUNT, epsilon="1")
    assert zcdp.ask(_COUNT, epsilon="1").charged.value == 0
    assert bought(zcdp.world.place, "alice").histograms == []
    told = zcdp.estimate(_COUNT, "4")
    answer = zcdp.ask(_COUNT, epsilon="4")
    assert answer.charged == told.price
    assert answer.charged.value == 4 + MORE
