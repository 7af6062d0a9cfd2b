"""Parallel composition by cells, and the charge to each account on the path.

Charges may be confined to cells of an immutable partition. A unit is in one cell of a partition for ever, so only
those confined charges concern it that touch its own cell. Besides its chain `*`, each account has a chain for
every touched cell, and one for every partition, named by the digest alone, with the amount of the fullest cell.
Cost and delta of cells are counted separately, and the fullest cell need not be the same for both.

INVARIANT: an account's `*` holds the charges to the account as a whole, plus the amount of the fullest cell of
each partition that ever was. No unit's own sum is above that, whatever cells it is in, so a charge that fits `*`
fits every cell. The argument is in docs/proofs/parallel.md.
INVARIANT: after a restore from a state that was lost, all cells begin anew, in chains of another name, and every
earlier charge counts for every unit, because nobody knows any more to which cells it was confined.
INVARIANT: the ledger's own account owes nothing for cached measurements: it was charged for every measurement when
it was made.
INVARIANT: if not all cells of a part can be stored, the part is charged to the account as a whole, which is never
less.
"""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from fractions import Fraction
from typing import Final

from gateway.budget.account import NOTHING, RESTORED, Account, Amounts, Balance
from gateway.budget.balances import chains_of
from gateway.budget.charge import CachedMeasurement, ChargeRequest, LedgerEntry
from gateway.state.draft import Draft


def cell_entries(
    draft: Draft, account: str, confined: Mapping[str, Amounts], at: datetime
) -> tuple[Amounts, tuple[LedgerEntry, ...]]:
    """The increase of the account as a whole, and the entries for its cells and partitions."""
    restored = chains_of(draft, account, (RESTORED,))[RESTORED].ordinal
    partitions: dict[str, dict[str, Amounts]] = {}
    for cell, amounts in confined.items():
        digest, _, values = cell.partition(":")
        partition = f"{digest}{RESTORED}{restored}" if restored else digest
        partitions.setdefault(partition, {})[f"{partition}:{values}"] = amounts
    rise, entries = NOTHING, list[LedgerEntry]()
    for partition, cells in partitions.items():
        before = chains_of(draft, account, (partition, *cells))
        after = {cell: before[cell].plus(amounts, at) for cell, amounts in cells.items()}
        fuller = _rise(before[partition], after)
        rise += fuller
        entries += [_entry(cell, amounts, after[cell]) for cell, amounts in cells.items()]
        entries.append(_entry(partition, fuller, before[partition].plus(fuller, at)))
    return rise, tuple(sorted(entries, key=lambda entry: entry.cell))


def close_cells(draft: Draft, account: str, at: datetime) -> LedgerEntry:
    """The entry that ends all existing cells: from now on their amounts count for every unit."""
    return _entry(
        RESTORED, NOTHING, chains_of(draft, account, (RESTORED,))[RESTORED].plus(NOTHING, at)
    )


def _rise(fullest: Balance, cells: Mapping[str, Balance]) -> Amounts:
    spent = max(each.spent for each in cells.values())
    delta_spent = max(each.delta_spent for each in cells.values())
    return Amounts(
        max(Fraction(0), spent - fullest.spent),
        max(Fraction(0), delta_spent - fullest.delta_spent),
    )


def _entry(cell: str, amounts: Amounts, after: Balance) -> LedgerEntry:
    return LedgerEntry(cell, amounts.cost, amounts.delta, after)


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
