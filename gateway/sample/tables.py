"""Tables of the clinic, with the constraints that the databases enforce.

The policy of the clinic declares keys and domains. They are constraints here, so that the database itself
guarantees what the policy says. DuckDB and PostgreSQL read the same text.
"""

from typing import NamedTuple

from gateway.sample.distributions import (
    FIRST_DAY,
    HIGHEST_COST,
    HIGHEST_INCOME,
    LAST_DAY,
    OLDEST,
    REGIONS,
    YOUNGEST,
)


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


_KNOWN_REGIONS = ", ".join(f"'{region}'" for region in REGIONS)

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
)

REGION_ROWS: tuple[RegionRow, ...] = (
    RegionRow("north", "Northern Hills", 1_240_000),
    RegionRow("east", "Eastern Plain", 1_010_000),
    RegionRow("south", "Southern Coast", 1_590_000),
    RegionRow("west", "Western Isles", 780_000),
)
