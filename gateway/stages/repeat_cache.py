"""The quotes of repeats: queries that were answered from the release cache, for nothing, and without telling anything new.

To plan a repeat again gives the same quote as long as nothing happened that the quote rests on. So the quote is kept, with
all of that. `find_quote` gives it back, or nothing; `keep_quote` takes it if it is a repeat's.

INVARIANT: a quote that `find_quote` gives is the one that planning would make now. A quote depends on:

- the bound statement over the subject's rows, its analyses, the histograms that its clips were chosen from, the subject, the
  price and `fresh`: these are the key. The statement, the analyses and the policy are known by their identities and kept, so nothing else has these identities.
- the policy: a reload makes other datasets, and what was kept for the old one is let go of (`Repeats`).
- the events of the dataset, and the epoch: purchases, losses, contents, columns given to others, refreshed data. Another
  position of the log gives nothing. A quote is kept only if the cache stood at one position while it was made.
- the accounts on the path and their limits, and what the source's catalog proves: they are compared.
- the clock, by the age of entries. A quote holds from the time when it was made until the oldest of the entries that were
  looked at is too old: until then the same entries are looked at. Nothing else in the quote of a repeat depends on the
  clock. How long an entry that is being measured is waited for does not: it is not taken, waited for or not.

What is not in a quote is not kept: authorization, suspension, the idempotency key, the integrity of the log and the
contents of entries are read and checked for every query. See tests/stages/test_repeat_cache.py.

Clips of queries are kept in the same way: the search for clips that are held rests on the same things, and on a wanted accuracy.

INVARIANT: released tables and answers are given for the very quote and the very contents that they were computed from, and
they follow from them. So they are kept only of a repeat whose steps are all releases: nothing is drawn, fetched or staged
for it. An answer is kept only if its finishing has nothing but columns of these releases in it, and no interval of it was
simulated.
"""

from collections.abc import Callable, Mapping
from datetime import datetime
from threading import Lock
from typing import Final, TypeAlias

from gateway.binding.bind import LONGEST_KEPT
from gateway.binding.bound import Release
from gateway.clipping.norm_histogram import NormHistogram
from gateway.clipping.served_histogram import PartKey, ServedHistogram
from gateway.datasets.dataset import ServedDataset
from gateway.lru_cache import LruCache
from gateway.pricing.price import AnalyzedQuery
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.entry import Content
from gateway.release_cache.query_plan import Basis
from gateway.requests.request import Accuracy, Answer, NullItem
from gateway.results.simulation import columns_to_simulate
from gateway.stages.analyze import ChosenClips
from gateway.stages.purchase import Bill, Quote, Released
from gateway.units import Epsilon

_MOST: Final = 1_000  # quotes
_MOST_BYTES: Final = 64 * 2**20  # of all kept tables together, and of all kept answers
_OF_A_CELL: Final = 16  # bytes, beside its text: its interval, and where it begins
_Looked: TypeAlias = tuple[datetime, datetime | None]
_Histograms: TypeAlias = frozenset[tuple[PartKey, ServedHistogram]]
_Key: TypeAlias = tuple[
    int, int, tuple[int, ...], str, Epsilon | None, bool, tuple[NullItem, ...], _Histograms
]


class RepeatCache:
    """Quotes, released tables and answers of the repeats of one dataset that were asked last. Safe among threads."""

    def __init__(self) -> None:
        # the query is kept beside its quote: the key names parts of it by identity
        self._quotes: LruCache[_Key, tuple[AnalyzedQuery, Quote]] = LruCache(_MOST)
        self._released: LruCache[int, Released] = LruCache(
            _MOST_BYTES, lambda _, one: _size_of_tables(one)
        )
        self._histograms: LruCache[int, tuple[Quote, Mapping[str, Content], NormHistogram]] = (
            LruCache(_MOST)
        )
        self._clips: LruCache[
            tuple[_Key, Accuracy | None], tuple[AnalyzedQuery, Basis, _Looked, ChosenClips]
        ] = LruCache(_MOST)
        self._answers: LruCache[int, tuple[Released, Answer]] = LruCache(
            _MOST_BYTES, lambda _, one: _size_of_answer(one[1])
        )

    def find_quote(self, query: AnalyzedQuery, basis: Basis, now: datetime) -> Quote | None:
        """The quote of this query, if planning it would give the same."""
        known = self._quotes.find(_key(query))
        plan = None if known is None else known[1].plan
        if known is None or plan is None or plan.context.basis != basis or now < plan.context.now:
            return None
        oldest = plan.oldest
        return None if oldest is None or now - query.policy.max_age > oldest else known[1]

    def keep_quote(self, query: AnalyzedQuery, quote: Quote, cache: ReleaseCache) -> None:
        """Keep the quote of a repeat; do nothing with another."""
        if quote.plan is None or quote.plan.oldest is None or not quote.is_repeat:
            return
        if len(query.question.request.sql) > LONGEST_KEPT:
            return  # it is bound anew each time, so its quote would never be found
        if query.known or not all(isinstance(one, Release) for one in query.cut.steps):
            return
        with cache.still:
            if cache.position == quote.plan.context.basis.seen:
                self._quotes.put(_key(query), (query, quote))

    def find_clips(self, query: AnalyzedQuery, basis: Basis, now: datetime) -> ChosenClips | None:
        """The clips of this query, if a search among the same releases would find the same."""
        known = self._clips.find((_key(query), query.question.request.accuracy))
        if known is None or known[1] != basis:
            return None
        made, oldest = known[2]
        if now < made or (oldest is not None and now - query.policy.max_age > oldest):
            return None
        return known[3]

    def keep_clips(
        self,
        query: AnalyzedQuery,
        found: ChosenClips,
        basis: Basis,
        looked: _Looked,
        cache: ReleaseCache,
    ) -> None:
        """Keep the clips that were found for a query; `looked`: when, and how old the oldest of the releases was."""
        if len(query.question.request.sql) > LONGEST_KEPT:
            return
        with cache.still:
            if cache.position == basis.seen:
                key = (_key(query), query.question.request.accuracy)
                self._clips.put(key, (query, basis, looked, found))

    def find_released(self, bill: Bill) -> Released | None:
        """The released tables of this quote over these contents; `query` is that of an earlier repeat."""
        known = self._released.find(id(bill.quote))
        if known is None or known.bill.contents.keys() != bill.contents.keys():
            return None
        there = known.bill.contents
        return known if all(there[name] is one for name, one in bill.contents.items()) else None

    def keep_released(self, done: Released) -> None:
        """Keep them if they are a repeat's."""
        steps = done.query.cut.steps
        if done.bill.quote.is_repeat and all(isinstance(one, Release) for one in steps):
            self._released.put(id(done.bill.quote), done)

    def histogram(
        self, quote: Quote, contents: Mapping[str, Content], read: Callable[[], NormHistogram]
    ) -> NormHistogram:
        """The histogram of norms that this quote finds among these contents; it is read once."""
        known = self._histograms.find(id(quote))
        if known is None or known[0] is not quote or known[1] != contents:
            known = (quote, contents, read())
            self._histograms.put(id(quote), known)
        return known[2]

    def find_answer(self, done: Released) -> Answer | None:
        """The answer that was computed from these tables, under the number of the query that it was computed for."""
        known = self._answers.find(id(done))
        return None if known is None else known[1]

    def keep_answer(self, done: Released, answer: Answer) -> None:
        """Keep it if the same tables give the same answer, whenever it is computed."""
        cut = done.query.cut
        sql = cut.finishing if cut.traced is None else cut.traced.finishing
        reads_releases_alone = cut.again is not None and cut.again.effort is not None
        if (
            self._released.peek(id(done.bill.quote)) is done
            and reads_releases_alone
            and not sql.can_raise
            and not columns_to_simulate(cut, done.noisy)
        ):
            self._answers.put(id(done), (done, answer))


class Repeats:
    """The cache of each dataset, until a reload of the policies makes another dataset in its place."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._caches: dict[str, tuple[ServedDataset, RepeatCache]] = {}

    def of(self, dataset: ServedDataset) -> RepeatCache:
        with self._lock:
            known = self._caches.get(dataset.policy.name)
            if known is None or known[0] is not dataset:
                known = self._caches[dataset.policy.name] = (dataset, RepeatCache())
            return known[1]


def _size_of_tables(done: Released) -> int:
    return sum(
        texts.size + _OF_A_CELL * (1 + len(texts))
        for one in done.constants.values()
        for texts in one.texts
    )


def _size_of_answer(answer: Answer) -> int:
    return answer.rows.size + _OF_A_CELL * (1 + len(answer.rows)) * (1 + len(answer.columns))


def _key(query: AnalyzedQuery) -> _Key:
    return (
        id(query.cut),
        id(query.policy),
        tuple(map(id, query.releases)),
        query.subject,
        query.epsilon,
        query.question.request.fresh,
        query.nulled,
        frozenset(query.histograms.items()),
    )
