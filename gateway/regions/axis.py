"""The directions in which a question can be narrowed, and how a column's values become cells on them.

A cell is the smallest thing a condition can be read down to. On STEPS cells are absolute whole numbers, so a policy
that moves the end of a domain leaves them where they are: whole numbers and decimals count by the digits of their
type, dates are days since 1970-01-01, timestamps microseconds since then. A type without digits (`numeric`, floats)
has values everywhere: there the even cells are the millionths themselves, the odd ones what lies between two.

What is declared may be coarser than that. `stride` says how many cells it is from one declared value to the next, and
`cells.size` counts declared values: never take the difference of two ends for a size.

INVARIANT: axes of one name have the same cells.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from gateway.catalog.tables import ColumnRef

FIRST: Final = -(2**62)
LAST: Final = 2**62


class Kind(Enum):
    """Whether the cells have an order."""

    STEPS = "steps"
    NAMES = "names"


@dataclass(frozen=True, slots=True)
class Axis:
    """`low` and `high` are the first and last cell of a declared interval, `names` are all that is declared of names.

    `size` is how many values the declared domain has, NULL not counted; None: nobody knows. Not `readable` is a
    condition that nobody understands: its names are `true` and `false`. `quasi`: the column is declared a
    quasi-identifier or an identifier.
    """

    name: str
    kind: Kind
    low: int | None
    high: int | None
    size: int | None
    nullable: bool
    readable: bool
    quasi: bool
    column: ColumnRef | None
    names: frozenset[str] | None = None
    stride: int = 1
