"""Columns of texts and tables of them, as UTF-8 in blocks: a tenth of what as many Python strings take.

INVARIANT: a block is told apart into the very texts it was made of. Between two of them stands a byte that is in no
text, for it is in no UTF-8.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Self, TypeAlias, overload

BLOCK: Final = 2048
"""The rows of a block; the last one of a column may have fewer."""
_APART: Final = b"\xff"
_NONE: Final = b"\0"
_BETWEEN: Final = b'","'
_HALVES: Final = "surrogatepass"  # of pairs, which are refused by whoever reads them

Text: TypeAlias = "str | None"
Row: TypeAlias = tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Some texts, one after the other; `missing` has a 1 for every NULL, and is None where there is none."""

    joined: bytes
    missing: bytes | None

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> Self:
        """Of texts in UTF-8."""
        there = [one for one in values if one is not None]
        missing = None
        if len(there) < len(values):
            missing = bytes(one is None for one in values)
        return cls(_APART.join(there), missing)

    @classmethod
    def read(cls, values: Sequence[bytes | None]) -> Self:
        """The same, of what somebody says are texts."""
        made = cls.of(values)
        made.joined.replace(_APART, _NONE).decode()
        if made.joined.count(_APART) != max(1, sum(one is not None for one in values)) - 1:
            raise UnicodeDecodeError("utf-8", made.joined, 0, 1, "a byte that is in no text")
        return made

    def texts(self) -> list[Text]:
        if _NONE in self.joined:  # which PostgreSQL has in no text
            found = [one.decode(errors=_HALVES) for one in self.joined.split(_APART)]
        else:
            found = self.joined.replace(_APART, _NONE).decode(errors=_HALVES).split("\0")
        return list[Text](self._spread(found))

    def array(self) -> str:
        """What is within the braces of PostgreSQL's arrays: `"a","b",NULL`."""
        escaped = _escape(self.joined)
        if self.missing is None:
            return f'"{escaped.replace(_APART, _BETWEEN).decode(errors=_HALVES)}"'
        each = (f'"{one.decode(errors=_HALVES)}"' for one in escaped.split(_APART))
        return ",".join(one or "NULL" for one in self._spread(each))

    def _spread(self, there: Iterable[str]) -> Iterable[Text]:
        """With None where something is missing."""
        if self.missing is None:
            return there
        rest = iter(there)
        return (None if one else next(rest) for one in self.missing)


def array_text(texts: Iterable[Text]) -> str:
    """A column in PostgreSQL's form of an array: `{"a","b",NULL}`."""
    return "{" + ",".join(one.array() for one in Texts.of(texts).blocks) + "}"


def array_bytes(texts: Iterable[bytes | None]) -> bytes:
    """The same of texts as the twin sent them."""
    each = (b"NULL" if one is None else b'"' + _escape(one) + b'"' for one in texts)
    return b"{" + b",".join(each) + b"}"


def _escape(text: bytes) -> bytes:
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"')


class Texts(Sequence[Text]):
    """A column: a sequence like any other, that is best read block by block."""

    __slots__ = ("_many", "blocks")

    def __init__(self, blocks: Sequence[Block], many: int) -> None:
        self.blocks = tuple(blocks)
        self._many = many

    @classmethod
    def of(cls, texts: Iterable[Text]) -> Self:
        """They are taken one block at a time, so that all of them never have to be there at once."""
        if isinstance(texts, cls):
            return texts
        blocks, many, rest = [], 0, iter(texts)
        while some := list(islice(rest, BLOCK)):
            blocks.append(
                Block.of([None if one is None else one.encode(errors=_HALVES) for one in some])
            )
            many += len(some)
        return cls(blocks, many)

    @property
    def has_missing(self) -> bool:
        return any(one.missing is not None for one in self.blocks)

    def parts(self) -> Iterator[list[Text]]:
        """Block by block."""
        return (one.texts() for one in self.blocks)

    def __len__(self) -> int:
        return self._many

    def __iter__(self) -> Iterator[Text]:
        return chain.from_iterable(self.parts())

    @overload
    def __getitem__(self, place: int) -> Text: ...
    @overload
    def __getitem__(self, place: slice) -> Sequence[Text]: ...
    def __getitem__(self, place: int | slice) -> "Text | Sequence[Text]":
        if isinstance(place, slice):
            return list(self)[place]
        block, within = divmod(range(self._many)[place], BLOCK)
        return self.blocks[block].texts()[within]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and list(self) == list(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"Texts({list(self)!r})"


class Rows(Sequence[Row]):
    """A table: equal to the tuple of its rows."""

    __slots__ = ("_many", "columns")

    def __init__(self, columns: Sequence[Texts], many: int) -> None:
        self.columns = tuple(columns)
        self._many = many

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """A table without rows has no columns either: nothing tells how many."""
        if isinstance(rows, cls):
            return rows
        return cls([Texts.of(one) for one in zip(*rows, strict=True)], len(rows))

    def first(self, width: int) -> "Rows":
        """The table of so many columns; nothing is copied."""
        return self if len(self.columns) <= width else Rows(self.columns[:width], self._many)

    @property
    def size(self) -> int:
        """Bytes of all texts."""
        return sum(len(block.joined) for one in self.columns for block in one.blocks)

    def parts(self, blocks: int = 1) -> Iterator[tuple[int, list[list[Text]]]]:
        """So many blocks of rows at a time: how many rows these are, and their columns."""
        for first in range(0, -(-self._many // BLOCK), blocks):
            columns = [
                list(
                    chain.from_iterable(one.texts() for one in each.blocks[first : first + blocks])
                )
                for each in self.columns
            ]
            yield min(blocks * BLOCK, self._many - first * BLOCK), columns

    def __len__(self) -> int:
        return self._many

    def __iter__(self) -> Iterator[Row]:
        if not self.columns:
            return iter(((),) * self._many)
        return chain.from_iterable(zip(*part, strict=True) for _, part in self.parts())

    @overload
    def __getitem__(self, place: int) -> Row: ...
    @overload
    def __getitem__(self, place: slice) -> tuple[Row, ...]: ...
    def __getitem__(self, place: int | slice) -> Row | tuple[Row, ...]:
        if isinstance(place, slice):
            return tuple(self)[place]
        return tuple(one[range(self._many)[place]] for one in self.columns)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return repr(tuple(self))


class Packing:
    """Takes a table as it comes, some rows at a time."""

    def __init__(self) -> None:
        self._blocks: list[list[Block]] = []
        self._waiting: list[list[bytes | None]] = []
        self._loose = 0
        self.many = 0
        self.size = 0  # bytes of texts

    def add(self, columns: Sequence[Sequence[bytes | None]], rows: int) -> None:
        """Texts in UTF-8, column by column; the same number of columns each time."""
        if not self._waiting:
            self._waiting = [[] for _ in columns]
            self._blocks = [[] for _ in columns]
        for waiting, column in zip(self._waiting, columns, strict=True):
            waiting.extend(column)
            self.size += sum(map(len, filter(None, column)))
        self.many += rows
        self._loose += rows
        while self._loose >= BLOCK:
            self._pack(BLOCK)

    def packed(self) -> Rows:
        """What came; nothing is added afterwards."""
        if self._loose:
            self._pack(self._loose)
        return Rows([Texts(one, self.many) for one in self._blocks], self.many)

    def _pack(self, rows: int) -> None:
        for place, waiting in enumerate(self._waiting):
            self._blocks[place].append(Block.read(waiting[:rows]))
            del waiting[:rows]
        self._loose -= rows
