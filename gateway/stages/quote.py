"""From the plan of a question to what it took: planned, audited and charged as one, or planned again.

INVARIANT: what is charged was planned and audited on everything that happened before. Between the plan and the charge
somebody else may be answered: then nothing is charged, and the question is planned anew. So two questions never buy the
same thing at the same moment, and no two are audited each as if the other had not been.
INVARIANT: a question is prepared at its source before it is charged, and what it was audited on is what the source's
catalog proved then: else it is planned anew. What is there already, and an estimate, asks nothing of the source.
"""

import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from datetime import timedelta
from fractions import Fraction
from functools import partial
from itertools import chain
from typing import Final

from gateway.binding.bound import Cut
from gateway.budget.account import Account, Currency, cost_on_path
from gateway.budget.balances import balance_of
from gateway.budget.charge import Idempotency, Receipt
from gateway.budget.exhausted import exhausted
from gateway.budget.ledger import earlier_charge
from gateway.datasets.dataset import Serving
from gateway.engines.catalog.proofs import Proven
from gateway.engines.staged_rows import StagedRows
from gateway.errors import BackendUnavailable, Code, SourceStopped
from gateway.noise.allocation import Priced
from gateway.overlap.auditor import audit
from gateway.overlap.inputs import Concerned
from gateway.plan.node import BrokenPlan
from gateway.pricing.price import (
    Spending,
    accounts_on_path,
    charge_request,
    price_of,
    require_worth,
    spread_of_part,
)
from gateway.regions.partition_cells import touched
from gateway.release_cache.assemble import ErrandRelease
from gateway.release_cache.cache import Book, Seen
from gateway.release_cache.cost_sharing import Debtor, Debts, debts_of, is_news, sheets_of
from gateway.release_cache.entry import Content, Sheet
from gateway.release_cache.event_log import append
from gateway.release_cache.events import Bought, Event
from gateway.release_cache.input_ids import Constants
from gateway.release_cache.noise_plan import Ordering, ordered
from gateway.release_cache.reuse_planner import Circumstances, Planned, planned
from gateway.release_cache.shared_draws import copies_of, held_by_others, with_copies
from gateway.requests.request import Reused
from gateway.results.rollup import PricedRelease
from gateway.stages.charge import Moved, charge_question
from gateway.stages.cost import Paid, reuse_notices
from gateway.stages.execute import Bill
from gateway.stages.record import Fate
from gateway.stages.services import House
from gateway.stages.source_access import SourceAccess
from gateway.stages.suspension import require_active
from gateway.state.draft import Draft
from gateway.trail.record import Kind, QuestionRecord
from gateway.units import Delta, Epsilon

_ATTEMPTS: Final = 100  # how often others may be answered between the plan and the charge
_AMONG_OTHERS: Final = 3  # from then on, one question of a dataset at a time in this process
_LOOK_S: Final = 0.02  # how often is looked whether what somebody else bought is there


@dataclass(frozen=True)
class Proposal:
    """A question that is planned and audited: `cost` is that of what is bought, in the ledger's currency.

    `charged` is what the analyst's own account gives, in epsilon, where it is the one that binds.
    """

    seen: Seen
    plan: Planned
    price: Epsilon
    cost: Fraction
    charged: Epsilon
    debts: Debts
    own: str
    accounts: frozenset[str]
    touched: tuple[str, ...] | None
    releases: tuple[ErrandRelease, ...]

    @property
    def purchases(self) -> Iterator[Priced]:
        """What the source is to be asked for."""
        return (
            one.purchase
            for each in self.releases
            for one in each.errands
            if one.purchase is not None
        )

    @property
    def events(self) -> tuple[Event, ...]:
        """What is written down when it is charged."""
        bought = [
            Bought(
                one.sheet, self.accounts, None if one.copied is None else one.copied.sheet.release
            )
            for each in self.releases
            for one in each.errands
            if one.sheet is not None
        ]
        return (*bought, *self.debts.told)


def settled(  # noqa: PLR0917 - a question and everything about it
    house: House,
    serving: Serving,
    fate: Fate,
    spending: Spending,
    access: SourceAccess,
    cancelled: threading.Event,
) -> Bill | Receipt:
    """What the question took; it is prepared, and may run now. Or the receipt of the first with its idempotency key."""
    once, subject = spending.request.idempotency, fate.asked.subject
    if once is not None:
        key = Idempotency(*once)
        earlier = house.journal.commit(lambda draft: earlier_charge(draft, subject, key))
        if earlier is not None:
            return earlier
    book, moved = house.books[serving.policy.name], 0
    while moved < _ATTEMPTS:
        alone = moved >= _AMONG_OTHERS
        if alone:
            access.let_go()
        with book.turn if alone else nullcontext():
            proven = access.proven
            proposal = proposed(house, serving, fate.query_id, subject, spending, proven)
            if proposal is not None:
                access.prepare(proposal.purchases)
                if access.proven != proven:
                    moved += 1
                    continue
                try:
                    return _taken(house, serving, fate, spending, proposal)
                except Moved:
                    moved += 1
                    continue
        # this ends: what was bought too long ago is not waited for
        access.let_go()
        if house.pace.wait(cancelled, _LOOK_S):
            raise SourceStopped(Code.SOURCE_CANCELLED)
    raise BackendUnavailable(Code.ASKED_AT_ONCE, hint="try again in a moment")


def proposed(  # noqa: PLR0913, PLR0917 - a question, and what it is planned on
    house: House,
    serving: Serving,
    query_id: str,
    subject: str,
    spending: Spending,
    proven: Mapping[str, Proven],
    *,
    waiting: bool = True,
) -> Proposal | None:
    """What the question would take, as things stand and by what is `proven` of the source's tables.

    None where somebody is about to be given some of it. Or the refusal of what differs too little from what was answered before.
    """
    policy, now = serving.policy, house.now()
    cut = spending.understood.bound
    if not isinstance(cut, Cut):
        raise BrokenPlan("a statement without releases is planned")
    book = house.books[policy.name]
    seen = book.refresh()
    path = accounts_on_path(house.journal, serving, subject)
    price = price_of(serving, spending.request)
    _require_some(house, serving, path, price)
    whole = cost_on_path(price, serving.currency, [one.limits for one in path])
    around = Circumstances(
        book=book,
        dataset=policy.dataset,
        subject=subject,
        currency=serving.currency,
        price=price,
        cost=whole,
        default=policy.privacy.default_price if spending.request.epsilon is None else None,
        fresh=spending.request.fresh or not policy.max_age,
        since=now - policy.max_age,
        awaited_since=now - timedelta(seconds=2 * house.limit_s),
        query_id=query_id,
        constants=Constants(cut, query_id),
        members=policy.given_to(subject),
    )
    own, *above = [one.name for one in path]
    debtor = Debtor(subject, frozenset([own, *above[:-1]]))
    plan = planned(spending, around)
    debts = debts_of(plan, book, debtor)
    if whole * plan.bought + debts.of(own) > whole:
        # answers of others would take more together than was offered
        plan = planned(spending, replace(around, own=True, constants=Constants(cut, query_id)))
        debts = debts_of(plan, book, debtor)
    if plan.awaited and waiting:
        return None
    if plan.bought or debts.owed or debts.told:  # what costs nothing and was told before, goes on
        house.journal.commit(lambda draft: require_active(draft, subject, policy.name))
    require_worth(serving, price, plan.topped_up)
    grounds = tuple(one.ground for one in plan.parts if one.shares.cost)
    cells = touched(grounds, policy.dataset, proven) if grounds else None
    cost = whole * plan.bought
    ordering = Ordering(query_id, now, seen.epoch, cells)
    releases = ordered(serving, spending, plan, cost, ordering)
    if around.members is not None and not around.fresh:
        releases = with_copies(releases, book, around.members, around.since)
    members = policy.auditing.trusted_with(subject)
    with book.still:
        news = [
            Concerned(ground, spread_of_part(errand.whole))
            for part, errand in zip(
                plan.parts, (one for each in releases for one in each.errands), strict=True
            )
            if is_news(part, book, members)
            for ground in part.compared
        ]
        audit(news, book.history(members), policy.auditing)
    charged = Epsilon(price.value * (cost + debts.of(own)) / whole)
    accounts = frozenset([own, *above])
    return Proposal(seen, plan, price, cost, charged, debts, own, accounts, cells, releases)


def _require_some(house: House, serving: Serving, path: Sequence[Account], price: Epsilon) -> None:
    """An account that may give nothing has no price to offer."""
    for account in path:
        if not account.limits.cost(serving.currency):
            balance = house.journal.commit(partial(balance_of, account=account.name))
            raise exhausted(account, serving.currency, balance, price.value)


def _taken(
    house: House, serving: Serving, fate: Fate, spending: Spending, proposal: Proposal
) -> Bill | Receipt:
    """The proposal, charged and written down; `Moved` where it is not how things stand any more."""
    dataset, asked, plan = serving.policy.name, fate.asked, proposal.plan
    book, copies = house.books[dataset], copies_of(proposal.releases)
    contents = _contents(book, chain(sheets_of(plan), (one.sheet for one in copies)))
    now = house.now()

    def noted(draft: Draft) -> bool:
        return append(
            draft,
            dataset,
            proposal.seen.ordinal,
            proposal.events,
            now,
            subject=asked.subject,
            query_id=asked.query_id,
        )

    def charged(draft: Draft, receipt: Receipt) -> bool:
        return receipt.cost == proposal.cost and noted(draft)

    def told(draft: Draft) -> None:
        require_active(draft, asked.subject, dataset)
        if not noted(draft):
            raise Moved
        house.trail.append(draft, QuestionRecord(Kind.REUSED, asked))

    receipt = None
    if plan.bought or proposal.debts.owed:
        wanted = charge_request(
            asked,
            serving,
            spending,
            plan.shares,
            owed=proposal.debts.owed,
            touched=proposal.touched,
            held=held_by_others(proposal.releases, book),
        )
        with fate.charging():
            receipt = charge_question(
                house.journal,
                house.trail,
                replace(asked, copied=tuple(one.sheet.release for one in copies)),
                wanted,
                now,
                charged,
            )
        if receipt.repeated:
            return receipt
    elif proposal.events:
        house.journal.commit(told)
        fate.recorded_as_reused()
    fate.reused = not plan.bought
    paid = _paid(serving, proposal, receipt)
    again = partial(_audit_again, house, serving, fate.asked.subject, spending, proposal)
    return Bill(paid, proposal.releases, contents, again)


def _audit_again(  # noqa: PLR0913, PLR0917 - a release and everything about it
    house: House,
    serving: Serving,
    subject: str,
    spending: Spending,
    proposal: Proposal,
    place: int,
    there: Mapping[str, StagedRows],
) -> None:
    """A release with the constants that its conditions compare with, against what the trust group was told before.

    What is refused here was charged: that the constant is what it is was released to the analyst on the way.
    """
    cut = spending.understood.bound
    names = {step.name: step.name for step in cut.steps} if isinstance(cut, Cut) else {}
    first = sum(len(one.parts) for one in spending.releases[:place])
    errands = proposal.releases[place].errands
    parts = proposal.plan.parts[first : first + len(errands)]
    news = [
        Concerned(ground, spread_of_part(errand.whole))
        for part, errand in zip(parts, errands, strict=True)
        if part.shares.cost
        for ground in part.with_constants(names, there)
    ]
    policy, book = serving.policy, house.books[serving.policy.name]
    with book.still:
        audit(news, book.history(policy.auditing.trusted_with(subject)), policy.auditing)


def _paid(serving: Serving, proposal: Proposal, receipt: Receipt | None) -> Paid:
    plan = proposal.plan
    since = min((one.at for one in sheets_of(plan)), default=None)
    paid = Paid(proposal.price, reused=plan.reused)
    if receipt is not None:
        own = [one for one in receipt.withdrawals if one.account == proposal.own]
        amount, delta = next(((one.amount, one.delta) for one in own), (None, Fraction(0)))
        rho = amount if serving.currency is Currency.ZCDP else None
        paid = Paid(proposal.price, receipt.price_taken, rho, Delta(delta), plan.reused)
    return paid.with_notices(reuse_notices(paid, since, partly=plan.partly))


def _contents(book: Book, sheets: Iterable[Sheet]) -> Mapping[str, Content]:
    """What is taken, before anything is charged for it."""
    found = {}
    for sheet in sheets:
        content = book.content(sheet.release)
        if content is None:
            raise BackendUnavailable(Code.STATE_UNAVAILABLE, hint="try again in a moment")
        found[sheet.release] = content
    return found


@dataclass(frozen=True)
class Foreseen:
    """What a question would take of the analyst's own account, and its releases with their noise."""

    price: Epsilon
    releases: tuple[PricedRelease, ...]
    reused: Reused | None
    notices: tuple[str, ...]


def foreseen_for(
    house: House, serving: Serving, query_id: str, subject: str, spending: Spending
) -> Foreseen:
    """As things stand; nothing is charged, written or waited for."""
    proposal = proposed(
        house, serving, query_id, subject, spending, serving.proofs.now(), waiting=False
    )
    if proposal is None:
        raise BrokenPlan("an estimate waits for nobody")
    plan = proposal.plan
    charged = proposal.charged
    since = min((one.at for one in sheets_of(plan)), default=None)
    paid = Paid(proposal.price, charged)
    return Foreseen(
        charged,
        tuple(one.priced for one in proposal.releases),
        plan.reused,
        reuse_notices(paid, since, partly=plan.partly),
    )
