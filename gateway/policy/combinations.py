"""`together:`: which columns one statement may combine.

Takes the columns of persons that a statement uses, in whatever way: as keys, in conditions, in aggregates, in joins. Gives
nothing, or the refusal that names the columns. All parts of a statement count together: subqueries that are answered first,
CTEs, sides of unions, and parts whose answers the release cache has.

A restriction holds for each statement on its own. Answers of several statements can be combined outside: two answers about
(region, diagnosis) and (region, birth_year) say what they say together. The released rows in a temporary table are
public, and joining persons to them uses the columns of persons by which they are joined.

INVARIANT: fewer columns are never refused where more are permitted: a statement that is permitted stays permitted without
one of its columns.
INVARIANT: every rule that grants a part of a statement restricts all of it, so another rule never lifts a restriction.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from gateway.catalog.tables import ColumnRef
from gateway.errors import Code, NotPermitted


@dataclass(frozen=True)
class ColumnSelection:
    """A word of the policy, and the columns that it means: `diagnosis`, `visits.diagnosis` or `class:quasi`."""

    word: str
    columns: frozenset[ColumnRef]


@dataclass(frozen=True)
class Together:
    """`forbid` are combinations of which a statement may not use all parts, `at_most` how many of some columns it may use."""

    forbid: tuple[tuple[ColumnSelection, ...], ...] = ()
    at_most: tuple[tuple[ColumnSelection, int], ...] = ()

    def problems(self, used: frozenset[ColumnRef]) -> Iterator[tuple[str, str]]:
        """What is wrong with these columns in one statement, and what to do about it."""
        for combination in self.forbid:
            found = [sorted(one.columns & used) for one in combination]
            if all(found):
                names = ", ".join(dict.fromkeys(f"`{one}`" for part in found for one in part))
                words = ", ".join(f"`{one.word}`" for one in combination)
                yield f"{names} may not be used together", f"leave out one of {words}"
        for selection, most in self.at_most:
            there = sorted(selection.columns & used)
            if len(there) > most:
                names = ", ".join(f"`{one}`" for one in there)
                detail = f"{names} are {len(there)} columns of `{selection.word}`"
                yield detail, f"a statement may use {most} of them at most"


def require_together(restrictions: Iterable[Together], used: Iterable[ColumnRef]) -> None:
    """Refuse a statement that combines what one of the restrictions does not let be combined."""
    columns = frozenset(used)
    found = sorted({problem for one in restrictions for problem in one.problems(columns)})
    if found:
        detail, hint = found[0]
        raise NotPermitted(Code.COMBINATION_NOT_PERMITTED, detail, hint)
