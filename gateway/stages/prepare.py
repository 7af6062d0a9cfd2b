"""Preparation: everything that can be refused is refused before the charge.

The releases that are measured are bounded by what the source's catalog proves, rendered as its SQL and parsed there. The
stages and the finishing are rehearsed on the twin over invented rows. Nothing here computes on protected rows.
"""

from gateway.stages.analyze import AnalyzedQuery
from gateway.stages.quote import Moved, Quote
from gateway.stages.rehearse import rehearse
from gateway.stages.source_access import SourceAccess, asks


def prepare_query(query: AnalyzedQuery, quote: Quote, source: SourceAccess) -> None:
    """Prepare what the quote asks of the source, and rehearse the rest; `Moved` if the source proves something else now."""
    if quote.plan is None:
        return
    proven = source.proven
    source.prepare(quote.purchases)
    if source.proven != proven:
        raise Moved
    if quote.charges:
        rehearse_query(query)


def check_query(query: AnalyzedQuery, quote: Quote) -> None:
    """The same for an estimate, which asks nothing of the source: by what its catalog proved last."""
    measured = [one.analysis for one in quote.purchases if asks(one)]
    query.dataset.render(measured, query.cut, query.asked_at)
    rehearse_query(query)


def rehearse_query(query: AnalyzedQuery) -> None:
    """Run the stages and the finishing over invented rows."""
    rehearse(query.cut, query.statement.releases, query.session, query.most_rows)
