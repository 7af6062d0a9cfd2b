"""Charges that are confined to cells, and an auditor of their books who uses none of the code that wrote them."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction

from charges import charge_question
from fix_ledger import ALICE, Amount, Bank, BooksError, asked, question
from sqlalchemy import Connection, Engine, text

from gateway.budget.charge import CachedMeasurement, ChargeRequest, Idempotency, Receipt
from gateway.state.journal import Journal
from gateway.trail.record import Trail
from gateway.units import Epsilon

A, B, C = "d1:north", "d1:south", "d1:"


def confined(  # noqa: PLR0913 - a request and everything about it
    price: Amount,
    touched: Sequence[str] | None,
    account: str = ALICE,
    *,
    query_id: str,
    delta: Amount = 0,
    owed: tuple[CachedMeasurement, ...] = (),
    once: Idempotency | None = None,
) -> ChargeRequest:
    """A question that is bought within these cells; at no price it is one that only owes."""
    cells = None if touched is None else tuple(touched)
    subject = account.partition(":")[2].partition("@")[0]
    if not Fraction(price):
        return ChargeRequest(query_id, subject, account, Epsilon.zero(), (), once, owed, cells)
    bought = question(price, account, query_id=query_id, subject=subject, delta=delta, once=once)
    return replace(bought, owed=owed, touched=cells)


def charge_on(journal: Journal, trail: Trail, request: ChargeRequest, now: datetime) -> Receipt:
    return charge_question(journal, trail, asked(request), request, now)


def ask(  # noqa: PLR0913 - see above
    bank: Bank,
    price: Amount,
    touched: Sequence[str] | None = None,
    account: str = ALICE,
    *,
    delta: Amount = 0,
    owed: tuple[CachedMeasurement, ...] = (),
    once: Idempotency | None = None,
    query_id: str | None = None,
) -> Receipt:
    """Charge one question through a bank."""
    request = confined(
        price,
        touched,
        account,
        query_id=query_id or bank.fresh_id(),
        delta=delta,
        owed=owed,
        once=once,
    )
    return charge_on(bank.journal, bank.trail, request, bank.now)


@dataclass(frozen=True)
class Line:
    """An entry of the ledger."""

    account: str
    cell: str
    ordinal: int
    query_id: str
    at: datetime
    amounts: tuple[Fraction, Fraction]
    after: tuple[Fraction, Fraction]


@dataclass
class Standing:
    """What an account gave as a whole, and what was added to each cell."""

    star: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    whole: tuple[Fraction, Fraction] = (Fraction(0), Fraction(0))
    chains: dict[str, tuple[Fraction, Fraction]] = None  # type: ignore[assignment]  # set below

    def __post_init__(self) -> None:
        self.chains = {}

    def fullest(self, partition: str) -> tuple[Fraction, Fraction]:
        held = [after for cell, after in self.chains.items() if cell.startswith(f"{partition}:")]
        return max(cost for cost, _ in held), max(delta for _, delta in held)


def audit_cells(engine: Engine) -> Mapping[str, Standing]:
    """Each chain adds up, the trail says the same, and `*` is what was charged as a whole and what the
    fullest cell of every partition holds, after every single charge.
    """
    with engine.connect().execution_options(isolation_level="REPEATABLE READ") as connection:
        lines, told = _lines(connection), _told(connection)
        order = connection.execute(
            text("SELECT query_id FROM trail_records WHERE kind = 'charged' ORDER BY seq")
        )
        queries = list(order.scalars())
    known: dict[tuple[str, str], Line] = {}
    for line in sorted(lines, key=lambda line: line.ordinal):
        before = known.get((line.account, line.cell))
        stood = (Fraction(0), Fraction(0)) if before is None else before.after
        if line.ordinal != (0 if before is None else before.ordinal) + 1:
            raise BooksError(f"{line} does not follow {before}")
        if before is not None and before.at > line.at:
            raise BooksError(f"{line} is earlier than {before}")
        if _plus(stood, line.amounts) != line.after:
            raise BooksError(f"{line} does not add up")
        known[line.account, line.cell] = line
    if sorted(told) != sorted(
        (one.query_id, one.account, one.cell, one.amounts, one.after) for one in lines
    ):
        raise BooksError("trail and ledger differ")
    standings: dict[str, Standing] = {}
    for query_id in queries:
        mine = [line for line in lines if line.query_id == query_id]
        for account in dict.fromkeys(line.account for line in mine):
            standing = standings.setdefault(account, Standing())
            _follow(standing, [line for line in mine if line.account == account])
    return standings


def _follow(standing: Standing, lines: Sequence[Line]) -> None:
    chains = {line.cell: line for line in lines}
    star = chains.pop("*")
    partitions = [cell for cell in chains if ":" not in cell]
    whole = star.amounts
    for cell, line in chains.items():
        standing.chains[cell] = line.after
    for cell in partitions:
        if standing.fullest(cell) != chains[cell].after:
            raise BooksError(f"the fullest cell of {chains[cell]} holds {standing.fullest(cell)}")
        whole = _plus(whole, chains[cell].amounts, -1)
    if {cell.partition(":")[0] for cell in chains} != set(partitions):
        raise BooksError(f"a cell of {lines} is of no partition")
    if min(whole) < 0:
        raise BooksError(f"{star} rose by less than its partitions")
    standing.whole = _plus(standing.whole, whole)
    standing.star = star.after


def _plus(
    one: tuple[Fraction, Fraction], other: tuple[Fraction, Fraction], sign: int = 1
) -> tuple[Fraction, Fraction]:
    return one[0] + sign * other[0], one[1] + sign * other[1]


def _lines(connection: Connection) -> list[Line]:
    return [
        Line(
            row.account,
            row.cell,
            row.ordinal,
            row.query_id,
            row.at,
            (Fraction(row.amount), Fraction(row.delta)),
            (Fraction(row.spent_after), Fraction(row.delta_after)),
        )
        for row in connection.execute(text("SELECT * FROM ledger_entries"))
    ]


def _told(
    connection: Connection,
) -> list[tuple[str, str, str, tuple[Fraction, Fraction], tuple[Fraction, Fraction]]]:
    bodies = connection.execute(
        text("SELECT body FROM trail_records WHERE kind = 'charged' ORDER BY seq")
    ).scalars()
    return [
        (
            said["query_id"],
            one["account"],
            one.get("cell", "*"),
            (Fraction(one["amount"]), Fraction(one["delta"])),
            (Fraction(one["spent"]), Fraction(one["delta_spent"])),
        )
        for said in map(json.loads, bodies)
        for one in said["taken"]
    ]
