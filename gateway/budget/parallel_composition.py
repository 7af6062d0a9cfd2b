"""Parallel composition across queries: charges that are confined to cells of an immutable partition.

A unit is in one cell of a partition for ever, so only those confined charges concern it that touch its own
cell. Besides its chain `*`, each account has a chain for every touched cell, and one for every partition, named
by the digest alone, with the amount of the fullest cell. Cost and delta of cells are counted separately, and
the fullest cell need not be the same for both.

INVARIANT: an account's `*` holds the charges to the account as a whole, plus the amount of the fullest cell of
each partition that ever was. No unit's own sum is above that, whatever cells it is in, so a charge that fits
`*` fits every cell. The argument is in docs/proofs/parallel.md. INVARIANT: after a restore from a state that
was lost, all cells begin anew, in chains of another name, and every earlier charge counts for every unit,
because nobody knows any more to which cells it was confined.
"""

from collections.abc import Mapping
from datetime import datetime
from fractions import Fraction

from gateway.budget.account import NOTHING, RESTORED, Amounts, Balance
from gateway.budget.balances import chains_of
from gateway.budget.charge import LedgerEntry
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
