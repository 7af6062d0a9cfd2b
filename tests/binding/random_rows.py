"""Constants with made-up rows: few different keys, many equal numbers, NULLs, so that a row too many shows."""

import random
from collections.abc import Mapping

from gateway.binding.bound import Cut, Empty, Fetch, Release, Stage
from gateway.binding.describe import constant_columns
from gateway.binding.text.dialect import quote_name
from gateway.catalog.types import ColumnType, Family, Kind

Row = tuple[str | None, ...]
_TEXTS = ("north", "east", "south", "west", "it's")
_ROWS = 7


def made_up(cut: Cut, seed: int) -> tuple[dict[str, str], dict[str, list[Row]]]:
    """Each constant of the statement as SQL, and the rows of its releases."""
    chance = random.Random(seed)  # noqa: S311 - repeatable
    shown: dict[str, str] = {}
    released: dict[str, list[Row]] = {}
    for step in cut.steps:
        if isinstance(step, Stage):
            continue
        columns = constant_columns(step)
        rows = _rows(step, [of for _, of in columns], chance)
        if isinstance(step, Release):
            released[step.name] = rows
        shown[quote_name(step.name)] = _query(columns, rows)
    return shown, released


def _rows(
    step: Release | Fetch | Empty, types: list[ColumnType], chance: random.Random
) -> list[Row]:
    if isinstance(step, Empty) or not types:
        return []
    if isinstance(step, Fetch):
        return [tuple(_value(of, chance) for of in types) for _ in range(_ROWS)]
    keys = len(step.plan.keys)
    found: dict[Row, Row] = {}
    for _ in range(_ROWS if keys else 1):
        drawn = tuple(_value(of, chance) for of in types[:-1])
        found.setdefault(drawn[:keys], drawn)
    return [(*row, str(place)) for place, row in enumerate(found.values())]


def _value(of: ColumnType, chance: random.Random) -> str | None:
    number = chance.randrange(1, 5)
    if chance.random() < 0.15:
        return None
    match of.family:
        case Family.TEXT:
            return chance.choice(_TEXTS)
        case Family.BOOLEAN:
            return chance.choice(("true", "false"))
        case Family.WHOLE:
            return str(number * 10)
        case Family.EXACT | Family.FLOAT:
            return str(number * 10 + 0.5)
    day = f"202{number}-03-01"
    return day if of.kind is Kind.DATE else f"{day} 12:00:00"


def _query(columns: list[tuple[str, ColumnType]], rows: list[Row]) -> str:
    if not columns:
        return "SELECT WHERE false"
    lists = [
        "SELECT " + ", ".join(_cell(*pair) for pair in zip(columns, row, strict=True))
        for row in rows or [(None,) * len(columns)]
    ]
    return " UNION ALL ".join(lists) + ("" if rows else " LIMIT 0")


def _cell(column: tuple[str, ColumnType], value: str | None) -> str:
    name, of = column
    text = "NULL" if value is None else "'" + value.replace("'", "''") + "'"
    return f"CAST({text} AS {of}) AS {quote_name(name)}"


def of_release(
    rows: Mapping[str, list[Row]], cut: Cut, name: str, number: str | None
) -> Row | None:
    """The measures of the row with this number."""
    [step] = [one for one in cut.releases if one.name == name]
    before = len(step.plan.keys) + len(step.plan.marks)
    if number is None:
        return None
    return rows[name][int(number)][before : before + len(step.plan.measures)]
