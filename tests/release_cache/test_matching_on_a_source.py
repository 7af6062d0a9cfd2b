"""What is found among the answers to the golden statements, held against what a real source measures for each."""

from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import cached_property
from pathlib import Path

import pytest
from property.bounded_releases import NOW, Asked, bounded, golden, statement, undropped
from property.moves import groups_of
from property.small_worlds import world
from property.stores import Store, in_duckdb

from gateway.bounding.bounded_release import BoundedRelease
from gateway.bounding.time_zone import fold_moments
from gateway.budget.account import Currency
from gateway.catalog.values import Value
from gateway.noise.exponential import PureSelection
from gateway.noise.mechanism import DiscreteLaplace
from gateway.plan.aggregates import Aggregate
from gateway.regions.scope import scope_of
from gateway.release_cache.assemble import gather_slot
from gateway.release_cache.entry import CachedChoice, CachedSlot, CacheEntry, Content
from gateway.release_cache.matching import Match, MeasurementRequest, matches, measurement_request
from gateway.requests.request import CacheUse
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.choices import Histogram
from gateway.units import Epsilon

pytestmark = pytest.mark.server

_VISITS = "visits v join patients p on p.patient_id = v.patient_id"
_PER_PERSON = "(select patient_id, count(*) as n from visits group by patient_id) as x"
_QUARTER = "visit_date between date '2024-04-01' and date '2024-06-30'"
_IN_2024 = "visit_date between date '2024-01-01' and date '2024-12-31'"
_QUARTERS = "extract(quarter from visit_date)"
_MEDIAN = "percentile_disc(0.5) within group (order by income)"
_MORE = (
    "select region, smoker, birth_year / 10, count(*), avg(income) from patients group by 1, 2, 3",
    "select smoker, region, count(*), sum(income) from patients group by 1, 2",
    "select region, count(*), avg(income), count(distinct patient_id) from patients group by 1",
    f"select region, {_MEDIAN}, max(income), dp_top(region, 1) from patients group by 1",
    f"select {_MEDIAN}, max(income), dp_top(region, 1) from patients where region = 'east'",
    "select count(*), avg(income) from patients where region in ('north', 'east') and smoker",
    "select count(*), avg(income) from patients where region is null",
    "select birth_year, count(*) from patients group by 1",
    "select birth_year / 10, count(*) from patients where birth_year >= 1960 group by 1",
    "select birth_year % 10, count(*) from patients group by 1",
    "select count(*) from patients where birth_year % 10 = 3",
    "select smoker, count(*) from patients where birth_year > 1980 group by smoker",
    "select count(*) from patients where smoker is null and birth_year > 1980",
    "select case when income < 1000 then 'low' else 'high' end, count(*) from patients group by 1",
    "select count(*) from patients where income < 1000",
    f"select p.smoker, p.region, count(*), sum(v.cost), avg(v.cost) from {_VISITS} group by 1, 2",
    f"select p.smoker, avg(v.cost) from {_VISITS} where p.region = 'west' group by 1",
    f"select count(*), sum(v.cost) from {_VISITS} where p.region = 'south'",
    f"select count(*), sum(v.cost), count(distinct v.patient_id) from {_VISITS}",
    f"select {_QUARTERS}, count(*), avg(cost) from visits where {_IN_2024} group by 1",
    f"select count(*), avg(cost) from visits where {_QUARTER}",
    f"select n, count(*) from {_PER_PERSON} group by n",
    f"select count(*) from {_PER_PERSON} where n >= 3 and n < 5",
)


@dataclass(frozen=True)
class _Question:
    """A statement's release with what an entry of it would be, and what the source measures for it."""

    name: str
    analysis: Analysis
    wanted: MeasurementRequest
    release: BoundedRelease
    store: Store

    @cached_property
    def entry(self) -> CacheEntry:
        wanted = self.wanted
        slots = (
            CachedSlot(
                digest,
                (DiscreteLaplace(Fraction(9)),) * len(one.measurements),
                Fraction(1),
                one.most,
            )
            for digest, one in zip(wanted.slots, self.analysis.slots, strict=True)
        )
        choices = (
            CachedChoice(one, PureSelection(Fraction(9)), Fraction(1)) for one in wanted.choices
        )
        return CacheEntry(
            self.name, "q", datetime(2026, 3, 1, tzinfo=UTC), 0, wanted.scope, wanted.bounding,
            wanted.additive, wanted.plain, wanted.listed, tuple(slots), tuple(choices), Epsilon.parse("1"),
        )  # fmt: skip

    @property
    def keys(self) -> tuple[tuple[Value | None, ...], ...]:
        assert isinstance(self.analysis.groups, EnumeratedGroups)
        return self.analysis.groups.keys

    @cached_property
    def content(self) -> Content:
        """The exact integers."""
        if not self.analysis.slots:
            return Content(self.keys, ())
        found = groups_of(self.store.run(undropped(self.release), {}))
        none = (0,) * len(self.analysis.measurements)
        rows = [found.get(key, none) for key in self.keys]
        return Content(self.keys, tuple(zip(*rows, strict=True)))

    @cached_property
    def histograms(self) -> Mapping[Histogram, tuple[dict[int, int], ...]]:
        """For each group how many rows there are of each candidate."""
        if not self.analysis.histograms:
            return {}
        counted = self.store.count(self.release, {})
        return {
            histogram: tuple(
                dict(zip(*found.counts.get(key, ((), ())), strict=True)) for key in self.keys
            )
            for histogram, found in zip(self.analysis.histograms, counted, strict=True)
        }


@contextmanager
def _questions(place: Path, seed: int, *, pairs: bool) -> Iterator[list[_Question]]:
    asked = (*golden(), *map(statement, _MORE))
    with in_duckdb(place, [world(seed, keyed=True, persons=60)], seed) as [store]:
        found = (_question(at, one, store, pairs=pairs) for at, one in enumerate(asked))
        yield [one for one in found if one is not None]


def _question(at: int, asked: Asked, store: Store, *, pairs: bool) -> _Question | None:
    """None of what is refused, reads what was released before, or has groups that are found in the data."""
    plan = fold_moments(asked.plan, NOW)
    assert isinstance(plan, Aggregate)
    analysis = None if asked.stages else replace(asked, plan=plan).analysis(pairs=pairs)
    if analysis is None or not isinstance(analysis.groups, EnumeratedGroups):
        return None
    release = bounded(analysis, store.proven)
    if release is None or not (analysis.slots or analysis.choices):
        return None
    currency = Currency.PURE if pairs else Currency.ZCDP
    wanted = measurement_request(
        analysis,
        scope_of(plan, analysis.groups, {}),
        currency=currency,
        declarations="",
        constants={},
    )
    return _Question(f"{at}: {asked.name}", analysis, wanted, release, store)


def _slots_differ(own: _Question, place: int, match: Match, there: _Question) -> bool:
    first = sum(len(one.measurements) for one in own.analysis.slots[:place])
    last = first + len(own.analysis.slots[place].measurements)
    return gather_slot(there.content, match, len(own.keys)) != own.content.columns[first:last]


def _choices_differ(own: _Question, place: int, match: Match, there: _Question) -> bool:
    mine = own.histograms[own.analysis.choices[place].histogram]
    others = there.histograms[there.analysis.choices[match.place].histogram]
    if match.places is None:
        return mine != others
    pairs = zip(match.places.into.tolist(), match.places.taken.tolist(), strict=True)
    return any(mine[into] != others[taken] for into, taken in pairs)


# another random table, in the other currency; `test_matching` has random questions in the short form and the controls
_OTHER = pytest.param(2, False, marks=pytest.mark.full_samples)


@pytest.mark.parametrize(("seed", "pairs"), [(1, True), _OTHER])
def test_matches_are_what_a_source_would_measure(tmp_path: Path, seed: int, *, pairs: bool) -> None:
    """Whatever one golden statement finds in the answer to another is what the source measures for it, in every group."""
    hows: Counter[tuple[str, CacheUse]] = Counter()
    with _questions(tmp_path, seed, pairs=pairs) as questions:
        there = {one.name: one for one in questions}
        for own in questions:
            found = matches(own.wanted, [one.entry for one in questions if one is not own])
            for place, several in enumerate(found.slots):
                for match in several:
                    hows["slot", match.how] += 1
                    other = there[match.entry.release]
                    assert not _slots_differ(own, place, match, other), (own.name, other.name)
            for place, several in enumerate(found.choices):
                for match in several:
                    hows["choice", match.how] += 1
                    other = there[match.entry.release]
                    assert not _choices_differ(own, place, match, other), (own.name, other.name)
    assert {("slot", how) for how in CacheUse} <= hows.keys()
    assert {("choice", CacheUse.SAME), ("choice", CacheUse.FILTER)} <= hows.keys()
