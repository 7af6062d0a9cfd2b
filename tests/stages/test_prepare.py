"""A quote is charged only if the source proves what the quote rests on."""

from collections.abc import Iterable, Mapping
from types import SimpleNamespace
from typing import Any, cast

import pytest

from gateway.release_cache.query_plan import QueryPlan
from gateway.stages.prepare import SourceAccess, prepare_query
from gateway.stages.purchase import Quote
from gateway.stages.quote import Moved

_BEFORE: Mapping[str, Any] = {"patients": "one row for each person"}
_AFTER: Mapping[str, Any] = {"patients": "any number of rows"}


class _Source:
    """What a process knows of a source: another query may read its catalog at any time."""

    def __init__(self, last: Mapping[str, Any], found: Mapping[str, Any]) -> None:
        self.proven = last
        self._found = found

    def prepare(self, purchases: Iterable[object]) -> None:
        assert not list(purchases)
        self.proven = self._found


def _quote(proven: Mapping[str, Any]) -> Quote:
    plan = SimpleNamespace(context=SimpleNamespace(basis=SimpleNamespace(proven=proven)))
    return Quote((), cast("QueryPlan", plan), ("north",))


@pytest.mark.parametrize("last", [_BEFORE, _AFTER], ids=["nobody read it", "another query read it"])
def test_quote_is_made_again_when_the_source_proves_something_else(last: Mapping[str, Any]) -> None:
    """The quote's own proofs are compared, not the last ones that any query of this process has seen."""
    source = cast("SourceAccess", _Source(last, _AFTER))
    with pytest.raises(Moved):
        prepare_query(_quote(_BEFORE), source)


def test_quote_stands_when_the_source_proves_the_same() -> None:
    """The negative control: nothing has changed."""
    prepare_query(_quote(_BEFORE), cast("SourceAccess", _Source(_BEFORE, dict(_BEFORE))))
