"""A column of a relation in a plan: what it is called, what it can hold, and where it comes from."""

import re
from dataclasses import dataclass, field
from enum import Enum

from gateway.catalog.domains import Anything, Domain
from gateway.catalog.tables import ColumnRef
from gateway.catalog.types import ColumnType

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
class Field:
    """`id` is unique among the columns of a relation; `origins` are the source columns it tells of.

    `texts` is how many texts it may be put together from: what doubles again and again is cut off.
    """

    id: str
    type: ColumnType
    domain: Domain = field(default_factory=Anything)
    nullable: bool = True
    origins: frozenset[ColumnRef] = frozenset()
    tie: Tie = Tie.NONE
    texts: int = 1
