"""The tables of the sample clinic, and their DDL.

Invented people, their visits and what is prescribed there are determined by a seed and a size. Every column draws from a random stream of
its own, one number per row, in row order. So the rows depend on the seed and the size alone: not on the batch
size, not on the loader, and a new column changes no old one. Visits come in the order of their dates, as in a real
clinic, and belong to people in proportion to how often these come; a few come hundreds of times.

Nothing here is privacy noise: a seedable generator is right for a sample and for nothing else.

The policy of the clinic declares keys and domains. They are constraints here, so that the database itself
guarantees what the policy says. DuckDB and PostgreSQL read the same text.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from gateway.sample import distributions as shapes
from gateway.sample.distributions import (
    DRUGS,
    FIRST_DAY,
    FIRST_MOMENT,
    HIGHEST_COST,
    HIGHEST_DOSE,
    HIGHEST_INCOME,
    LAST_DAY,
    LAST_MOMENT,
    OLDEST,
    REGIONS,
    YOUNGEST,
)

UNKNOWN = -1  # stands for NULL in `income` and `diagnosis`
LARGEST_SCALE = 1_000.0
SMALLEST_SCALE = 0.001
DEFAULT_SEED = 1

_PATIENTS, _VISITS = 20_000, 120_000  # at scale 1
_ROWS = 122_880  # one row group of DuckDB, and a few megabytes
_NO_INCOME, _NO_DIAGNOSIS, _LASTING_VISITS = 0.03, 0.02, 0.55


class _Column(IntEnum):
    """Part of the seed: the number of a column is never reused."""

    REGION = 1
    BIRTH_YEAR = 2
    INCOME = 3
    INCOME_KNOWN = 4
    FREQUENCY = 5
    LASTING = 6
    DAY = 7
    PERSON = 8
    FOR_LASTING = 9
    ACUTE = 10
    DIAGNOSIS_KNOWN = 11
    COST = 12
    PRESCRIPTIONS = 13
    DRUG = 14
    DOSE = 15
    TIME = 16


@dataclass(frozen=True)
class Patients:
    """Some rows of `patients`, by column; `region` indexes REGIONS."""

    patient_id: NDArray[np.int64]
    region: NDArray[np.int8]
    birth_year: NDArray[np.int16]
    income: NDArray[np.int32]


@dataclass(frozen=True)
class Visits:
    """Some rows of `visits`, by column; `diagnosis` indexes DIAGNOSES, `day` counts from FIRST_DAY."""

    visit_id: NDArray[np.int64]
    patient_id: NDArray[np.int64]
    diagnosis: NDArray[np.int8]
    cost_cents: NDArray[np.int32]
    day: NDArray[np.int32]


@dataclass(frozen=True)
class Prescriptions:
    """Some rows of `prescriptions`, by column; `drug` indexes DRUGS, `second` counts from 1970, UTC."""

    prescription_id: NDArray[np.int64]
    visit_id: NDArray[np.int64]
    drug: NDArray[np.int8]
    dose: NDArray[np.int32]
    second: NDArray[np.int64]


@dataclass(frozen=True)
class Clinic:
    """A seed and a size, which determine the whole sample."""

    patients: int = _PATIENTS
    visits: int = _VISITS
    seed: int = DEFAULT_SEED

    def __post_init__(self) -> None:
        if self.patients < 1 or self.visits < 0:
            raise ValueError("a clinic needs at least one patient")
        if self.seed < 0:
            raise ValueError("the seed must not be negative")

    @classmethod
    def at_scale(cls, scale: float, seed: int = DEFAULT_SEED) -> Self:
        """20,000 patients with 120,000 visits, times `scale`."""
        if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:
            raise ValueError(f"the scale must be between {SMALLEST_SCALE:g} and {LARGEST_SCALE:g}")
        return cls(round(_PATIENTS * scale), round(_VISITS * scale), seed)

    def patient_rows(self, rows: int = _ROWS) -> Iterator[Patients]:
        """All patients, at most `rows` at a time."""
        draw = _Draws(self.seed)
        for ids in _ids(self.patients, rows):
            region = shapes.draw_regions(draw(_Column.REGION, ids.size))
            born = shapes.birth_years(draw(_Column.BIRTH_YEAR, ids.size))
            income = shapes.household_incomes(draw(_Column.INCOME, ids.size), region, born)
            income[draw(_Column.INCOME_KNOWN, ids.size) < _NO_INCOME] = UNKNOWN
            yield Patients(ids, region.astype(np.int8), born, income)

    def visit_rows(self, rows: int = _ROWS) -> Iterator[Visits]:
        """All visits by date, at most `rows` at a time; memory grows with the patients alone."""
        draw = _Draws(self.seed)
        everyone = shapes.birth_years(draw(_Column.BIRTH_YEAR, self.patients))
        kept = shapes.lasting_diagnoses(draw(_Column.LASTING, self.patients), everyone)
        kept_small = kept.astype(np.int8)
        up_to = shapes.visits_up_to(draw(_Column.FREQUENCY, self.patients), everyone)
        for ids in _ids(self.visits, rows):
            # One visit in each of `visits` equal shares of the time: in order, chunk by chunk.
            day = shapes.visit_days((ids - 1 + draw(_Column.DAY, ids.size)) / self.visits)
            at = np.searchsorted(up_to, draw(_Column.PERSON, ids.size) * up_to[-1], "right")
            person = np.minimum(at, self.patients - 1)
            born = everyone[person]
            acute = shapes.acute_diagnoses(draw(_Column.ACUTE, ids.size), born, day)
            for_lasting = draw(_Column.FOR_LASTING, ids.size) < _LASTING_VISITS
            diagnosis = np.where(for_lasting, kept_small[person], acute)
            cost = shapes.visit_costs(draw(_Column.COST, ids.size), diagnosis, born, day)
            diagnosis[draw(_Column.DIAGNOSIS_KNOWN, ids.size) < _NO_DIAGNOSIS] = UNKNOWN
            yield Visits(ids, person + 1, diagnosis.astype(np.int8), cost, day)

    def prescription_rows(self, rows: int = _ROWS) -> Iterator[Prescriptions]:
        """All prescriptions in the order of their visits, those of at most `rows` visits at a time."""
        draw, last = _Draws(self.seed), 0
        for visits in self.visit_rows(rows):
            many = shapes.prescriptions_of_visits(draw(_Column.PRESCRIPTIONS, visits.visit_id.size))
            at = np.repeat(np.arange(many.size), many)
            drug = shapes.prescribed_drugs(
                draw(_Column.DRUG, at.size), visits.diagnosis.astype(np.int64)[at]
            )
            dose = shapes.prescribed_doses(draw(_Column.DOSE, at.size), drug)
            time = draw(_Column.TIME, many.size)[at]  # of the visit
            place = np.arange(at.size) - (np.cumsum(many) - many)[at]
            second = shapes.prescribed_times(time, visits.day[at], place)
            ids = np.arange(last + 1, last + 1 + at.size, dtype=np.int64)
            last += at.size
            yield Prescriptions(ids, visits.visit_id[at], drug.astype(np.int8), dose, second)


class _Draws:
    """A uniform stream for every column, opened when first drawn from."""

    def __init__(self, seed: int) -> None:
        self._streams = {
            column: np.random.Generator(np.random.PCG64(np.random.SeedSequence((seed, column))))
            for column in _Column
        }

    def __call__(self, column: _Column, count: int) -> NDArray[np.float64]:
        return self._streams[column].random(count)


def _ids(total: int, rows: int) -> Iterator[NDArray[np.int64]]:
    """1 to `total`, in runs of at most `rows`."""
    for start in range(1, total + 1, rows):
        yield np.arange(start, min(start + rows, total + 1), dtype=np.int64)


class SampleTable(NamedTuple):
    """`columns` belong into CREATE TABLE, `keys` into it or after the rows, `indexes` after them."""

    name: str
    columns: tuple[str, ...]
    keys: tuple[str, ...]
    indexes: tuple[str, ...] = ()

    def create(self, *, with_keys: bool) -> str:
        lines = self.columns + (self.keys if with_keys else ())
        return f"CREATE TABLE {self.name} (\n    " + ",\n    ".join(lines) + "\n)"

    def add_keys(self) -> tuple[str, ...]:
        return tuple(f"ALTER TABLE {self.name} ADD {key}" for key in self.keys) + tuple(
            f"CREATE INDEX ON {self.name} ({column})" for column in self.indexes
        )


class RegionRow(NamedTuple):
    """One row of `regions`, which anyone may read."""

    region: str
    name: str
    population: int


_KNOWN_DRUGS = ", ".join(f"'{drug.name}'" for drug in DRUGS)
_KNOWN_REGIONS = ", ".join(f"'{region}'" for region in REGIONS)
_TIME_OF_CLINIC = f"'{FIRST_MOMENT}' AND '{LAST_MOMENT}'"

TABLES: tuple[SampleTable, ...] = (
    SampleTable(
        "regions",
        ("region text NOT NULL", "name text NOT NULL", "population integer NOT NULL"),
        ("PRIMARY KEY (region)",),
    ),
    SampleTable(
        "patients",
        (
            "patient_id bigint NOT NULL",
            f"region text NOT NULL CHECK (region IN ({_KNOWN_REGIONS}))",
            f"birth_year integer NOT NULL CHECK (birth_year BETWEEN {OLDEST} AND {YOUNGEST})",
            f"income numeric CHECK (income BETWEEN 0 AND {HIGHEST_INCOME})",
        ),
        ("PRIMARY KEY (patient_id)", "FOREIGN KEY (region) REFERENCES regions (region)"),
    ),
    SampleTable(
        "visits",
        (
            "visit_id bigint NOT NULL",
            "patient_id bigint NOT NULL",
            "diagnosis text",
            f"cost numeric(12,2) NOT NULL CHECK (cost BETWEEN 0 AND {HIGHEST_COST})",
            f"visit_date date NOT NULL CHECK (visit_date BETWEEN '{FIRST_DAY}' AND '{LAST_DAY}')",
        ),
        ("PRIMARY KEY (visit_id)", "FOREIGN KEY (patient_id) REFERENCES patients (patient_id)"),
        indexes=("patient_id",),
    ),
    SampleTable(
        "prescriptions",
        (
            "prescription_id bigint NOT NULL",
            "visit_id bigint NOT NULL",
            f"drug text NOT NULL CHECK (drug IN ({_KNOWN_DRUGS}))",
            f"dose integer NOT NULL CHECK (dose BETWEEN 0 AND {HIGHEST_DOSE})",
            f"prescribed_at timestamptz NOT NULL CHECK (prescribed_at BETWEEN {_TIME_OF_CLINIC})",
        ),
        ("PRIMARY KEY (prescription_id)", "FOREIGN KEY (visit_id) REFERENCES visits (visit_id)"),
        indexes=("visit_id",),
    ),
)

REGION_ROWS: tuple[RegionRow, ...] = (
    RegionRow("north", "Northern Hills", 1_240_000),
    RegionRow("east", "Eastern Plain", 1_010_000),
    RegionRow("south", "Southern Coast", 1_590_000),
    RegionRow("west", "Western Isles", 780_000),
)
