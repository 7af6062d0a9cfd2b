"""Several gateways and many threads spend one budget only once."""

import json
import subprocess
import sys
from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path

import pytest
from fix_ledger import ALICE, BOB, CLINIC, Bank, Books, audit, limits, own_environment
from fix_state import AUDIT_SECRET
from warm_python import forks

from gateway.budget.account import Currency
from gateway.config import Settings

_PROGRAM = Path(__file__).with_name("charging_process.py")


@dataclass(frozen=True)
class Outcome:
    """What a gateway says it did."""

    made: list[str]
    attempts: list[int]
    steps: list[int]


class Gateways:
    """Processes that start together and charge what they are told."""

    def __init__(self, settings: Settings, stack: ExitStack, *orders: Mapping[str, str]) -> None:
        assert settings.state_url is not None
        site = {
            "home": str(settings.home),
            "state_url": settings.state_url.get_secret_value(),
            "secret": AUDIT_SECRET.decode(),
        }
        self._processes = [stack.enter_context(_process()) for _ in orders]
        for number, (one, order) in enumerate(zip(self._processes, orders, strict=True)):
            _write(one, json.dumps({**site, **order, "name": f"gateway-{number}"}))
        for one in self._processes:
            assert one.stdout is not None
            assert one.stdout.readline() == "ready\n"

    def go(self) -> None:
        for one in self._processes:
            _write(one, "go")

    @property
    def running(self) -> bool:
        return any(one.poll() is None for one in self._processes)

    def outcomes(self) -> list[Outcome]:
        said = [one.communicate(timeout=60)[0] for one in self._processes]
        assert {one.returncode for one in self._processes} == {0}
        return [Outcome(**json.loads(one)) for one in said]


def _process() -> "subprocess.Popen[str]":
    with forks():
        return subprocess.Popen(
            [sys.executable, str(_PROGRAM)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=own_environment(),
        )


def _write(process: "subprocess.Popen[str]", line: str) -> None:
    assert process.stdin is not None
    process.stdin.write(f"{line}\n")
    process.stdin.flush()


@pytest.mark.parametrize("currency", list(Currency))
def test_gateways_together_never_give_more_than_the_cap(
    bank: Bank, state_settings: Settings, currency: Currency
) -> None:
    """Two gateways with eight threads each charge one ledger until it refuses: exactly cap / price
    questions are answered, each with one charge, on one unbroken chain.
    """
    bank.open_ledger(limits("7.51"), currency)
    bank.open_account(ALICE, limits("5.01"))
    bank.open_account(BOB, limits("100"))
    order = {"threads": "8", "accounts": f"{ALICE},{BOB}", "price": "1/40"}
    with ExitStack() as stack:
        gateways = Gateways(state_settings, stack, order, order)
        gateways.go()
        outcomes = gateways.outcomes()
    books = audit(bank.engine)
    made = [query_id for outcome in outcomes for query_id in outcome.made]
    assert sorted(made) == sorted(books.charges)
    assert all(outcome.made for outcome in outcomes)
    if currency is Currency.PURE:
        assert len(made) == 300
        assert books.spent[CLINIC] == Fraction(300, 40)
    assert bank.standing(CLINIC).epsilon_remaining.value < Fraction(1, 40)
    assert bank.standing(ALICE).epsilon_spent.value <= Fraction("5.01")
    assert max(attempt for outcome in outcomes for attempt in outcome.attempts) > 1
    assert max(step for outcome in outcomes for step in outcome.steps) > 1


@pytest.mark.parametrize("currency", list(Currency))
def test_gateways_together_fill_one_account_to_the_last_question(
    bank: Bank, state_settings: Settings, currency: Currency
) -> None:
    """floor(cap / price) questions of one account are answered, in either currency, not one more."""
    bank.open_ledger(limits(1000), currency)
    bank.open_account(ALICE, limits("3.333"))
    order = {"threads": "6", "accounts": ALICE, "price": "1/50"}
    with ExitStack() as stack:
        gateways = Gateways(state_settings, stack, order, order)
        gateways.go()
        outcomes = gateways.outcomes()
    assert sum(len(outcome.made) for outcome in outcomes) == 166
    assert len(audit(bank.engine).charges) == 166
    assert bank.standing(ALICE).epsilon_spent.value == Fraction(166, 50)


def test_gateways_keep_every_cap_while_an_administrator_changes_it(
    bank: Bank, state_settings: Settings
) -> None:
    """Caps go up and down while two gateways charge: in the order of the trail no charge was ever
    above the cap that was in force.
    """
    bank.open_ledger(limits(1000))
    bank.open_account(ALICE, limits("0.5"))
    order = {"threads": "6", "accounts": ALICE, "price": "1/50", "times": "40"}
    with ExitStack() as stack:
        gateways = Gateways(state_settings, stack, order, order)
        gateways.go()
        step = 0
        while gateways.running:
            step += 1
            tenths = min(1 + step // 2, 40) - step % 2  # less than half of what is asked for
            bank.set_limits(ALICE, limits(Fraction(tenths, 10)))
        outcomes = gateways.outcomes()
    books = audit(bank.engine)
    assert sum(len(outcome.made) for outcome in outcomes) == len(books.charges) > 0
    assert len(books.kinds("limits_set")) == step > 10
    assert len(books.kinds("refused")) == 2 * 6 * 40 - len(books.charges) > 0
    require_caps_were_kept(books)


def require_caps_were_kept(books: Books) -> None:
    """Read the trail in order: no balance may be above the cap of its moment."""
    caps: dict[str, Fraction] = {}
    for record in books.records:
        about = record.get("about")
        if record["kind"] == "account_opened" and isinstance(about, dict):
            caps[about["account"]] = Fraction(about["epsilon"])
        if record["kind"] == "limits_set" and isinstance(about, dict):
            caps[about["account"]] = Fraction(about["after_epsilon"])
        taken = record.get("taken")
        if record["kind"] == "charged" and isinstance(taken, list):
            for one in taken:
                assert Fraction(one["spent"]) <= caps[one["account"]]


def test_inspection_of_caps_can_fail(bank: Bank) -> None:
    """A negative control: a charge above the cap of its moment is found."""
    bank.open_ledger(limits(1))
    bank.open_account(ALICE, limits(1))
    bank.ask("0.5")
    books = audit(bank.engine)
    require_caps_were_kept(books)
    opened, charged = books.records[:-1], books.records[-1]
    lowered = {"kind": "limits_set", "about": {"account": ALICE, "after_epsilon": "1/3"}}
    tampered = Books([*opened, lowered, charged], {}, {}, {}, {}, {})
    with pytest.raises(AssertionError):
        require_caps_were_kept(tampered)
