"""Bound on the work of reading one statement's conditions as regions: steps are counted, never timed.

A condition of a few hundred characters may stand for many boxes with thousands of ranges each. Whoever reads the
conditions of a plan opens one allowance for all of them (`allow_work`); what combines regions spends from it. When it is
spent, `WorkSpent` goes up to where all of the conditions can be treated as one that nobody can read.

INVARIANT: what is spent follows from the statement and the policy alone. Values from a cache are charged as if they
were computed, so no statement is read in another way because of the statements before it.
"""

from collections.abc import Callable, Hashable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Final, TypeVar, cast

from gateway.plan.sql_text import keep_texts

T = TypeVar("T")

MOST_WORK: Final = 80_000
"""Ranges and boxes that are looked at: about a microsecond each."""


MOST_COMPUTED: Final = 150_000
"""Parts of expressions, times the cells in which they are computed: two or three microseconds each."""


class WorkSpent(Exception):
    """The conditions of a statement would take more work than all of its conditions may."""


@dataclass
class _Allowance:
    left: int
    computed: int
    counted: set[Hashable] = field(default_factory=set)
    kept: dict[tuple[str, int, int], tuple[object, object, object, int]] = field(
        default_factory=dict
    )


_OPEN: Final[ContextVar[_Allowance | None]] = ContextVar("allowance of work", default=None)


@contextmanager
def allow_work() -> Iterator[None]:
    """Within the block so much work may be spent, whatever was allowed outside of it."""
    token = _OPEN.set(_Allowance(MOST_WORK, MOST_COMPUTED))
    try:
        with keep_texts():
            yield
    finally:
        _OPEN.reset(token)


def spend_work(amount: int) -> None:
    """Count work that is about to be done; `WorkSpent` if it is more than what is left."""
    allowance = _OPEN.get()
    if allowance is None:
        return
    allowance.left -= amount
    if allowance.left < 0:
        raise WorkSpent


def compute_once(name: str, what: object, among: object, compute: Callable[[], T]) -> T:
    """A value that follows from two objects alone, computed once within the block.

    INVARIANT: it is charged each time, so that its order among others does not matter. Both objects are kept, so that their ids
    stay their own. What raises is not remembered.
    """
    allowance = _OPEN.get()
    if allowance is None:
        return compute()
    key = name, id(what), id(among)
    known = allowance.kept.get(key)
    if known is not None:
        spend_work(known[3])
        return cast("T", known[2])
    before = allowance.left
    made = compute()
    allowance.kept[key] = what, among, made, before - allowance.left
    return made


def forget_computed() -> None:
    """Compute everything anew: one of the objects that values follow from has changed."""
    allowance = _OPEN.get()
    if allowance is not None:
        allowance.kept.clear()


def may_compute(what: Hashable, amount: int) -> bool:
    """Count parts of an expression that are about to be computed; False if they are more than what is left.

    Then this expression alone is unknown: a shorter one may still be computed. The same one is counted once.
    """
    allowance = _OPEN.get()
    if allowance is None or what in allowance.counted:
        return True
    if amount > allowance.computed:
        return False
    allowance.computed -= amount
    allowance.counted.add(what)
    return True
