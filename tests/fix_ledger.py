"""Ledgers to charge, and an auditor who reads the books without using any of the code that wrote them."""

import hashlib
import hmac
import itertools
import json
import os
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path
from typing import TypeVar

import pytest
from charges import charge_question
from fix_state import AUDIT_SECRET
from sqlalchemy import Engine, text

from gateway.admin.actions import grant, record_acts
from gateway.budget.account import Account, Currency, Every, Ledger, Limits, RateLimit
from gateway.budget.balances import load_ledger
from gateway.budget.charge import ChargedMeasurement, ChargeRequest, Idempotency, Receipt
from gateway.budget.limits import open_account, open_ledger
from gateway.budget.report import AccountBalance, standings
from gateway.errors import BudgetExhausted, Refusal
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.state.open import State
from gateway.trail.record import AskedQuestion, Trail
from gateway.units import Delta, Epsilon

CLINIC = "dataset:clinic"
ONCOLOGY = "team:oncology@clinic"
ALICE = "analyst:alice@clinic"
BOB = "analyst:bob@clinic"
NOON = datetime(2026, 3, 18, 12, tzinfo=UTC)  # a Wednesday

Amount = str | int | Fraction
T = TypeVar("T")


def epsilon(amount: Amount) -> Epsilon:
    return Epsilon(Fraction(amount))


def limits(
    cap: Amount, delta: Amount = "1/1000000", window: tuple[Every, Amount] | None = None
) -> Limits:
    return Limits(
        epsilon(cap),
        Delta(Fraction(delta)),
        None if window is None else RateLimit(window[0], epsilon(window[1])),
    )


def clinic(currency: Currency = Currency.PURE, name: str = CLINIC) -> Ledger:
    return Ledger(name, f"postgresql://source/{name}", "patient", currency)


def question(
    price: Amount,
    account: str = ALICE,
    *,
    query_id: str,
    subject: str = "alice",
    delta: Amount = 0,
    once: Idempotency | None = None,
) -> ChargeRequest:
    measurement = ChargedMeasurement("count", "laplace", Fraction(1), Delta(Fraction(delta)))
    return ChargeRequest(query_id, subject, account, epsilon(price), (measurement,), once)


def declare_ledger(
    journal: Journal, trail: Trail, ledger: Ledger, cap: Limits, now: datetime
) -> None:
    """Open a ledger with these limits, as dave."""
    journal.commit(
        lambda draft: record_acts(
            draft, trail, "dave", open_ledger(draft, ledger, cap, actor="dave", now=now)
        )
    )


def declare_account(journal: Journal, trail: Trail, account: Account, now: datetime) -> None:
    """Open an account, as dave."""
    journal.commit(
        lambda draft: record_acts(
            draft, trail, "dave", open_account(draft, account, actor="dave", now=now)
        )
    )


def asked(request: ChargeRequest) -> AskedQuestion:
    return AskedQuestion(
        request.query_id, request.subject, "clinic", "SELECT count(*)", "rest", "127.0.0.1"
    )


@dataclass
class Bank:
    """A ledger as the charge stage uses it, with a clock that a test may set."""

    journal: Journal
    trail: Trail
    engine: Engine
    now: datetime = NOON
    _numbers: Iterator[int] = field(default_factory=itertools.count)

    def open_ledger(
        self, cap: Limits, currency: Currency = Currency.PURE, name: str = CLINIC
    ) -> None:
        ledger = clinic(currency, name)
        declare_ledger(self.journal, self.trail, ledger, cap, self.now)

    def open_account(
        self, name: str, cap: Limits, parent: str = CLINIC, ledger: str = CLINIC
    ) -> None:
        with self.engine.connect() as connection:
            known = load_ledger(connection, ledger) or clinic(Currency.PURE, ledger)
        account = Account(name, known, parent, cap)
        declare_account(self.journal, self.trail, account, self.now)

    def set_limits(self, name: str, cap: Limits) -> None:
        grant(self.journal, self.trail, name, cap, actor="dave", now=self.now)

    def ask(
        self,
        price: Amount,
        account: str = ALICE,
        *,
        subject: str = "alice",
        delta: Amount = 0,
        query_id: str | None = None,
        once: Idempotency | None = None,
    ) -> Receipt:
        request = question(
            price,
            account,
            query_id=query_id or self.fresh_id(),
            subject=subject,
            delta=delta,
            once=once,
        )
        return charge_question(self.journal, self.trail, asked(request), request, self.now)

    def fresh_id(self) -> str:
        return f"q-{next(self._numbers)}"

    def standing(self, account: str = ALICE) -> AccountBalance:
        with self.engine.connect() as connection:
            found = {each.account: each for each in standings(connection, self.now)}
        return found[account]


def own_environment() -> dict[str, str]:
    """The environment in which a program of the tests finds what the tests import."""
    paths = [str(Path(__file__).parent), *filter(None, [os.environ.get("PYTHONPATH")])]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(paths)}


def commit_together(journal: Journal, calls: Sequence[Callable[[], T]]) -> list[T | BaseException]:
    """Make these calls, each of which commits once, in this order within one batch of the journal;
    what each returned or raised.
    """
    reached, go = threading.Event(), threading.Event()

    def hold(draft: Draft) -> None:
        del draft
        reached.set()
        go.wait()

    outcomes: dict[int, T | BaseException] = {}

    def make(place: int) -> None:
        try:
            outcomes[place] = calls[place]()
        except BaseException as error:  # noqa: BLE001  # what is raised is an outcome, too
            outcomes[place] = error

    threads = [threading.Thread(target=journal.commit, args=(hold,))]
    threads[0].start()
    reached.wait()
    for place in range(len(calls)):
        thread = threading.Thread(target=make, args=(place,))
        thread.start()
        threads.append(thread)
        while len(journal._tickets._queue) <= place and thread.is_alive():
            time.sleep(0)
    go.set()
    for thread in threads:
        thread.join()
    return [outcomes[place] for place in range(len(calls))]


@pytest.fixture
def bank(state: State, trail: Trail) -> Bank:
    """A bank on a fresh, empty state."""
    return Bank(state.journal, trail, state.engine)


@dataclass(frozen=True)
class Books:
    """What the database says, after everything in it was found to agree."""

    records: Sequence[Mapping[str, object]]
    spent: Mapping[str, Fraction]
    delta_spent: Mapping[str, Fraction]
    charges: Mapping[str, Fraction]
    charged_at: Mapping[str, int]
    limits: Mapping[str, Mapping[str, Fraction]]

    @property
    def seq(self) -> int:
        return len(self.records)

    def kinds(self, kind: str) -> list[Mapping[str, object]]:
        return [record for record in self.records if record["kind"] == kind]


class BooksError(AssertionError):
    """Trail and ledger do not tell one story."""


def audit(engine: Engine, secret: bytes = AUDIT_SECRET) -> Books:
    """Read trail and ledger in one snapshot, and hold them against each other and themselves."""
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        trail = connection.execute(text("SELECT seq, body, mac FROM trail_records ORDER BY seq"))
        records = _follow_chain([tuple(row) for row in trail], secret)
        parents = {
            row.name: row.parent
            for row in connection.execute(text("SELECT name, parent FROM accounts"))
        }
        charges = {
            row.query_id: (Fraction(row.amount), Fraction(row.delta))
            for row in connection.execute(text("SELECT * FROM charges"))
        }
        entries = [
            dict(row._mapping)
            for row in connection.execute(
                text("SELECT * FROM ledger_entries ORDER BY account, cell, ordinal")
            )
        ]
        current = {
            row.account: {"epsilon": Fraction(row.epsilon), "delta": Fraction(row.delta)}
            for row in connection.execute(
                text("SELECT * FROM account_limits ORDER BY account, ordinal")
            )
        }
    spent, delta_spent = _add_up(entries)
    _match_charges(charges, entries, parents)
    charged_at = _match_trail(records, charges, spent, delta_spent)
    amounts = {query_id: amount for query_id, (amount, _) in charges.items()}
    return Books(records, spent, delta_spent, amounts, charged_at, current)


def _follow_chain(
    rows: Sequence[tuple[int, str, str]], secret: bytes
) -> list[Mapping[str, object]]:
    mac = "0" * 64
    records = []
    for place, (seq, body, written) in enumerate(rows, start=1):
        if seq != place:
            raise BooksError(f"record {place} is missing, there is {seq}")
        message = f"gateway trail v1|{seq}|{mac}|{body}".encode()
        mac = hmac.new(secret, message, hashlib.sha256).hexdigest()
        if mac != written:
            raise BooksError(f"record {seq} breaks the chain")
        records.append(json.loads(body))
    return records


def _add_up(
    entries: Sequence[Mapping[str, object]],
) -> tuple[dict[str, Fraction], dict[str, Fraction]]:
    spent: dict[str, Fraction] = {}
    delta_spent: dict[str, Fraction] = {}
    ordinals: dict[str, int] = {}
    for entry in entries:
        account = str(entry["account"])
        spent[account] = spent.get(account, Fraction(0)) + Fraction(str(entry["amount"]))
        delta_spent[account] = delta_spent.get(account, Fraction(0)) + Fraction(str(entry["delta"]))
        ordinals[account] = ordinals.get(account, 0) + 1
        running = (ordinals[account], spent[account], delta_spent[account])
        written = (
            entry["ordinal"],
            Fraction(str(entry["spent_after"])),
            Fraction(str(entry["delta_after"])),
        )
        if running != written:
            raise BooksError(f"entry {entry['ordinal']} of {account} does not add up")
    return spent, delta_spent


def _match_charges(
    charges: Mapping[str, tuple[Fraction, Fraction]],
    entries: Sequence[Mapping[str, object]],
    parents: Mapping[str, str | None],
) -> None:
    """Each charge has one entry for each account on a path to the root, and each its amount."""
    touched: dict[str, list[str]] = {query_id: [] for query_id in charges}
    for entry in entries:
        query_id = str(entry["query_id"])
        amounts = (Fraction(str(entry["amount"])), Fraction(str(entry["delta"])))
        if amounts != charges[query_id]:
            raise BooksError(f"an entry of {query_id} has another amount than its charge")
        touched[query_id].append(str(entry["account"]))
    for query_id, accounts in touched.items():
        above = [parents[account] for account in accounts]
        leaves = [account for account in accounts if account not in above]
        path: list[str] = []
        up: str | None = leaves[0] if len(leaves) == 1 else None
        while up is not None:
            path.append(up)
            up = parents[up]
        if sorted(path) != sorted(accounts):
            raise BooksError(f"{query_id} was taken from {accounts}, which is no path")


def _match_trail(
    records: Sequence[Mapping[str, object]],
    charges: Mapping[str, tuple[Fraction, Fraction]],
    spent: Mapping[str, Fraction],
    delta_spent: Mapping[str, Fraction],
) -> dict[str, int]:
    charged_at: dict[str, int] = {}
    taken: dict[str, Fraction] = {}
    taken_delta: dict[str, Fraction] = {}
    for seq, record in enumerate(records, start=1):
        if record["kind"] != "charged":
            continue
        query_id = str(record["query_id"])
        if query_id in charged_at:
            raise BooksError(f"{query_id} was charged twice")
        charged_at[query_id] = seq
        for one in record["taken"]:  # type: ignore[attr-defined]  # JSON of our own
            account = one["account"]
            taken[account] = taken.get(account, Fraction(0)) + Fraction(one["amount"])
            taken_delta[account] = taken_delta.get(account, Fraction(0)) + Fraction(one["delta"])
            stands = (Fraction(one["spent"]), Fraction(one["delta_spent"]))
            if stands != (taken[account], taken_delta[account]):
                raise BooksError(f"record {seq} tells another balance of {account}")
    if set(charged_at) != set(charges):
        raise BooksError("trail and ledger know of different charges")
    if (taken, taken_delta) != (spent, delta_spent):
        raise BooksError("trail and ledger know of different sums")
    return charged_at


BOTH = pytest.mark.parametrize("currency", list(Currency))


def open_tree(
    bank: Bank,
    currency: Currency,
    ledger: Limits,
    team: Limits | None = None,
    alice: Limits | None = None,
) -> None:
    """Ledger → team → alice, and bob directly below the ledger."""
    plenty = limits(1000, "1/2")
    bank.open_ledger(ledger, currency)
    bank.open_account(ONCOLOGY, team or plenty)
    bank.open_account(ALICE, alice or plenty, parent=ONCOLOGY)
    bank.open_account(BOB, plenty)


def ask_until_refused(bank: Bank, price: Amount, account: str = ALICE) -> int:
    for count in range(10_000):
        try:
            bank.ask(price, account)
        except BudgetExhausted:
            return count
    raise AssertionError("the budget has no end")


def refused(bank: Bank, price: Amount, account: str = ALICE, delta: Amount = 0) -> Refusal:
    with pytest.raises(Refusal) as caught:
        bank.ask(price, account, delta=delta)
    return caught.value
