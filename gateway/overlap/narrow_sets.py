"""Sets of narrow parts that answers show together, and nothing else: the value of one person minus values of nobody.

Two halves of a table that leave one income out, and the whole that leaves another one out, give the difference of both
incomes. No part of it can be estimated alone. So sets of parts are free together, as one: the smallest sets such that a
combination of the answers, with the new one in it, cancels everything outside.

A set is made smaller part by part, until no part can be taken out of it. Any other smallest set lacks some part of this one,
so the search goes on without each of its parts in turn.

INVARIANT: the number of combinations that are computed is limited, and the order of the search depends on the answers and
the parts alone. Above the limit the pairs and the single parts decide; they have decided before.
"""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from gateway.overlap.estimates import Numbers, cancelling, usable_answers

MOST_COMBINATIONS: Final = 256
_NONE: Final = 1e-6  # a factor of an atom that is no part of a combination


@dataclass(frozen=True, slots=True)
class ShownSet:
    """`free` are all atoms of a smallest set, those with the largest factors first; `atoms` those that have a factor."""

    free: list[int]
    atoms: list[int]


class SetSearch:
    """Looks for the smallest sets among parts, each of which is some atoms. The first answer is the new one."""

    def __init__(
        self, members: NDArray[np.bool_], variances: Numbers, parts: Sequence[list[int]]
    ) -> None:
        self._parts = parts
        self._atoms = members.shape[1]
        rows = usable_answers(members, self._free(range(len(parts))))
        self._usable = len(rows) > 1 and rows[0] == 0
        self._members, self._variances = members[rows], variances[rows]
        self._left = MOST_COMBINATIONS

    def sets(self, is_narrow: Callable[[list[int]], bool]) -> Iterator[ShownSet]:
        """The smallest sets of parts that are narrow by themselves, as far as the work is allowed."""
        if not self._usable or self._factors(range(len(self._parts))) is None:
            return
        kept = tuple(at for at, part in enumerate(self._parts) if is_narrow(part))
        waiting, seen = deque([kept]), {kept}
        told: set[frozenset[int]] = set()
        while waiting and self._left > 0:
            base = waiting.popleft()
            found = self._smallest(base)
            if found is None:
                continue
            chosen, factors = found
            if frozenset(chosen) not in told:
                told.add(frozenset(chosen))
                yield self._shown(chosen, factors)
            for one in chosen:
                without = tuple(at for at in base if at != one)
                if without not in seen:
                    seen.add(without)
                    waiting.append(without)

    def _smallest(self, base: Sequence[int]) -> tuple[list[int], Numbers] | None:
        """A set out of which no part can be taken, with the factors of the atoms; None if the base is not enough."""
        factors = self._factors(base)
        if factors is None:
            return None
        chosen = self._having(base, factors)
        for one in list(chosen):
            if one not in chosen or len(chosen) == 1:
                continue
            rest = [at for at in chosen if at != one]
            fewer = self._factors(rest)
            if fewer is not None:
                chosen, factors = self._having(rest, fewer), fewer
        return chosen, factors

    def _factors(self, chosen: Sequence[int]) -> Numbers | None:
        """The factors of all atoms in a combination about nothing but these parts; None if there is none."""
        self._left -= 1
        if self._left < 0:
            return None
        found = cancelling(self._members, self._variances, self._free(chosen))
        largest = 0.0 if found is None else float(np.abs(found).max())
        return None if found is None or largest < _NONE else np.abs(found) / largest

    def _having(self, chosen: Sequence[int], factors: Numbers) -> list[int]:
        """Those parts that have a factor, the one with the least first."""
        largest = [float(factors[self._parts[one]].max()) for one in chosen]
        order = sorted(range(len(chosen)), key=lambda at: (largest[at], chosen[at]))
        return [chosen[at] for at in order if largest[at] > _NONE]

    def _shown(self, chosen: Sequence[int], factors: Numbers) -> ShownSet:
        free: list[int] = np.flatnonzero(self._free(chosen)).tolist()
        free.sort(key=lambda atom: (-factors[atom], atom))
        return ShownSet(free, sorted(atom for atom in free if factors[atom] > _NONE))

    def _free(self, chosen: Sequence[int]) -> NDArray[np.bool_]:
        free = np.zeros(self._atoms, dtype=np.bool_)
        for one in chosen:
            free[self._parts[one]] = True
        return free
