"""The worked numbers of docs/budget.md, computed by the code that charges people."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from math import floor
from pathlib import Path

from charges import charge_question
from fix_ledger import declare_account, declare_ledger
from sqlalchemy import Engine

from gateway.admin.open_accounts import limits_of
from gateway.budget.account import Account, Currency, Ledger, Limits
from gateway.budget.charge import ChargedMeasurement, ChargeRequest
from gateway.budget.group_privacy import MANY, group_guarantees
from gateway.budget.guarantees import LargestLimits, quota_guarantee, released_guarantee
from gateway.budget.report import standings
from gateway.errors import Refusal
from gateway.policy.applicable import account_budget
from gateway.policy.files.load import read_policies
from gateway.state.journal import Journal
from gateway.trail.record import AskedQuestion, Trail
from gateway.units import Delta, Epsilon

MAY = datetime(2026, 5, 18, 12, tzinfo=UTC)
JUNE = datetime(2026, 6, 2, 9, tzinfo=UTC)
PRICE = Epsilon.parse("0.05")
_RHO = "\N{GREEK SMALL LETTER RHO}"
_DEFAULT_DELTA = "1e-6"
_THRESHOLDS = Delta.parse("1e-9")


def _limits() -> tuple[Limits, Limits]:
    """What policies/clinic.yaml gives to everyone together, and to a researcher."""
    place = Path(__file__).parents[2] / "policies"
    loaded = read_policies(place, {"CLINIC_URL": "duckdb:////data/clinic.duckdb"}).loaded
    assert loaded is not None
    policy = loaded.policies["clinic"]
    own = account_budget(policy, loaded.subjects["alice"])
    assert own is not None
    return limits_of(policy.privacy.budget), limits_of(own)


LIMITS, ANALYST_LIMITS = _limits()


@dataclass
class Clinic:
    """The demo's accounts in a currency, and somebody who asks."""

    journal: Journal
    trail: Trail
    engine: Engine
    currency: Currency
    asked: int = 0

    def open_accounts(self) -> None:
        ledger = Ledger("dataset:clinic", "the clinic", "patient", self.currency)
        declare_ledger(self.journal, self.trail, ledger, LIMITS, MAY)
        for name in ("alice", "bob"):
            account = Account(f"analyst:{name}@clinic", ledger, ledger.name, ANALYST_LIMITS)
            declare_account(self.journal, self.trail, account, MAY)

    def ask(self, who: str, price: str, now: datetime) -> None:
        self.asked += 1
        query_id = f"q-{self.asked}"
        request = ChargeRequest(
            query_id,
            who,
            f"analyst:{who}@clinic",
            Epsilon.parse(price),
            (ChargedMeasurement("count", "any", Fraction(1), Delta.zero()),),
        )
        asked = AskedQuestion(query_id, who, "clinic", "SELECT 1", "rest", "127.0.0.1")
        charge_question(self.journal, self.trail, asked, request, now)

    def refused(self, who: str, price: str, now: datetime) -> str:
        """What is said when this is asked, as the command line says it."""
        try:
            self.ask(who, price, now)
        except Refusal as refusal:
            return f"{refusal}\n  hint: {refusal.hint}"
        raise AssertionError("the story needs a refusal here")

    def left(self, now: datetime) -> list[str]:
        """What alice, alice this month, bob, bob this month and everyone have left."""
        with self.engine.connect() as connection:
            found = {one.account: one for one in standings(connection, now)}
        cells = []
        for name in ("analyst:alice@clinic", "analyst:bob@clinic"):
            window = found[name].window
            assert window is not None
            cells += [_four(found[name].epsilon_remaining), _four(window.epsilon_remaining)]
        return [*cells, _four(found["dataset:clinic"].epsilon_remaining)]


def story(clinic: Clinic) -> tuple[str, list[str]]:
    """Four questions and what they leave; in between, the refusals."""
    clinic.open_accounts()
    rows = [["", *clinic.left(MAY)]]
    refusals: list[str] = []

    def step(title: str, work: Callable[[], None], now: datetime) -> None:
        work()
        rows.append([title, *clinic.left(now)])

    def bob_asks_eight() -> None:
        for _ in range(8):
            clinic.ask("bob", "1", MAY)

    step("alice asks one at 0.05", lambda: clinic.ask("alice", "0.05", MAY), MAY)
    step("bob asks eight at 1", bob_asks_eight, MAY)
    step("alice asks one at 5", lambda: clinic.ask("alice", "5", MAY), MAY)
    refusals.append(clinic.refused("bob", "3", MAY))
    step("June: bob asks one at 4", lambda: clinic.ask("bob", "4", JUNE), JUNE)
    refusals.append(clinic.refused("alice", "5", JUNE))
    header = ["what happens", "alice", "this month", "bob", "this month", "everyone"]
    return table(header, rows), refusals


def conversions() -> str:
    """What caps are worth in rho."""
    rows = []
    for cap in ("0.5", "1", "2", "5", "10", "12", "20"):
        limits = Limits(Epsilon.parse(cap), Delta.parse(_DEFAULT_DELTA))
        rho = limits.cap(Currency.ZCDP)
        rows.append([cap, f"{float(rho):.4f}", f"{float(rho / limits.epsilon.value):.4f}"])
    return table(["cap ε", f"{_RHO}*", f"{_RHO} for each ε"], rows)


def fitting() -> str:
    """How many questions at the default price fit."""
    window = ANALYST_LIMITS.window
    assert window is not None
    rows = [
        ["alice's account", *[str(floor(ANALYST_LIMITS.epsilon / PRICE))] * 2],
        ["alice's month", *[str(floor(window.epsilon / PRICE))] * 2],
    ]
    everyone = [
        str(floor(LIMITS.cap(currency) / (PRICE.value * LIMITS.opening_rate(currency))))
        for currency in (Currency.PURE, Currency.ZCDP)
    ]
    return table(["questions at 0.05", "pure", "zCDP"], [*rows, ["everyone together", *everyone]])


def promises() -> str:
    """What quotas in the demo's ledger promise, and what is told when a quarter is spent."""
    rate = LIMITS.opening_rate(Currency.ZCDP)
    ledger = Ledger("dataset:clinic", "the clinic", "patient", Currency.ZCDP, rate)
    rows = []
    for quota in ("0.5", "1", "2", "5", "12"):
        limits = Limits(Epsilon.parse(quota), LIMITS.delta)
        account = Account("analyst:alice@clinic", ledger, ledger.name, limits)
        largest = LargestLimits(account.cap, limits.delta.value)
        quarter = released_guarantee(account, account.cap / 4, largest)
        rows.append(
            [
                quota,
                f"{float(account.cap):.4f}",
                str(quota_guarantee(account, largest).epsilon),
                str(quarter.epsilon),
            ]
        )
    header = ["quota", _RHO, "ε promised", "ε released when a quarter is spent"]
    return table(header, rows)


def thresholds() -> str:
    """How delta is divided."""
    half = LIMITS.for_thresholds
    fit = floor(half / _THRESHOLDS)
    conversion = Delta(LIMITS.delta.value - half.value)
    header = ["δ of the account", "for the conversion", "for thresholds", "statements at 1e-9"]
    return table(header, [[str(LIMITS.delta), str(conversion), str(half), str(fit)]])


def several() -> str:
    """What a question at the default price, and the whole budget, mean for several units together."""
    rows = [[str(units)] for units in MANY]
    for currency in (Currency.PURE, Currency.ZCDP):
        cost = PRICE.value * LIMITS.opening_rate(currency)
        found = group_guarantees(LIMITS, currency, cost)
        for row, one in zip(rows, found, strict=True):
            row += [str(one.question), str(one.budget)]
    header = [
        "together",
        "a question, pure",
        "the budget, pure",
        "a question, zCDP",
        "the budget, zCDP",
    ]
    return table(header, rows)


def table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table, numbers to the right."""
    rule = ["---", *["---:"] * (len(header) - 1)]
    return "\n".join(
        f"| {' | '.join(row)} |".replace("|  |", "| |") for row in (header, rule, *rows)
    )


def _four(amount: Epsilon) -> str:
    """At most four decimals."""
    return f"{float(amount.value):.4f}".rstrip("0").rstrip(".")
