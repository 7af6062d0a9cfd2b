"""An estimate: what a query would be charged now, and how wide its noise would be. Nothing is charged, written or awaited."""

from dataclasses import replace

from gateway.pricing.accuracy import add_margins
from gateway.pricing.price import estimate_price
from gateway.requests.request import Estimate
from gateway.stages.analyze import AnalyzedQuery
from gateway.stages.cost import QueryCost, reuse_notices
from gateway.stages.query_plan import Quote


def estimate_quote(query: AnalyzedQuery, quote: Quote) -> Estimate:
    """The quote as a client sees it."""
    dataset, statement, plan = query.dataset, query.statement, quote.plan
    releases = tuple(one.priced for one in quote.releases)
    if plan is None:
        return estimate_price(dataset, statement, releases)
    found = estimate_price(dataset, statement, releases, plan.charged)
    found = add_margins(found, statement, releases)
    cost = QueryCost(plan.price, plan.charged)
    notices = reuse_notices(cost, quote.since, partly=quote.partly)
    return replace(found, reused=quote.reused, notices=(*notices, *found.notices))
