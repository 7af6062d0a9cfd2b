"""What dashboards ask: twenty tiles, and a day of people who open them, toggle filters, look at less detail or ask
for limits of their own.

Every statement says how far one patient moves each of its columns, in L1 over all of its groups, by the bounds that
the policy declares: what a Laplace mechanism without a memory would have to hide.
"""

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from reuse_gateway import ANALYSTS, GROUPS, MOST_COST, MOST_INCOME, ROWS

REGIONS: Final = ("north", "east", "south", "west")
_PEOPLE: Final = {"COUNT(*) AS n": 1, "SUM(income) AS s": MOST_INCOME}
_JOINED: Final = "visits JOIN patients USING (patient_id)"


@dataclass(frozen=True)
class Tile:
    """A statement, and by column how far one patient moves it."""

    sql: str
    moved: dict[str, int]


def _tile(table: str, keys: str, measures: dict[str, int], where: str = "") -> Tile:
    said = ", ".join(filter(None, (keys, *measures)))
    condition = f" WHERE {where}" if where else ""
    groups = f" GROUP BY {keys}" if keys else ""
    moved = {one.rpartition(" ")[2]: most for one, most in measures.items()}
    return Tile(f"SELECT {said} FROM {table}{condition}{groups}", moved)


def _people(keys: str, where: str = "") -> Tile:
    """A patient is in one group."""
    return _tile("patients", keys, _PEOPLE, where)


def _visits(keys: str, where: str = "", *, many: bool) -> Tile:
    """A patient has so many visits in each of so many groups; joined with their region, in one."""
    groups = GROUPS if many else 1
    measures = {"COUNT(*) AS n": ROWS * groups, "SUM(cost) AS s": ROWS * MOST_COST * groups}
    return _tile(_JOINED if "region" in keys + where else "visits", keys, measures, where)


_BAND: Final = (
    "CASE WHEN income < 30000 THEN 'low' WHEN income < 80000 THEN 'middle' ELSE 'high' END"
)
BOARD: Final[Sequence[Tile]] = (
    _people("region, birth_year / 10"),
    _people("region"),
    _people("birth_year / 10"),
    _people(""),
    _people("birth_year"),
    _people("region", "birth_year < 1960"),
    _people("region", "birth_year >= 1960"),
    _people("birth_year / 10", "income >= 50000"),
    _people("region", "income >= 50000"),
    _people("", "income < 30000"),
    _visits("region", many=False),
    _visits("", many=False),
    _visits("EXTRACT(year FROM visit_date)", many=True),
    _visits("date_trunc('month', visit_date)", many=True),
    _visits("EXTRACT(quarter FROM visit_date)", many=True),
    _visits("EXTRACT(dow FROM visit_date)", many=True),
    _visits("", "cost >= 1000", many=False),
    _visits("", "visit_date >= DATE '2025-01-01'", many=False),
    _visits("region", "visit_date >= DATE '2025-01-01'", many=False),
    _visits("date_trunc('month', visit_date)", "visit_date >= DATE '2025-01-01'", many=True),
)


def _toggled(region: str) -> Sequence[Tile]:
    """The tiles that a filter on a region changes."""
    only = f"region = '{region}'"
    return (
        _people("birth_year / 10", only),
        _people("", only),
        _people("region, birth_year / 10", only),
        _visits("", only, many=False),
        _visits("", f"{only} AND visit_date >= DATE '2025-01-01'", many=False),
    )


def _less(chosen: random.Random) -> Sequence[Tile]:
    """Looked at from farther away, or in part."""
    one, other = chosen.sample(REGIONS, 2)
    decade = chosen.randrange(193, 200)
    return (
        _people("", f"region IN ('{one}', '{other}')"),
        _people("region", f"region IN ('{one}', '{other}')"),
        _people("region", f"birth_year / 10 = {decade}"),
        _people("", f"birth_year BETWEEN {decade * 10} AND {decade * 10 + 19}"),
    )


def _ad_hoc(chosen: random.Random) -> Sequence[Tile]:
    """What no dashboard has: a limit of one's own, looked at twice."""
    income, month = chosen.randrange(10_000, 90_000, 5_000), chosen.randrange(1, 13)
    since = f"visit_date >= DATE '{chosen.choice((2022, 2023, 2024))}-{month:02}-01'"
    kinds = (
        (
            _people("region", f"income >= {income}"),
            _people("birth_year / 10", f"income >= {income}"),
        ),
        (_visits("region", since, many=False), _visits("", since, many=False)),
    )
    return chosen.choice(kinds)


def trace(statements: int, seed: int = 1) -> Iterator[tuple[str, Tile]]:
    """Who asks what: a day of it."""
    chosen = random.Random(seed)  # noqa: S311 - the same day in every run
    asked = 0
    while asked < statements:
        who = chosen.choice(ANALYSTS)
        (tiles,) = chosen.choices(
            (BOARD, _toggled(chosen.choice(REGIONS)), _less(chosen), _ad_hoc(chosen)),
            weights=(4, 8, 8, 20),
        )
        for tile in tiles[: statements - asked]:
            yield who, tile
            asked += 1
