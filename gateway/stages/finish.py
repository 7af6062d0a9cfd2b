"""The answer: what PostgreSQL makes of the released tables, with an interval for every cell that has one."""

import threading

from gateway.binding.bound import Passing
from gateway.binding.text.classify import Kind, Statement
from gateway.columnar.intervals import EndsRows
from gateway.errors import Code, UnsupportedSql
from gateway.noise.entropy import Entropy
from gateway.requests.request import Answer
from gateway.results.columns import answer_columns, answer_intervals, in_ranges
from gateway.results.constants import UNDEFINED, finish, run_finishing
from gateway.results.simulation import Left, Simulating, with_simulated
from gateway.results.suppression import without_small
from gateway.stages.bind import BoundQuery
from gateway.stages.execute import Released
from gateway.units import Delta, Epsilon


def finish_query(
    done: Released,
    query_id: str,
    *,
    entropy: Entropy,
    cancelled: threading.Event,
    limit_s: float,
) -> Answer:
    """Run the finishing over what was released, and again over simulated noise where intervals need that."""
    query, cost = done.query, done.bill.cost
    cut, most = query.cut, query.most_rows
    sql = cut.finishing if cut.traced is None else cut.traced.finishing
    with query.session() as twin:
        result = finish(sql, done.constants, twin, most)
        rows = result.rows
        simulated = with_simulated(
            cut,
            rows,
            answer_intervals(cut, rows, done.noisy),
            Left(done.constants, done.noisy, done.small),
            Simulating(
                lambda constants: tuple(run_finishing(sql, constants, twin, most)),
                entropy,
                cancelled,
                limit_s,
            ),
        )
    intervals = without_small(cut, rows, simulated.intervals, done.small)
    numbers = 0 if cut.traced is None else len(cut.traced.readings)
    return Answer(
        query_id=query_id,
        columns=answer_columns(cut, done.noisy),
        rows=rows.first(len(rows.columns) - numbers),
        intervals=intervals,
        price=cost.price,
        charged=cost.charged,
        rho=cost.rho,
        delta=cost.delta,
        notices=(
            *cost.notices,
            *in_ranges(one.priced.rolled for one in done.noisy.values()),
            *simulated.notices,
            *((UNDEFINED,) if result.undefined or done.undefined else ()),
        ),
        reused=cost.reused,
    )


def require_query(statement: Statement) -> None:
    """Refuse a cursor, a COPY or an EXPLAIN that comes without a connection of its own."""
    if statement.kind is Kind.QUERY:
        return
    price = statement.kind is Kind.EXPLAIN
    raise UnsupportedSql(
        Code.STATEMENT_UNSUPPORTED,
        "this statement needs a connection to the PostgreSQL interface",
        "request an estimate; it shows the price and runs nothing" if price else "send a query",
    )


def pass_through(query: BoundQuery, passing: Passing, query_id: str) -> Answer:
    """A statement that touches no table of the source runs on the twin as it is."""
    with query.session() as twin:
        rows = twin.run(passing.statement.text, query.question.values)
    columns = answer_columns(passing, {})
    return Answer(
        query_id=query_id,
        columns=columns,
        rows=rows,
        intervals=EndsRows((None,) * len(columns), len(rows)),
        price=Epsilon.zero(),
        charged=Epsilon.zero(),
        rho=None,
        delta=Delta.zero(),
    )
