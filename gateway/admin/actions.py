"""Administrators' acts on budgets and data, each written with its trail record in one transaction."""

from collections.abc import Iterable
from datetime import datetime

from gateway.budget.account import Ledger, Limits, ratio_text
from gateway.budget.limits import AccountOpened, Act, LedgerOpened, LimitsSet, RateFixed, set_limits
from gateway.release_cache.event_log import refresh
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.trail.record import ActRecord, RecordKind, Trail


def grant(
    journal: Journal, trail: Trail, account: str, limits: Limits, *, actor: str, now: datetime
) -> None:
    """Set the limits of an account, up or down."""
    journal.commit(
        lambda draft: record_acts(
            draft, trail, actor, set_limits(draft, account, limits, actor=actor, now=now)
        )
    )


def record_acts(draft: Draft, trail: Trail, actor: str, acts: Iterable[Act]) -> None:
    for act in acts:
        trail.append(draft, _said(act, actor))


def _said(act: Act, actor: str) -> ActRecord:
    match act:
        case LedgerOpened(ledger):
            about = {"ledger": ledger.name, "source": ledger.source, "unit": ledger.unit}
            return ActRecord(
                RecordKind.LEDGER_OPENED,
                actor,
                {**about, "currency": ledger.currency, **_rate(ledger)},
            )
        case RateFixed(ledger):
            return ActRecord(RecordKind.RATE_FIXED, actor, {"ledger": ledger.name, **_rate(ledger)})
        case AccountOpened(account):
            above = {"ledger": account.ledger.name, "parent": account.parent}
            named = {"account": account.name, **above}
            return ActRecord(
                RecordKind.ACCOUNT_OPENED, actor, {**named, **_limits("", account.limits)}
            )
        case LimitsSet(account, before, after):
            changed = {**_limits("before_", before), **_limits("after_", after)}
            return ActRecord(RecordKind.LIMITS_SET, actor, {"account": account, **changed})


def _rate(ledger: Ledger) -> dict[str, str | None]:
    return {"rate": ratio_text(ledger.rate) if ledger.rate else None}


def _limits(prefix: str, limits: Limits) -> dict[str, str | None]:
    window = limits.window
    return {
        f"{prefix}epsilon": limits.epsilon.ratio,
        f"{prefix}delta": limits.delta.ratio,
        f"{prefix}window": f"{window.every}:{window.epsilon.ratio}" if window else None,
    }


def refresh_data(journal: Journal, trail: Trail, dataset: str, *, actor: str, now: datetime) -> int:
    """Declare the data of a dataset new: no earlier measurement is reused. Returns the number of its epoch."""

    def step(draft: Draft) -> int:
        epoch = refresh(draft, dataset, actor=actor, now=now)
        record_refresh(draft, trail, dataset, actor)
        return epoch

    return journal.commit(step)


def record_refresh(draft: Draft, trail: Trail, dataset: str, actor: str) -> None:
    trail.append(draft, ActRecord(RecordKind.DATA_REFRESHED, actor, dataset=dataset))
