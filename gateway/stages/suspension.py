"""Stops of a source that count, and the suspension of a subject whose queries were stopped too often.

Whether a query ends in time depends on the data that it reads. The subject sees that outcome, and no noise is on it. So
stops are charged, recorded and counted. After `limits.timeouts_per_day` stops in a calendar day (UTC) the subject's
queries on that dataset are refused until an administrator lifts the suspension.

The suspension opens no channel of its own: it is a function of outcomes that the subject has seen, of the policy and of
the acts of administrators. Of n queries with at most t stops, the outcomes are one of Σ_{i≤t} C(n, i) sequences. They
tell at most log₂ of that many bits outside of (ε, δ). The work bound of a plan limits what one stop can show.

INVARIANT: a counted stop is durable in one transaction with the record of its query. Nothing is charged to a suspended
subject, and nothing new is released to it: the transaction of the charge checks that, in the one order of the trail. So
it holds across restarts and across gateways with one state.
INVARIANT: each line of the table has its trail record, and each record its line; see `gateway.trail.verify`.
INVARIANT: only computing counts. A wait for a lock or a connection shows how busy the source was. A cancellation before
half of the time limit shows how patient the client was.
"""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

from sqlalchemy import Connection, func, select

from gateway.errors import Code, NotPermitted, Refusal, SourceStopped
from gateway.state.draft import Draft
from gateway.state.tables import suspensions
from gateway.trail.record import WHOLE, ActRecord, RecordKind, Trail

EVERYWHERE: Final = WHOLE  # the dataset of an act that is about all of them
GATEWAY: Final = "gateway"


class SuspensionLine(StrEnum):
    """The kinds of lines in the table."""

    COUNTED = "counted"
    SUSPENDED = "suspended"
    RESUMED = "resumed"


@dataclass(frozen=True)
class Tally:
    """How a subject stands with a dataset: `counted` are the stops of the day of `at` since the last resumption."""

    lines: int = 0
    at: datetime | None = None
    suspended: bool = False
    since: datetime | None = None
    by: str | None = None
    counted: int = 0

    def counted_on(self, now: datetime) -> int:
        return (
            0 if self.at is None or self.at.date() != now.astimezone(UTC).date() else self.counted
        )


@dataclass(frozen=True)
class SourceStop:
    """A stopped query, and the number of stops that a subject may have in a day."""

    subject: str
    dataset: str
    query_id: str
    most: int


def is_counted(refusal: Refusal | None) -> bool:
    """True if a query ended because its source computed for long."""
    if not isinstance(refusal, SourceStopped) or refusal.computation is None:
        return False
    return refusal.computation.is_counted


def tally(draft: Draft, subject: str, dataset: str) -> Tally:
    return draft.recall(
        ("suspension", subject, dataset), lambda connection: load(connection, subject, dataset)
    )


def require_active(draft: Draft, subject: str, dataset: str) -> None:
    """Refuse a suspended subject."""
    for scope in (dataset, EVERYWHERE):
        if tally(draft, subject, scope).suspended:
            about = "every dataset" if scope == EVERYWHERE else f"dataset `{dataset}`"
            raise NotPermitted(
                Code.SUBJECT_SUSPENDED,
                f"`{subject}` on {about}",
                f"an administrator can end the suspension with `gateway subject resume {subject}`;"
                " cached answers are still available",
            )


def count(draft: Draft, trail: Trail, stop: SourceStop, now: datetime) -> bool:
    """Count a stop; True if it suspends the subject."""
    before = tally(draft, stop.subject, stop.dataset)
    at = _clock(before, now)
    after = _write(
        draft, stop.subject, stop.dataset, before, at, SuspensionLine.COUNTED, stop.query_id
    )
    if after.suspended or after.counted < stop.most:
        return False
    why = f"questions that were stopped on one day: {after.counted}"
    _act(draft, trail, stop.subject, stop.dataset, SuspensionLine.SUSPENDED, GATEWAY, at, why)
    return True


def suspend(
    draft: Draft, trail: Trail, subject: str, dataset: str, *, actor: str, now: datetime
) -> bool:
    """Suspend a subject; False if it was suspended already."""
    if tally(draft, subject, dataset).suspended:
        return False
    _act(draft, trail, subject, dataset, SuspensionLine.SUSPENDED, actor, now)
    return True


def resume(
    draft: Draft, trail: Trail, subject: str, dataset: str, *, actor: str, now: datetime
) -> tuple[str, ...]:
    """Lift a subject's suspensions and count from zero again; the datasets that were lifted."""
    scopes = draft.recall(("suspensions", subject), lambda connection: _scopes(connection, subject))
    wanted = [one for one in (*scopes, EVERYWHERE) if dataset in {one, EVERYWHERE}]
    lifted = tuple(one for one in dict.fromkeys(wanted) if tally(draft, subject, one).suspended)
    for one in lifted:
        _act(draft, trail, subject, one, SuspensionLine.RESUMED, actor, now)
    return lifted


def load(connection: Connection, subject: str, dataset: str) -> Tally:
    """The standing of a subject, from the table."""
    mine = (suspensions.c.subject == subject) & (suspensions.c.dataset == dataset)
    newest = select(suspensions).where(mine).order_by(suspensions.c.ordinal.desc()).limit(1)
    last = connection.execute(newest).one_or_none()
    if last is None:
        return Tally()
    act = connection.execute(
        newest.where(suspensions.c.kind != SuspensionLine.COUNTED)
    ).one_or_none()
    at = last.at.astimezone(UTC)
    day = datetime(at.year, at.month, at.day, tzinfo=UTC)
    resumed = act.ordinal if act is not None and act.kind == SuspensionLine.RESUMED else 0
    counted = connection.execute(
        select(func.count())
        .select_from(suspensions)
        .where(mine, suspensions.c.kind == SuspensionLine.COUNTED)
        .where(suspensions.c.ordinal > resumed, suspensions.c.at >= day)
    ).scalar_one()
    if act is None or act.kind == SuspensionLine.RESUMED:
        return Tally(last.ordinal, at, counted=counted)
    return Tally(last.ordinal, at, True, act.at.astimezone(UTC), act.actor, counted)


def load_all(connection: Connection) -> dict[str, dict[str, Tally]]:
    """How every subject stands that has a line, by dataset."""
    pairs = select(suspensions.c.subject, suspensions.c.dataset).distinct()
    found: dict[str, dict[str, Tally]] = {}
    for row in connection.execute(pairs.order_by("subject", "dataset")).all():
        found.setdefault(row.subject, {})[row.dataset] = load(connection, row.subject, row.dataset)
    return found


def _scopes(connection: Connection, subject: str) -> tuple[str, ...]:
    wanted = select(suspensions.c.dataset).where(suspensions.c.subject == subject).distinct()
    return tuple(sorted(connection.execute(wanted).scalars()))


def _act(  # noqa: PLR0913, PLR0917 - an act and everything that its two records say
    draft: Draft,
    trail: Trail,
    subject: str,
    dataset: str,
    line: SuspensionLine,
    actor: str,
    now: datetime,
    why: str | None = None,
) -> None:
    before = tally(draft, subject, dataset)
    _write(draft, subject, dataset, before, _clock(before, now), line, None, actor)
    kind = (
        RecordKind.SUBJECT_SUSPENDED
        if line is SuspensionLine.SUSPENDED
        else RecordKind.SUBJECT_RESUMED
    )
    about = {"dataset": dataset, **({} if why is None else {"reason": why})}
    named = None if dataset == EVERYWHERE else dataset
    trail.append(draft, ActRecord(kind, actor, about, subject=subject, dataset=named))


def _write(  # noqa: PLR0913, PLR0917 - one line of the table
    draft: Draft,
    subject: str,
    dataset: str,
    before: Tally,
    at: datetime,
    line: SuspensionLine,
    query_id: str | None,
    actor: str = GATEWAY,
) -> Tally:
    draft.insert(
        suspensions,
        {
            "subject": subject,
            "dataset": dataset,
            "ordinal": before.lines + 1,
            "at": at.isoformat(),
            "kind": line,
            "actor": actor,
            "query_id": query_id,
        },
    )
    after = replace(before, lines=before.lines + 1, at=at)
    match line:
        case SuspensionLine.COUNTED:
            after = replace(after, counted=before.counted_on(at) + 1)
        case SuspensionLine.SUSPENDED:
            after = replace(
                after, suspended=True, since=at, by=actor, counted=before.counted_on(at)
            )
        case SuspensionLine.RESUMED:
            after = replace(after, suspended=False, since=None, by=None, counted=0)
    draft.remember(("suspension", subject, dataset), after)
    scopes = draft.recall(("suspensions", subject), lambda connection: _scopes(connection, subject))
    draft.remember(("suspensions", subject), tuple(sorted({*scopes, dataset})))
    return after


def _clock(before: Tally, now: datetime) -> datetime:
    """INVARIANT: a clock that was set back opens no new day."""
    at = now.astimezone(UTC)
    return at if before.at is None else max(at, before.at)
