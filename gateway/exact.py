"""Exact answers of the source, before any noise.

INVARIANT: values of this module never leave `engines`, `noise` and the stage between them; an import contract
ensures it. Their `repr` shows no value, so no log and no error text can contain one by mistake.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from gateway.catalog.values import Value


@dataclass(frozen=True, slots=True)
class ExactTable:
    """One row for each group that was found: its key values, and one whole number for each measurement.

    `keys[i]` goes with `measured[j][i]`: measurements are kept as columns, noise is drawn for each at once.
    """

    keys: tuple[tuple[Value | None, ...], ...] = field(repr=False)
    measured: tuple[tuple[int, ...], ...] = field(repr=False)

    def __post_init__(self) -> None:
        if any(len(column) != len(self.keys) for column in self.measured):
            raise ValueError("a column of an exact table is shorter or longer than its keys")


@dataclass(frozen=True, slots=True)
class ExactHistogram:
    """How many rows each group that was found has in each bucket: the places of buckets, and the counts there.

    A bucket that a group has no rows in need not be there; none is there twice.
    """

    counts: Mapping[tuple[Value | None, ...], tuple[Sequence[int], Sequence[int]]] = field(
        repr=False
    )
