"""Which quotes are kept, and for how long; `endtoend.reuse.test_repeats` has the same on a whole gateway."""

from contextlib import nullcontext
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.binding.bound import Fetch, Release
from gateway.release_cache.cache import CachePosition, ReleaseCache
from gateway.stages.analyze import AnalyzedQuery
from gateway.stages.query_plan import Quote
from gateway.stages.quote_cache import Basis, QuoteCache

_NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
_ACCOUNTS: Any = ("alice's", "the dataset's")  # compared, no more
_PROVEN: Any = {"patients": "one row for each person"}
_BASIS = Basis(CachePosition(7, 1), _ACCOUNTS, {})
_AGE = timedelta(days=7)


def _query(steps: tuple[object, ...] | None = None, known: object = None) -> AnalyzedQuery:
    release = Release("r1", cast("Any", None))
    return cast(
        "AnalyzedQuery",
        SimpleNamespace(
            cut=SimpleNamespace(steps=(release,) if steps is None else steps),
            dataset=object(),
            statement=SimpleNamespace(
                releases=(object(),),
                known=known or {},
                request=SimpleNamespace(epsilon=None, fresh=False),
            ),
            subject=SimpleNamespace(name="alice"),
            policy=SimpleNamespace(max_age=_AGE),
        ),
    )


def _quote(*, is_repeat: bool = True) -> Quote:
    """The oldest entry that was looked at is a day old; it may be another than those that are taken."""
    plan = SimpleNamespace(parts=SimpleNamespace(oldest=_NOON - timedelta(days=1)))
    return cast("Quote", SimpleNamespace(plan=plan, is_repeat=is_repeat, since=_NOON))


def _book(ordinal: int = 7) -> ReleaseCache:
    position = CachePosition(ordinal, 1)
    return cast("ReleaseCache", SimpleNamespace(still=nullcontext(), position=position))


def test_quote_of_a_repeat_is_kept() -> None:
    """The negative control of the others: nothing has changed."""
    quotes, query, quote = QuoteCache(), _query(), _quote()
    quotes.keep(query, quote, _BASIS, _book(), _NOON)
    assert quotes.find(query, _BASIS, _NOON) is quote
    assert quotes.find(query, replace(_BASIS), _NOON + timedelta(days=6)) is quote


@pytest.mark.parametrize(
    ("query", "quote", "book"),
    [
        (_query(), _quote(is_repeat=False), _book()),
        (_query(), _quote(), _book(8)),
        (
            _query((Release("r1", cast("Any", None)), Fetch("f1", cast("Any", None)))),
            _quote(),
            _book(),
        ),
        (_query(known={"s1": "rows"}), _quote(), _book()),
    ],
    ids=["no repeat", "the log moved", "a step that is no release", "constants"],
)
def test_quote_is_not_kept_when_it_may_depend_on_more(
    query: AnalyzedQuery, quote: Quote, book: ReleaseCache
) -> None:
    """What is charged or tells something new; what rests on two positions of the log, or on rows."""
    quotes = QuoteCache()
    quotes.keep(query, quote, _BASIS, book, _NOON)
    assert quotes.find(query, _BASIS, _NOON) is None


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
    quotes, query = QuoteCache(), _query()
    quotes.keep(query, _quote(), _BASIS, _book(), _NOON)
    assert quotes.find(query, basis, now) is None


@pytest.mark.parametrize(
    "part",
    ["cut", "dataset", "releases", "subject", "epsilon", "fresh"],
)
def test_quote_is_not_given_to_another_query(part: str) -> None:
    """Equal parts are not enough: what is kept is known by its identity."""
    quotes, query = QuoteCache(), _query()
    quotes.keep(query, _quote(), _BASIS, _book(), _NOON)
    there = cast("Any", query)
    match part:
        case "cut" | "dataset":
            setattr(there, part, SimpleNamespace(**vars(there.cut)) if part == "cut" else object())
        case "releases":
            there.statement.releases = (object(),)
        case "subject":
            there.subject = SimpleNamespace(name="bob")
        case _:
            setattr(there.statement.request, part, "another")
    assert quotes.find(query, _BASIS, _NOON) is None
