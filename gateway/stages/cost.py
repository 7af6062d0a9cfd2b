"""The cost of a query, and the notices about cached answers."""

from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from gateway.requests.request import CacheUse
from gateway.units import Delta, Epsilon


@dataclass(frozen=True)
class QueryCost:
    """`price` is the offered price, `charged` is what the analyst's own account paid.

    `reused` says how an answer came from earlier ones, where nothing of it was measured anew.
    """

    price: Epsilon = field(default_factory=Epsilon.zero)
    charged: Epsilon = field(default_factory=Epsilon.zero)
    rho: Fraction | None = None
    delta: Delta = field(default_factory=Delta.zero)
    reused: CacheUse | None = None
    notices: tuple[str, ...] = ()

    def with_notices(self, notices: tuple[str, ...]) -> "QueryCost":
        return replace(self, notices=notices)


NO_COST: Final = QueryCost()


def reuse_notices(paid: QueryCost, since: datetime | None, *, partly: bool) -> tuple[str, ...]:
    """The notices of an answer that came from the cache, wholly or in part; `since`: its oldest entry."""
    if since is None:
        return ()
    when = f"{since.astimezone(UTC):%Y-%m-%d %H:%M} UTC"
    if partly:
        return (f"a part of this answer was reused from {when}",)
    took = f"epsilon {paid.charged} was charged" if paid.charged else "nothing was charged"
    return (f"answered from earlier results of {when}: {took}",)
