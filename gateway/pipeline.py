"""`answer`: the way of a query, stage by stage. Reading it is reading the product.

INVARIANT: the charge is durable before the source is asked, and is never given back; what leaves has gone
through the noise that was charged for. Every question has a record of its fate before anybody is told.
"""

import threading
from dataclasses import replace
from datetime import datetime

from gateway.answering import finished, pass_through
from gateway.binding.bound import Cut, Passing
from gateway.bounding.fold_moments import fold_moments
from gateway.budget.account import Currency
from gateway.budget.charge import Receipt
from gateway.charging import charge_question
from gateway.errors import Code, SyntaxRefused
from gateway.executing import executed
from gateway.fates import recorded
from gateway.house import House
from gateway.plan.grouping import Aggregate
from gateway.plan.node import BrokenPlan
from gateway.policy.subjects import Subject
from gateway.pricing import Spending, bought, charge_request, estimated, expected_cost
from gateway.question import Answer, Estimate, Request
from gateway.sensitivity.analyse import analyse
from gateway.sensitivity.analysis import Analysis
from gateway.serving import Serving
from gateway.understanding import Question, understand
from gateway.units import Epsilon


def answer(
    house: House, subject: Subject, request: Request, front_end: str, cancelled: threading.Event
) -> Answer:
    """The answer to a question, or the refusal; both are recorded."""
    with recorded(house, subject, request, front_end) as fate:
        now = house.now()
        question, serving = asked(house, subject, request, front_end, now)
        fate.concerns(serving.policy.name)
        understood = understand(question, serving.views, house.twin.borrowed)
        fate.decided(understood.decision)
        if isinstance(understood.bound, Passing):
            return pass_through(house, fate.query_id, question, understood, understood.bound)
        spending = Spending(request, understood, analysed(understood.bound, serving, now))
        serving.rehearse(spending.analyses, understood.bound, now)
        receipt = None
        if spending.measures:
            with fate.charging():
                wanted = charge_request(fate.asked, serving, spending)
                receipt = charge_question(house.journal, house.trail, fate.asked, wanted, now)
        if receipt is not None and receipt.repeated:
            return held(house, receipt)
        bounded = bought(serving, spending, receipt)
        done = executed(house, question, serving, understood, bounded, cancelled)
        told = finished(house, fate.query_id, question, serving, understood, receipt, done)
        if request.idempotency is not None:
            house.kept.keep(told)
        return told


def estimate(house: House, subject: Subject, request: Request, front_end: str) -> Estimate:
    """What a question would cost, and how wide its noise would be: nothing is run or charged."""
    with recorded(house, subject, request, front_end, estimate=True):
        now = house.now()
        question, serving = asked(house, subject, request, front_end, now)
        understood = understand(question, serving.views, house.twin.borrowed)
        if isinstance(understood.bound, Passing):
            return estimated(serving, None, ())
        spending = Spending(request, understood, analysed(understood.bound, serving, now))
        serving.rehearse(spending.analyses, understood.bound, now)
        cost = expected_cost(house.journal, serving, question.subject.name, spending)
        return estimated(serving, spending, bought(serving, spending, cost))


def held(house: House, receipt: Receipt) -> Answer:
    """The answer to a question that came again with its key."""
    kept = house.kept.find(receipt.query_id)
    if kept is None:
        raise SyntaxRefused(
            Code.IDEMPOTENCY_MISMATCH,
            "the answer that was given for this key is not held any more",
            "ask again with a new key, at a new price",
        )
    return replace(kept, charged=Epsilon.zero())


def asked(
    house: House, subject: Subject, request: Request, front_end: str, now: datetime
) -> tuple[Question, Serving]:
    """The question, and the dataset it is about."""
    question = Question(request.sql, subject, front_end, now, request.purpose, request.parameters)
    return question, house.serving(question, request.dataset)


def analysed(cut: Cut, serving: Serving, now: datetime) -> tuple[Analysis, ...]:
    """What each release measures, and how far one unit moves it."""
    return tuple(_analysis(release.plan, serving, now) for release in cut.releases)


def _analysis(plan: Aggregate, serving: Serving, now: datetime) -> Analysis:
    folded = fold_moments(plan, now)
    if not isinstance(folded, Aggregate):
        raise BrokenPlan("a release that is none any more")
    return analyse(
        folded,
        pairs=serving.currency is Currency.PURE,
        enumerated_groups=serving.policy.sizes.enumerated_groups,
        min_units=serving.policy.auditing.min_units,
    )
