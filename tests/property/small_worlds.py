"""Small worlds of persons, wildly uneven, with every odd value that a database can hold, and one person more.

Values are texts, as both databases read them; `?a|b` is a for PostgreSQL and b for DuckDB, whose decimals have
no NaN. Both are the same value once domains are enforced.
"""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final, TypeAlias

from binding.clinic import CLINIC

from gateway.catalog.tables import Dataset

Stored: TypeAlias = str | None
Row: TypeAlias = tuple[Stored, ...]

_MANY: Final = (0, 1, 1, 2, 3, 11, 50)
_MOST: Final = 500
_REGIONS: Final = (None, "north", "north", "east", "south", "west", "North", "atlantis", "")
_TEXTS: Final = (
    *(
        None,
        "",
        "a",
        "A",
        "asthma",
        "asthma ",
        "J45",
        "J",
        "flu",
        "FLU",
        "it's",
        "a\\b",
        "%_",
        "--",
    ),
    *("ÄöÜß", "ä", "a\u0308", "İı", "日本", "😀x", "1e3", "-7", "12.5", "2024-02-30", "2024-02-29"),
    *("99999999999999999999999", "NaN", "true", "~", "|", "\t", "\ue000", "x" * 300),
)
_YEARS: Final = (None, "1920", "1955", "1980", "1980", "2020", "-2147483648", "2147483647", "0")
_INCOMES: Final = (
    *(None, "0", "1", "0.3", "1.7", "2", "50000", "50000.0", "199999.7", "200000", "-3"),
    *("9e27", "-9e27", "0.3333333333", "123456.7891", "?NaN|", "?Infinity|", "?-Infinity|"),
    *("?1e300|9e27", "?-1e300|-9e27", "?1e-300|0.0000000001"),
)
_COSTS: Final = (
    *(None, "0.00", "0.01", "0.005", "1.10", "99.99", "100", "4999.99", "5000.00", "-0.01"),
    *("9999999999.99", "-9999999999.99", "12.50", "12.5", "?NaN|"),
)
_DATES: Final = (
    *(None, "2020-01-01", "2024-02-29", "2024-03-31", "2025-12-31", "2026-12-31", "2026-03-02"),
    *("infinity", "-infinity", "0001-01-01", "9999-12-31", "2019-12-31", "2027-01-01"),
    *("?4713-01-01 BC|", "?294276-12-31|"),
)
_WEIGHTS: Final = (
    *(None, "1", "1.5", "2.5", "80", "80.1", "0.1", "299.99999999999994", "300", "300.5"),
    *("NaN", "Infinity", "-Infinity", "-0.0", "0", "5e-324", "1e308", "-1e308", "1e-16"),
)
_WHOLE: Final = (None, "0", "1", "2", "-1", "7", "9223372036854775807", "-9223372036854775808")


# shorter than every engine reads: `test_json_documents.py` has longer ones, which PostgreSQL's jsonb counts otherwise
_DOCUMENT: Final[Mapping[str, tuple[object, ...]]] = {
    "drinks": (True, False, "true", "no", None, 1, {"now": True}),
    "body": ({"height": 180}, {"height": 0.1}, {"height": -5}, {"height": 1e9}, {"height": "171.5"},
        {"height": None}, {}, [], None, "tall"),
    "note": ("a", "A", "it's", "", "x" * 300, 7, True, None, ["a"], "{}"),
    "seen": ("2024-02-29", "2020-01-01", "1900-01-01", "9999-12-31", "2023-02-30", "yesterday", None, 7),
    "score": (0, 1, 2.5, 1e14, -1e-3, 1e308, 1e-308, "NaN", "Infinity", "3.25", None, {}),
    "other": ("z", None, {"drinks": True}),
}  # fmt: skip


@dataclass(frozen=True)
class World:
    """The rows of every table. `keyed`: nobody has two rows among the patients, and the source says so."""

    rows: Mapping[str, Sequence[Row]]
    keyed: bool
    dataset: Dataset = CLINIC

    def shuffled(self, seed: int) -> "World":
        """The same rows, stored in another order."""
        chance = random.Random(seed)  # noqa: S311 - a world of a test
        mixed = {name: chance.sample(rows, len(rows)) for name, rows in self.rows.items()}
        return replace(self, rows=mixed)

    def more(self, rows: Mapping[str, Sequence[Row]]) -> "World":
        """With one person more."""
        there = {name: [*old, *rows.get(name, ())] for name, old in self.rows.items()}
        return replace(self, rows=there)


def world(seed: int, *, keyed: bool, persons: int | None = None) -> World:
    """Persons from 1 on, and rows that belong to nobody."""
    chance = random.Random(seed)  # noqa: S311 - a world of a test
    rows: dict[str, list[Row]] = {"patients": [], "visits": [], "intakes": []}
    for unit in range(1, 1 + (persons or chance.randint(8, 30))):
        for name, own in _person(chance, str(unit), keyed=keyed).items():
            rows[name] += own
    rows["visits"] += [_visit(chance, None) for _ in range(3)]
    if not keyed:
        rows["patients"] += [_patient(chance, None) for _ in range(2)]
    regions = ("north", "east", "south", "atlantis", "ÄöÜß", "")
    rows["regions"] = [(one, chance.choice(_TEXTS), chance.choice(_YEARS)) for one in regions]
    codes = ("a", "A", "J45", "J", "flu", "it's", "😀x", "~")
    rows["codes"] = [(one, chance.choice(_TEXTS)) for one in codes]
    return World(rows, keyed)


def somebody(seed: int, *, keyed: bool, heavy: bool) -> Mapping[str, Sequence[Row]]:
    """The rows of a person who is not there yet; a heavy one has hundreds."""
    chance = random.Random(seed)  # noqa: S311 - a world of a test
    unit = chance.choice(("0", "-1", "9223372036854775807", "100"))
    return _person(chance, unit, keyed=keyed, many=_MOST if heavy else None)


def _person(
    chance: random.Random, unit: str, *, keyed: bool, many: int | None = None
) -> dict[str, list[Row]]:
    patients = chance.choice((0, 1, 1, 1)) if keyed else chance.choice((0, 1, 1, 2, 9))
    visits = [_visit(chance, unit) for _ in range(chance.choice(_MANY) if many is None else many)]
    if visits and chance.random() < 0.5:
        # rows that tie in all, or in nearly all
        visits += chance.choices(visits, k=len(visits) // 2 + 1)
    if len(visits) > 1 and chance.random() < 0.3:
        # all in one group, all at an end of the domain
        one = chance.choice(visits)
        visits = [(*row[:2], *one[2:]) for row in visits]
    return {
        "patients": [_patient(chance, unit) for _ in range(patients)],
        "visits": visits,
        "intakes": _intakes(unit, many),
    }


def _intakes(unit: str, many: int | None) -> list[Row]:
    """Documents of a person: of the shape that columns are read from, and of any other."""
    chance = random.Random(f"intakes of {unit}")  # noqa: S311 - a world of a test
    found = list[Row]()
    for _ in range(chance.choice((0, 1, 2, 5)) if many is None else min(many, 30)):
        document: object = {
            key: chance.choice(values) for key, values in _DOCUMENT.items() if chance.random() < 0.9
        }
        if chance.random() < 0.1:
            document = chance.choice(([], [{"drinks": True}], "drinks", 7, None, {}))
        found.append((unit, None if chance.random() < 0.1 else json.dumps(document)))
    return found


def _patient(chance: random.Random, unit: Stored) -> Row:
    smoker = chance.choice((None, "true", "false"))
    drawn = (chance.choice(one) for one in (_REGIONS, _YEARS, _INCOMES))
    return (unit, *drawn, smoker, chance.choice(_TEXTS))


def _visit(chance: random.Random, unit: Stored) -> Row:
    day = chance.choice(_DATES)
    text = chance.choice(_TEXTS[: chance.choice((4, 8, len(_TEXTS)))])
    time = chance.choice(_DATES)
    admitted = time
    if time is not None and time[0] in "012":
        admitted = f"{time} {chance.choice(('00:00:00', '13:14:15.678901', '23:59:59.999999'))}"
    cost, weight = chance.choice(_COSTS), chance.choice(_WEIGHTS)
    number = chance.choice((*_WHOLE, str(chance.getrandbits(62))))
    return (number, unit, text, cost, day, admitted, weight)
