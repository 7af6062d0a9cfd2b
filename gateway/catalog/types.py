"""Column types that the gateway knows, by PostgreSQL's names.

INVARIANT: two types are equal when PostgreSQL's `format_type` gives them one name.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum, StrEnum
from fractions import Fraction
from types import MappingProxyType
from typing import Final

MOST_DIGITS: Final = 1000
LONGEST_TEXT: Final = 10_485_760  # the largest length that PostgreSQL takes for `varchar(n)`

_WRITTEN = re.compile(
    r"(?P<name>[a-z][a-z0-9 ]*?)\s*(?:\(\s*(?P<first>[0-9]{1,8})\s*(?:,\s*(?P<second>[0-9]{1,4})\s*)?\))?"
    r"(?P<tail> with time zone| without time zone)?"
)


class TypeUnknown(ValueError):
    """A text that names no known type; the message says why."""


class Family(Enum):
    """Types whose values can be compared with each other."""

    WHOLE = "whole number"
    EXACT = "decimal number"
    FLOAT = "floating-point number"
    TEXT = "text"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp"
    UUID = "uuid"


class Kind(StrEnum):
    """The name of a type without its modifiers in brackets."""

    SMALLINT = "smallint"
    INTEGER = "integer"
    BIGINT = "bigint"
    NUMERIC = "numeric"
    REAL = "real"
    DOUBLE = "double precision"
    TEXT = "text"
    VARCHAR = "character varying"
    CHAR = "character"
    BOOLEAN = "boolean"
    DATE = "date"
    TIMESTAMP = "timestamp without time zone"
    TIMESTAMPTZ = "timestamp with time zone"
    UUID = "uuid"

    @property
    def family(self) -> Family:
        return _FAMILY[self]


_FAMILY = MappingProxyType(
    {
        Kind.SMALLINT: Family.WHOLE,
        Kind.INTEGER: Family.WHOLE,
        Kind.BIGINT: Family.WHOLE,
        Kind.NUMERIC: Family.EXACT,
        Kind.REAL: Family.FLOAT,
        Kind.DOUBLE: Family.FLOAT,
        Kind.TEXT: Family.TEXT,
        Kind.VARCHAR: Family.TEXT,
        Kind.CHAR: Family.TEXT,
        Kind.BOOLEAN: Family.BOOLEAN,
        Kind.DATE: Family.DATE,
        Kind.TIMESTAMP: Family.TIMESTAMP,
        Kind.TIMESTAMPTZ: Family.TIMESTAMP,
        Kind.UUID: Family.UUID,
    }
)

ALIASES: Final = MappingProxyType(
    {
        **{kind.value: kind for kind in Kind},
        "int2": Kind.SMALLINT,
        "int": Kind.INTEGER,
        "int4": Kind.INTEGER,
        "int8": Kind.BIGINT,
        "decimal": Kind.NUMERIC,
        "float4": Kind.REAL,
        "float8": Kind.DOUBLE,
        "float": Kind.DOUBLE,
        "varchar": Kind.VARCHAR,
        "char": Kind.CHAR,
        "bool": Kind.BOOLEAN,
        "timestamp": Kind.TIMESTAMP,
        "timestamptz": Kind.TIMESTAMPTZ,
    }
)
UNSIGNED: Final = MappingProxyType(
    {"utinyint": Kind.SMALLINT, "usmallint": Kind.INTEGER, "uinteger": Kind.BIGINT}
)
"""Whole numbers of DuckDB, and the types that hold each of their values."""
WIDE: Final = frozenset({"ubigint", "hugeint"})
"""Whole numbers of DuckDB that are read as bigint; a number beyond it is outside of every domain."""
WHOLE_BOUNDS: Final[Mapping[Kind, int]] = MappingProxyType(
    {Kind.SMALLINT: 2**15, Kind.INTEGER: 2**31, Kind.BIGINT: 2**63}
)
"""Whole numbers of a type are from the negative bound to below the bound."""


@dataclass(frozen=True)
class ColumnType:
    """A type with its precision and scale, or its length, if it has them."""

    kind: Kind
    precision: int | None = None
    scale: int | None = None
    length: int | None = None

    @property
    def family(self) -> Family:
        return self.kind.family

    @property
    def resolution(self) -> Fraction | None:
        """The distance of neighbouring values, if the type determines it: 1, 0.01, a microsecond."""
        match self.family:
            case Family.WHOLE | Family.DATE:
                return Fraction(1)
            case Family.EXACT if self.scale is not None:
                return Fraction(1, 10**self.scale)
            case Family.TIMESTAMP:
                return Fraction(1, 1_000_000)
            case _:
                return None

    @property
    def bound(self) -> Fraction | None:
        """An upper bound of every value's size, if the type determines it."""
        if (bound := WHOLE_BOUNDS.get(self.kind)) is not None:
            return Fraction(bound)
        if self.precision is not None and self.scale is not None:
            return Fraction(10 ** (self.precision - self.scale))
        return None

    def __str__(self) -> str:
        """The type as PostgreSQL's `format_type` writes it."""
        if self.precision is not None:
            return f"{self.kind}({self.precision},{self.scale})"
        return self.kind if self.length is None else f"{self.kind}({self.length})"


def parse_type(text: str) -> ColumnType:
    """The type named by `text`, in PostgreSQL's words or its usual short ones."""
    written = _WRITTEN.fullmatch(" ".join(text.lower().split()))
    if written is None:
        raise TypeUnknown(f"`{text}` is not a type the gateway knows")
    kind = ALIASES.get(written["name"] + (written["tail"] or ""))
    if kind is None or (written["tail"] and written["first"]):
        raise TypeUnknown(f"`{text}` is not a type the gateway knows")
    return _with_brackets(kind, written["first"], written["second"])


def _with_brackets(kind: Kind, first: str | None, second: str | None) -> ColumnType:
    if kind is Kind.NUMERIC:
        return ColumnType(kind) if first is None else _numeric(int(first), int(second or "0"))
    if second is not None or (first is not None and kind not in {Kind.VARCHAR, Kind.CHAR}):
        raise TypeUnknown(f"`{kind}` takes no such brackets")
    if first is not None and not 1 <= int(first) <= LONGEST_TEXT:
        raise TypeUnknown(f"a length is from 1 to {LONGEST_TEXT}")
    if kind is Kind.CHAR:
        return ColumnType(kind, length=int(first or "1"))
    return ColumnType(kind, length=None if first is None else int(first))


def _numeric(precision: int, scale: int) -> ColumnType:
    if not 1 <= precision <= MOST_DIGITS or scale > precision:
        raise TypeUnknown(f"a numeric has 1 to {MOST_DIGITS} digits, and not more behind the point")
    return ColumnType(Kind.NUMERIC, precision=precision, scale=scale)
