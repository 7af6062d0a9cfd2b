"""Cost split of a charge: the amount for each account on the path, for measurements and for cached ones.

INVARIANT: the ledger's own account owes nothing for cached measurements: it was charged for every measurement
when it was made. INVARIANT: if not all cells of a part can be stored, the part is charged to the account as a
whole, which is never less.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import Final

from gateway.budget.account import NOTHING, Account, Amounts
from gateway.budget.charge import CachedMeasurement, ChargeRequest

MOST_CELLS: Final = 64
# a partition's digest, and values that PostgreSQL can store in a key
_CELL: Final = re.compile(r"[0-9A-Za-z]{1,64}:[^\0\ud800-\udfff]{0,400}")
_NO_CELLS: Final[Mapping[str, Amounts]] = {}


@dataclass(frozen=True, slots=True)
class AccountShare:
    """The charge of one account: as a whole, and to the cells that the rest is confined to."""

    account: Account
    whole: Amounts
    confined: Mapping[str, Amounts]


@dataclass(frozen=True, slots=True)
class _Part:
    """An amount, the cells it is confined to (none: it is not confined), and the accounts that are charged."""

    amounts: Amounts
    cells: frozenset[str]
    paid: frozenset[str]
    owed: bool

    def is_given_by(self, account: Account) -> bool:
        return not self.owed or (account.parent is not None and account.name not in self.paid)


def account_shares(
    request: ChargeRequest, path: Sequence[Account], cost: Fraction
) -> list[AccountShare]:
    """The share of every account that is charged; `cost` is that of the measured part."""
    bought = Amounts(cost, request.delta.value)
    if not request.owed and not request.touched:
        return [AccountShare(account, bought, _NO_CELLS) for account in path]
    return _given(path, _parts(request, bought))


def shares_beside_copies(
    request: ChargeRequest, path: Sequence[Account], cost: Fraction
) -> list[AccountShare]:
    """The same if accounts paid for some parts before: they and the ledger's own account are not charged for
    these.
    """
    held = Amounts(
        sum((one.cost for one in request.held), Fraction(0)),
        sum((one.delta for one in request.held), Fraction(0)),
    )
    if held.cost > cost or held.delta > request.delta.value:
        raise ValueError("more is held than is bought")
    rest = Amounts(cost - held.cost, request.delta.value - held.delta)
    owed = tuple(
        CachedMeasurement(one.cost, one.delta, one.by, request.touched) for one in request.held
    )
    return _given(path, _parts(replace(request, owed=(*request.owed, *owed)), rest))


def _given(path: Sequence[Account], parts: Sequence["_Part"]) -> list[AccountShare]:
    gifts = (_gift(account, parts) for account in path)
    return [gift for gift in gifts if gift.whole or gift.confined]


def can_be_cells(names: Iterable[str]) -> bool:
    """True if each of these can be stored as a cell, and all of them by one charge."""
    distinct = set(names)
    return len(distinct) <= MOST_CELLS and all(map(_CELL.fullmatch, distinct))


def _parts(request: ChargeRequest, bought: Amounts) -> list[_Part]:
    parts = [_Part(bought, frozenset(request.touched or ()), frozenset(), owed=False)]
    for each in request.owed:
        amounts, cells = Amounts(each.cost, each.delta), frozenset(each.touched or ())
        parts.append(_Part(amounts, cells, each.paid, owed=True))
    parts = [part for part in parts if part.amounts]
    if can_be_cells(cell for part in parts for cell in part.cells):
        return parts
    return [replace(part, cells=frozenset()) for part in parts]


def _gift(account: Account, parts: Iterable[_Part]) -> AccountShare:
    whole, confined = NOTHING, dict[str, Amounts]()
    for part in parts:
        if not part.is_given_by(account):
            continue
        if not part.cells:
            whole += part.amounts
        for cell in part.cells:
            confined[cell] = confined.get(cell, NOTHING) + part.amounts
    return AccountShare(account, whole, confined)
