"""The histograms of norms that a query can have: those that its subject holds, and those that can be bought.

Takes a wanted histogram. Gives the one that the subject was given already, whatever it was bought for: it serves until it is
too old. Where there is none, it quotes one as the subject's own query and tells what that would be charged; estimates and
purchases take this one quote. Where a histogram can be neither held nor bought, the one of all rows may be.

INVARIANT: a histogram is read only if reading it charges no account and tells nobody anything new: the subject's own account
was charged for it. docs/proofs/clip_choice.md#what-may-be-said-to-whom
"""

from dataclasses import replace

from gateway.clipping.norm_histogram import NormHistogram
from gateway.datasets.dataset import ServedDataset
from gateway.errors import Refusal
from gateway.pricing.price import accounts_on_path, price_of
from gateway.release_cache.cost_sharing import debts_of
from gateway.release_cache.query_plan import Basis, ReuseContext
from gateway.release_cache.reuse_planner import plan_reuse
from gateway.stages.clips import Unsold, WantedHistogram, held_histogram
from gateway.stages.quote import Awaited, audit_plan, quote_query
from gateway.stages.services import Services


def find_offer(
    services: Services, dataset: ServedDataset, wanted: WantedHistogram, *, buying: bool
) -> tuple[WantedHistogram, NormHistogram | Unsold | None]:
    """The histogram, or the one instead of it where this one is not for sale; None if it can be bought, with its price."""
    for one in (wanted, wanted.instead):
        if one is None:
            continue
        held = _held(services, dataset, one)
        if held is not None:
            return one, held
        failed = dataset.failures.has(one.query.subject, one.over, services.now())
        quoted = _quoted(services, dataset, one) if buying and not failed else None
        if quoted is not None:
            return quoted, None
    return wanted, Unsold()


def _held(
    services: Services, dataset: ServedDataset, wanted: WantedHistogram
) -> NormHistogram | None:
    """The histogram that the subject was given in full before."""
    cache, repeats = services.caches[wanted.query.policy.name], services.repeats.of(dataset)
    query = replace(wanted.query, policy=dataset.held_histogram_policy, epsilon=None)
    basis = Basis(cache.refresh(), accounts_on_path(services.journal, query), dataset.proofs.now())
    now = services.now()
    quote = repeats.find_quote(query, basis, now)
    if quote is None:
        price = price_of(wanted.query)
        cost = basis.accounts[0].ledger.cost(price)
        plan = plan_reuse(ReuseContext(query, cache, basis, price, cost, now, now, own=True))
        debts = debts_of(plan)
        if plan.bought or debts.owed or debts.told:
            return None  # or an account above has not given for it
        quote = audit_plan(plan, services.journal)
        repeats.keep_quote(query, quote, cache)
    return held_histogram(query, quote, cache, repeats)


def _quoted(
    services: Services, dataset: ServedDataset, wanted: WantedHistogram
) -> WantedHistogram | None:
    """The histogram with what it would be charged now; None where its quote is refused."""
    try:
        quote = quote_query(
            wanted.query,
            cache=services.caches[wanted.query.policy.name],
            journal=services.journal,
            proven=dataset.proofs.now(),
            now=services.now(),
            limit_s=services.limit_s,
            repeats=services.repeats.of(dataset),
        )
    except Awaited:
        return wanted
    except Refusal:
        return None  # also of a suspended subject, to whom earlier answers are given
    return wanted if quote.plan is None else replace(wanted, quoted=quote.plan.charged)
