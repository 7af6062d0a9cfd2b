"""Opens the ledgers and accounts of policies, and binds each protected table to one ledger for ever.

Ledgers and accounts are opened when policies come into force, recorded in one transaction. A dataset is a ledger.
Below it is an account for each team with a budget in the policy, and an account for each analyst whom a rule can
ever permit something, below the team's if there is one.

The charges for a table are in one ledger. A policy that declares the table under another dataset or unit would
begin a new budget for the same people. So every record of policies that came into force has the owner of each
protected table, and a policy with another owner is refused.

INVARIANT: a reload changes every account and has its trail record, or changes nothing.
INVARIANT: limits that an administrator granted stay until the policy's own number changes.
INVARIANT: a table that was ever protected by a ledger is not protected by another of the same source.
"""

import json
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import datetime
from typing import Final, TypeAlias

from sqlalchemy import Connection, select

from gateway.admin.actions import record_acts
from gateway.budget.account import (
    Account,
    Currency,
    Every,
    Ledger,
    Limits,
    RateLimit,
    analyst_account,
    choose_currency,
    ledger_name,
    team_account,
)
from gateway.budget.balances import find_account, find_ledger
from gateway.budget.limits import open_account, open_ledger
from gateway.errors import Code, OperatorError
from gateway.policy.applicable import account_budget
from gateway.policy.files.consistency import may_be_same_table
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.in_force import Cause
from gateway.policy.policy import Budget, Mechanism, Policy
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.state.tables import account_limits, ledgers, trail_records
from gateway.trail.record import ActRecord, RecordKind, Trail
from gateway.units import Delta, Epsilon

# For each source: the tables, each with its ledger's unit.
Owned: TypeAlias = Mapping[str, Mapping[str, str]]

_KEY = "owned tables"


def claim_tables(draft: Draft, loaded: LoadedPolicies) -> str:
    """Refuse policies that take a table away from its ledger. Returns the ownership after them, as text."""
    past = draft.recall(_KEY, _load)
    after = {source: dict(tables) for source, tables in past.items()}
    for policy in loaded.policies.values():
        owned = after.setdefault(policy.source.identity, {})
        for table in policy.dataset.tables:
            if table.public:
                continue
            for name, unit in owned.items():
                if may_be_same_table(name, table.name) and unit != policy.dataset.unit:
                    raise OperatorError(
                        Code.LEDGER_CHANGED,
                        f"`{table.name}` of dataset `{policy.name}` belongs to the ledger of unit"
                        f" `{unit}`, not of `{policy.dataset.unit}`",
                        "spending cannot be moved from one ledger to another; keep the unit",
                    )
            owned[table.name] = policy.dataset.unit
    _require_told(draft, loaded, past)
    draft.remember(_KEY, after)
    return json.dumps(after, sort_keys=True)


def _require_told(draft: Draft, loaded: LoadedPolicies, past: Owned) -> None:
    """The tables of a ledger that was opened without a policy are unknown: no other unit may stand beside it."""
    opened = draft.recall(("all ledgers",), _ledgers)
    for policy in loaded.policies.values():
        for source, unit in opened:
            is_known = unit in past.get(source, {}).values() or any(
                (one.source.identity, one.dataset.unit) == (source, unit)
                for one in loaded.policies.values()
            )
            if source == policy.source.identity and unit != policy.dataset.unit and not is_known:
                raise OperatorError(
                    Code.LEDGER_CHANGED,
                    f"the source of dataset `{policy.name}` has a ledger for unit `{unit}`,"
                    f" not for `{policy.dataset.unit}`",
                    "spending cannot be moved from one unit to another; keep the unit",
                )


def _ledgers(connection: Connection) -> frozenset[tuple[str, str]]:
    rows = connection.execute(select(ledgers.c.source, ledgers.c.unit))
    return frozenset((row.source, row.unit) for row in rows)


def _load(connection: Connection) -> Owned:
    """The ownership in the last record of policies in force."""
    body = connection.execute(
        select(trail_records.c.body)
        .where(trail_records.c.kind == RecordKind.POLICY_LOADED)
        .order_by(trail_records.c.seq.desc())
        .limit(1)
    ).scalar_one_or_none()
    return {} if body is None else dict(json.loads(json.loads(body)["about"]["tables"]))


# The actor of limits that policies set, in the state and in the trail.
POLICIES: Final = "policies"
_LONGEST_TOLD: Final = 2000


def open_policies(
    journal: Journal,
    trail: Trail,
    loaded: LoadedPolicies,
    *,
    before: LoadedPolicies | None,
    cause: Cause,
    now: datetime,
) -> None:
    """Open what the policies declare, or raise the reason why that is impossible."""

    def step(draft: Draft) -> None:
        owned = claim_tables(draft, loaded)
        for policy in loaded.policies.values():
            _open(draft, trail, policy, loaded, now)
        trail.append(draft, _loaded_record(loaded, before, cause, owned))

    journal.commit(step)


def record_rejection(
    journal: Journal,
    trail: Trail,
    problems: tuple[OperatorError, ...],
    in_force: LoadedPolicies | None,
    cause: Cause,
) -> None:
    """Record that the files were refused; the previous policies stay in force."""
    about = {
        "because": cause.because,
        "in_force": None if in_force is None else in_force.digest,
        "problems": str(len(problems)),
        "first": problems[0].detail[:_LONGEST_TOLD],
    }
    act = ActRecord(RecordKind.POLICY_REJECTED, cause.actor, about)
    journal.commit(lambda draft: trail.append(draft, act))


def ledger_of(policy: Policy, known: Ledger | None = None) -> Ledger:
    """The ledger of a dataset. `auto` keeps the currency the ledger was opened in."""
    currency = _CURRENCY.get(policy.privacy.mechanism)
    if currency is None and known is not None:
        currency = known.currency
    if currency is None:
        groups = max(
            (
                table.protection.groups_per_unit
                for table in policy.dataset.tables
                if table.protection is not None
            ),
            default=1,
        )
        budget = policy.privacy.budget
        price = policy.privacy.default_price
        currency = choose_currency(budget.epsilon, budget.delta, price, groups)
    name = ledger_name(policy.name)
    return Ledger(name, policy.source.identity, policy.dataset.unit, currency)


def accounts_of(policy: Policy, loaded: LoadedPolicies, ledger: Ledger) -> Iterator[Account]:
    """The accounts below the ledger, each after its parent."""
    teams = policy.privacy.teams
    for team, budget in teams.items():
        yield Account(team_account(team, policy.name), ledger, ledger.name, limits_of(budget))
    for subject in loaded.subjects.values():
        own = account_budget(policy, subject)
        if own is not None:
            within = subject.team is not None and subject.team in teams
            parent = team_account(subject.team or "", policy.name) if within else ledger.name
            name = analyst_account(subject.name, policy.name)
            yield Account(name, ledger, parent, limits_of(own))


def limits_of(budget: Budget) -> Limits:
    """A policy's budget as the ledger's limits."""
    rate = budget.rate
    window = None if rate is None else RateLimit(Every(rate.every), rate.epsilon)
    return Limits(budget.epsilon, budget.delta, window)


def _open(
    draft: Draft, trail: Trail, policy: Policy, loaded: LoadedPolicies, now: datetime
) -> None:
    ledger = ledger_of(policy, find_ledger(draft, ledger_name(policy.name)))
    root = Account(ledger.name, ledger, None, limits_of(policy.privacy.budget))
    acts = open_ledger(draft, ledger, _wanted(draft, root), actor=POLICIES, now=now)
    _remember(draft, root)
    for account in accounts_of(policy, loaded, ledger):
        wanted = replace(account, limits=_wanted(draft, account))
        acts += open_account(draft, wanted, actor=POLICIES, now=now)
        _remember(draft, account)
    record_acts(draft, trail, POLICIES, acts)


def _wanted(draft: Draft, account: Account) -> Limits:
    """The policy's limits, or those granted since the policy last had the same limits."""
    known = find_account(draft, account.name)
    if known is None or _said_before(draft, account.name) != account.limits:
        return account.limits
    return known.limits


def _said_before(draft: Draft, name: str) -> Limits | None:
    """The limits that the policies last had for an account."""

    def load(connection: Connection) -> Limits | None:
        limits = account_limits.c
        row = connection.execute(
            select(account_limits)
            .where(limits.account == name, limits.actor == POLICIES)
            .order_by(limits.ordinal.desc())
            .limit(1)
        ).one_or_none()
        if row is None:
            return None
        rate = (
            None
            if row.window_every is None
            else RateLimit(Every(row.window_every), Epsilon.from_ratio(row.window_epsilon))
        )
        return Limits(Epsilon.from_ratio(row.epsilon), Delta.from_ratio(row.delta), rate)

    return draft.recall(("policies said", name), load)


def _remember(draft: Draft, account: Account) -> None:
    """Store the limits of the policies: other processes find only what was written."""
    if find_account(draft, account.name) == account:
        draft.remember(("policies said", account.name), account.limits)


def _loaded_record(
    loaded: LoadedPolicies, before: LoadedPolicies | None, cause: Cause, owned: str
) -> ActRecord:
    return ActRecord(
        RecordKind.POLICY_LOADED,
        cause.actor,
        {
            "because": cause.because,
            "hash": loaded.digest,
            "before": None if before is None else before.digest,
            "files": " ".join(loaded.files),
            "datasets": " ".join(sorted(loaded.policies)),
            "tables": owned,
        },
    )


_CURRENCY: Final = {Mechanism.LAPLACE: Currency.PURE, Mechanism.GAUSSIAN: Currency.ZCDP}
