"""People whose year of birth and income are no secret, and one bit of each that is."""

import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

import duckdb
import numpy as np
from numpy.typing import NDArray
from sqlalchemy import URL

Bools = NDArray[np.bool_]
YEARS: Final = (1920, 2020)
INCOMES: Final = (0, 200_000)


@dataclass(frozen=True)
class People:
    """`secret` is drawn by a fair coin for everybody apart: nothing that is known says anything about it."""

    years: NDArray[np.int64]
    incomes: NDArray[np.int64]
    secret: Bools

    @classmethod
    def of(cls, many: int, seed: int) -> Self:
        chosen = random.Random(seed)  # noqa: S311 - the same people in every run
        years = [chosen.randint(*YEARS) for _ in range(many)]
        incomes = [chosen.randint(*INCOMES) for _ in range(many)]
        secret = [chosen.random() < 0.5 for _ in range(many)]
        return cls(np.array(years), np.array(incomes), np.array(secret))

    def __len__(self) -> int:
        """How many there are."""
        return len(self.secret)

    def rows(self) -> Sequence[tuple[int, int, int, bool]]:
        columns = (self.years.tolist(), self.incomes.tolist(), self.secret.tolist())
        return [(number, *row) for number, row in enumerate(zip(*columns, strict=True))]


def in_duckdb(people: People, file: Path) -> URL:
    with duckdb.connect(str(file)) as connection:
        connection.execute(
            "CREATE TABLE people"
            " (person_id bigint PRIMARY KEY, birth_year integer, income integer, secret boolean)"
        )
        connection.executemany("INSERT INTO people VALUES (?, ?, ?, ?)", people.rows())
    return URL.create("duckdb", database=str(file))


_POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
privacy:
  unit: person
  budget: {epsilon: @BUDGET@, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: @BUDGET@}
  mechanism: @MECHANISM@
tables:
  people:
    unit_key: person_id
    rows_per_unit: 1
    columns:
      person_id: {type: bigint, class: identifier}
      birth_year: {type: integer, class: quasi, domain: {between: [1920, 2020]}}
      income: {type: integer, class: quasi, domain: {between: [0, 200000]}}
      secret: {type: boolean, class: sensitive}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [people]
    use: {aggregate: ["*"], group_by: [class:quasi], filter: [class:quasi, people.secret]}
    budget: {epsilon: @BUDGET@}
audit: @AUDIT@
"""
SUBJECTS: Final = "alice: {role: researcher}\n"
AUDIT: Final = "{min_units: 10, narrow_cells: 1, opaque_predicates: refuse}"
NO_AUDIT: Final = "{min_units: 1, narrow_cells: 0, opaque_predicates: allow}"


def policy(dataset: str, mechanism: str, *, budget: str, price: str, audit: str) -> str:
    """The source's URL is in the environment, under the dataset's name in capitals."""
    said = {
        "DATASET": dataset,
        "SOURCE": dataset.upper(),
        "MECHANISM": mechanism,
        "BUDGET": budget,
        "PRICE": price,
        "AUDIT": audit,
    }
    text = _POLICY
    for name, value in said.items():
        text = text.replace(f"@{name}@", value)
    return text
