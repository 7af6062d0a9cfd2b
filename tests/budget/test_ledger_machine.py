"""The ledger against a model of a few lines, through every order of events hypothesis can think of."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from fractions import Fraction
from typing import ClassVar

import pytest
from fix_ledger import NOON, Bank, audit, limits
from fix_state import StateServer
from fix_two_gateways import Site, second_journal
from hypothesis import Phase, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    initialize,
    invariant,
    rule,
    run_state_machine_as_test,
)
from samples import draws
from sqlalchemy import text

from gateway.budget.account import Currency, Every, Limits
from gateway.config import Settings
from gateway.errors import BudgetExhausted, Code, OperatorError
from gateway.state.open import State
from gateway.trail.record import Trail

# few values, so that sums meet caps exactly again and again
prices = st.sampled_from([Fraction(x) for x in ("1/10", "1/20", "1/6", "1/4", "3/7", "1/1000003")])
caps = st.sampled_from([Fraction(x) for x in ("1", "2", "1/3", "3/2", "5", "0")])
deltas = st.sampled_from([Fraction(0), Fraction(1, 10**7), Fraction(1, 4 * 10**6)])
windows = st.none() | st.tuples(st.sampled_from(Every), st.sampled_from(["1", "1/2", "1/3", "0"]))
plenty = st.builds(lambda cap, window: limits(cap, window=window), st.integers(3, 5), st.none())
account_limits = plenty | st.builds(lambda cap, window: limits(cap, window=window), caps, windows)


@dataclass
class Account:
    """What the model knows of an account."""

    parent: str | None
    limits: Limits
    taken: list[tuple[datetime, Fraction]] = field(default_factory=list)
    delta: Fraction = Fraction(0)

    @property
    def spent(self) -> Fraction:
        return sum((amount for _, amount in self.taken), Fraction(0))

    def clock(self, now: datetime) -> datetime:
        return max([now, *(at for at, _ in self.taken)])


def period(every: Every, moment: datetime) -> tuple[int, ...]:
    """The period's name, which is all the model needs to tell periods apart."""
    names = {
        Every.DAY: (moment.year, moment.month, moment.day),
        Every.WEEK: moment.isocalendar()[:2],
        Every.MONTH: (moment.year, moment.month),
    }
    return names[every]


class Model:
    """The rules of privacy.md §4, in Fractions, without a database."""

    def __init__(self, currency: Currency, opened: Limits) -> None:
        """`opened` are the limits with which the ledger was opened: they decide the price for ever."""
        self.currency = currency
        self.rate = opened.cap(currency) / opened.epsilon.value
        self.accounts: dict[str, Account] = {}

    def cap(self, account: Account, limits: Limits | None = None) -> Fraction:
        limits = limits or account.limits
        if account.parent is None:
            return limits.cap(self.currency)
        return limits.epsilon.value * self.rate

    def may_set(self, name: str, limits: Limits) -> bool:
        """Whether the limits cover what was released; the account of everybody must."""
        account = self.accounts[name]
        if account.parent is not None:
            return True
        cap, delta = self.cap(account, limits), limits.delta.value / 2
        less = cap < self.cap(account) and account.spent > cap
        return not less and not (delta < account.limits.delta.value / 2 and account.delta > delta)

    def charge(self, name: str, price: Fraction, delta: Fraction, now: datetime) -> str | None:
        """Take it; or the code and account of the refusal."""
        path = self._path(name)
        for each in path:
            if not self.accounts[each].limits.epsilon:
                return f"{Code.BUDGET_EXHAUSTED} {each}"
        amount = price * self.rate
        for each in path:
            code = _no(self, self.accounts[each], amount, delta, now)
            if code is not None:
                return f"{code} {each}"
        for each in path:
            account = self.accounts[each]
            account.taken.append((account.clock(now), amount))
            account.delta += delta
        return None

    def _path(self, name: str) -> list[str]:
        parent = self.accounts[name].parent
        return [name] if parent is None else [name, *self._path(parent)]


def _no(
    model: Model, account: Account, amount: Fraction, delta: Fraction, now: datetime
) -> Code | None:
    if account.spent + amount > model.cap(account):
        return Code.BUDGET_EXHAUSTED
    if account.delta + delta > account.limits.delta.value / 2:
        return Code.THRESHOLDS_EXHAUSTED
    window, at = account.limits.window, account.clock(now)
    if window is None:
        return None
    given = amount + sum(
        before
        for then, before in account.taken
        if period(window.every, then) == period(window.every, at)
    )
    return Code.WINDOW_EXHAUSTED if given > window.epsilon.value * model.rate else None


class LedgerMachine(RuleBasedStateMachine):
    """Events on one ledger; the site is shared by all runs, the ledger is not."""

    site: ClassVar[Site]
    runs: ClassVar[Iterator[int]]
    names = Bundle("names")

    def __init__(self) -> None:
        super().__init__()
        self.run = next(self.runs)
        self.root = f"ledger-{self.run}"
        self.now = NOON
        self.turn = 0
        self.model = Model(Currency.PURE, limits(1))
        with self.site.state.engine.connect() as connection:
            query = text("SELECT coalesce(max(seq), 0) FROM trail_records")
            self.began = connection.execute(query).scalar_one()

    def bank(self) -> Bank:
        """Now the one gateway, now the other."""
        self.turn += 1
        bank = self.site.banks[self.turn % 2]
        bank.now = self.now
        return bank

    @initialize(target=names, currency=st.sampled_from(Currency), cap=plenty)
    def open_ledger(self, currency: Currency, cap: Limits) -> str:
        self.model = Model(currency, cap)
        self.bank().open_ledger(cap, currency, name=self.root)
        self.model.accounts[self.root] = Account(None, cap)
        return self.root

    @rule(target=names, parent=names, cap=account_limits)
    def open_account(self, parent: str, cap: Limits) -> str:
        if len(self.model.accounts) > 4:
            return parent
        name = f"{self.root}.{len(self.model.accounts)}"
        self.bank().open_account(name, cap, parent=parent, ledger=self.root)
        self.model.accounts[name] = Account(parent, cap)
        return name

    @rule(name=names, price=prices, delta=deltas)
    def charge(self, name: str, price: Fraction, delta: Fraction) -> None:
        expected = self.model.charge(name, price, delta, self.now)
        bank = self.bank()
        said = None
        try:
            bank.ask(price, name, delta=delta, query_id=f"{self.root}-{self.turn}")
        except BudgetExhausted as refusal:
            said = f"{refusal.code} {refusal.detail.split('`')[1]}"
        assert said == expected

    @rule(orders=st.lists(st.tuples(st.integers(0, 9), prices, deltas), min_size=4, max_size=8))
    def charge_many(self, orders: list[tuple[int, Fraction, Fraction]]) -> None:
        names = list(self.model.accounts)
        for place, price, delta in orders:
            self.charge(names[place % len(names)], price, delta)

    @rule(name=names, price=prices)
    def charge_until_refused(self, name: str, price: Fraction) -> None:
        for _ in range(6):
            self.charge(name, price, Fraction(0))

    @rule(name=names, cap=account_limits)
    def set_limits(self, name: str, cap: Limits) -> None:
        if self.model.may_set(name, cap):
            self.bank().set_limits(name, cap)
            self.model.accounts[name].limits = cap
        else:
            with pytest.raises(OperatorError, match="cannot be taken back"):
                self.bank().set_limits(name, cap)

    @rule(name=names, share=st.sampled_from([Fraction(1), Fraction(1, 2), Fraction(11, 10)]))
    def set_cap_to_a_share_of_what_is_spent(self, name: str, share: Fraction) -> None:
        account = self.model.accounts[name]
        cap = replace(account.limits, epsilon=limits(account.spent * share).epsilon)
        if cap.epsilon and not cap.cap(self.model.currency):
            return
        self.set_limits(name, cap)

    @rule(days=st.sampled_from([-400, -31, -7, -1, 1, 6, 28, 31]), hours=st.integers(-13, 13))
    def move_the_clock(self, days: int, hours: int) -> None:
        self.now += timedelta(days=days, hours=hours)

    @rule()
    def cut_the_connections(self) -> None:
        self.site.cut_connections()

    @rule(which=st.booleans())
    def forget(self, *, which: bool) -> None:
        self.site.banks[which].journal._memory = None

    @invariant()
    def database_and_trail_say_what_the_model_says(self) -> None:
        with self.site.state.engine.connect() as connection:
            entries = connection.execute(
                text("SELECT * FROM ledger_entries WHERE account LIKE :mine ORDER BY ordinal"),
                {"mine": f"{self.root}%"},
            ).all()
            trail = connection.execute(
                text("SELECT body FROM trail_records WHERE seq > :began AND kind = 'charged'"),
                {"began": self.began},
            ).scalars()
            taken = [one for body in trail for one in json.loads(body)["taken"]]
        for name, account in self.model.accounts.items():
            mine = [entry for entry in entries if entry.account == name]
            amounts = [Fraction(entry.amount) for entry in mine]
            assert amounts == [amount for _, amount in account.taken]
            assert [entry.at for entry in mine] == [at for at, _ in account.taken]
            if mine:
                assert Fraction(mine[-1].spent_after) == account.spent
                assert Fraction(mine[-1].delta_after) == account.delta
            told = [Fraction(one["amount"]) for one in taken if one["account"] == name]
            assert sorted(told) == sorted(amounts)


def test_ledger_agrees_with_its_model_in_any_order_of_events(
    state_server: StateServer, state_settings: Settings, state: State, trail: Trail
) -> None:
    """Charges, grants, clocks that jump, cut connections and two gateways that alternate: after each
    event balances, entries and trail are what the model says, and in the end the chain holds.
    """
    with second_journal(state_settings) as journal:
        banks = (Bank(state.journal, trail, state.engine), Bank(journal, trail, state.engine))

        class Machine(LedgerMachine):
            site = Site(state_server, state, banks)
            runs = iter(range(10_000))

        run_state_machine_as_test(
            Machine,
            settings=settings(
                max_examples=draws(30),
                stateful_step_count=20,
                deadline=None,
                derandomize=True,
                database=None,
                phases=[Phase.generate],  # to shrink a failure would take minutes
            ),
        )
    assert len(audit(state.engine).charges) > draws(100)


def test_model_can_fail() -> None:
    """A negative control: with a window that never closes the model itself answers differently."""
    model = Model(Currency.PURE, limits(1))
    model.accounts["a"] = Account(None, limits(1, window=(Every.DAY, "1/2")))
    assert model.charge("a", Fraction(1, 2), Fraction(0), NOON) is None
    assert model.charge("a", Fraction(1, 2), Fraction(0), NOON) == "GW502 a"
    model.accounts["a"].limits = limits(1)
    assert model.charge("a", Fraction(1, 2), Fraction(0), NOON) is None
    assert model.charge("a", Fraction(1, 10**9), Fraction(0), NOON) == "GW501 a"
