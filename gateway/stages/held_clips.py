"""The clips of a query beside the releases that its subject holds: a held release keeps its clip.

The best clip depends on the price and the measures of a query, and the clip is a part of what a release is about. So another
price would make another release, which no earlier one answers or makes cheaper. Therefore a part takes the clip of a release
of its rows and groups that the subject holds,

- if that release repeats the part: it has the very same measures, and is exact enough for the price;
- or if it gives some of the part, and its clip is nearly as good as the best one (`clip_choices.py`).

Of several the part takes the one that leaves the least to pay, and of these the nearest to the best. `fresh` takes none.

INVARIANT: held is what this subject alone was given in full, and so was charged for. Neither strangers nor the other members
of a trust group change a clip. So a clip still follows from histograms and releases that the subject's own account was
charged for, from the query and from the policy. docs/proofs/clip_choice.md#held-clips
INVARIANT: an estimate and a charge of the same query at one position of the log have the same clips.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from math import log2, sqrt
from typing import Final, TypeAlias

from gateway.clipping.served_histogram import PartKey
from gateway.engines.catalog.proofs import TableProof
from gateway.errors import Refusal
from gateway.pricing.accuracy import price_for_accuracy
from gateway.pricing.price import AnalyzedQuery, accounts_on_path, price_of
from gateway.regions.declarations import declarations
from gateway.regions.scope import ReleaseScope
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.fingerprints import bounding_of
from gateway.release_cache.matching import has_same_groups
from gateway.release_cache.query_plan import Basis, PlannedPart, QueryPlan, ReuseContext
from gateway.release_cache.reuse_planner import plan_reuse
from gateway.requests.request import CacheUse
from gateway.sensitivity.analysis import ThresholdGroups
from gateway.sensitivity.analyze import clips_under
from gateway.sensitivity.norm_release import needs_norms
from gateway.stages.analyze import NOT_CHOSEN, ChosenClips
from gateway.stages.clip_choices import (
    AS_EXACT,
    AS_WELL,
    ClipChoice,
    Served,
    clips_of,
    find_choices,
)
from gateway.stages.clips import part_key
from gateway.stages.repeat_cache import RepeatCache
from gateway.state.journal import Journal

Clipping: TypeAlias = Callable[[ChosenClips], AnalyzedQuery]
"""The query with these clips."""
Squares: TypeAlias = Mapping[PartKey, int]
"""c² by part; a part that is not there has the declared clip."""
_MOST_TRIED: Final = 64
"""So many held clips are tried for a statement, each with a plan of its own: a count, never a clock."""


def clip_query(  # noqa: PLR0913 - a query, and what its clips depend on
    query: AnalyzedQuery,
    served: Served,
    clipping: Clipping,
    *,
    cache: ReleaseCache,
    journal: Journal,
    proven: Mapping[str, TableProof],
    now: datetime,
    repeats: RepeatCache,
    held: bool,
) -> AnalyzedQuery:
    """The query with its clips: those of releases that are `held`, else the best ones by the histograms that are served."""
    if not any(map(needs_norms, query.analyses)):
        return clipping(NOT_CHOSEN)
    plain = clipping(NOT_CHOSEN)
    basis = Basis(cache.refresh(), accounts_on_path(journal, query), proven)
    known = repeats.find_clips(plain, basis, now) if held else None
    if known is not None:
        return clipping(known)
    search = _Search(plain, clipping, _Holdings(cache, journal, basis, now))
    try:
        found = search.clips(served, held=held)
    except Refusal:
        return plain  # of its price: the query itself says why
    if held:
        repeats.keep_clips(plain, found, basis, (now, search.holdings.oldest), cache)
    return clipping(found)


@dataclass
class _Holdings:
    """The releases that the subject of a query was given in full. `oldest` is the age of the oldest one that was looked at."""

    cache: ReleaseCache
    journal: Journal
    basis: Basis
    now: datetime
    oldest: datetime | None = None

    def plan(self, query: AnalyzedQuery) -> QueryPlan:
        """What these releases give of the query; nobody is waited for."""
        price = price_of(query)
        cost = self.basis.accounts[0].ledger.cost(price)
        around = ReuseContext(
            query, self.cache, self.basis, price, cost, self.now, self.now, own=True
        )
        plan = plan_reuse(around)
        self._look_at(plan.oldest)
        return plan

    def of(self, query: AnalyzedQuery, scope: ReleaseScope) -> Sequence[CacheEntry]:
        """Those that may have something of this scope, first the ones about the very same; the newest first."""
        subject = frozenset({query.subject})
        found = self.cache.helpful(scope, since=self.now - query.policy.max_age, members=subject)
        self._look_at(min((one.at for one in found), default=None))
        return [one for one in found if not self.cache.pending(one.release)]

    def _look_at(self, at: datetime | None) -> None:
        self.oldest = min(filter(None, (at, self.oldest)), default=None)


@dataclass(frozen=True)
class _Trial:
    """A query under some clips, at the price that it has under them, and what the subject holds of it."""

    squares: Squares
    query: AnalyzedQuery
    plan: QueryPlan

    def left(self, at: int) -> Fraction:
        """What the part at this place would be charged."""
        return self.plan.context.price.value * self.plan.parts[at].shares.cost


@dataclass
class _Search:
    """Looks for the clips of a query. `plain` is the query with declared clips, `tried` counts clips that are not the best."""

    plain: AnalyzedQuery
    clipping: Clipping
    holdings: _Holdings
    tried: int = 0

    def clips(self, served: Served, *, held: bool) -> ChosenClips:
        """The clips of the query; the best ones where no release that is `held` has another."""
        there, journal = tuple(served), self.holdings.journal
        choices = find_choices(self.plain, there, journal, self._shown(there))
        found = {key: one.square() for key, one in choices.items()}
        best = {key: square for key, square in found.items() if square is not None}
        if not held or self.plain.question.request.fresh:
            return clips_of(best)
        probe = self.holdings.plan(self.clipping(clips_of(best)))
        if not any(map(self._other_bounds, probe.parts)):
            return clips_of(best)
        try:
            trial = self._trial(best)
        except Refusal:
            return clips_of(best)  # no price reaches the accuracy: the query itself says so
        for at, key in enumerate(_keys(self.plain)):
            trial = self._of_part(at, key, trial, choices.get(key))
        return clips_of(trial.squares)

    def _shown(self, served: Served) -> Mapping[PartKey, int]:
        """How many groups the newest release showed that is about the very rows and keys of a part."""
        parts = {one.key: one.analysis for wanted, _ in served for one in wanted.parts}
        if not any(isinstance(one.groups, ThresholdGroups) for one in parts.values()):
            return {}
        found = {}
        plan = self.holdings.plan(self.plain)
        for key, part in zip(_keys(self.plain), plan.parts, strict=True):
            if key in parts and isinstance(part.analysis.groups, ThresholdGroups):
                for one in self.holdings.of(self.plain, part.scope):
                    if not one.listed and has_same_groups(one.scope, part.scope):
                        content = self.holdings.cache.content(one.release)
                        if content is not None:
                            found[key] = len(content.keys)
                            break
        return found

    def _trial(self, squares: Squares) -> _Trial:
        clipped = price_for_accuracy(self.clipping(clips_of(squares)), self.holdings.journal)
        return _Trial(squares, clipped, self.holdings.plan(clipped))

    def _of_part(self, at: int, key: PartKey, best: _Trial, choice: ClipChoice | None) -> _Trial:
        """The trial with the clip that this part takes."""
        part = best.plan.parts[at]
        if not part.shares.cost or not needs_norms(part.analysis):
            return best
        wished = _square(part)
        found = [best]
        for square in self._held(at, best):
            if self.tried == _MOST_TRIED:
                break
            self.tried += 1
            changed = {one: value for one, value in best.squares.items() if one != key}
            if square is not None:
                changed[key] = square
            try:
                trial = self._trial(changed)
            except Refusal:
                continue  # no price reaches the accuracy under this clip
            if _may_keep(trial, at, choice):
                found.append(trial)
        return min(
            found,
            key=lambda one: (
                one.left(at),
                abs(log2(_square(one.plan.parts[at]) / wished)),
                _square(one.plan.parts[at]),
            ),
        )

    def _held(self, at: int, best: _Trial) -> Iterator[int | None]:
        """c² of other clips that releases have which may be about the part; None: the declared one."""
        part, query = best.plan.parts[at], self.plain
        bounds = self._other_bounds(part)
        if not bounds:
            return
        tables = declarations(part.analysis.plan, query.policy.dataset)
        largest = query.policy.clipping.largest
        for square in (1 << bits for bits in range(2 * largest.bit_length() - 1)):
            # what is measured under this clip is not in it: it is known by its bounds alone
            bounded = replace(part.analysis, clips=clips_under(part.analysis, square))
            if bounding_of(bounded, query.currency, tables) in bounds:
                yield square
        if bounding_of(query.analyses[at], query.currency, tables) in bounds:
            yield None

    def _other_bounds(self, part: PlannedPart) -> frozenset[str]:
        """The digests of other bounds of a unit, under which releases have something of this scope."""
        if part.analysis.clips is None:
            return frozenset()
        there = {one.bounding for one in self.holdings.of(self.plain, part.scope)}
        return frozenset(there - {part.wanted.bounding})


def _may_keep(trial: _Trial, at: int, choice: ClipChoice | None) -> bool:
    """Whether the part gains something by the clip of this trial, and loses little."""
    part = trial.plan.parts[at]
    if not any(True for _ in part.taken):
        return False
    free = not part.shares.cost
    if free and _is_repeat(part):
        return True
    if choice is None:
        return False
    wider, tolerance = 1.0, AS_EXACT
    if free:
        # as exact as it is held, which may be more exact than the price buys, or less where none was named
        widths = [sqrt(one.variance) for one in part.slots if one is not None]
        wider = max(widths, default=choice.cells.std) / choice.cells.std
        tolerance = AS_EXACT if trial.plan.context.default is None else AS_WELL
    return choice.is_near(_square(part), wider, tolerance)


def _is_repeat(part: PlannedPart) -> bool:
    """Whether one release has what the part measures, and nothing else."""
    taken = tuple(part.taken)
    if len({one.entry.release for one in taken}) != 1:
        return False
    entry = taken[0].entry
    return all(one.how is CacheUse.SAME for one in taken) and len(taken) == len(
        (*entry.slots, *entry.choices)
    )


def _square(part: PlannedPart) -> int:
    """c² of a part that has weights."""
    clips = part.analysis.clips
    return 1 if clips is None else clips.rows.square


def _keys(query: AnalyzedQuery) -> Iterator[PartKey]:
    """The parts of a query, in the order of their measurement."""
    for place, release in enumerate(query.releases):
        for part in release.parts:
            yield part_key(place, part)
