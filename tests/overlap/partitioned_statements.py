"""Statements over a small clinic with an immutable partition, answered exactly by DuckDB with and without some persons."""

import json
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from fractions import Fraction
from functools import partial
from itertools import count, product
from pathlib import Path
from typing import Final, TypeAlias

import duckdb
from engines.sources import insert_in_duckdb
from sqlalchemy import URL

from gateway.binding.bind import bind
from gateway.binding.bound import Cut
from gateway.bounding.bounded_release import bound_release
from gateway.catalog.domains import Domain, Interval, Values
from gateway.catalog.tables import Column, ColumnRef, Dataset, Protection, Table
from gateway.catalog.types import parse_type
from gateway.catalog.values import Value
from gateway.engines.catalog.proofs import TableProof
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.errors import Refusal
from gateway.regions.partition_cells import confining_cells
from gateway.regions.scope import ReleaseScope, scope_of
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets

NOW: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
Cell: TypeAlias = tuple[str | None, ...]
Found: TypeAlias = dict[tuple[Value | None, ...], tuple[int, ...]]


def whole(low: int, high: int) -> Interval:
    return Interval(low, high, Fraction(1))


def column(
    name: str,
    of: str,
    domain: Domain | None = None,
    *,
    immutable: bool = False,
    nullable: bool = True,
    joins: ColumnRef | None = None,
) -> Column:
    made = Column(name, parse_type(of), nullable=nullable, immutable=immutable, joins=joins)
    return made if domain is None else replace(made, domain=domain)


PATIENTS: Final = Table(
    "patients",
    (
        column("patient_id", "bigint", nullable=False, joins=ColumnRef("cards", "patient_id")),
        column("region", "text", Values(("north", "south", "east")), immutable=True),
        # kept from being NULL by the source, which has no CHECK: other texts are blanked
        column("sex", "text", Values(("m", "f")), immutable=True, nullable=False),
        column("band", "integer", whole(0, 4), immutable=True, nullable=False),
        column("active", "boolean", immutable=True),
        column("income", "integer", whole(0, 9)),
    ),
    Protection("patient_id", 1, 1),
)
CARDS: Final = Table(
    "cards",
    (
        column("patient_id", "bigint", joins=ColumnRef("patients", "patient_id")),
        column("kind", "text", Values(("a", "b"))),
    ),
    Protection("patient_id", 1, 1),
)
VISITS: Final = Table(
    "visits",
    (
        column("patient_id", "bigint", joins=ColumnRef("patients", "patient_id")),
        column("cost", "integer", whole(0, 9)),
        column("ward", "text", Values(("x", "y")), nullable=False),
    ),
    Protection("patient_id", 3, 2),
)
CLINIC: Final = Dataset("clinic", "patient", (VISITS, PATIENTS, CARDS))
UNIQUE: Final = TableProof(unique=frozenset({frozenset({"patient_id"})}))
PROVEN: Final = {"patients": UNIQUE, "cards": UNIQUE, "visits": TableProof()}

# what is read, with the aliases under which patients and visits are there
JOINED: Final = "visits v JOIN patients p ON v.patient_id = p.patient_id"
FROM: Final = [
    ("patients p", "p"),
    (JOINED, "pv"),
    ("patients p JOIN visits v ON p.patient_id = v.patient_id AND {}", "pv"),
    ("patients p LEFT JOIN visits v ON p.patient_id = v.patient_id AND v.cost > 3", "pv"),
    ("visits v LEFT JOIN patients p ON v.patient_id = p.patient_id", "pv"),
    ("visits v LEFT JOIN patients p ON v.patient_id = p.patient_id AND {}", "pv"),
    ("patients p JOIN patients q ON p.patient_id = q.patient_id AND q.income > 2", "p"),
    ("patients p JOIN cards c ON p.patient_id = c.patient_id AND c.kind = 'a'", "p"),
    ("patients p LEFT JOIN cards c ON p.patient_id = c.patient_id", "pc"),
    ("(SELECT patient_id, region, sex, band, active, income FROM patients WHERE {}) p", "p"),
    (
        (
            "(SELECT p.patient_id, p.region, p.sex, p.band, p.active, p.income, COUNT(*) AS n "
            f"FROM {JOINED} GROUP BY p.patient_id, p.region, p.sex, p.band, p.active, p.income) p"
        ),
        "pn",
    ),
    (
        (
            "(SELECT p.*, ROW_NUMBER() OVER (PARTITION BY p.patient_id ORDER BY v.cost) AS n "
            f"FROM {JOINED}) p"
        ),
        "pn",
    ),
    (
        (
            "(SELECT patient_id, region, sex, band, active, income FROM patients "
            "UNION ALL SELECT patient_id, region, sex, band, active, income FROM patients) p"
        ),
        "p",
    ),
    ("visits v", "v"),
]
OF: Final = {
    "p": [
        *("p.region = 'north'", "p.region <> 'south'", "p.region IN ('north', 'east')"),
        *("p.region IS NULL", "p.region IS NOT NULL", "p.region IS DISTINCT FROM 'east'"),
        *("COALESCE(p.region, 'north') = 'north'", "upper(p.region) = 'NORTH'"),
        *("p.sex = 'f'", "p.sex <> 'f'", "NOT p.sex = 'm'", "p.sex IS NULL", "p.sex IN ('m')"),
        "CASE WHEN p.sex = 'm' THEN p.band = 0 ELSE p.band = 1 END",
        *("p.band = 0", "p.band < 2", "p.band BETWEEN 1 AND 3", "p.band >= 4", "p.band % 2 = 1"),
        *("p.band + p.income > 6", "p.band = p.income", "p.income < 4", "p.active"),
        *("NOT p.active", "p.active IS NOT TRUE", "p.active IS NULL", "p.region LIKE 'n%'"),
        "EXISTS (SELECT 1 FROM cards k WHERE k.patient_id = p.patient_id AND k.kind = 'a')",
        "NOT EXISTS (SELECT 1 FROM cards k WHERE k.patient_id = p.patient_id)",
        "EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = p.patient_id AND w.cost > 5)",
        "NOT EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = p.patient_id AND w.ward = 'x')",
    ],
    "v": [
        *("v.cost > 4", "v.cost IS NULL", "v.ward = 'x'", "v.ward IS NULL", "NOT v.ward = 'y'"),
        "EXISTS (SELECT 1 FROM patients r WHERE r.patient_id = v.patient_id AND r.sex = 'f')",
        "NOT EXISTS (SELECT 1 FROM patients r WHERE r.patient_id = v.patient_id)",
    ],
    "c": ["c.kind = 'a'", "c.kind IS NULL", "c.patient_id IS NULL"],
    "n": ["n > 1", "n IN (1, 2)", "n BETWEEN 2 AND 3"],
}
WHAT: Final = ["COUNT(*)", "COUNT(DISTINCT p.patient_id)", "SUM(p.income)", "AVG(p.income)"]


def _condition(chance: random.Random, there: Sequence[str], depth: int) -> str:
    if depth == 0 or chance.random() < 0.35:
        # patients more often than all else
        return chance.choice(OF[chance.choice(["p" if "p" in there else "v", *there])])
    both = [_condition(chance, there, depth - 1) for _ in range(2)]
    made = chance.choice([" AND ", " OR ", " AND "]).join(f"({one})" for one in both)
    return f"NOT ({made})" if chance.random() < 0.15 else made


def statement(seed: int) -> str:
    chance = random.Random(seed)  # noqa: S311 - a statement of a test
    source, there = chance.choice(FROM)
    source = source.format(_condition(chance, ["p"] if "FROM patients" in source else there, 1))
    what = chance.choice(WHAT) if "p" in there else "COUNT(*)"
    if chance.random() < 0.2:
        what += f" FILTER (WHERE {_condition(chance, there, 0)})"
    condition = _condition(chance, there, 3)
    grouped = chance.choice(["", "", "p.region", "p.band", "p.income"]) if "p" in there else ""
    listed, by = (f"{grouped}, ", f" GROUP BY {grouped}") if grouped else ("", "")
    return f"SELECT {listed}{what} FROM {source} WHERE {condition}{by}"


def parts_of(sql: str, dataset: Dataset = CLINIC) -> tuple[Analysis, ...] | None:
    """The parts of its releases; None where it is refused."""
    one_set = partial(analyze_release, pairs=True, enumerated_groups=100, min_units=1)
    try:
        bound = bind(sql, dataset)
        assert isinstance(bound, Cut)
        return tuple(
            part
            for release in bound.releases
            for part in analyze_grouping_sets(release.plan, one_set).parts
        )
    except Refusal:
        return None


def grounds_of(parts: Sequence[Analysis]) -> list[ReleaseScope]:
    return [
        scope_of(one.plan, one.groups if isinstance(one.groups, EnumeratedGroups) else None, {})
        for one in parts
    ]


def touched_by(sql: str, dataset: Dataset = CLINIC) -> tuple[str, ...] | None:
    parts = parts_of(sql, dataset)
    assert parts is not None
    return confining_cells(grounds_of(parts), dataset, PROVEN)


@dataclass(frozen=True)
class Unit:
    """Stored rows of one person; `cell` by the rules as they are written down, not as they are coded."""

    patient: tuple[str | None, str, int, bool | None, int | None] | None
    card: str | None
    visits: tuple[tuple[int | None, str], ...]

    @property
    def cell(self) -> Cell | None:
        if self.patient is None:
            return None
        region, sex, band, active, _ = self.patient
        return (
            region if region in {"north", "south", "east"} else None,
            sex if sex in {"m", "f"} else "f",
            str(min(max(band, 0), 4)),
            None if active is None else str(active).lower(),
        )


def units(seed: int) -> list[Unit]:
    """Persons in all cells, with values beyond their domains, and persons without a row of patients."""
    chance = random.Random(seed)  # noqa: S311 - rows of a test
    regions = ["north", "south", "east", None, "moon"]
    made: list[Unit] = []
    for region, sex, band in product(regions, ["m", "f", "?"], [-3, 0, 1, 2, 3, 4, 77]):
        active, income = chance.choice([True, False, None]), chance.choice([None, 0, 2, 5, 9, 40])
        made.append(_beside(chance, (region, sex, band, active, income)))
    return [*made, *(_beside(chance, None) for _ in range(12))]


def _beside(
    chance: random.Random, patient: tuple[str | None, str, int, bool | None, int | None] | None
) -> Unit:
    visits = tuple(
        (chance.choice([None, 0, 4, 5, 9, 50]), chance.choice(["x", "y", "?"]))
        for _ in range(chance.choice([0, 1, 1, 2, 5]))
    )
    return Unit(patient, chance.choice([None, "a", "b", "?"]), visits)


class Databases:
    """Persons in files of DuckDB."""

    def __init__(self, place: Path) -> None:
        self._place = place
        self._numbers = count()
        self._sources: list[SourceDatabase] = []

    def holding(self, persons: Mapping[int, Unit], *, twice: bool = False) -> SourceDatabase:
        file = self._place / f"{next(self._numbers)}.duckdb"
        unique = "" if twice else ", UNIQUE (patient_id)"
        with duckdb.connect(str(file)) as here:
            here.execute(
                "CREATE TABLE patients (patient_id bigint, region text, sex text NOT NULL, "
                f"band integer NOT NULL, active boolean, income integer{unique})"
            )
            here.execute("CREATE TABLE cards (patient_id bigint, kind text, UNIQUE (patient_id))")
            here.execute(
                "CREATE TABLE visits (patient_id bigint, cost integer, ward text NOT NULL)"
            )
            patients, cards, visits = [], [], []
            for number, one in persons.items():
                if one.patient is not None:
                    patients.append((number, *one.patient))
                    patients += [(number, "north", "m", 0, True, 9)] if twice else []
                cards += [] if one.card is None else [(number, one.card)]
                visits += [(number, *each) for each in one.visits]
            insert_in_duckdb(here, "patients", patients)
            insert_in_duckdb(here, "cards", cards)
            insert_in_duckdb(here, "visits", visits)
        url = URL.create("duckdb", database=str(file), query={"threads": "1"})
        source = SourceDatabase.open(url, TotalScalarSql(), salt="clinic")
        self._sources.append(source)
        return source

    def close(self) -> None:
        for one in self._sources:
            one.close()


def answers(
    source: SourceDatabase, parts: Sequence[Analysis], proven: Mapping[str, TableProof] = PROVEN
) -> list[Found]:
    """The exact integers of every group that is not all zeros."""
    found = []
    for one in parts:
        table = source.run(bound_release(one, now=NOW, proven=proven), {}, limit_s=30)
        columns = zip(*table.measured, strict=True) if table.measured else iter(())
        rows = zip(table.keys, columns, strict=True)
        found.append({key: tuple(row) for key, row in rows if any(row)})
    return found


def cells_in(names: Sequence[str]) -> set[Cell]:
    return {tuple(json.loads(one.partition(":")[2])) for one in names}


@dataclass
class Tried:
    """What a run of statements found."""

    confined: int = 0
    moved: tuple[str, ...] = ()


def tried(
    databases: Databases,
    statements: Sequence[str],
    *,
    dataset: Dataset = CLINIC,
    proven: Mapping[str, TableProof] = PROVEN,
    believed: frozenset[str] | None = None,
    twice: bool = False,
) -> Tried:
    """Each answer over all persons, and over those of the touched cells alone; `believed` is what is passed, whatever is."""
    everyone = dict(enumerate(units(7)))
    full = databases.holding(everyone, twice=twice)
    kept: dict[frozenset[Cell], SourceDatabase] = {}
    found = Tried()
    moved = []
    for sql in statements:
        parts = parts_of(sql, dataset)
        if parts is None:
            continue
        scopes = grounds_of(parts)
        if believed is not None:
            scopes = [replace(one, through=believed) for one in scopes]
        names = confining_cells(scopes, dataset, proven)
        if names is None:
            continue
        found.confined += 1
        cells = frozenset(cells_in(names))
        if cells not in kept:
            few = {number: one for number, one in everyone.items() if one.cell in cells}
            assert len(few) < len(everyone)
            kept[cells] = databases.holding(few, twice=twice)
        if answers(full, parts, proven) != answers(kept[cells], parts, proven):
            moved.append(sql)
    found.moved = tuple(moved)
    return found
