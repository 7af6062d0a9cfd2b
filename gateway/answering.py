"""The answer: what PostgreSQL makes of the released tables, with an interval for every cell that has one."""

from fractions import Fraction

from gateway.binding.bound import Cut, Passing
from gateway.binding.statement import Kind
from gateway.budget.account import Currency
from gateway.budget.charge import Receipt
from gateway.cells import answer_columns, answer_intervals, in_ranges
from gateway.errors import Code, UnsupportedSql
from gateway.executing import Executed
from gateway.finishing import run_finishing
from gateway.house import House
from gateway.plan.node import BrokenPlan
from gateway.question import Answer
from gateway.serving import Serving
from gateway.suppressing import without_small
from gateway.understanding import Question, Understood
from gateway.units import Delta, Epsilon


def finished(  # noqa: PLR0913, PLR0917 - everything that an answer says
    house: House,
    query_id: str,
    question: Question,
    serving: Serving,
    understood: Understood,
    receipt: Receipt | None,
    done: Executed,
) -> Answer:
    """The finishing, run over what was released."""
    cut = understood.bound
    if not isinstance(cut, Cut):
        raise BrokenPlan("only a statement that was cut is finished")
    sql = cut.finishing if cut.traced is None else cut.traced.finishing
    most = serving.policy.sizes.result_rows
    with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
        rows = run_finishing(sql, done.constants, twin, most)
    intervals = without_small(cut, rows, answer_intervals(cut, rows, done.noisy), done.small)
    numbers = 0 if cut.traced is None else len(cut.traced.readings)
    price = Epsilon.zero() if receipt is None else receipt.price
    in_rho = receipt is not None and serving.currency is Currency.ZCDP
    return Answer(
        query_id=query_id,
        columns=answer_columns(cut, done.noisy),
        rows=tuple(row[: len(row) - numbers] for row in rows) if numbers else rows,
        intervals=intervals,
        price=price,
        charged=price,
        rho=receipt.cost if receipt is not None and in_rho else None,
        delta=Delta(receipt.withdrawals[0].delta if receipt is not None else Fraction(0)),
        notices=in_ranges(one.priced.rolled for one in done.noisy.values()),
    )


def pass_through(
    house: House, query_id: str, question: Question, understood: Understood, passing: Passing
) -> Answer:
    """A statement that touches no table of the source runs on the twin as it is."""
    if passing.statement.kind is not Kind.QUERY:
        raise UnsupportedSql(
            Code.STATEMENT_UNSUPPORTED,
            "a statement about a connection, where there is none",
            "send a query",
        )
    with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
        rows = twin.run(passing.statement.text, question.values)
    columns = answer_columns(passing, {})
    return Answer(
        query_id=query_id,
        columns=columns,
        rows=rows,
        intervals=tuple((None,) * len(columns) for _ in rows),
        price=Epsilon.zero(),
        charged=Epsilon.zero(),
        rho=None,
        delta=Delta.zero(),
    )
