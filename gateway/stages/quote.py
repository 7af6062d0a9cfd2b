"""The quote of a query: what earlier answers give, what has to be measured, and what that costs.

`plan_query` looks up each part of the query in the release cache and prices the rest. `audit_plan` chooses the noise, and
holds the parts that tell their reader something new against everything that was released before. `quote_query` is both.

INVARIANT: a quote depends on the query, the policy and the log of earlier queries up to one position. It is charged only
while that position is the last one (`gateway.stages.charge`), so no two queries buy the same part at one moment, and no
two are audited as if the other had not been.
INVARIANT: a quote asks nothing of the source: it rests on what the source's catalog proved last. If the source proves
something else when the query is prepared there, the quote is made again (`gateway.stages.prepare`).
"""

from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import datetime, timedelta
from functools import partial

from gateway.budget.account import Account
from gateway.budget.balances import balance_of
from gateway.budget.ledger import budget_exhausted
from gateway.engines.catalog.proofs import TableProof
from gateway.overlap.auditor import audit
from gateway.overlap.comparison_work import require_comparable
from gateway.overlap.question_part import NewQuery
from gateway.plan.relations import StagedRows
from gateway.pricing.price import (
    AnalyzedQuery,
    accounts_on_path,
    noise_for_price,
    price_of,
    require_worth,
    spread_of_part,
)
from gateway.regions.partition_cells import confining_cells
from gateway.release_cache.assemble import unmeasured
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.cost_sharing import (
    debts_of,
    mark_copies,
    reveals_new_values,
)
from gateway.release_cache.noise_plan import plan_noise
from gateway.release_cache.query_plan import Basis, QueryPlan, ReuseContext
from gateway.release_cache.reuse_planner import plan_reuse
from gateway.stages.purchase import Quote
from gateway.stages.rehearse import rehearse
from gateway.stages.repeat_cache import RepeatCache
from gateway.stages.suspension import require_active
from gateway.state.journal import Journal
from gateway.units import Epsilon


class Awaited(Exception):
    """Another query is measuring a part of this one now: its result will be cheaper than a measurement of our own."""


class Moved(Exception):
    """Another query was answered meanwhile, or the source proves something else now: the quote is made again."""


def quote_query(  # noqa: PLR0913 - a query, and what its quote depends on
    query: AnalyzedQuery,
    *,
    cache: ReleaseCache,
    journal: Journal,
    proven: Mapping[str, TableProof],
    now: datetime,
    limit_s: float,
    repeats: RepeatCache,
) -> Quote:
    """The quote, or the refusal; `Awaited` if another query is measuring a part of this one."""
    if not query.measures:
        return quote_nothing(query)
    basis = Basis(cache.refresh(), accounts_on_path(journal, query), proven)
    known = repeats.find_quote(query, basis, now)
    if known is not None:
        return known
    plan = plan_query(query, cache, journal, basis, now, limit_s)
    if plan.awaited:
        raise Awaited
    quote = audit_plan(plan, journal)
    repeats.keep_quote(query, quote, cache)
    return quote


def forecast_query(
    query: AnalyzedQuery,
    *,
    cache: ReleaseCache,
    journal: Journal,
    proven: Mapping[str, TableProof],
    now: datetime,
    limit_s: float,
) -> Quote:
    """The quote for an estimate: what is being measured now counts as missing."""
    if not query.measures:
        return quote_nothing(query)
    basis = Basis(cache.refresh(), accounts_on_path(journal, query), proven)
    plan = plan_query(query, cache, journal, basis, now, limit_s)
    return audit_plan(plan, journal)


def plan_query(  # noqa: PLR0917 - a query, and what its plan depends on
    query: AnalyzedQuery,
    cache: ReleaseCache,
    journal: Journal,
    basis: Basis,
    now: datetime,
    limit_s: float,
) -> QueryPlan:
    """Look up every part in the release cache; what is missing is measured at the price of the query."""
    accounts, price = basis.accounts, price_of(query)
    _require_budget(journal, accounts, price)
    cost = accounts[0].ledger.cost(price)
    awaited_since = now - timedelta(seconds=2 * limit_s)
    context = ReuseContext(query, cache, basis, price, cost, now, awaited_since)
    plan = _with_debts(plan_reuse(context))
    if plan.cost + plan.debts.of(context.path[0]) > cost:
        # answers of others would take more together than was asked for: only what the analyst has is taken
        own = plan_reuse(replace(context, own=True))
        oldest = min(filter(None, (plan.oldest, own.oldest)), default=None)
        plan = _with_debts(replace(own, oldest=oldest))
    return plan


def _with_debts(plan: QueryPlan) -> QueryPlan:
    return replace(plan, debts=debts_of(plan))


def audit_plan(plan: QueryPlan, journal: Journal) -> Quote:
    """Choose the noise and audit what is new, or refuse."""
    context, query, cache = plan.context, plan.context.query, plan.context.cache
    policy, subject = query.policy, query.subject
    if plan.bought or plan.debts.owed:
        # before the audit and the ledger refuse: what PostgreSQL cannot compute is an error of the statement
        rehearse_query(query)
    if plan.bought or plan.debts.owed or plan.debts.told:
        # an answer that costs nothing and was given before is given to a suspended subject too
        journal.read(partial(require_active, subject=subject, dataset=policy.name))
    require_worth(policy, context.price, plan.bought)
    scopes = tuple(one.scope for one in plan.parts if one.shares.cost)
    cells = confining_cells(scopes, policy.dataset, context.basis.proven) if scopes else None
    releases = plan_noise(plan, cells)
    if context.members is not None and not context.is_fresh:
        releases = mark_copies(releases, cache, context.members, context.since)
    members = policy.auditing.trusted_with(subject)
    measurements = (one for each in releases for one in each.measurements)
    with cache.still:
        news = [
            NewQuery(scope, spread_of_part(measurement.whole))
            for part, measurement in zip(plan.parts, measurements, strict=True)
            if reveals_new_values(part, cache, members)
            for scope in part.compared
        ]
        if news:
            require_comparable(news)
            audit(news, cache.history(members), policy.auditing)
    return Quote(releases, plan, cells)


def rehearse_query(query: AnalyzedQuery) -> None:
    """Run the stages and the finishing over invented rows, and refuse what PostgreSQL cannot compute."""
    rehearse(query.cut, query.releases, query.session, query.most_rows)


def quote_nothing(query: AnalyzedQuery) -> Quote:
    """For a query that measures nothing: the policy lists its groups, and no number is released."""
    return Quote(unmeasured(noise_for_price(query, None)))


def audit_release(
    query: AnalyzedQuery, quote: Quote, place: int, constants: Mapping[str, StagedRows]
) -> None:
    """Audit one release again when the constants that its conditions compare with are known.

    The query was charged before: that a constant has this value was released to the analyst on the way.
    """
    if quote.plan is None:
        return
    names = {step.name: step.name for step in query.cut.steps}
    first = sum(len(one.parts) for one in query.releases[:place])
    measurements = quote.releases[place].measurements
    parts = quote.plan.parts[first : first + len(measurements)]
    news = [
        NewQuery(scope, spread_of_part(measurement.whole))
        for part, measurement in zip(parts, measurements, strict=True)
        if part.shares.cost
        for scope in part.with_constants(names, constants)
    ]
    members, cache = query.policy.auditing.trusted_with(query.subject), quote.plan.context.cache
    with cache.still:
        if news:
            audit(news, cache.history(members), query.policy.auditing)


def _require_budget(journal: Journal, path: Iterable[Account], price: Epsilon) -> None:
    """An account that may never give anything pays no price."""
    for account in path:
        if not account.limits.epsilon:
            balance = journal.read(partial(balance_of, account=account.name))
            raise budget_exhausted(account, balance, price.value)
