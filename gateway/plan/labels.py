"""What may be known about the rows of a relation, as in information-flow typing.

A relation is Public, Protected(unit) - rows that belong to units, the rows of a unit depending on
that unit's rows and on public data alone - or Released: noisy, paid for, and public from then on.

INVARIANT: labels are computed where a node is made, by this table and nothing else. What the table
does not name cannot be made.
"""

from dataclasses import dataclass
from typing import TypeAlias

from gateway.errors import Code, UnsupportedSql


@dataclass(frozen=True, slots=True)
class Public:
    """Anyone who may ask may know it."""

    def __str__(self) -> str:
        return "public"


@dataclass(frozen=True, slots=True)
class ReleasedLabel:
    """Was noisy and paid for when it came to be; free from then on."""

    def __str__(self) -> str:
        return "released"


@dataclass(frozen=True, slots=True)
class Protected:
    """Rows of units. `rows` is how many a unit is declared to have at most; None: nothing bounds it.

    `groups` is how many groups of an answer a unit counts in. Both only ever say how much of a unit
    is let through later: a wrong number costs accuracy, not privacy, since bounding enforces it.
    """

    unit: str
    rows: int | None
    groups: int

    def __str__(self) -> str:
        return f"protected({self.unit})"


Label: TypeAlias = Public | ReleasedLabel | Protected


def join_label(left: Label, right: Label, *, on_unit: bool) -> Label:
    """Rows of persons meet each other on the person alone; public and released rows meet anything."""
    if not isinstance(left, Protected):
        return right if isinstance(right, Protected) else free_label(left, right)
    if not isinstance(right, Protected):
        return left
    if left.unit != right.unit or not on_unit:
        raise UnsupportedSql(
            Code.UNIT_EQUALITY,
            "the join condition does not compare both unit keys",
            "add an equality of both unit keys to the ON clause",
        )
    return left


def free_label(*labels: Label) -> Label:
    """Several relations without rows of persons, seen as one."""
    return (
        ReleasedLabel() if any(isinstance(label, ReleasedLabel) for label in labels) else Public()
    )
