"""What a client is told over REST: as numbers for the distinguisher, and as the text that no person's data may move.

Numbers are everything in an answer but its random id and the accounts, which only count what was asked. What is
no number becomes one more thing that is there or not: a status, a header, a problem's text, a NULL.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite
from typing import Any

from privacy.claims import Claim, Concentrated, Pure
from privacy.distinguisher import Feature

_ROWS = 30
# when an answer was made is not promised to be hidden; its length hangs on released values
_UNTOLD = frozenset({"date"})
_OF_VALUES = frozenset({"date", "content-length"})


@dataclass(frozen=True)
class Told:
    """One HTTP answer."""

    status: int
    headers: tuple[tuple[str, str], ...]
    content: bytes

    @property
    def body(self) -> Mapping[str, Any]:
        found: Mapping[str, Any] = json.loads(self.content)
        return found

    @property
    def answered(self) -> bool:
        return self.status == 200

    @property
    def released(self) -> bool:
        """Whether something in it is noisy."""
        return self.answered and any(column["noisy"] for column in self.body["columns"])


def claim_of(answers: Sequence[Told]) -> Claim:
    """What all of them say that they cost."""
    told = {json.dumps(one.body["privacy"], sort_keys=True) for one in answers if one.answered}
    assert len(told) == 1, f"answers to one question name different prices: {told}"
    said = json.loads(told.pop())
    delta = float(said["delta"])
    if "rho" in said:
        return Concentrated(float(said["rho"]), delta)
    return Pure(float(said["charged_epsilon"]), delta)


def numbers(told: Told) -> dict[Feature, float]:
    """Everything that could tell databases apart."""
    found: dict[Feature, float] = {
        ("status", told.status): 1.0,
        ("headers", _headers(told, _OF_VALUES)): 1.0,
        ("length",): float(len(told.content)),
    }
    if not told.answered:
        found["problem", _without_id(told)] = 1.0
        return found
    body = dict(told.body)
    rows, intervals = body.pop("rows"), body.pop("intervals")
    del body["query_id"], body["budget"]
    found["said", json.dumps(body)] = 1.0
    known = [place for place, column in enumerate(body["columns"]) if not column["noisy"]]
    for place, row in enumerate(rows[:_ROWS]):
        key = json.dumps([row[one] for one in known]) if known else place
        found["row", key] = 1.0
        found["at", place, key] = 1.0
        for column, cell in enumerate(row):
            if column not in known:
                found.update(_of_cell((key, column), cell, intervals[place][column]))
    return found


def _of_cell(
    where: Feature, cell: object, interval: Sequence[object] | None
) -> Iterator[tuple[Feature, float]]:
    yield _number(("cell", *where), cell)
    for end, value in enumerate(interval or ("no interval",)):
        yield _number(("interval", *where, end), value)


def _number(where: Feature, value: object) -> tuple[Feature, float]:
    """The value, or that this is there; integers beyond 2^53 and infinities come as texts."""
    try:
        number = float(str(value))
    except ValueError:
        return (*where, str(value)), 1.0
    return (where, number) if isfinite(number) else ((*where, str(value)), 1.0)


def fixed(told: Told, *, rows: bool) -> str:
    """All but what hangs on released values. `rows`: which rows there are does not, only what is in them."""
    if not told.answered:
        return without_random(told)
    body = dict(told.body)
    noisy = [column["noisy"] for column in body["columns"]]
    shown = body["rows"] if rows else []
    body["rows"] = [
        ["released" if hides else cell for cell, hides in zip(row, noisy, strict=True)]
        for row in shown
    ]
    body["intervals"], body["query_id"] = "released", "random"
    body["notices"] = [one for one in body["notices"] if not follows_from_values(one)]
    return f"{told.status}\n{_headers(told, _OF_VALUES)}\n{json.dumps(body)}"


def follows_from_values(notice: str) -> bool:
    """Whether a notice says how released values compare with their noise."""
    return notice.startswith("the 95 % margin is larger than the value in ")


def without_random(told: Told) -> str:
    """Everything, byte by byte, but the id of the question."""
    return f"{told.status}\n{_headers(told, _UNTOLD)}\n{_without_id(told)}"


def _headers(told: Told, but: frozenset[str]) -> str:
    """In their order."""
    return repr([(name, value) for name, value in told.headers if name.lower() not in but])


def _without_id(told: Told) -> str:
    text, query_id = told.content.decode(), told.body.get("query_id")
    return text if query_id is None else text.replace(query_id, "random")
