"""Policy as a value: rules, budgets and settings, frozen, with every name resolved."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from enum import StrEnum
from fractions import Fraction
from typing import Final

from gateway.catalog.tables import ColumnRef, Dataset
from gateway.policy.conditions.condition import Condition
from gateway.policy.row_rules import RowRule
from gateway.policy.source_url import SourceUrl
from gateway.units import Delta, Epsilon


class Operation(StrEnum):
    """What a statement does with a column."""

    AGGREGATE = "aggregate"
    GROUP_BY = "group_by"
    FILTER = "filter"
    JOIN = "join"


class Effect(StrEnum):
    PERMIT = "permit"
    FORBID = "forbid"


class Mechanism(StrEnum):
    AUTO = "auto"
    LAPLACE = "laplace"
    GAUSSIAN = "gaussian"


_DAYS: Final = {"day": 1, "week": 7, "month": 31}


@dataclass(frozen=True)
class Rate:
    """At most this much in each calendar period."""

    every: str
    epsilon: Epsilon

    @property
    def pace(self) -> tuple[object, ...]:
        """The sort key of rates, slowest first."""
        return self.epsilon.value / _DAYS[self.every], self.epsilon.value, self.every


@dataclass(frozen=True)
class Budget:
    """The budget of an account, with the dataset's delta filled in."""

    epsilon: Epsilon
    delta: Delta
    rate: Rate | None = None


@dataclass(frozen=True, eq=False)
class Rule:
    """One rule; it is equal to itself alone. `use` is None if a forbidding rule means every use of its tables.

    INVARIANT: columns in `use` and tables in `rows` belong to `tables`; a permitting rule has a budget.
    """

    id: str
    effect: Effect
    when: Condition
    tables: frozenset[str]
    use: Mapping[Operation, frozenset[ColumnRef]] | None
    rows: Mapping[str, RowRule] = field(default_factory=dict)
    budget: Budget | None = None


@dataclass(frozen=True)
class Privacy:
    """The ledger's own limits and prices."""

    budget: Budget
    default_price: Epsilon
    lowest_price: Epsilon
    highest_price: Epsilon
    mechanism: Mechanism
    teams: Mapping[str, Budget]


class UnreadableConditions(StrEnum):
    """The treatment of a condition that cannot be compared with others."""

    REFUSE = "refuse"
    COUNT_AS_UNKNOWN = "count_as_unknown"
    ALLOW = "allow"


class AnswerSettings(StrEnum):
    """Who may learn that an answer was given before."""

    GROUP = "group"
    EVERYONE = "everyone"


@dataclass(frozen=True)
class Auditing:
    min_units: int
    narrow_cells: int
    trust_groups: tuple[frozenset[str], ...]
    opaque: UnreadableConditions

    def trusted_with(self, subject: str) -> frozenset[str]:
        """The trust group: subjects that count as one analyst with this one."""
        return next((one for one in self.trust_groups if subject in one), frozenset({subject}))


@dataclass(frozen=True)
class ResultLimits:
    enumerated_groups: int
    result_rows: int


@dataclass(frozen=True)
class ReportedRanges:
    """The widths of the ranges in which counts and results of columns are reported: numbers, days or seconds."""

    count: Fraction | None = None
    columns: Mapping[ColumnRef, Fraction] = field(default_factory=dict)


@dataclass(frozen=True)
class Results:
    """What an answer shows of its noise, and its time grid, if any."""

    clamp: bool = True
    suppress_small: bool = False
    reply_grid_ms: int | None = None
    reported: ReportedRanges = field(default_factory=ReportedRanges)


@dataclass(frozen=True)
class Policy:
    """The content of one policy file."""

    dataset: Dataset
    source: SourceUrl
    privacy: Privacy
    rules: tuple[Rule, ...]
    auditing: Auditing
    max_age: timedelta
    sizes: ResultLimits
    results: Results = Results()
    timeouts_per_day: int = 3
    tell: AnswerSettings = AnswerSettings.GROUP

    @property
    def name(self) -> str:
        return self.dataset.name

    def given_to(self, subject: str) -> frozenset[str] | None:
        """The subjects whose answers this subject may receive, and may be told of; None: everybody."""
        return None if self.tell is AnswerSettings.EVERYONE else self.auditing.trusted_with(subject)


def smallest_budget(budgets: list[Budget]) -> Budget:
    """The least of several budgets: of each part the least, and the slowest rates."""
    rates = [budget.rate for budget in budgets if budget.rate is not None]
    return Budget(
        min(budget.epsilon for budget in budgets),
        min(budget.delta for budget in budgets),
        min(rates, key=lambda rate: rate.pace) if rates else None,
    )
