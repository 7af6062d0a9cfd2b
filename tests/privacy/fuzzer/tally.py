"""What a run of the fuzzer saw: how many statements were answered, and how often each feature of the language was."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Final

from privacy.fuzzer.trial import Outcome

SELDOM: Final = frozenset({
    "public UNION", "released key of an expression", "public LIMIT", "public expression", "public filter", "public GROUP BY",
    "constant infinity", "constant nan", "constant ' 30'", "constant CAST(' 30')",
})  # fmt: skip
"""Features that are refused wherever nothing else of a statement happens to take them; they may be answered."""


@dataclass
class Tally:
    """Counts that can be added up over processes."""

    statements: int = 0
    compared: int = 0
    runs: int = 0
    swaps: int = 0
    engines: Counter[str] = field(default_factory=Counter)
    codes: Counter[str] = field(default_factory=Counter)
    said: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)
    problems: int = 0
    longest_s: float = 0.0

    def note(self, outcome: Outcome) -> None:
        """One statement more."""
        found = outcome.found
        self.statements += 1
        self.problems += bool(found.problems)
        self.runs += found.compared
        self.said.update(outcome.sentence.features)
        if outcome.compared:
            self.compared += 1
            self.engines.update(found.engines)
            self.answered.update(outcome.sentence.features)
        elif outcome.code is not None:
            self.codes[outcome.code.value] += 1

    def add(self, other: "Tally") -> None:
        """What another process saw."""
        self.statements += other.statements
        self.compared += other.compared
        self.runs += other.runs
        self.swaps += other.swaps
        self.problems += other.problems
        self.longest_s = max(self.longest_s, other.longest_s)
        for mine, theirs in (
            (self.engines, other.engines), (self.codes, other.codes),
            (self.said, other.said), (self.answered, other.answered),
        ):  # fmt: skip
            mine.update(theirs)

    @property
    def never(self) -> frozenset[str]:
        """Features that were said and never answered, though they should be sometimes."""
        return frozenset(one for one in self.said if not self.answered[one]) - SELDOM

    def table(self) -> Iterator[str]:
        """The share of statements with each feature that were answered."""
        for feature in sorted(self.said):
            said, answered = self.said[feature], self.answered[feature]
            yield f"{feature:42}{answered:7} of {said:7}  {answered / said:6.0%}"
        for code, many in self.codes.most_common():
            yield f"refused with {code:29}{many:7}"
