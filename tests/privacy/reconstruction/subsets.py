"""Which subsets of people an attacker asks about: whatever permitted attributes can tell apart."""

import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Final

import numpy as np
from privacy.reconstruction.people import INCOMES, YEARS, Bools, People

_COUNT: Final = "SELECT COUNT(*) FROM people WHERE secret AND ({})"


@dataclass(frozen=True)
class Subset:
    """A condition on what is known, and whom it holds for."""

    condition: str
    members: Bools

    @property
    def sql(self) -> str:
        """How many of them have the secret: it stands in every question at the top.

        So all questions are about the people who have it, and a bit more or less is one of those people more or less.
        """
        return _COUNT.format(self.condition)


def subsets(people: People, seed: int) -> Iterator[Subset]:
    """Without end; of every kind in turns."""
    chosen = random.Random(seed)  # noqa: S311 - the same questions in every run
    kinds: tuple[Callable[[People, random.Random], Iterator[Subset]], ...] = (
        _one_range,
        _ranges,
        _ranges,
        _remainders,
        _both,
        with_and_without,
        _negated,
    )
    while True:
        yield from chain.from_iterable(kind(people, chosen) for kind in kinds)


def _range(people: People, chosen: random.Random) -> Subset:
    if chosen.random() < 0.5:
        low, high = sorted(chosen.randint(*YEARS) for _ in range(2))
        members = (people.years >= low) & (people.years <= high)
        return Subset(f"birth_year BETWEEN {low} AND {high}", members)
    low, high = sorted(chosen.randint(*INCOMES) for _ in range(2))
    members = (people.incomes >= low) & (people.incomes <= high)
    return Subset(f"income BETWEEN {low} AND {high}", members)


def _short(people: People, chosen: random.Random) -> Subset:
    """About a tenth of the people."""
    low = chosen.randint(INCOMES[0], INCOMES[1] - 20_000)
    high = low + chosen.randint(5_000, 20_000)
    members = (people.incomes >= low) & (people.incomes < high)
    return Subset(f"income >= {low} AND income < {high}", members)


def _one_range(people: People, chosen: random.Random) -> Iterator[Subset]:
    yield _range(people, chosen)


def _ranges(people: People, chosen: random.Random) -> Iterator[Subset]:
    """A random union."""
    parts = [_short(people, chosen) for _ in range(chosen.randint(3, 8))]
    condition = " OR ".join(f"({one.condition})" for one in parts)
    yield Subset(condition, np.logical_or.reduce([one.members for one in parts]))


def _remainders(people: People, chosen: random.Random) -> Iterator[Subset]:
    modulus = chosen.randint(2, 7)
    rest = chosen.randrange(modulus)
    yield Subset(f"birth_year % {modulus} = {rest}", people.years % modulus == rest)


def _both(people: People, chosen: random.Random) -> Iterator[Subset]:
    (one,), other = _remainders(people, chosen), _range(people, chosen)
    yield Subset(f"{one.condition} AND {other.condition}", one.members & other.members)


def with_and_without(people: People, chosen: random.Random) -> Iterator[Subset]:
    """The oldest trick: everybody in a range, and everybody in it but one."""
    year = int(chosen.choice(people.years.tolist()))
    low, high = max(YEARS[0], year - 15), min(YEARS[1], year + 15)
    members = (people.years >= low) & (people.years <= high)
    condition = f"birth_year BETWEEN {low} AND {high}"
    yield Subset(condition, members)
    yield Subset(f"{condition} AND birth_year <> {year}", members & (people.years != year))


def _negated(people: People, chosen: random.Random) -> Iterator[Subset]:
    one = _short(people, chosen)
    yield Subset(f"NOT ({one.condition})", ~one.members)
