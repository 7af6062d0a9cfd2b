"""The columns of a relation in a plan: what they are called, their types, and where they come from; and the labels of
rows.

A label says what may be known about the rows of a relation, as in information-flow typing. A relation is Public,
Protected(unit) - rows that belong to units, the rows of a unit depending on that unit's rows and on public data
alone - or Released: noisy, paid for, and public from then on.

INVARIANT: labels are computed where a node is made, by this table and nothing else. What the table does not name
cannot be made.
"""

import re
from dataclasses import dataclass, field
from enum import Enum
from typing import Final, TypeAlias

from gateway.catalog.domains import Anything, Domain
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType, Family, Kind
from gateway.errors import Code, UnsupportedSql

_PLAIN = re.compile(r"[a-z_][a-z0-9_]*")


def column_id(relation: str, column: str) -> str:
    """The id of a column: a path as SQL writes it, so that no two names can be read as one."""
    return f"{_shown(relation)}.{_shown(column)}"


def _shown(name: str) -> str:
    return name if _PLAIN.fullmatch(name) else '"' + name.replace('"', '""') + '"'


class Tie(Enum):
    """Whether a column holds the unit of its row.

    INVARIANT: a tie is made at a scan, by the declared unit key, and handed on only by a bare
    reference. No expression and no name makes one, so a renamed column cannot take the unit's place.
    """

    NONE = "none"
    SOMETIMES = "sometimes"  # the unit or NULL: the far side of an outer join
    ALWAYS = "always"


@dataclass(frozen=True, slots=True)
class PathKey:
    """The column holds a key on the unit path of its row.

    `target` is the column of the parent table that the key is declared to refer to. `own`: it is this column itself.

    INVARIANT: where the column has a value, exactly one row of the target's table has it in the target, and the unit of that
    row is the unit of this one. It is made at a scan, by a declared unit path, and handed on only by a bare reference. The
    constraint that makes the target unique is a licence of the scan that is not `own`.
    """

    target: ColumnRef
    own: bool


@dataclass(frozen=True, slots=True)
class Field:
    """`id` is unique among the columns of a relation; `origins` are the source columns it tells of.

    `texts` is how many texts it may be put together from: what doubles again and again is cut off. `keys` are the keys of
    unit paths that it holds. `hides_nulls`: an answer has no group for its NULL.
    """

    id: str
    type: ColumnType
    domain: Domain = field(default_factory=Anything)
    nullable: bool = True
    origins: frozenset[ColumnRef] = frozenset()
    tie: Tie = Tie.NONE
    texts: int = 1
    keys: frozenset[PathKey] = field(default=frozenset(), repr=False)
    hides_nulls: bool = field(default=False, repr=False)


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

    Then `expected` is how many count by default, where the work of a row is bounded all the same: rows that may each meet
    several rows of a public table. Without it such rows are no input of a release.

    `groups` is how many groups of an answer a unit counts in, where it is cut to some; `values` is how many different
    values of a unit count in a group. They only ever say how much of a unit is let through later: a wrong number costs
    accuracy, not privacy, since bounding enforces it.
    """

    unit: str
    rows: int | None
    groups: int
    values: int
    expected: int | None = None

    @property
    def usual_rows(self) -> int | None:
        """How many rows of a unit count by default; None where it cannot be said."""
        return self.expected if self.rows is None else self.rows

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
            "add an equality of both unit keys, or of the keys of a unit path, to the ON clause",
        )
    return left


def free_label(*labels: Label) -> Label:
    """Several relations without rows of persons, seen as one."""
    return (
        ReleasedLabel() if any(isinstance(label, ReleasedLabel) for label in labels) else Public()
    )


INTEGER: Final = ColumnType(Kind.INTEGER)
BIGINT: Final = ColumnType(Kind.BIGINT)
NUMERIC: Final = ColumnType(Kind.NUMERIC)
DOUBLE: Final = ColumnType(Kind.DOUBLE)
TEXT: Final = ColumnType(Kind.TEXT)
BOOLEAN: Final = ColumnType(Kind.BOOLEAN)
DATE: Final = ColumnType(Kind.DATE)
TIMESTAMP: Final = ColumnType(Kind.TIMESTAMP)
TIMESTAMPTZ: Final = ColumnType(Kind.TIMESTAMPTZ)

NUMBERS: Final = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT})
TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})

_RANK: Final = (Kind.SMALLINT, Kind.INTEGER, Kind.BIGINT, Kind.NUMERIC, Kind.REAL, Kind.DOUBLE)


def is_number(of: ColumnType) -> bool:
    return of.family in NUMBERS


def plain(of: ColumnType) -> ColumnType:
    """The type without precision and length, as the result of an operator has it."""
    return TEXT if of.family is Family.TEXT else ColumnType(of.kind)


def common_type(left: ColumnType, right: ColumnType) -> ColumnType | None:
    """The type in which both can be compared or stand in one column; None when there is none."""
    if left == right:
        return left
    if is_number(left) and is_number(right):
        return _wider(left, right)
    if left.family is right.family:
        if left.family is Family.TIMESTAMP:
            # the meaning of comparing the two kinds depends on the session's time zone
            return None
        return plain(left)
    if {left.family, right.family} == TIMES:
        stamp = left if left.family is Family.TIMESTAMP else right
        # a date becomes a timestamptz by the session's time zone
        return stamp if stamp.kind is Kind.TIMESTAMP else None
    return None


def _wider(left: ColumnType, right: ColumnType) -> ColumnType:
    if Family.FLOAT in {left.family, right.family} and left.kind is not right.kind:
        return DOUBLE
    return ColumnType(max(left.kind, right.kind, key=_RANK.index))
