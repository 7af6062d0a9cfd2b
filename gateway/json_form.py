"""What is stored as JSON, and how it is read back: each of these gives the part, or raises where it is of another kind.

The JSON of a value stands beside the value: a function `*_json` that writes it and one `*_of_json` that reads it.

INVARIANT of all pairs: the round trip gives an equal value, and equal values have equal texts. There are no floats in it.
"""

from collections.abc import Mapping, Sequence
from typing import TypeAlias

Json: TypeAlias = str | int | bool | Sequence["Json"] | Mapping[str, "Json"] | None


class InvalidJson(ValueError):
    """What was read is nothing that was written here."""


def read_mapping(said: Json) -> Mapping[str, Json]:
    if not isinstance(said, Mapping):
        raise InvalidJson
    return said


def read_sequence(said: Json) -> Sequence[Json]:
    if isinstance(said, str) or not isinstance(said, Sequence):
        raise InvalidJson
    return said


def read_string(said: Json) -> str:
    if not isinstance(said, str):
        raise InvalidJson
    return said


def read_whole(said: Json) -> int:
    if not isinstance(said, int) or isinstance(said, bool):
        raise InvalidJson
    return said


def whole_or_none(said: Json) -> int | None:
    return None if said is None else read_whole(said)
