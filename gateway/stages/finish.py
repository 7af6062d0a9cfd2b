"""The end of a query: its answer, the SQL that a connection runs to get it, or an estimate.

`finish_query` has PostgreSQL compute the answer from released tables, and gives every noisy cell its interval.
`defer_query` hands the same SQL and constants to a wire connection, which runs them on the twin itself. `estimate_quote`
tells what a query would be charged now and how wide its noise would be; nothing is charged, written or awaited for it.

INVARIANT: the SQL reads released constants alone. Running it again shows nothing more.
"""

import threading
from collections.abc import Mapping
from dataclasses import dataclass, replace

from gateway.binding.bound import PassThrough, Sql
from gateway.binding.text.classify import StatementKind
from gateway.budget.report import QuotaBalance
from gateway.columnar.intervals import IntervalRows
from gateway.datasets.view import BoundQuery
from gateway.errors import Code, UnsupportedSql
from gateway.noise.entropy import Entropy
from gateway.pricing.accuracy import add_margins
from gateway.pricing.price import AnalyzedQuery, estimate_price
from gateway.requests.request import Answer, Estimate, Notice, NoticeDetail
from gateway.results.clipped_scopes import clipped_scopes
from gateway.results.columns import answer_columns, answer_intervals
from gateway.results.constants import (
    ConstantTable,
    FilledSql,
    drop_small_intervals,
    fill_constants,
    run_finishing,
    run_with_guards,
    with_literals,
)
from gateway.results.simulation import Simulation, add_simulated_intervals
from gateway.stages.charge import reuse_notices
from gateway.stages.notices import connection_notices, notice_lines
from gateway.stages.purchase import Quote, Released
from gateway.stages.repeat_cache import RepeatCache
from gateway.twin.errors import TwinRefused
from gateway.units import Delta, Epsilon, format_down


def finish_query(
    done: Released,
    query_id: str,
    *,
    entropy: Entropy,
    cancelled: threading.Event,
    limit_s: float,
    repeats: RepeatCache,
) -> Answer:
    """Run the finishing over what was released, and again over simulated noise where intervals need that."""
    known = repeats.find_answer(done)
    if known is not None:
        return replace(known, query_id=query_id)
    query, bill = done.query, done.bill
    cut, most = query.cut, query.most_rows
    sql = cut.finishing if cut.traced is None else cut.traced.finishing
    with query.session() as twin:
        result = run_with_guards(sql, done.constants, twin, most)
        rows = result.rows
        simulated = add_simulated_intervals(
            cut,
            rows,
            answer_intervals(cut, rows, done.noisy),
            Simulation(
                done.constants,
                done.noisy,
                done.small,
                lambda constants: tuple(run_finishing(sql, constants, twin, most)),
                entropy,
                cancelled,
                limit_s,
            ),
        )
    intervals = drop_small_intervals(cut, rows, simulated.intervals, done.small)
    numbers = 0 if cut.traced is None else len(cut.traced.readings)
    clipped = clipped_scopes(query.releases, query.histograms)
    answer = Answer(
        query_id=query_id,
        columns=answer_columns(cut, done.noisy),
        rows=rows.first(len(rows.columns) - numbers),
        intervals=intervals,
        price=bill.price,
        charged=bill.charged,
        rho=bill.rho,
        delta=bill.delta,
        notices=tuple(
            text
            for _, text in notice_lines(
                done, simulated=simulated.notices, undefined=result.undefined
            )
        ),
        reused=bill.quote.reused,
        clipped=clipped,
    )
    repeats.keep_answer(done, answer)
    return answer


def require_query(query: BoundQuery) -> None:
    """Refuse a cursor, a COPY or an EXPLAIN that comes without a connection of its own."""
    kind = query.bound.statement.kind
    if kind is StatementKind.QUERY:
        return
    price = kind is StatementKind.EXPLAIN
    raise UnsupportedSql(
        Code.STATEMENT_UNSUPPORTED,
        "this statement needs a connection to the PostgreSQL interface",
        "request an estimate; it shows the price and runs nothing" if price else "send a query",
    )


def pass_through(query: BoundQuery, passing: PassThrough) -> Answer:
    """A statement that touches no table of the source runs on the twin as it is."""
    with query.session() as twin:
        rows = twin.run(passing.statement.text, query.question.request.parameters)
    columns = answer_columns(passing, {})
    return Answer(
        query_id=query.question.query_id,
        columns=columns,
        rows=rows,
        intervals=IntervalRows((None,) * len(columns), len(rows)),
        price=Epsilon.zero(),
        charged=Epsilon.zero(),
        rho=None,
        delta=Delta.zero(),
    )


@dataclass(frozen=True)
class DeferredSql:
    """SQL over released constants."""

    sql: Sql
    constants: Mapping[str, ConstantTable]

    def with_parameters(self) -> FilledSql:
        return fill_constants(self.sql, self.constants)

    def with_literals(self) -> str:
        return with_literals(self.sql, self.constants)


@dataclass(frozen=True)
class DeferredStatement:
    """`finishing` is None for a statement that touches no table of the source: it runs as it is."""

    finishing: DeferredSql | None
    notices: tuple[Notice, ...] = ()


def defer_query(
    done: Released, detail: NoticeDetail, quota: QuotaBalance | None
) -> DeferredStatement:
    """The SQL to run, with guards if the finishing has no value without them, and what the connection is told.

    `done` may be that of an earlier repeat, so what this connection wants to be told is not in it.
    """
    finishing, undefined = done.query.cut.finishing, _is_undefined(done)
    sql = (finishing.guarded if undefined else None) or finishing
    notices = connection_notices(done, notice_lines(done, undefined=undefined), detail, quota)
    return DeferredStatement(DeferredSql(sql, done.constants), notices)


def _is_undefined(done: Released) -> bool:
    """Whether the finishing needs its guards; the connection that runs it is told of every other error."""
    query = done.query
    if query.cut.finishing.guarded is None:
        return False
    with query.session() as twin:
        try:
            return run_with_guards(
                query.cut.finishing, done.constants, twin, query.most_rows
            ).undefined
        except TwinRefused:
            return False


def estimate_quote(query: AnalyzedQuery, quote: Quote) -> Estimate:
    """The quote as a client sees it."""
    plan, releases = quote.plan, tuple(one.priced for one in quote.releases)
    if plan is None:
        return replace(
            estimate_price(query, releases), notices=(*map(str, query.nulled), *query.cut.notices)
        )
    found = add_margins(estimate_price(query, releases, plan.charged), query, releases)
    notices = reuse_notices(quote, plan.charged)
    nulled = map(str, query.nulled)
    return replace(found, reused=quote.reused, notices=(*nulled, *notices, *found.notices))


def warn_of_quota(estimate: Estimate, quota: QuotaBalance | None) -> Estimate:
    """The estimate, with a notice where the analyst's own account has less left than its price; no other account is read."""
    if quota is None:
        return estimate
    left = quota.epsilon_remaining
    if quota.window is not None:
        left = min(left, quota.window.epsilon_remaining)
    if estimate.price <= left:
        return estimate
    notice = f"your account has epsilon {format_down(left.value)} left now, so the query would be refused"
    return replace(estimate, notices=(*estimate.notices, notice))
