"""What it takes to carry the columns of a row: bytes that are held, and the time to copy, to order and to hash them.

Takes columns with their types and sizes, gives bytes and nanoseconds. A database carries every column that is read later
through each window, each join and each grouping below, whether it looks at it there or not.

INVARIANT: a text is taken with its longest characters, and rows that are ordered with columns that all tie: no row takes
more than is said here, whatever stands in it. See docs/proofs/row_work.md.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from typing import Final

from gateway.catalog.types import ColumnType, Family
from gateway.functions.result_sizes import Size

BYTES_OF_A_CHARACTER: Final = 4
_OVERHEAD: Final = 16  # of a value, in bytes
_COPIED: Final = 1  # ns of a character, once
_COPIED_VALUE: Final = 20
_ORDERED: Final = 10  # ns of a character, compared with those of about 2^16 others
_ORDERED_VALUE: Final = 150
_HASHED: Final = 8  # ns of a character, put together and hashed
_HASHED_VALUE: Final = 300


@dataclass(frozen=True, slots=True)
class RowWidth:
    """How wide rows are: values, and characters or digits of all of them."""

    values: int = 0
    texts: int = 0
    digits: int = 0

    def __add__(self, other: "RowWidth") -> "RowWidth":
        return RowWidth(
            self.values + other.values, self.texts + other.texts, self.digits + other.digits
        )

    @property
    def characters(self) -> int:
        return self.texts + self.digits


def row_width(columns: Iterable[tuple[ColumnType, Size]]) -> RowWidth:
    """The width of rows of these columns."""
    found = RowWidth()
    for of, size in columns:
        is_text = of.family is Family.TEXT
        found += RowWidth(1, size.characters if is_text else 0, 0 if is_text else size.digits)
    return found


def row_bytes(row: RowWidth) -> int:
    """What holding a row takes at most."""
    return _OVERHEAD * row.values + BYTES_OF_A_CHARACTER * row.texts + ceil(row.digits / 2)


def copy_time(row: RowWidth) -> int:
    """Carrying a row on."""
    return _COPIED_VALUE * row.values + _COPIED * row.characters


def sort_time(keys: RowWidth) -> int:
    """Finding the place of a row among those of its person."""
    return _ORDERED_VALUE * keys.values + _ORDERED * keys.characters


def hash_time(keys: RowWidth) -> int:
    """Hashing a row as a text."""
    return _HASHED_VALUE * keys.values + _HASHED * keys.characters
