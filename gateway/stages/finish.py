"""The answer: what PostgreSQL makes of the released tables, with an interval for every cell that has one."""

import threading

from gateway.binding.bound import Cut, Passing
from gateway.binding.text.classify import Kind, Statement
from gateway.columnar.intervals import EndsRows
from gateway.datasets.bind_question import Question, Understood
from gateway.datasets.dataset import Serving
from gateway.errors import Code, Refusal, UnsupportedSql
from gateway.plan.node import BrokenPlan
from gateway.requests.request import Answer
from gateway.results.columns import answer_columns, answer_intervals, in_ranges
from gateway.results.constants import UNDEFINED, finish, run_finishing
from gateway.results.simulation import Left, Simulating, with_simulated
from gateway.results.suppression import without_small
from gateway.stages.cost import Paid
from gateway.stages.execute import Executed
from gateway.stages.services import House
from gateway.units import Delta, Epsilon


def finished(  # noqa: PLR0913, PLR0917 - everything that an answer says
    house: House,
    query_id: str,
    question: Question,
    serving: Serving,
    understood: Understood,
    paid: Paid,
    done: Executed,
    cancelled: threading.Event,
) -> Answer:
    """The finishing, run over what was released; and again where intervals need it."""
    cut = understood.bound
    if not isinstance(cut, Cut):
        raise BrokenPlan("only a statement that was cut is finished")
    sql = cut.finishing if cut.traced is None else cut.traced.finishing
    most = serving.policy.sizes.result_rows
    with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
        done_with = finish(sql, done.constants, twin, most)
        rows = done_with.rows
        simulated = with_simulated(
            cut,
            rows,
            answer_intervals(cut, rows, done.noisy),
            Left(done.constants, done.noisy, done.small),
            Simulating(
                lambda constants: tuple(run_finishing(sql, constants, twin, most)),
                house.entropy,
                cancelled,
                house.limit_s,
            ),
        )
    intervals = without_small(cut, rows, simulated.intervals, done.small)
    numbers = 0 if cut.traced is None else len(cut.traced.readings)
    return Answer(
        query_id=query_id,
        columns=answer_columns(cut, done.noisy),
        rows=rows.first(len(rows.columns) - numbers),
        intervals=intervals,
        price=paid.price,
        charged=paid.charged,
        rho=paid.rho,
        delta=paid.delta,
        notices=(
            *paid.notices,
            *in_ranges(one.priced.rolled for one in done.noisy.values()),
            *simulated.notices,
            *((UNDEFINED,) if done_with.undefined or done.undefined else ()),
        ),
        reused=paid.reused,
    )


def about_a_connection(statement: Statement) -> Refusal:
    """What is said to a cursor, a COPY or an EXPLAIN where no connection is."""
    price = statement.kind is Kind.EXPLAIN
    return UnsupportedSql(
        Code.STATEMENT_UNSUPPORTED,
        "this statement needs a connection to the PostgreSQL interface",
        "request an estimate; it shows the price and runs nothing" if price else "send a query",
    )


def pass_through(
    house: House, query_id: str, question: Question, understood: Understood, passing: Passing
) -> Answer:
    """A statement that touches no table of the source runs on the twin as it is."""
    if passing.statement.kind is not Kind.QUERY:
        raise about_a_connection(passing.statement)
    with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
        rows = twin.run(passing.statement.text, question.values)
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
