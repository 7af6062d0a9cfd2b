"""Work of comparing the parts of one statement with each other, as it is bounded before the charge.

Each part is compared with all parts before it, and a comparison reads the ranges of both. A CUBE of six keys over a moment
has 64 parts of thousands of ranges each, and an EXPLAIN of it is free.

INVARIANT: the bound is a number of ranges, never a time: it depends on the statement, the policy and what the analyst has
received before.
"""

from collections.abc import Sequence
from typing import Final

from gateway.errors import Code, UnsupportedSql
from gateway.overlap.question_part import NewQuery
from gateway.regions.cells import Cells, StepCells
from gateway.regions.scope import ReleaseScope

MOST_WORK: Final = 1_000_000
_SCOPE: Final = 20  # a comparison itself, in ranges


def require_comparable(concerned: Sequence[NewQuery]) -> None:
    """Refuse a statement with parts that take too many steps to compare."""
    if comparison_work(concerned) > MOST_WORK:
        raise UnsupportedSql(
            Code.CLAUSE_UNSUPPORTED,
            f"the grouping sets and aggregates of the statement have {len(concerned)} parts, and comparing them with each "
            "other takes too many steps",
            "ask for fewer grouping sets in one statement, group by larger periods, or leave out conditions on parts of a "
            "time, such as its hour",
        )


def comparison_work(concerned: Sequence[NewQuery]) -> int:
    """The number of parts, times the ranges of all of them. One part is compared with nothing of the statement."""
    if len(concerned) <= 1:
        return 0
    return len(concerned) * sum(_SCOPE + _ranges(one.scope) for one in concerned)


def _ranges(scope: ReleaseScope) -> int:
    boxes = sum(_size(cells) for box in scope.region.boxes for _, cells in box.parts)
    return boxes + sum(_size(cells) for key in scope.keys for cells in key.cells or ())


def _size(cells: Cells) -> int:
    return len(cells.ranges) if isinstance(cells, StepCells) else 1
