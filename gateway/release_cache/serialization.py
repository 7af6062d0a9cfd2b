"""Cache entries and contents as JSON in the state: exact, and without anything that could be executed.

INVARIANT: what is read equals what was written, in every type. Everything else is refused; nothing is guessed.
"""

import json
import re
import zlib
from base64 import b64decode, b64encode
from binascii import Error as NoBase64
from collections.abc import Sequence
from datetime import UTC, datetime
from fractions import Fraction
from typing import Final

from gateway.catalog.values import Value, value_json, value_of_json
from gateway.json_form import Json
from gateway.noise.combined_noise import noise_json, noise_of_json
from gateway.noise.drawn_choices import Span
from gateway.noise.exponential import Choice as Selecting
from gateway.noise.exponential import PureSelection, Selection
from gateway.regions.scope_json import scope_json, scope_of_json
from gateway.release_cache.entry import CachedChoice, CachedSlot, CacheEntry, Content, Key
from gateway.units import Epsilon, UnitError

_VERSION: Final = 1
_RATIO: Final = re.compile(r"-?[0-9]+/[1-9][0-9]*")
_MOST_BYTES: Final = 256_000_000  # more than any content has
_SHEET: Final = frozenset(
    {"v", "release", "query", "at", "epoch", "ground", "bounding", "additive", "plain", "listed"}
    | {"slots", "choices", "asked_at", "delta", "touched", "asides"}
)
_CONTENT: Final = frozenset({"v", "groups", "keys", "columns", "chosen", "spans"})


class InvalidEntry(ValueError):
    """A text that is no entry of this version."""


def entry_json(entry: CacheEntry) -> Json:
    """The JSON that `entry_of_json` reads."""
    return {
        "v": _VERSION,
        "release": entry.release,
        "query": entry.query_id,
        "at": entry.at.astimezone(UTC).isoformat(),
        "epoch": entry.epoch,
        "ground": scope_json(entry.scope),
        "bounding": entry.bounding,
        "additive": entry.additive,
        "plain": entry.plain,
        "listed": entry.listed,
        "slots": [_slot_json(one) for one in entry.slots],
        "choices": [_choice_json(one) for one in entry.choices],
        "asked_at": entry.asked_at.ratio,
        "delta": ratio_text(entry.delta),
        "touched": None if entry.touched is None else list(entry.touched),
        "asides": [scope_json(one) for one in entry.extra_scopes],
    }


def entry_of_json(said: Json) -> CacheEntry:
    there = _object(said, _SHEET)
    return CacheEntry(
        release=_text(there["release"]),
        query_id=_text(there["query"]),
        at=_moment(there["at"]),
        epoch=_whole(there["epoch"]),
        scope=scope_of_json(there["ground"]),
        bounding=_text(there["bounding"]),
        additive=_truth(there["additive"]),
        plain=_truth(there["plain"]),
        listed=_truth(there["listed"]),
        slots=tuple(map(_slot, _list(there["slots"]))),
        choices=tuple(map(_choice, _list(there["choices"]))),
        asked_at=_price(there["asked_at"]),
        delta=ratio_of(there["delta"]),
        touched=_touched(there["touched"]),
        extra_scopes=tuple(map(scope_of_json, _list(there["asides"]))),
    )


def content_text(content: Content) -> str:
    """The text that `content_of_text` reads: keys column by column, packed."""
    columns: list[Json] = [list(one) for one in content.columns]
    said: Json = {
        "v": _VERSION,
        "groups": len(content.keys),
        "keys": [_values_json(column) for column in zip(*content.keys, strict=True)],
        "columns": columns,
        "chosen": [_values_json(column) for column in content.chosen],
        "spans": [[_span_json(one) for one in column] for column in content.spans],
    }
    written = json.dumps(said, ensure_ascii=True, separators=(",", ":"))
    return b64encode(zlib.compress(written.encode(), level=6)).decode()


def content_of_text(text: str) -> Content:
    there = _object(_unpacked(text), _CONTENT)
    groups = _whole(there["groups"])
    keys = [_values(one, groups) for one in _list(there["keys"])]
    return Content(
        _rows(keys, groups),
        tuple(_integers(one, groups) for one in _list(there["columns"])),
        tuple(_present(_values(one, groups)) for one in _list(there["chosen"])),
        tuple(_spans(one, groups) for one in _list(there["spans"])),
    )


def _unpacked(text: str) -> Json:
    try:
        unpacking = zlib.decompressobj()
        written = unpacking.decompress(b64decode(text, validate=True), _MOST_BYTES)
        if not unpacking.eof or unpacking.unused_data:
            raise InvalidEntry("a content that does not end where it should")
        said: Json = json.loads(written)
    except (NoBase64, zlib.error, ValueError) as unfit:
        raise InvalidEntry("no content of an entry") from unfit
    return said


def _slot_json(slot: CachedSlot) -> Json:
    return {
        "digest": slot.digest,
        "noises": [noise_json(one) for one in slot.noises],
        "cost": ratio_text(slot.cost),
        "most": slot.most,
    }


def _slot(said: Json) -> CachedSlot:
    there = _object(said, frozenset({"digest", "noises", "cost", "most"}))
    noises = tuple(noise_of_json(one) for one in _list(there["noises"]))
    most = _whole(there["most"])
    if not noises or most < 1:
        raise InvalidEntry("a slot in which nothing is measured")
    return CachedSlot(_text(there["digest"]), noises, ratio_of(there["cost"]), most)


def _choice_json(choice: CachedChoice) -> Json:
    kind = "pure" if isinstance(choice.selection, PureSelection) else "exponential"
    scale = ratio_text(choice.selection.scale)
    return {"digest": choice.digest, kind: scale, "cost": ratio_text(choice.cost)}


def _choice(said: Json) -> CachedChoice:
    if not isinstance(said, dict):
        raise InvalidEntry("no choice")
    kind = "pure" if "pure" in said else "exponential"
    there = _object(said, frozenset({"digest", kind, "cost"}))
    scale = ratio_of(there[kind])
    if scale <= 0:
        raise InvalidEntry("no scale of a choice")
    selection: Selecting = PureSelection(scale) if kind == "pure" else Selection(scale)
    return CachedChoice(_text(there["digest"]), selection, ratio_of(there["cost"]))


def _object(said: Json, names: frozenset[str]) -> dict[str, Json]:
    if not isinstance(said, dict) or said.keys() != names:
        raise InvalidEntry("something else than is kept of an entry")
    if "v" in names and said["v"] != _VERSION:
        raise InvalidEntry("an entry of another version")
    return said


def _list(said: Json) -> list[Json]:
    if not isinstance(said, list):
        raise InvalidEntry("no list")
    return said


def _text(said: Json) -> str:
    if not isinstance(said, str):
        raise InvalidEntry("no text")
    return said


def _whole(said: Json) -> int:
    if isinstance(said, bool) or not isinstance(said, int) or said < 0:
        raise InvalidEntry("no count")
    return said


def _truth(said: Json) -> bool:
    if not isinstance(said, bool):
        raise InvalidEntry("neither true nor false")
    return said


def _moment(said: Json) -> datetime:
    try:
        found = datetime.fromisoformat(_text(said))
    except ValueError as unfit:
        raise InvalidEntry("no moment") from unfit
    if found.tzinfo is None:
        raise InvalidEntry("a moment without a zone")
    return found.astimezone(UTC)


def _price(said: Json) -> Epsilon:
    try:
        return Epsilon.from_ratio(_text(said))
    except UnitError as unfit:
        raise InvalidEntry("no price") from unfit


def _touched(said: Json) -> tuple[str, ...] | None:
    return None if said is None else tuple(map(_text, _list(said)))


def _rows(columns: Sequence[Sequence[Value | None]], groups: int) -> tuple[Key, ...]:
    if not columns:  # one group without keys, or none that was shown
        return ((),) * groups
    return tuple(zip(*columns, strict=True))


def _values_json(column: Sequence[Value | None]) -> Json:
    """Each different value once, and where it is: keys come again and again."""
    places: dict[tuple[type, Value | None], int] = {}  # a truth and a number may be equal
    at: list[Json] = [places.setdefault((type(one), one), len(places)) for one in column]
    return {"values": [value_json(one) for _, one in places], "at": at}


def _values(said: Json, groups: int) -> tuple[Value | None, ...]:
    there = _object(said, frozenset({"values", "at"}))
    try:
        values = list(map(value_of_json, _list(there["values"])))
    except (ValueError, ZeroDivisionError) as unfit:
        raise InvalidEntry("no values of a column") from unfit
    places = _integers(there["at"], groups)
    if places and not 0 <= min(places) <= max(places) < len(values):
        raise InvalidEntry("a value that is not there")
    return tuple(values[at] for at in places)


def _present(values: tuple[Value | None, ...]) -> tuple[Value, ...]:
    found = tuple(one for one in values if one is not None)
    if len(found) < len(values):
        raise InvalidEntry("nothing was chosen")
    return found


def _integers(said: Json, groups: int) -> tuple[int, ...]:
    column = _counted(said, groups)
    if not set(map(type, column)) <= {int}:
        raise InvalidEntry("no whole numbers")
    return tuple(one for one in column if isinstance(one, int))


def _spans(said: Json, groups: int) -> tuple[Span, ...]:
    return tuple(map(_span, _counted(said, groups))) if said else ()


def _counted(said: Json, groups: int) -> list[Json]:
    column = _list(said)
    if len(column) != groups:
        raise InvalidEntry("another number of groups")
    return column


def _span_json(span: Span) -> Json:
    low, high = span
    return [ratio_text(low), ratio_text(high)]


def _span(said: Json) -> tuple[Fraction, Fraction]:
    match said:
        case [low, high]:
            return ratio_of(low), ratio_of(high)
        case _:
            raise InvalidEntry("no span")


def ratio_text(value: Fraction) -> str:
    return f"{value.numerator}/{value.denominator}"


def ratio_of(said: Json) -> Fraction:
    if not isinstance(said, str) or not _RATIO.fullmatch(said):
        raise InvalidEntry("no ratio of whole numbers")
    return Fraction(said)
