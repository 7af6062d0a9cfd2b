"""Which quotes are kept, and for how long; `endtoend.reuse.test_repeats` has the same on a whole gateway."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.binding.bind import LONGEST_KEPT
from gateway.binding.bound import Fetch, Release
from gateway.columnar.texts import Block, Texts
from gateway.pricing.price import AnalyzedQuery
from gateway.release_cache.cache import CachePosition, ReleaseCache
from gateway.release_cache.query_plan import Basis
from gateway.stages.purchase import Bill, Quote
from gateway.stages.repeat_cache import RepeatCache

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_ACCOUNTS: Any = ("alice's", "the dataset's")  # compared, no more
_PROVEN: Any = {"patients": "one row for each person"}
_BASIS = Basis(CachePosition(7, 1), _ACCOUNTS, {})
_AGE = timedelta(days=7)


def _query(
    steps: tuple[object, ...] | None = None, known: object = None, sql: str = "SELECT 1"
) -> AnalyzedQuery:
    release = Release("r1", cast("Any", None))
    return cast(
        "AnalyzedQuery",
        SimpleNamespace(
            cut=SimpleNamespace(steps=(release,) if steps is None else steps),
            policy=SimpleNamespace(max_age=_AGE),
            releases=(object(),),
            known=known or {},
            epsilon=None,
            question=SimpleNamespace(request=SimpleNamespace(fresh=False, sql=sql)),
            subject="alice",
            nulled=(),
            histograms={},
        ),
    )


def _quote(*, is_repeat: bool = True) -> Quote:
    """The oldest entry that was looked at is a day old; it may be another than those that are taken."""
    plan = SimpleNamespace(
        context=SimpleNamespace(now=_NOON, basis=_BASIS),
        oldest=_NOON - timedelta(days=1),
    )
    return cast("Quote", SimpleNamespace(plan=plan, is_repeat=is_repeat, since=_NOON))


def _cache(ordinal: int = 7) -> ReleaseCache:
    position = CachePosition(ordinal, 1)
    return cast("ReleaseCache", SimpleNamespace(still=nullcontext(), position=position))


def test_quote_of_a_repeat_is_kept() -> None:
    """The negative control of the others: nothing has changed."""
    quotes, query, quote = RepeatCache(), _query(), _quote()
    quotes.keep_quote(query, quote, _cache())
    assert quotes.find_quote(query, _BASIS, _NOON) is quote
    assert quotes.find_quote(query, replace(_BASIS), _NOON + timedelta(days=6)) is quote


@pytest.mark.parametrize(
    ("query", "quote", "cache"),
    [
        (_query(), _quote(is_repeat=False), _cache()),
        (_query(), _quote(), _cache(8)),
        (
            _query((Release("r1", cast("Any", None)), Fetch("f1", cast("Any", None)))),
            _quote(),
            _cache(),
        ),
        (_query(known={"s1": "rows"}), _quote(), _cache()),
        (_query(sql="-" * (LONGEST_KEPT + 1)), _quote(), _cache()),
    ],
    ids=["no repeat", "the log moved", "a step that is no release", "constants", "bound anew"],
)
def test_quote_is_not_kept_when_it_may_depend_on_more(
    query: AnalyzedQuery, quote: Quote, cache: ReleaseCache
) -> None:
    """What is charged or tells something new; what rests on two positions of the log, or on rows."""
    quotes = RepeatCache()
    quotes.keep_quote(query, quote, cache)
    assert quotes.find_quote(query, _BASIS, _NOON) is None


@pytest.mark.parametrize(
    ("basis", "now"),
    [
        (replace(_BASIS, seen=CachePosition(8, 1)), _NOON),
        (replace(_BASIS, seen=CachePosition(7, 2)), _NOON),
        (replace(_BASIS, accounts=_ACCOUNTS[:1]), _NOON),
        (replace(_BASIS, proven=_PROVEN), _NOON),
        (_BASIS, _NOON - timedelta(microseconds=1)),
        (_BASIS, _NOON + timedelta(days=6, microseconds=1)),
    ],
    ids=["event", "epoch", "accounts", "proofs", "earlier", "too old"],
)
def test_quote_is_not_given_when_something_moved(basis: Basis, now: datetime) -> None:
    """Each thing that planning looks at, alone."""
    quotes, query = RepeatCache(), _query()
    quotes.keep_quote(query, _quote(), _cache())
    assert quotes.find_quote(query, basis, now) is None


@pytest.mark.parametrize(
    "part",
    ["cut", "policy", "releases", "subject", "epsilon", "fresh", "nulled", "histograms"],
)
def test_quote_is_not_given_to_another_query(part: str) -> None:
    """Equal parts are not enough: what is kept is known by its identity."""
    quotes, query = RepeatCache(), _query()
    quotes.keep_quote(query, _quote(), _cache())
    there = cast("Any", query)
    match part:
        case "cut" | "policy":
            setattr(there, part, SimpleNamespace(**vars(getattr(there, part))))
        case "releases":
            there.releases = (object(),)
        case "fresh":
            there.question.request.fresh = "another"
        case "histograms":
            there.histograms = {(0, ()): "another"}
        case _:
            setattr(there, part, "another")
    assert quotes.find_quote(query, _BASIS, _NOON) is None


def test_tables_and_answers_are_kept_by_their_bytes() -> None:
    """A few cells of long texts are as much memory as many cells of short ones."""
    for length, many, is_kept in ((1_000, 10, True), (1_000, 20_000, False), (1, 2_000_000, False)):
        texts = Texts([Block(b"x" * length * many, None)], many)
        constants = {"r1": SimpleNamespace(texts=(texts,))}
        query = SimpleNamespace(cut=SimpleNamespace(steps=(Release("r1", cast("Any", None)),)))
        bill = Bill(_quote())
        done = cast("Any", SimpleNamespace(query=query, bill=bill, constants=constants))
        repeats = RepeatCache()
        repeats.keep_released(done)
        assert (repeats.find_released(bill) is done) is is_kept, (length, many)
