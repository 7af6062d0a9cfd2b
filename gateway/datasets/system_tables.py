"""The gateway's own tables as a subject sees them: budget, datasets, and past queries.

Analysts see balances of shared accounts in tenths of the limit, with the remaining amount rounded down.
A copy of another analyst's answer does not change the dataset's account (see `shared_draws`), so exact figures
would reveal that it was a copy. Refusals, needed amounts and the ledger stay exact. An analyst's own account is
exact, and so is everything for administrators, auditors and the command line. Where the policy says
`tell: everyone` nothing is hidden, and all balances are exact.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from math import sqrt
from typing import Any, Final

from gateway.budget.account import analyst_account
from gateway.budget.guarantees import released_guarantee
from gateway.budget.report import AccountBalance, RateLimitBalance
from gateway.catalog.domains import Anything, Domain, Values
from gateway.catalog.tables import OWN_TABLES, SCHEMA, Column, ColumnRef, Table
from gateway.catalog.values import Value
from gateway.datasets.registry import DatasetRegistry
from gateway.datasets.view import Question, rules_for
from gateway.errors import REASON, Code
from gateway.plan.relations import StagedRows
from gateway.policy.decide import usable_columns_by, usable_levels_by
from gateway.policy.policy import AnswerSettings, Operation, Policy
from gateway.policy.subjects import Subject
from gateway.requests.request import PastQuestion, Request
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter
from gateway.units import Epsilon

_OUTCOMES: Final = frozenset(
    {RecordKind.ANSWERED, RecordKind.REUSED, RecordKind.REFUSED, RecordKind.FAILED}
)
_ANSWERED: Final = frozenset({RecordKind.ANSWERED, RecordKind.REUSED})
_MOST_QUESTIONS: Final = 1_000
_STEPS: Final = 10
SEES_ALL: Final = frozenset({"admin", "auditor"})
"""The roles that see every account exactly."""


@dataclass(frozen=True)
class OwnRows:
    """Reads the tables for one subject at a time; no subject sees a row of another."""

    accounts_of: Callable[[Subject], Sequence[AccountBalance]]
    records: Callable[[int, RecordFilter], Sequence[Mapping[str, Any]]]
    served: DatasetRegistry

    def rows(self, question: Question, table: str) -> StagedRows:
        """The rows of `gateway.budget` and the others, as this question may see them."""
        name = table.removeprefix(f"{SCHEMA}.")
        read: Mapping[str, Callable[[Question], Iterable[tuple[Value | None, ...]]]] = {
            "budget": lambda one: self._budget(one.subject),
            "datasets": self._datasets,
            "queries": lambda one: self._queries(one.subject),
        }
        columns = tuple((one.name, one.type) for one in OWN_TABLES[name].columns)
        return StagedRows(columns, tuple(read[name](question)))

    def datasets(self, subject: Subject, request: Request) -> Mapping[str, Any]:
        """What may be asked about for a purpose, as JSON."""
        question = Question(request, subject, "rest", datetime.now(UTC))
        found: dict[tuple[str, str], list[dict[str, Any]]] = {}
        for dataset, table, column, uses in self._columns(question):
            said: dict[str, Any] = {"name": column.name, "type": str(column.type)}
            if (domain := _domain(column.domain)) is not None:
                said["domain"] = domain
            levels = {use: level for use, level in uses.items() if level is not None}
            said |= {"use": list(uses), **({"levels": levels} if levels else {})}
            found.setdefault((dataset, table.name), []).append(said)
        names = list(dict.fromkeys(dataset for dataset, _ in found))
        return {
            "datasets": [
                {
                    "dataset": name,
                    "tables": [
                        {"table": table, "columns": columns}
                        for (dataset, table), columns in found.items()
                        if dataset == name
                    ],
                }
                for name in names
            ]
        }

    def questions(
        self, subject: Subject, limit: int, before: str | None = None
    ) -> list[PastQuestion]:
        """The newest first."""
        end = None if before is None else self._place_of(subject, before)
        # a query has a record of its charge and one of its outcome; two records if a cached answer was not released
        records = self.records(3 * limit + 3, RecordFilter(subject=subject.name, before=end))
        charged = {
            # the price is that of what was bought: what the own account gave beside it is said where it differs
            record["query_id"]: Epsilon.from_ratio(record.get("price_taken") or record["price"])
            for record in records
            if record["kind"] == RecordKind.CHARGED and record.get("price")
        }
        last: dict[str, PastQuestion] = {}
        for record in reversed(records):
            if record["kind"] in _OUTCOMES and record["query_id"] not in last:
                last[record["query_id"]] = _past(record, charged)
        return list(last.values())[:limit]

    def _place_of(self, subject: Subject, query_id: str) -> int:
        """Where the records of one of the subject's own queries begin; None for those of others."""
        found = self.records(4, RecordFilter(subject=subject.name, query_id=query_id))
        return min((int(record["seq"]) for record in found), default=1)

    def _budget(self, subject: Subject) -> Iterable[tuple[Value | None, ...]]:
        for one in self.accounts_of(subject):
            window = one.window
            yield (
                one.account,
                one.dataset,
                one.epsilon_limit.value,
                one.epsilon_spent.value,
                one.epsilon_remaining.value,
                one.delta_limit.value,
                None if window is None else window.every,
                None if window is None else window.epsilon_limit.value,
                None if window is None else window.epsilon_remaining.value,
                None if window is None else window.reopens_at,
            )

    def _datasets(self, question: Question) -> Iterable[tuple[Value | None, ...]]:
        for dataset, table, column, uses in self._columns(question):
            domain = _domain(column.domain)
            shown = None if domain is None else str(domain)
            ways = (f"{use} ({level})" if level else use for use, level in uses.items())
            yield dataset, table.name, column.name, str(column.type), shown, ", ".join(ways)

    def _queries(self, subject: Subject) -> Iterable[tuple[Value | None, ...]]:
        for one in self.questions(subject, _MOST_QUESTIONS):
            clipped = "; ".join(f"{over}: norm {sqrt(most):.4g}" for over, most in one.clipped)
            yield (
                *(one.query_id, one.at, one.sql, one.outcome, one.reason, one.charged.value),
                clipped or None,
            )

    def _columns(
        self, question: Question
    ) -> Iterable[tuple[str, Table, Column, Mapping[str, str | None]]]:
        """Each column with the ways in which it may be used, and the finest level of each, if it has one."""
        for serving in self.served.of(question):
            rules = rules_for(question, serving.policy)
            uses = usable_columns_by(rules)
            levels = usable_levels_by(rules)
            for table in serving.views.of(rules).dataset.tables:
                for column in table.columns:
                    reference = ColumnRef(table.name, column.name)
                    ways = uses.get(reference, frozenset())
                    finest = levels.get(reference, {})
                    shown = {
                        one.value: finest.get(one)
                        for one in Operation
                        if one in ways or table.public
                    }
                    yield serving.policy.name, table, column, shown


def _domain(domain: Domain) -> dict[str, Any] | None:
    if isinstance(domain, Anything):
        return None
    if isinstance(domain, Values):
        return {"in": [str(value) for value in domain]}
    return {"between": [str(domain.low), str(domain.high)], "step": str(domain.step)}


def _past(record: Mapping[str, Any], charged: Mapping[str, Epsilon]) -> PastQuestion:
    code = str(record.get("code"))
    known = code in {one.value for one in Code}
    return PastQuestion(
        query_id=record["query_id"],
        at=datetime.fromisoformat(record["at"]),
        sql=record["sql"],
        outcome=record["kind"],
        reason=REASON[Code(code)].value if known else None,
        charged=charged.get(record["query_id"], Epsilon.zero()),
        clipped=_clipped(record),
    )


def _clipped(record: Mapping[str, Any]) -> tuple[tuple[str, int], ...]:
    """The scopes of an answer's weights, which it told when it was given; nothing of a query that was not answered."""
    if record["kind"] not in _ANSWERED:
        return ()
    told = (record.get("attributes") or {}).get("clipped", ())
    return tuple((one["over"], one["limit_squared"]) for one in told)


def visible_balances(
    found: Iterable[AccountBalance], subject: Subject, policies: Mapping[str, Policy]
) -> list[AccountBalance]:
    """The accounts as the subject may see them; `policies` by dataset."""
    return [
        one
        if subject.role in SEES_ALL
        or one.account == analyst_account(subject.name, one.dataset)
        or (one.dataset in policies and policies[one.dataset].tell is AnswerSettings.EVERYONE)
        else round_to_tenths(one)
        for one in found
    ]


def round_to_tenths(standing: AccountBalance) -> AccountBalance:
    """The same account in steps; the spent and the remaining amount add up to the limit."""
    left = _floor(standing.epsilon_limit, standing.epsilon_remaining)
    spent = Epsilon(standing.epsilon_limit.value - left)
    owner, largest = standing.owner, standing.largest
    # above a lowered limit the shown amount is less than was released
    below = standing.epsilon_spent <= standing.epsilon_limit
    covered = owner.ledger.cost(spent) if below else largest.quota
    return replace(
        standing,
        epsilon_spent=spent,
        released=released_guarantee(owner, covered, largest),
        epsilon_remaining=Epsilon(left),
        window=None if standing.window is None else _window_in_tenths(standing.window),
    )


def _window_in_tenths(window: RateLimitBalance) -> RateLimitBalance:
    left = _floor(window.epsilon_limit, window.epsilon_remaining)
    return replace(
        window,
        epsilon_spent=Epsilon(window.epsilon_limit.value - left),
        epsilon_remaining=Epsilon(left),
    )


def _floor(limit: Epsilon, left: Epsilon) -> Fraction:
    step = limit.value / _STEPS
    return left.value // step * step if step else Fraction(0)
