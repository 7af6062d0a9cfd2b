"""What one row costs a source: copies of operands, bytes that are carried, sizes of values, pairs of rows.

The SQL of an expression names an operand several times: an engine's expressions are total because guards stand
around what they guard, and a guard names its operand again; an engine may compute it each time.

Columns of a row are held, copied, ordered and hashed. A database carries every column that is read later through
each window, each join and each grouping below, whether it looks at it there or not.

Sizes of values are characters of texts and digits of decimal numbers. A column is as long as its policy lets it be
read, a constant as it is written; what is put together is as long as its parts together, and no longer than
`LONGEST_MADE`.

INVARIANT: copies are counted at least as often as `gateway/engines/sql` names a part in either dialect;
`tests/functions/test_copy_counts.py` counts. Nothing is assumed of what an engine computes once.
INVARIANT: a text is taken with its longest characters, and rows that are ordered with columns that all tie: no row
takes more than is said here, whatever stands in it. See docs/proofs/row_work.md.
INVARIANT: no value that an engine computes for the expression is larger, whatever stands in the row: functions
that could make a text longer than its arguments do not bind (`replace` by something longer, `repeat`, `lpad`).
INVARIANT: a relation for which nothing is said here has no more rows of a person than the tables below it.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction
from math import ceil
from typing import Final

from gateway.bounding.bound_joins import is_key_lookup
from gateway.bounding.fan_out import PAIRED, row_share
from gateway.catalog.tables import LONGEST_TEXT, Column
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.errors import Code, UnsupportedSql
from gateway.functions.copy_counts import NARROWED, conversion_of
from gateway.functions.range_arithmetic import Range
from gateway.functions.result_sizes import LENGTHS, LONGEST_MADE, Size, largest_size, size_of_type
from gateway.functions.table import function_of
from gateway.plan.joins import Mark, is_cut
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import Node
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar, Shift
from gateway.plan.sql_text import decimal_sql
from gateway.plan.sql_text import scalar_sql as text_of
from gateway.ranges.expressions import grain_of
from gateway.ranges.relations import range_of


@dataclass(frozen=True, slots=True)
class _Known:
    """The ranges of expressions over columns whose ranges are given."""

    columns: Mapping[str, Range]

    def range(self, scalar: Scalar) -> Range | None:
        return range_of(scalar, self.columns)

    def grain(self, scalar: Scalar) -> Fraction | None:
        return grain_of(scalar)


def operand_copies(scalar: Scalar, ranges: Mapping[str, Range]) -> tuple[int, ...]:
    """How often each part is named."""
    match scalar:
        case Call():
            return function_of(scalar).copies(scalar, _Known(ranges))
        case Cast():
            return (_of_cast(scalar),)
        case Shift(months=months, days=days, microseconds=rest):
            return (4 if months and (days or rest) else 2,)
        case Case():
            return (conversion_of(scalar.results),) * len(scalar.parts)
        case _:
            return (1,) * len(scalar.parts)


def needs_ranges(scalar: Scalar) -> bool:
    """Whether it depends on ranges how often the parts are named."""
    return isinstance(scalar, Call) and function_of(scalar).computes


def _of_cast(cast: Cast) -> int:
    of, to = cast.what.type.family, cast.type.family
    single = 3 if cast.type.kind is Kind.REAL else 1
    if of is Family.TEXT:
        if to is Family.WHOLE:
            return 2 * NARROWED
        return 1 if to is Family.TEXT else 3 if to is Family.DATE else 2 * single
    if of is Family.WHOLE and to is Family.WHOLE:
        return NARROWED
    return single * (3 if of is Family.EXACT and to is Family.FLOAT else 1)


BYTES_OF_A_CHARACTER: Final = 4
_OVERHEAD: Final = 16  # of a value, in bytes
_COPIED: Final = 1  # ns of a character, once
_COPIED_VALUE: Final = 20
_ORDERED: Final = 10  # ns of a character, compared with those of about 2^16 others
_ORDERED_VALUE: Final = 150
_HASHED: Final = 8  # ns of a character, put together and hashed
_HASHED_VALUE: Final = 300


_JSON_PARSED: Final = 150  # ns of a byte, in the worst document found; DuckDB takes less
_JSONB_PARSED: Final = 10  # ns of a stored byte, a compressed one counting for four
_JSON_VALUE: Final = 3_000


def document_times(columns: Iterable[Column]) -> Iterator[int]:
    """What JSON documents take, which are parsed once for a row, and values in them, which are read once."""
    sources = [one.json for one in columns if one.json is not None]
    for one in {one.document: one for one in sources}.values():
        yield one.longest * (_JSONB_PARSED if one.is_binary else _JSON_PARSED)
    yield from (_JSON_VALUE for _ in sources)


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


def size_of_literal(literal: Literal) -> Size:
    value = literal.value
    if isinstance(value, str):
        if len(value) > LONGEST_TEXT:
            raise UnsupportedSql(
                Code.WORK_OF_A_ROW,
                f"a constant has {len(value)} characters, more than {LONGEST_TEXT}",
            )
        return Size(len(value))
    if isinstance(value, int | Fraction) and not isinstance(value, bool):
        whole, _, behind = decimal_sql(abs(Fraction(value))).partition(".")
        return Size(len(whole) + len(behind) + 2, len(whole), len(behind))
    return size_of_type(literal.type)


def size_of(scalar: Scalar, sizes: list[Size]) -> Size:
    found = _made(scalar, sizes)
    if scalar.type.family is Family.TEXT and found.characters > LONGEST_MADE:
        raise UnsupportedSql(
            Code.WORK_OF_A_ROW,
            f"`{text_of(scalar)[:80]}` can have {found.characters} characters, more than {LONGEST_MADE}",
            "shorten its parts with LEFT, or declare a shorter `max_length`",
        )
    return found


def _made(scalar: Scalar, sizes: list[Size]) -> Size:
    match scalar:
        case Cast():
            return _cast(scalar, sizes[0])
        case Case():
            return largest_size(sizes[1::2] + sizes[-1:])
        case Call():
            return function_of(scalar).size(scalar, sizes)
        case _:
            return size_of_type(scalar.type)


def _cast(cast: Cast, size: Size) -> Size:
    if cast.type.family is not Family.TEXT:
        return size_of_type(cast.type)
    shown = size.characters if cast.what.type.family is Family.TEXT else size.digits + 12
    longest = max(shown, LENGTHS.get(cast.what.type.family, 0))
    return Size(longest if cast.type.length is None else min(longest, cast.type.length))


def share_of_node(node: Node) -> int:
    """The share of the time of a row of its own expressions, which may be computed for every pair."""
    share = row_share(node)
    if not isinstance(node, Mark) or node.condition is None or not is_cut(node):
        return share
    looked_up = all(is_key_lookup(one, node) for one in conjuncts(node.condition))
    return share if looked_up else max(share, PAIRED)
