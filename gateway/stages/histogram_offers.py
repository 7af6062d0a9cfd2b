"""The histograms of norms that a query can have: those that its subject holds, and those that can be bought.

Takes a wanted histogram. Quotes it as the subject's own query, and gives the histogram if that quote costs nothing, or tells
that it can be bought. Where it can be neither held nor bought, the one of all rows may be.

INVARIANT: a histogram is read only if reading it charges no account and tells nobody anything new: the subject's own account
was charged for it. docs/proofs/clip_choice.md#what-may-be-said-to-whom
"""

from gateway.clipping.norm_histogram import NormHistogram
from gateway.datasets.dataset import ServedDataset
from gateway.errors import Refusal
from gateway.stages.clips import Unsold, WantedHistogram, held_histogram
from gateway.stages.quote import Awaited, quote_query
from gateway.stages.services import Services


def find_offer(
    services: Services, dataset: ServedDataset, wanted: WantedHistogram, *, buying: bool
) -> tuple[WantedHistogram, NormHistogram | Unsold | None]:
    """The histogram, or the one instead of it where this one is not for sale; None if it can be bought."""
    for one in (wanted, wanted.instead):
        if one is not None:
            found = _held(services, dataset, one)
            failed = dataset.failures.has(one.query.subject, one.over, services.now())
            if isinstance(found, NormHistogram) or (found is None and buying and not failed):
                return one, found
    return wanted, Unsold()


def _held(
    services: Services, dataset: ServedDataset, wanted: WantedHistogram
) -> NormHistogram | Unsold | None:
    """The histogram if reading it costs nothing and tells nobody anything new; None if it can be bought."""
    query, cache = wanted.query, services.caches[wanted.query.policy.name]
    repeats = services.repeats.of(dataset)
    try:
        quote = quote_query(
            query,
            cache=cache,
            journal=services.journal,
            proven=dataset.proofs.now(),
            now=services.now(),
            limit_s=services.limit_s,
            repeats=repeats,
        )
    except Awaited:
        return None
    except Refusal:
        return Unsold()  # also of a suspended subject, to whom earlier answers are given
    if quote.charges or quote.events:
        return None
    return held_histogram(query, quote, cache, repeats)
