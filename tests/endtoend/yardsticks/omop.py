"""OMOP's common data model as a dataset: person is the unit, the concepts are public.

The rows are drawn, always the same. Noise is next to nothing and no bound bites, so that answers are compared
with plain numbers.
"""

import csv
import random
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from datetime import date, timedelta
from pathlib import Path
from typing import Final

_GENDERS: Final = {8507: "MALE", 8532: "FEMALE"}
_RACES: Final = {8527: "White", 8515: "Asian", 8516: "Black"}
_ETHNICITIES: Final = {38003563: "Hispanic", 38003564: "Not Hispanic"}
_VISITS: Final = {9201: "Inpatient Visit", 9202: "Outpatient Visit", 9203: "Emergency Room Visit"}
_CONDITIONS: Final = {
    320128: "Essential hypertension",
    201826: "Type 2 diabetes mellitus",
    260139: "Acute bronchitis",
    317009: "Asthma",
    4112343: "Acute viral pharyngitis",
}
_DRUGS: Final = {
    1503297: "metformin",
    1308216: "lisinopril",
    1125315: "acetaminophen",
    1154343: "albuterol",
    1713332: "amoxicillin",
}
# with the range of its values and the upper end of what is normal
_MEASUREMENTS: Final = {3004249: (80, 220, 140), 3004410: (4, 14, 6), 3025315: (40, 160, 150)}
_UNITS: Final = {3004249: 8876, 3004410: 8554, 3025315: 9529}
_OTHER: Final = {
    32817: "EHR",
    8876: "mmHg",
    8554: "percent",
    9529: "kilogram",
    3004249: "Systolic blood pressure",
    3004410: "Hemoglobin A1c",
    3025315: "Body weight",
}
_PERSONS: Final = 2000
_FIRST, _LAST = date(2018, 1, 1), date(2024, 12, 31)
Row = Sequence[object]
# parents before children
TABLES: Final = (
    *("concept", "person", "observation_period", "visit_occurrence", "condition_occurrence"),
    *("drug_exposure", "measurement", "death"),
)
POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
privacy:
  unit: {name: person, table: person, key: person_id}
  budget: {epsilon: 1e40, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: @PRICE@}
  mechanism: laplace
clip: {default: 1024, price: 0}
tables:
  concept:
    public: true
    columns:
      concept_id: {type: integer}
      concept_name: {type: varchar(255)}
      domain_id: {type: varchar(20)}
  person:
    unit_key: person_id
    rows_per_unit: 1
    columns:
      person_id: {type: integer, class: identifier}
      gender_concept_id: {type: integer, class: quasi, joins: concept.concept_id, domain: {in: [8507, 8532]}}
      year_of_birth: {type: integer, class: quasi, domain: {between: [1900, 2024]}}
      race_concept_id: {type: integer, class: sensitive, domain: {in: [8515, 8516, 8527]}}
      ethnicity_concept_id: {type: integer, class: sensitive, domain: {in: [38003563, 38003564]}}
  observation_period:
    unit_key: person_id
    rows_per_unit: 2
    groups_per_unit: 10
    columns:
      person_id: {type: integer, class: identifier, joins: person.person_id}
      observation_period_start_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
      observation_period_end_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
  visit_occurrence:
    unit_key: person_id
    rows_per_unit: 50
    groups_per_unit: 50
    columns:
      visit_occurrence_id: {type: integer, class: identifier}
      person_id: {type: integer, class: identifier, joins: person.person_id}
      visit_concept_id: {type: integer, class: sensitive, domain: {in: [9201, 9202, 9203]}}
      visit_start_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
      visit_end_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
  condition_occurrence:
    unit_key: person_id
    rows_per_unit: 50
    groups_per_unit: 50
    columns:
      condition_occurrence_id: {type: integer, class: identifier}
      person_id: {type: integer, class: identifier, joins: person.person_id}
      condition_concept_id: {type: integer, class: sensitive, joins: concept.concept_id}
      condition_start_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
      visit_occurrence_id: {type: integer, class: identifier}
  drug_exposure:
    unit_key: person_id
    rows_per_unit: 50
    groups_per_unit: 50
    columns:
      person_id: {type: integer, class: identifier, joins: person.person_id}
      drug_concept_id: {type: integer, class: sensitive, joins: concept.concept_id}
      drug_exposure_start_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
      days_supply: {type: integer, class: sensitive, domain: {between: [1, 90]}}
  measurement:
    unit_key: person_id
    rows_per_unit: 50
    groups_per_unit: 50
    columns:
      person_id: {type: integer, class: identifier, joins: person.person_id}
      measurement_concept_id: {type: integer, class: sensitive, joins: concept.concept_id}
      measurement_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
      value_as_number: {type: numeric, class: sensitive, domain: {between: [0, 500]}, step: 0.1}
      unit_concept_id: {type: integer, class: sensitive, joins: concept.concept_id}
      range_high: {type: numeric, class: sensitive, domain: {between: [0, 500]}, step: 0.1}
  death:
    unit_key: person_id
    rows_per_unit: 1
    columns:
      person_id: {type: integer, class: identifier, joins: person.person_id}
      death_date: {type: date, class: quasi, domain: {between: [2018-01-01, 2024-12-31]}}
access:
  - id: analysts
    effect: permit
    when: subject.role == "researcher"
    tables: [person, observation_period, visit_occurrence, condition_occurrence, drug_exposure, measurement, death, concept]
    use: {aggregate: ["*", class:identifier], group_by: ["*"], filter: ["*"], join: ["*"]}
    budget: {epsilon: 1e40}
audit: {min_units: 1, narrow_cells: 0, opaque_predicates: allow}
reuse: {max_age: 0d}
limits: {enumerated_groups: 10000, result_rows: 100000}
"""


@contextmanager
def files() -> Iterator[Path]:
    """A folder with the rows of each table, gone afterwards."""
    with tempfile.TemporaryDirectory() as place:
        for table, rows in _rows().items():
            with (Path(place) / f"{table}.csv").open("w", newline="") as file:
                csv.writer(file).writerows(rows)
        yield Path(place)


def _rows() -> Mapping[str, list[Row]]:
    draw = random.Random(17)  # noqa: S311 - rows of a test
    found: dict[str, list[Row]] = {table: [] for table in TABLES}
    for meant in (_GENDERS, _RACES, _ETHNICITIES, _VISITS, _CONDITIONS, _DRUGS, _OTHER):
        found["concept"] += [
            (number, name, "Domain", "Vocabulary", "Class", "S", str(number), _FIRST, _LAST)
            for number, name in meant.items()
        ]
    for person in range(1, _PERSONS + 1):
        _add_person(found, draw, person)
    return found


def _add_person(found: dict[str, list[Row]], draw: random.Random, person: int) -> None:
    year = draw.randint(1930, 2005)
    kind = draw.choice(list(_RACES)), draw.choice(list(_ETHNICITIES))
    found["person"].append(
        (person, draw.choice(list(_GENDERS)), year, 1, 1, None, *kind, *[None] * 5)
    )
    begin = _FIRST + timedelta(draw.randint(0, 1000))
    end = begin + timedelta(draw.randint(100, 1500))
    found["observation_period"].append((person, person, begin, end, 32817))

    def day() -> date:
        return begin + timedelta(draw.randint(0, (end - begin).days - 10))

    for _ in range(draw.randint(0, 6)):
        _add_visit(found, draw, person, day())
    for _ in range(draw.randint(0, 3)):
        number = len(found["drug_exposure"]) + 1
        supply = draw.choice([None, 7, 14, 30, 90])
        drug = draw.choice(list(_DRUGS))
        when = day()
        found["drug_exposure"].append(
            (number, person, drug, when, when, 32817, 0, 30, supply, None, None, None)
        )
    for _ in range(draw.randint(0, 4)):
        number = len(found["measurement"]) + 1
        what = draw.choice(list(_MEASUREMENTS))
        low, high, normal = _MEASUREMENTS[what]
        value = None if draw.random() < 0.1 else draw.randint(low * 10, high * 10) / 10
        found["measurement"].append(
            (number, person, what, day(), 32817, value, _UNITS[what], low, normal, None)
        )
    if draw.random() < 0.2:
        found["death"].append((person, min(end, _LAST), 32817, None))


def _add_visit(found: dict[str, list[Row]], draw: random.Random, person: int, when: date) -> None:
    number = len(found["visit_occurrence"]) + 1
    what = draw.choice(list(_VISITS))
    stay = draw.randint(1, 9) if what == 9201 else 0
    found["visit_occurrence"].append(
        (number, person, what, when, when + timedelta(stay), 32817, None, None, None)
    )
    condition = len(found["condition_occurrence"]) + 1
    found["condition_occurrence"].append(
        (
            condition,
            person,
            draw.choice(list(_CONDITIONS)),
            when,
            None,
            32817,
            None,
            None,
            number,
            "",
        )
    )
