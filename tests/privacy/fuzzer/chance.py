"""Choices by a seed, and the features that they led to."""

import random
from collections.abc import Sequence
from typing import TypeVar

T = TypeVar("T")


class Chance:
    """Every choice of a statement or a catalog is drawn here, so a seed gives it again."""

    def __init__(self, seed: str) -> None:
        self._random = random.Random(seed)  # noqa: S311 - statements of a test
        self.features: set[str] = set()

    def one_of(self, among: Sequence[T]) -> T:
        return self._random.choice(among)

    def some(self, among: Sequence[T], least: int, most: int) -> list[T]:
        """Different ones, in a random order."""
        many = self._random.randint(min(least, len(among)), min(most, len(among)))
        return self._random.sample(among, many)

    def shuffled(self, all_: Sequence[T]) -> list[T]:
        return self._random.sample(all_, len(all_))

    def happens(self, share: float) -> bool:
        return self._random.random() < share

    def between(self, low: int, high: int) -> int:
        return self._random.randint(low, high)

    def weighted(self, among: Sequence[tuple[int, T]]) -> T:
        """Each as often as its weight says."""
        weights = [weight for weight, _ in among]
        return self._random.choices([one for _, one in among], weights)[0]

    def note(self, feature: str) -> None:
        """The statement has this feature of the language."""
        self.features.add(feature)
