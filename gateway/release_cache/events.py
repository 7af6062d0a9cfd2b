"""Events of a dataset's releases, in order: the auditor's history and the contents of the cache follow from them.

INVARIANT: nothing here is computed from protected rows except by mechanisms that were charged. Regions are those of
queries; counts are released noisy integers.
"""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Any, TypeAlias

from gateway.release_cache.entry import CacheEntry
from gateway.release_cache.serialization import entry_json, entry_of_json, ratio_of, ratio_text

_ENCODE = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"), sort_keys=True).encode


class CacheEventKind(StrEnum):
    """The kinds of events, as the state stores them."""

    BOUGHT = "bought"
    TOLD = "told"
    ANSWERED = "answered"
    LOST = "lost"
    REFRESHED = "refreshed"


@dataclass(frozen=True, slots=True)
class EntryCharged:
    """An entry was charged to these accounts; its content comes later, or never.

    `copied` names the release whose draw it is, where that was bought by somebody else: see `releases.copies`.
    """

    entry: CacheEntry
    accounts: frozenset[str]
    copied: str | None = None


@dataclass(frozen=True, slots=True)
class ColumnsShared:
    """A subject received columns of an entry without buying it; these accounts paid for them now."""

    release: str
    slots: tuple[int, ...]
    choices: tuple[int, ...]
    accounts: frozenset[str]


@dataclass(frozen=True, slots=True)
class ContentStored:
    """The content is stored. `counts`: the noisy units of each group, for the auditor.

    The recipients of the named slot receive them; without a named slot, every recipient of the release does.
    `variance` is that of the noise of each, `whole`: every unit counts as 1. What was written before there were these
    has no variance, and tells nothing.
    """

    release: str
    counts: tuple[int, ...] | None
    slot: int | None = None
    variance: Fraction | None = None
    whole: bool = False


@dataclass(frozen=True, slots=True)
class ContentLost:
    """The source failed after the charge: there will be no content."""

    release: str


@dataclass(frozen=True, slots=True)
class DataRefreshed:
    """An administrator says that the data is new: no earlier measurement is reused."""

    actor: str


@dataclass(frozen=True, slots=True)
class UnreadableEvent:
    """What this version cannot read: of which kind and release, and about which tables; None where nobody can tell."""

    kind: str
    release: str | None
    tables: frozenset[str] | None


Event: TypeAlias = EntryCharged | ColumnsShared | ContentStored | ContentLost | DataRefreshed


@dataclass(frozen=True, slots=True)
class LoggedEvent:
    """An event in the log: its number in its dataset, its time, and its query.

    `sealed` is whether it has a seal: what was written before there were any is not given again.
    """

    dataset: str
    ordinal: int
    at: datetime
    subject: str | None
    query_id: str | None
    event: Event | UnreadableEvent
    sealed: bool = True


def kind_of(event: Event) -> CacheEventKind:
    match event:
        case EntryCharged():
            return CacheEventKind.BOUGHT
        case ColumnsShared():
            return CacheEventKind.TOLD
        case ContentStored():
            return CacheEventKind.ANSWERED
        case ContentLost():
            return CacheEventKind.LOST
        case DataRefreshed():
            return CacheEventKind.REFRESHED


def release_of(event: Event) -> str | None:
    """The release of an event."""
    match event:
        case EntryCharged(entry):
            return entry.release
        case DataRefreshed():
            return None
        case _:
            return event.release


def body_of(event: Event) -> str:
    """What the log stores of an event besides its kind and its release."""
    return _ENCODE(_said(event))


def _said(event: Event) -> Mapping[str, object]:
    match event:
        case EntryCharged(entry, accounts, copied):
            said = {"sheet": entry_json(entry), "accounts": sorted(accounts)}
            return said if copied is None else {**said, "copied": copied}
        case ColumnsShared(_, slots, choices, accounts):
            return {"slots": slots, "choices": choices, "accounts": sorted(accounts)}
        case ContentStored(_, counts, slot, variance, whole):
            noise = None if variance is None else ratio_text(variance)
            return {"counts": counts, "slot": slot, "variance": noise, "whole": whole}
        case ContentLost():
            return {}
        case DataRefreshed(actor):
            return {"actor": actor}


def read_event(kind: str, release: str | None, body: str) -> Event | UnreadableEvent:
    """The event that was stored; or what is known of one that this version cannot read.

    INVARIANT: no event is passed over, and none makes others unreadable.
    """
    try:
        return event_of(kind, release, body)
    except (ArithmeticError, AttributeError, LookupError, TypeError, ValueError):
        if kind == CacheEventKind.REFRESHED:
            return DataRefreshed("")
        if kind == CacheEventKind.LOST:
            return ContentLost(str(release))
        if kind == CacheEventKind.ANSWERED:
            return ContentStored(str(release), None)
        return UnreadableEvent(kind, release, _tables(body))


def _tables(body: str) -> frozenset[str] | None:
    """The tables of an entry whose other parts cannot be read."""
    try:
        tables = json.loads(body)["sheet"]["ground"]["tables"]
    except (LookupError, TypeError, ValueError):
        return None
    if (
        not isinstance(tables, list)
        or not tables
        or not all(isinstance(one, str) for one in tables)
    ):
        return None
    return frozenset(tables)


def event_of(kind: str, release: str | None, body: str) -> Event:
    """The event that was stored."""
    said: dict[str, Any] = json.loads(body)
    about = str(release)
    match CacheEventKind(kind):
        case CacheEventKind.BOUGHT:
            accounts = frozenset(said["accounts"])
            return EntryCharged(entry_of_json(said["sheet"]), accounts, said.get("copied"))
        case CacheEventKind.TOLD:
            accounts = frozenset(said["accounts"])
            return ColumnsShared(about, tuple(said["slots"]), tuple(said["choices"]), accounts)
        case CacheEventKind.ANSWERED:
            counts = None if said["counts"] is None else tuple(said["counts"])
            noise = said.get("variance")
            variance = None if noise is None else ratio_of(noise)
            return ContentStored(
                about, counts, said["slot"], variance, whole=said.get("whole") is True
            )
        case CacheEventKind.LOST:
            return ContentLost(about)
        case CacheEventKind.REFRESHED:
            return DataRefreshed(said["actor"])
