"""`answer`: the way of a query, stage by stage. Reading it is reading the product.

INVARIANT: the charge is durable before the source computes, and is never given back; what leaves has gone
through the noise that was charged for. Every question has a record of its fate before anybody is told.
"""

import threading
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import partial
from typing import Final

from gateway.binding.bound import Cut, Passing
from gateway.binding.text.classify import Kind
from gateway.bounding.fold_current_time import fold_moments
from gateway.bounding.work_bound import check_work
from gateway.budget.account import Currency
from gateway.budget.charge import Receipt
from gateway.datasets.bind_question import Question, Understood, understand
from gateway.datasets.dataset import Serving
from gateway.errors import Code, SourceStopped, SyntaxRefused
from gateway.plan.grouping import Aggregate
from gateway.plan.node import BrokenPlan
from gateway.policy.rounding import ranges_of
from gateway.policy.subjects import Subject
from gateway.pricing.accuracy import at_accuracy, with_margins
from gateway.pricing.price import Sold, Spending, bought, estimated
from gateway.release_cache.assemble import whole
from gateway.requests.request import Answer, Estimate, Request
from gateway.results.constants import finish
from gateway.sensitivity.analyze import analyse
from gateway.sensitivity.grouping_sets import Rolled, rolled
from gateway.stages.cost import NOTHING_PAID, Paid
from gateway.stages.deferred import Handed, handed
from gateway.stages.execute import Bill, Executed, executed, known_beforehand
from gateway.stages.finish import about_a_connection, finished, pass_through
from gateway.stages.persist import Keeping
from gateway.stages.quote import foreseen_for, settled
from gateway.stages.record import Fate, recorded
from gateway.stages.rehearse import rehearse
from gateway.stages.reply_grid import Grid, on_grid
from gateway.stages.services import House
from gateway.stages.source_access import SourceAccess
from gateway.stages.time_zone import moment_in, require_zone_does_not_matter
from gateway.twin.errors import TwinRefused
from gateway.units import Epsilon

_LOOK_S: Final = 0.1  # how often is looked whether the first answer to a key is there


def answer(
    house: House, subject: Subject, request: Request, front_end: str, cancelled: threading.Event
) -> Answer:
    """The answer to a question, or the refusal; both are recorded."""
    with recorded(house, subject, request, front_end) as fate:
        with on_grid(house.pace, house.grid(), cancelled) as grid:
            walked = _walked(house, subject, request, fate, grid, cancelled, alone=True)
            told = _answered(house, walked, grid, cancelled)
        if request.idempotency is not None and told.charged:
            house.kept.keep(told, subject.name)
        return told


def release(
    house: House, subject: Subject, request: Request, front_end: str, cancelled: threading.Event
) -> Handed:
    """The same way up to the finishing, which somebody runs who has a connection to the twin."""
    with (
        recorded(house, subject, request, front_end) as fate,
        on_grid(house.pace, house.grid(), cancelled) as grid,
    ):
        walked = _walked(house, subject, request, fate, grid, cancelled)
        undefined = _is_undefined(house, walked)
    return handed(walked.understood, walked.paid, walked.done, undefined=undefined)


@dataclass(frozen=True)
class Walked:
    """How far a question came: nothing is `done` of one that passes, or that was answered before."""

    query_id: str
    question: Question
    serving: Serving
    understood: Understood
    receipt: Receipt | None = None
    paid: Paid = NOTHING_PAID
    done: Executed | None = None


def _is_undefined(house: House, walked: Walked) -> bool:
    """Whether the finishing needs its guards; whatever else is wrong with it whoever runs it is told."""
    cut = walked.understood.bound
    if walked.done is None or not isinstance(cut, Cut) or cut.finishing.guarded is None:
        return False
    most = walked.serving.policy.sizes.result_rows
    with house.twin.borrowed(walked.question.subject.name, walked.understood.view.shown) as twin:
        try:
            return finish(cut.finishing, walked.done.constants, twin, most).undefined
        except TwinRefused:
            return False


def _answered(house: House, walked: Walked, grid: Grid, cancelled: threading.Event) -> Answer:
    """What the finishing makes of it."""
    question, understood, receipt = walked.question, walked.understood, walked.receipt
    if isinstance(understood.bound, Passing):
        return pass_through(house, walked.query_id, question, understood, understood.bound)
    if walked.done is None:
        if receipt is None:
            raise BrokenPlan("a question that was neither answered nor is to be")
        return held(house, receipt, question.subject.name, grid, cancelled)
    return finished(
        house,
        walked.query_id,
        question,
        walked.serving,
        understood,
        walked.paid,
        walked.done,
        cancelled,
    )


def _walked(  # noqa: PLR0913, PLR0917 - a question and everything about it
    house: House,
    subject: Subject,
    request: Request,
    fate: Fate,
    grid: Grid,
    cancelled: threading.Event,
    *,
    alone: bool = False,
) -> Walked:
    """Up to the constants; a question that is asked `alone`, without a connection, is a query."""
    now = house.now()
    question, serving = asked(house, subject, request, fate.asked.front_end, now)
    fate.concerns(serving.policy)
    understood = understand(question, serving.views, house.twin.borrowed)
    fate.decided(understood.decision)
    # not before: when a refusal leaves must not tell which dataset somebody may not ask
    grid.step_ms = serving.policy.results.reply_grid_ms
    walked = Walked(fate.query_id, question, serving, understood)
    if isinstance(understood.bound, Passing):
        return walked
    if alone and understood.bound.statement.kind is not Kind.QUERY:
        raise about_a_connection(understood.bound.statement)
    require_zone_does_not_matter(understood.bound, request.zone)
    spending = Spending(
        request,
        understood,
        analysed(understood.bound, serving, question.asked_at),
        known_beforehand(house, question, understood, serving.policy.sizes.result_rows),
    )
    _rehearse(house, question, serving, spending)
    spending = at_accuracy(house.journal, serving, question.subject.name, spending)
    bill: Bill | Receipt
    with SourceAccess(
        serving,
        question.subject.name,
        understood.bound,
        question.asked_at,
        house.limit_s,
        cancelled,
    ) as access:
        if spending.measures:
            bill = settled(house, serving, fate, spending, access, cancelled)
        else:
            bill = Bill(NOTHING_PAID, whole(bought(serving, spending, None)))
        if isinstance(bill, Receipt):
            return replace(walked, receipt=bill)
        keeping = Keeping(fate, serving.policy.name, house.now)
        with keeping.all(bill):
            done = executed(house, question, serving, understood, bill, access, keeping.keep)
    return replace(walked, paid=bill.paid, done=done)


def estimate(house: House, subject: Subject, request: Request, front_end: str) -> Estimate:
    """What a question would cost, and how wide its noise would be: nothing is run or charged.

    It leaves on the grid, too: a text that was bound for somebody else before is understood sooner.
    """
    with (
        recorded(house, subject, request, front_end, estimate=True) as fate,
        on_grid(house.pace, house.grid(), threading.Event()) as grid,
    ):
        now = house.now()
        question, serving = asked(house, subject, request, front_end, now)
        understood = understand(question, serving.views, house.twin.borrowed)
        grid.step_ms = serving.policy.results.reply_grid_ms
        if isinstance(understood.bound, Passing):
            return estimated(serving, None, ())
        require_zone_does_not_matter(understood.bound, request.zone)
        spending = Spending(
            request,
            understood,
            analysed(understood.bound, serving, question.asked_at),
            known_beforehand(house, question, understood, serving.policy.sizes.result_rows),
        )
        _rehearse(house, question, serving, spending)
        spending = at_accuracy(house.journal, serving, question.subject.name, spending)
        if not spending.measures:
            releases = bought(serving, spending, None)
            return estimated(serving, spending, releases)
        foreseen = foreseen_for(house, serving, fate.query_id, question.subject.name, spending)
        said = with_margins(
            estimated(serving, spending, foreseen.releases, foreseen.price),
            spending,
            foreseen.releases,
        )
        return replace(said, reused=foreseen.reused, notices=(*foreseen.notices, *said.notices))


def _rehearse(house: House, question: Question, serving: Serving, spending: Spending) -> None:
    """Refuse what the source or the twin cannot compute, before it is charged."""
    understood = spending.understood
    cut = understood.bound
    if not isinstance(cut, Cut):
        raise BrokenPlan("a statement without releases is rehearsed")
    serving.rehearse(spending.analyses, cut, question.asked_at)
    borrow = partial(house.twin.borrowed, question.subject.name, understood.view.shown)
    rehearse(cut, spending.releases, borrow, serving.policy.sizes.result_rows)


def held(
    house: House, receipt: Receipt, subject: str, grid: Grid, cancelled: threading.Event
) -> Answer:
    """The answer to a question that came again with its key; while the first is worked on, it is waited for.

    A gateway that died between the charge and the answer leaves no word of it: after the time that a statement
    may take nobody is waited for.
    """
    until = receipt.at + timedelta(seconds=house.limit_s, milliseconds=grid.step_ms or 0)
    while True:
        ended = house.kept.ended(receipt.query_id) or house.now() >= until
        kept = house.kept.find(receipt.query_id, subject)
        if kept is not None:
            return replace(kept, charged=Epsilon.zero())
        if ended:
            raise SyntaxRefused(
                Code.IDEMPOTENCY_MISMATCH,
                "the answer for this key is no longer stored",
                "send the query with a new key; it is charged again",
            )
        if house.pace.wait(cancelled, _LOOK_S):
            raise SourceStopped(Code.SOURCE_CANCELLED)


def asked(
    house: House, subject: Subject, request: Request, front_end: str, now: datetime
) -> tuple[Question, Serving]:
    """The question, and the dataset it is about."""
    question = Question(
        request.sql,
        subject,
        front_end,
        moment_in(request.zone, now),
        request.purpose,
        request.parameters,
        request.types,
    )
    return question, house.serving(question, request.dataset)


def analysed(cut: Cut, serving: Sold, now: datetime) -> tuple[Rolled, ...]:
    """What each release measures in each of its grouping sets, and how far one unit moves it."""
    return tuple(_rolled(release.plan, serving, now) for release in cut.releases)


def _rolled(plan: Aggregate, serving: Sold, now: datetime) -> Rolled:
    folded = fold_moments(plan, now)
    if not isinstance(folded, Aggregate):
        raise BrokenPlan("a release that is none any more")
    check_work(folded)
    one_set = partial(
        analyse,
        pairs=serving.currency is Currency.PURE,
        enumerated_groups=serving.policy.sizes.enumerated_groups,
        min_units=serving.policy.auditing.min_units,
        suppress_small=serving.policy.results.suppress_small,
    )
    ranges = ranges_of(folded, serving.policy.results.reported)
    return replace(rolled(folded, one_set), ranges=ranges)
