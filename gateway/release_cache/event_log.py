"""The event log of a dataset's releases in the state. This is the only file of the package that reads or writes the state.

INVARIANT: a purchase was planned on all events before it: an event that was planned on fewer events is not written. So no
two queries buy the same measurement at one moment, and the auditor misses none.
INVARIANT: every step that writes events also writes a trail record. Two processes cannot both take its number, and the
journal recognises by it whether a step has landed.

The anchor keeps the epochs, so an older state cannot give measurements from before a refresh.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import UTC, datetime

from sqlalchemy import Connection, Engine, bindparam, func, select

from gateway.auth.key_store import translate_state_errors
from gateway.release_cache.events import (
    CacheEventKind,
    DataRefreshed,
    Event,
    LoggedEvent,
    body_of,
    kind_of,
    read_event,
    release_of,
)
from gateway.state.anchor import GENESIS, Fact, Position
from gateway.state.connections import PreparedRead
from gateway.state.draft import Draft
from gateway.state.tables import asked_events, released_contents, trail_records
from gateway.trail import seal
from gateway.trail.seal import EVENT_COLUMNS, EventChain, ForgedRow, Seal, is_mac, stretch_of

REFRESHED = "refreshed:"
"""What the anchor calls the epoch of a dataset: this, and the dataset."""

_BATCH = 1_000
_RECORDS = 100  # a question's text may look like what is searched for; the next records tell
_asked = asked_events.c
_LAST = select(func.max(_asked.ordinal)).where(_asked.dataset == bindparam("dataset"))
_LAST_NOW = PreparedRead(_LAST)
_CONTENT = PreparedRead(
    select(released_contents.c.content, released_contents.c.mac).where(
        released_contents.c.release == bindparam("release")
    )
)


def append(  # noqa: PLR0913 - an event and everything it stands with
    draft: Draft,
    dataset: str,
    seen: int,
    events: Sequence[Event],
    now: datetime,
    *,
    subject: str,
    query_id: str,
) -> bool:
    """Write `events`, which were planned on the event `seen`. Return False and write nothing if it is not the last one.

    The journal may remember less than the caller saw, when another process wrote since: what is written then takes
    a number of the trail that is taken, so the step is run again on what there is now.
    """
    last = _last(draft, dataset)
    if last > seen:
        return False
    _write(draft, dataset, seen, events, now, subject, query_id)
    return True


def append_always(
    draft: Draft,
    dataset: str,
    events: Sequence[Event],
    now: datetime,
    *,
    subject: str | None = None,
    query_id: str | None = None,
) -> None:
    """Write events that rest on no plan: the outcome of a release."""
    _write(draft, dataset, _last(draft, dataset), events, now, subject, query_id)


def refresh(draft: Draft, dataset: str, *, actor: str, now: datetime) -> int:
    """Begin a new epoch, which the anchor stores too; its number."""
    epoch = 1 + draft.recall(
        ("epoch", dataset), lambda connection: load_epochs(connection).get(dataset, 0)
    )
    append_always(draft, dataset, [DataRefreshed(actor)], now)
    draft.remember(("epoch", dataset), epoch)
    draft.state_fact(f"{REFRESHED}{dataset}", {"epoch": str(epoch)})
    return epoch


def keep_content(draft: Draft, release: str, text: str, now: datetime) -> None:
    """Write the noisy integers of a release; an event in the same step says that they are stored."""
    row = {"release": release, "at": _moment(now), "content": text}
    draft.insert(released_contents, row)


def load_content(engine: Engine, seal: Seal, release: str) -> str | None:
    """The stored content of a release; None if it is not there, or not yet. Raises `Forged` if it was changed."""
    with translate_state_errors():
        row = _CONTENT.one_or_none(engine, {"release": release})
    if row is None:
        return None
    content, mac = row
    if not is_mac(seal.content(release, str(content)), mac):
        raise ForgedRow(f"the content of `{release}` was changed")
    return str(content)


def load_last(engine: Engine, dataset: str) -> int:
    """The number of the last event, by one fast read."""
    with translate_state_errors():
        row = _LAST_NOW.one_or_none(engine, {"dataset": dataset})
    return 0 if row is None else int(row[0] or 0)


def load_end(engine: Engine, dataset: str) -> Position:
    """Where the events of a dataset ended at least, as the newest record of the trail that tells of them says."""
    record = trail_records.c
    query = (
        select(record.body)
        .where(record.dataset == dataset, record.body.contains('"events":{'))
        .order_by(record.seq.desc())
    )
    with translate_state_errors(), engine.connect() as connection:
        for body in connection.execute(query.limit(_RECORDS)).scalars():
            said = json.loads(body).get("events")
            if isinstance(said, dict) and dataset in said:
                return stretch_of(said[dataset]).last
    return GENESIS


def load_after(engine: Engine, dataset: str, chain: EventChain) -> Iterator[LoggedEvent]:
    """The events after those that the chain followed, in order. Raises `Forged` at the first that was changed.

    They are read piece by piece, each in a moment of its own: a long read would keep a transaction open meanwhile.
    """
    while True:
        query = (
            select(*EVENT_COLUMNS)
            .where(_asked.dataset == dataset, _asked.ordinal > chain.at.seq)
            .order_by(_asked.ordinal)
            .limit(_BATCH)
        )
        with translate_state_errors(), engine.connect() as connection:
            rows = connection.execute(query).mappings().all()
        for row in rows:
            before = chain.place
            chain.follow(row)
            try:
                event = read_event(row["kind"], row["release"], row["body"])
            except BaseException:
                chain.place = before  # it is read again, and never passed over
                raise
            yield LoggedEvent(
                dataset,
                row["ordinal"],
                seal.parse_moment(row["moment"]),
                row["subject"],
                row["query_id"],
                event,
                sealed=chain.sealed,
            )
        if len(rows) < _BATCH:
            return


def load_epochs(connection: Connection) -> dict[str, int]:
    """How often the data of each dataset was refreshed, where it ever was."""
    query = (
        select(_asked.dataset, func.count().label("epochs"))
        .where(_asked.kind == CacheEventKind.REFRESHED)
        .group_by(_asked.dataset)
    )
    return {row.dataset: row.epochs for row in connection.execute(query)}


def _last(draft: Draft, dataset: str) -> int:
    def load(connection: Connection) -> int:
        return connection.execute(_LAST, {"dataset": dataset}).scalar_one() or 0

    return draft.recall(("asked", dataset), load)


def _write(  # noqa: PLR0913, PLR0917 - an event and everything it stands with
    draft: Draft,
    dataset: str,
    last: int,
    events: Sequence[Event],
    now: datetime,
    subject: str | None,
    query_id: str | None,
) -> None:
    for event in events:
        last += 1
        draft.insert(
            asked_events,
            {
                "dataset": dataset,
                "ordinal": last,
                "at": _moment(now),
                "kind": kind_of(event),
                "subject": subject,
                "query_id": query_id,
                "release": release_of(event),
                "body": body_of(event),
            },
        )
    draft.remember(("asked", dataset), last)


def _moment(now: datetime) -> str:
    return now.astimezone(UTC).isoformat(timespec="microseconds")


def load_epoch_facts(connection: Connection, seq: int) -> dict[str, Fact]:
    """What an anchor that begins at `seq` has to know about refreshed data."""
    return {
        f"{REFRESHED}{dataset}": Fact(seq, {"epoch": str(epoch)})
        for dataset, epoch in load_epochs(connection).items()
    }


def refresh_again(
    draft: Draft, facts: Mapping[str, Fact], *, actor: str, now: datetime
) -> list[str]:
    """Begin a new epoch of every dataset that was refreshed since, as the anchor says; which these are."""
    epochs = draft.recall("epochs", load_epochs)
    found = []
    for name, fact in facts.items():
        dataset = name.removeprefix(REFRESHED)
        if dataset != name and epochs.get(dataset, 0) < int(str(fact.value["epoch"])):
            refresh(draft, dataset, actor=actor, now=now)
            found.append(dataset)
    return found
