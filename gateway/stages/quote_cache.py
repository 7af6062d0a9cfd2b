"""The quotes of repeats: queries that were answered from the release cache, for nothing, and without telling anything new.

To plan a repeat again gives the same quote as long as nothing happened that the quote rests on. So the quote is kept, with
all of that. `find` gives it back, or nothing; `keep` takes it if it is a repeat's.

INVARIANT: a quote that `find` gives is the one that planning would make now. A quote depends on:

- the bound statement over the subject's rows, its analyses, the subject, the price and `fresh`: these are the key. The
  statement, the analyses and the dataset are known by their identities and kept, so nothing else has these identities.
- the policy: a reload makes other datasets, and what was kept for the old one is let go of (`gateway.stages.services`).
- the events of the dataset, and the epoch: purchases, losses, contents, columns given to others, refreshed data. Another
  position of the log gives nothing. A quote is kept only if the cache stood at one position while it was made.
- the accounts on the path and their limits, and what the source's catalog proves: they are compared.
- the clock, by the age of entries. A quote holds from the time when it was made until the oldest of the entries that were
  looked at is too old: until then the same entries are looked at. Nothing else in the quote of a repeat depends on the
  clock. How long an entry that is being measured is waited for does not: it is not taken, waited for or not.

What is not in a quote is not kept: authorization, suspension, the idempotency key, the integrity of the log and the
contents of entries are read and checked for every query. See tests/stages/test_quote_cache.py.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Final, TypeAlias

from gateway.binding.bound import Release
from gateway.budget.account import Account
from gateway.engines.catalog.proofs import TableProof
from gateway.lru_cache import LruCache
from gateway.release_cache.cache import CachePosition, ReleaseCache
from gateway.stages.analyze import AnalyzedQuery
from gateway.stages.query_plan import Quote
from gateway.units import Epsilon

_MOST: Final = 1_000  # quotes
_Key: TypeAlias = tuple[int, int, tuple[int, ...], str, Epsilon | None, bool]


@dataclass(frozen=True)
class Basis:
    """What a quote rests on besides its query: the log, the accounts on the path, and the proofs of the source."""

    seen: CachePosition
    accounts: Sequence[Account]
    proven: Mapping[str, TableProof]


@dataclass(frozen=True)
class _Kept:
    """`query` keeps what the key names by identity."""

    query: AnalyzedQuery
    basis: Basis
    made: datetime
    oldest: datetime
    quote: Quote


class QuoteCache:
    """The quotes of repeats that were used last. Safe among threads."""

    def __init__(self) -> None:
        self._kept: LruCache[_Key, _Kept] = LruCache(_MOST)

    def find(self, query: AnalyzedQuery, basis: Basis, now: datetime) -> Quote | None:
        """The quote of this query, if planning it would give the same."""
        kept = self._kept.find(_key(query))
        if (
            kept is None
            or kept.basis != basis
            or now < kept.made
            or now - query.policy.max_age > kept.oldest
        ):
            return None
        return kept.quote

    def keep(
        self, query: AnalyzedQuery, quote: Quote, basis: Basis, book: ReleaseCache, now: datetime
    ) -> None:
        """Keep the quote of a repeat; do nothing with another."""
        oldest = None if quote.plan is None else quote.plan.parts.oldest
        if oldest is None or not quote.is_repeat:
            return
        if query.statement.known or not all(isinstance(one, Release) for one in query.cut.steps):
            return
        with book.still:
            if book.position == basis.seen:
                self._kept.put(_key(query), _Kept(query, basis, now, oldest, quote))


def _key(query: AnalyzedQuery) -> _Key:
    statement, request = query.statement, query.statement.request
    return (
        id(query.cut),
        id(query.dataset),
        tuple(map(id, statement.releases)),
        query.subject.name,
        request.epsilon,
        request.fresh,
    )
