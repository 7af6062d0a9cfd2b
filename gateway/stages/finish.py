"""The finishing: PostgreSQL computes the answer from released tables, and every noisy cell gets its interval."""

import threading
from dataclasses import replace

from gateway.binding.bound import PassThrough
from gateway.binding.text.classify import Statement, StatementKind
from gateway.columnar.intervals import IntervalRows
from gateway.errors import Code, UnsupportedSql
from gateway.noise.entropy import Entropy
from gateway.requests.request import Answer
from gateway.results.columns import answer_columns, answer_intervals, in_ranges
from gateway.results.constants import (
    UNDEFINED,
    drop_small_intervals,
    run_finishing,
    run_with_guards,
)
from gateway.results.simulation import SimulationBudget, SimulationSettings, add_simulated_intervals
from gateway.stages.bind import BoundQuery
from gateway.stages.execute import Released, ResultCache
from gateway.units import Delta, Epsilon


def finish_query(
    done: Released,
    query_id: str,
    *,
    entropy: Entropy,
    cancelled: threading.Event,
    limit_s: float,
    results: ResultCache,
) -> Answer:
    """Run the finishing over what was released, and again over simulated noise where intervals need that."""
    known = results.answer(done)
    if known is not None:
        return replace(known, query_id=query_id)
    query, cost = done.query, done.bill.cost
    cut, most = query.cut, query.most_rows
    sql = cut.finishing if cut.traced is None else cut.traced.finishing
    with query.session() as twin:
        result = run_with_guards(sql, done.constants, twin, most)
        rows = result.rows
        simulated = add_simulated_intervals(
            cut,
            rows,
            answer_intervals(cut, rows, done.noisy),
            SimulationBudget(done.constants, done.noisy, done.small),
            SimulationSettings(
                lambda constants: tuple(run_finishing(sql, constants, twin, most)),
                entropy,
                cancelled,
                limit_s,
            ),
        )
    intervals = drop_small_intervals(cut, rows, simulated.intervals, done.small)
    numbers = 0 if cut.traced is None else len(cut.traced.readings)
    answer = Answer(
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
    results.keep_answer(done, answer)
    return answer


def require_query(statement: Statement) -> None:
    """Refuse a cursor, a COPY or an EXPLAIN that comes without a connection of its own."""
    if statement.kind is StatementKind.QUERY:
        return
    price = statement.kind is StatementKind.EXPLAIN
    raise UnsupportedSql(
        Code.STATEMENT_UNSUPPORTED,
        "this statement needs a connection to the PostgreSQL interface",
        "request an estimate; it shows the price and runs nothing" if price else "send a query",
    )


def pass_through(query: BoundQuery, passing: PassThrough, query_id: str) -> Answer:
    """A statement that touches no table of the source runs on the twin as it is."""
    with query.session() as twin:
        rows = twin.run(passing.statement.text, query.question.values)
    columns = answer_columns(passing, {})
    return Answer(
        query_id=query_id,
        columns=columns,
        rows=rows,
        intervals=IntervalRows((None,) * len(columns), len(rows)),
        price=Epsilon.zero(),
        charged=Epsilon.zero(),
        rho=None,
        delta=Delta.zero(),
    )
