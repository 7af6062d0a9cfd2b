"""Preparation: the source is reached, and everything that it can refuse is refused before the charge.

The releases that are measured are bounded by what the source's catalog proves, rendered as its SQL and parsed there.
Nothing here computes on protected rows.

INVARIANT: a quote is charged only if the source proves what the quote was made on. Other queries read the catalog too, so
the comparison is with the proofs in the quote and not with the last ones that this process has seen.
"""

from gateway.stages.analyze import AnalyzedQuery
from gateway.stages.query_plan import Quote
from gateway.stages.quote import Moved, rehearse_query
from gateway.stages.source_access import SourceAccess, asks


def prepare_query(quote: Quote, source: SourceAccess) -> None:
    """Prepare what the quote asks of the source; `Moved` if the source proves something else than the quote rests on."""
    if quote.plan is None:
        return
    source.prepare(quote.purchases)
    if source.proven != quote.proven:
        raise Moved


def check_query(query: AnalyzedQuery, quote: Quote) -> None:
    """The same for an estimate, which asks nothing of the source: by what its catalog proved last."""
    measured = [one.analysis for one in quote.purchases if asks(one)]
    query.dataset.render(measured, query.cut, query.asked_at)
    rehearse_query(query)
