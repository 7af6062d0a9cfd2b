"""Text columns and tables, as UTF-8 in blocks: a tenth of the memory of as many Python strings.

INVARIANT: a block splits into exactly the texts it was made of. The separator is a byte that occurs in no UTF-8
text.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final, Self, TypeAlias, TypeVar, overload

BLOCK: Final = 2048
"""The rows of a block; the last one of a column may have fewer."""
_APART: Final = b"\xff"
_REPLACEMENT: Final = "\ufffd".encode()
_NONE: Final = b"\0"
_BETWEEN: Final = b'","'
_HALVES: Final = "surrogatepass"  # of pairs, which are refused by whoever reads them

Text: TypeAlias = "str | None"
Row: TypeAlias = tuple[Text, ...]


@dataclass(frozen=True, slots=True)
class Block:
    """Some texts, concatenated; `missing` has a 1 for every NULL, and is None if there is none."""

    joined: bytes
    missing: bytes | None

    @classmethod
    def of(cls, values: Sequence[bytes | None]) -> Self:
        """A block of texts in UTF-8."""
        there = [one for one in values if one is not None]
        missing = None
        if len(there) < len(values):
            missing = bytes(one is None for one in values)
        return cls(_APART.join(there), missing)

    @classmethod
    def read(cls, values: Sequence[bytes | None]) -> Self:
        """The same, for values that are checked to be texts."""
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
        """The content of a PostgreSQL array, within the braces: `"a","b",NULL`."""
        escaped = _escape(self.joined)
        if self.missing is None:
            return f'"{escaped.replace(_APART, _BETWEEN).decode(errors=_HALVES)}"'
        each = (f'"{one.decode(errors=_HALVES)}"' for one in escaped.split(_APART))
        return ",".join(one or "NULL" for one in self._spread(each))

    def _spread(self, there: Iterable[str]) -> Iterable[Text]:
        """The values with None where one is missing."""
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
    """The text within an array. PostgreSQL has no character of code zero, so U+FFFD stands for it."""
    return text.replace(b"\\", b"\\\\").replace(b'"', b'\\"').replace(b"\0", _REPLACEMENT)


Item_co = TypeVar("Item_co", covariant=True)


class Elements(Sequence[Item_co]):
    """A sequence that is equal to every other of the same elements."""

    __slots__ = ()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Sequence) and tuple(self) == tuple(other)

    def __hash__(self) -> int:
        return hash(tuple(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({list(self)!r})"


class Texts(Elements[Text]):
    """A column: a sequence like any other, which is best read block by block."""

    __slots__ = ("_many", "blocks")

    def __init__(self, blocks: Sequence[Block], many: int) -> None:
        self.blocks = tuple(blocks)
        self._many = many

    @classmethod
    def of(cls, texts: Iterable[Text]) -> Self:
        """A column of these texts; they are taken one block at a time, so that all of them are never in memory
        at once.
        """
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
    def size(self) -> int:
        """The bytes of all texts."""
        return sum(len(block.joined) for block in self.blocks)

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


class TextRows(Elements[Row]):
    """A table: equal to the tuple of its rows."""

    __slots__ = ("_many", "columns")

    def __init__(self, columns: Sequence[Texts], many: int) -> None:
        self.columns = tuple(columns)
        self._many = many

    @classmethod
    def of(cls, rows: Sequence[Row]) -> Self:
        """A table of these rows. Without rows it has no columns, because their number is unknown."""
        if isinstance(rows, cls):
            return rows
        return cls([Texts.of(one) for one in zip(*rows, strict=True)], len(rows))

    def first(self, width: int) -> "TextRows":
        """The table of the first columns, without a copy."""
        return self if len(self.columns) <= width else TextRows(self.columns[:width], self._many)

    @property
    def size(self) -> int:
        """The bytes of all texts."""
        return sum(one.size for one in self.columns)

    def parts(self, blocks: int = 1) -> Iterator[tuple[int, list[list[Text]]]]:
        """The table in parts of that many blocks: the number of rows of a part, and its columns."""
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

    def __repr__(self) -> str:
        return repr(tuple(self))


class Packing:
    """Packs a table that arrives some rows at a time."""

    def __init__(self) -> None:
        self._blocks: list[list[Block]] = []
        self._waiting: list[list[bytes | None]] = []
        self._loose = 0
        self.many = 0
        self.size = 0  # bytes of texts

    def add(self, columns: Sequence[Sequence[bytes | None]], rows: int) -> None:
        """Add texts in UTF-8, column by column; always the same number of columns."""
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

    def packed(self) -> TextRows:
        """The packed table; nothing may be added afterwards."""
        if self._loose:
            self._pack(self._loose)
        return TextRows([Texts(one, self.many) for one in self._blocks], self.many)

    def _pack(self, rows: int) -> None:
        for place, waiting in enumerate(self._waiting):
            self._blocks[place].append(Block.read(waiting[:rows]))
            del waiting[:rows]
        self._loose -= rows
