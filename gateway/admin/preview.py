"""`policy preview`: what counts at the default price would be worth, for each table and its usual groupings.

A count is bound, analysed and priced as a question is, by the same stages. Nothing is asked of the source for it,
nothing is charged, and no analyst sees it. Rows of the source's own statistics may stand beside the margins, for whoever
has the source's login.

The price is split over the accounts as the policy says: the analyst is the one with the smallest budget that a rule gives.
"""

from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from itertools import islice
from math import floor
from typing import Any, Final

from gateway.admin.open_accounts import ledger_of, limits_of
from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.budget.account import Currency, Limits
from gateway.catalog.tables import Column, ColumnClass, Table
from gateway.catalog.types import Family
from gateway.datasets.view import Question
from gateway.errors import Refusal
from gateway.plan.formulas import AggregateRef
from gateway.plan.node import BrokenPlan
from gateway.policy.decide import Decision
from gateway.policy.policy import Budget, Effect, Policy, smallest_budget
from gateway.policy.subjects import Subject
from gateway.pricing.price import AnalyzedQuery, expected_margin, noise_for_price
from gateway.requests.request import Request
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.norm_release import needs_norms
from gateway.stages.analyze import analyze_plan
from gateway.twin.session import TwinSession
from gateway.units import Epsilon

_TIMES: Final = frozenset({Family.DATE, Family.TIMESTAMP})
_WHOLE_TABLE: Final = "everything"


@dataclass(frozen=True)
class PreviewedCount:
    """A count of a table's rows by one grouping, at the default price.

    `groups` is None where they are found in the data; then those with fewer than about `shown_from` units are hidden.
    `rows` is the source's own estimate of the table. `refusal` says why the policy cannot answer it. `before_histogram`: the
    margin is that under the clip without a histogram of norms, and the first such query would buy one.
    """

    table: str
    grouping: str
    margin: float | None = None
    groups: int | None = None
    shown_from: int | None = None
    rows: int | None = None
    refusal: str | None = None
    before_histogram: bool = False

    @property
    def relative(self) -> float | None:
        """The margin as a part of an average group, where both are known."""
        if self.margin is None or not self.rows or self.groups is None:
            return None
        return self.margin * self.groups / self.rows


@dataclass(frozen=True)
class Preview:
    """The counts of one dataset, and how many questions its budgets have room for."""

    dataset: str
    price: Epsilon
    currency: Currency
    analyst: Budget
    everyone: Budget
    by_analyst: int
    by_everyone: int
    counts: tuple[PreviewedCount, ...]
    histogram: Epsilon


def preview_policy(
    policy: Policy, rows: Mapping[str, int] | None = None, *, is_whole: bool = False
) -> Preview:
    """The preview of a policy; `rows` are estimates by the names of tables. `is_whole` leaves groupings out."""
    budgets = [
        rule.budget
        for rule in policy.rules
        if rule.effect is Effect.PERMIT and rule.budget is not None
    ]
    everyone = policy.privacy.budget
    analyst = smallest_budget([*budgets, everyone])
    pricing = _Pricing(policy, ledger_of(policy).currency, analyst)
    counts = tuple(
        pricing.count(table, grouping, key, (rows or {}).get(table.name))
        for table in policy.dataset.tables
        if not table.public
        for grouping, key in islice(groupings(table), 1 if is_whole else None)
    )
    caps = (limits_of(analyst), limits_of(everyone))
    by_analyst, by_everyone = (_questions(limits, pricing) for limits in caps)
    return Preview(
        policy.name,
        policy.privacy.default_price,
        pricing.currency,
        analyst,
        everyone,
        by_analyst,
        by_everyone,
        counts,
        policy.clipping.price,
    )


def groupings(table: Table) -> Iterator[tuple[str, str | None]]:
    """The usual groupings of a table, with the SQL of their keys: everything, each listed column, dates by month."""
    yield _WHOLE_TABLE, None
    for column in table.columns:
        if column.type.family in _TIMES and column.column_class is not ColumnClass.IDENTIFIER:
            yield f"{column.name} by month", f"date_trunc('month', {_name(column)})"
        elif column.column_class is ColumnClass.QUASI:
            yield column.name, _name(column)


@dataclass(frozen=True)
class _Pricing:
    policy: Policy
    currency: Currency
    analyst: Budget

    @property
    def rate(self) -> Fraction:
        return limits_of(self.policy.privacy.budget).opening_rate(self.currency)

    @property
    def cost(self) -> Fraction:
        """What a query at the default price costs a ledger that is opened with this policy."""
        return self.policy.privacy.default_price.value * self.rate

    def count(
        self, table: Table, grouping: str, key: str | None, rows: int | None
    ) -> PreviewedCount:
        """The count as it would be answered, or why it would be refused."""
        name = ".".join(f'"{part}"' for part in table.name.split("."))
        by = "" if key is None else f" GROUP BY {key}"
        sql = f"SELECT COUNT(*) FROM {name}{by}"  # noqa: S608 - bound here, and sent to no database
        try:
            return self._priced(sql, table.name, grouping, rows)
        except Refusal as refusal:
            return PreviewedCount(table.name, grouping, rows=rows, refusal=str(refusal))

    def _priced(self, sql: str, table: str, grouping: str, rows: int | None) -> PreviewedCount:
        now = datetime.now(UTC)
        cut = bind(sql, self.policy.dataset)
        if not isinstance(cut, Cut):
            raise BrokenPlan("a count of a protected table measures nothing")
        question = Question(Request(sql, self.policy.name), Subject("preview"), "cli", now)
        releases = tuple(
            analyze_plan(one.plan, self.policy, self.currency, now) for one in cut.releases
        )
        query = AnalyzedQuery(
            question,
            cut,
            Decision(None, self.analyst, {}, ()),
            _no_session,
            self.policy,
            self.currency,
            releases,
            epsilon=None,
        )
        [priced] = noise_for_price(query, self.cost)
        [part] = priced.parts
        groups = part.analysis.groups
        listed = isinstance(groups, EnumeratedGroups)
        return PreviewedCount(
            table,
            grouping,
            expected_margin(AggregateRef(0), priced),
            max(1, len(groups.keys)) if isinstance(groups, EnumeratedGroups) else None,
            None if listed else part.shown_units,
            rows,
            before_histogram=self._sells_histograms and needs_norms(part.analysis),
        )

    @property
    def _sells_histograms(self) -> bool:
        """Whether a query at the default price buys the histograms that it needs."""
        price = self.policy.clipping.price
        return bool(price) and price <= self.policy.privacy.default_price


def _questions(limits: Limits, pricing: _Pricing) -> int:
    """How many questions at the default price an account has room for."""
    return floor(limits.epsilon / pricing.policy.privacy.default_price) if pricing.cost else 0


def _no_session() -> AbstractContextManager[TwinSession]:
    raise BrokenPlan("a preview asks nothing of the twin")


def _name(column: Column) -> str:
    return f'"{column.name}"'


def preview_json(found: Preview) -> dict[str, Any]:
    """The preview as JSON."""
    return {
        "dataset": found.dataset,
        "epsilon": str(found.price),
        "currency": found.currency.value,
        "questions": {"analyst": found.by_analyst, "everyone": found.by_everyone},
        "counts": [
            {
                "table": one.table,
                "grouping": one.grouping,
                "margin_95": one.margin,
                "groups": one.groups,
                "shown_from": one.shown_from,
                "rows": one.rows,
                "refusal": one.refusal,
                "before_histogram": one.before_histogram,
            }
            for one in found.counts
        ],
    }
