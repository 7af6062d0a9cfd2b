"""Two clinics that differ in one person, and who may ask about them.

The person does what can be done to stand out: 500 visits where 3 count, values far outside of every domain,
NULLs, nobody else in the region, one more in diagnoses that have one person too few to be shown, and a
diagnosis of their own. Nobody else is different, but all rows lie in another order.

The policy measures every question anew and refuses none for earlier ones: answers that are compared by their
frequencies must not hang on each other. Refusals that hang on earlier answers are compared in `test_invariance`.
"""

from collections.abc import Iterable, Sequence
from datetime import date, timedelta

PERSON = 10_000
PEOPLE = 60
LEAST = 2  # persons that a group needs to be shown, where the policy does not ask for more
RARE = (
    6  # diagnoses with one person too few: a cap of groups keeps some of them, whichever they are
)
REGIONS = ("north", "east", "south")  # and `west`, where nobody is but the person

PATIENTS = "patient_id bigint PRIMARY KEY, region text, birth_year integer, income numeric(14,2), smoker boolean"
VISITS = "visit_id bigint, patient_id bigint, diagnosis text, cost numeric(14,2), visit_date date"
CODES = "code text PRIMARY KEY, chapter text"

_POLICY = """\
gateway: 1
dataset: {dataset}
source: ${{{source}}}
privacy:
  unit: patient
  budget: {{epsilon: 1000000, delta: 1e-6}}
  per_query: {{default: 1, min: 1e-9, max: 1000}}
  mechanism: {mechanism}
clip: {{price: 0}}
tables:
  patients:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {{type: bigint, class: identifier}}
      region: {{type: text, class: quasi, domain: {{in: [north, east, south, west]}}}}
      birth_year: {{type: integer, class: quasi, domain: {{between: [1920, 2020]}}}}
      income: {{type: "numeric(14,2)", class: sensitive, domain: {{between: [0, 200000]}}, step: 1}}
      smoker: {{type: boolean, class: quasi}}
  visits:
    unit_key: patient_id
    rows_per_unit: 3
    groups_per_unit: 2
    columns:
      visit_id: {{type: bigint, class: identifier}}
      patient_id: {{type: bigint, class: identifier, joins: patients.patient_id}}
      diagnosis: {{type: text, class: sensitive}}
      cost: {{type: "numeric(14,2)", class: sensitive, domain: {{between: [0, 5000]}}, step: 0.01}}
      visit_date: {{type: date, class: quasi, domain: {{between: [2025-01-01, 2025-12-31]}}}}
  codes: {{public: true}}
access:
  - id: researchers
    effect: permit
    when: subject.role == "researcher"
    tables: [patients, visits]
    use:
      aggregate: ["*"]
      group_by: ["*"]
      filter: [class:quasi, class:sensitive, patients.patient_id, visits.patient_id]
      join: ["*"]
    budget: {{epsilon: 1000000}}
  - id: own-region
    effect: permit
    when: subject.role == "regional"
    tables: [patients, visits]
    use:
      aggregate: ["*"]
      group_by: ["*"]
      filter: [class:quasi, class:sensitive]
      join: ["*"]
    rows: {{patients: "region = subject.region"}}
    budget: {{epsilon: 1000000}}
audit: {{min_units: 1, narrow_cells: 0, opaque_predicates: allow}}
reuse: {{max_age: 0d}}
limits: {{enumerated_groups: 1000, result_rows: 10000}}
"""
SUBJECTS = """\
alice: {role: researcher}
bob: {role: researcher}
carol: {role: regional, region: west}
"""


def policy(mechanism: str, *, dataset: str = "clinic", source: str = "CLINIC_URL") -> str:
    """The policy of a dataset whose source's URL is in an environment variable."""
    return _POLICY.format(mechanism=mechanism, dataset=dataset, source=source)


def statements(*, with_person: bool) -> str:
    """The database as SQL that DuckDB and PostgreSQL read alike."""
    patients, visits = _others()
    if with_person:
        mine, my_visits = _person()
        # another order, so that nothing rests on where rows lie
        patients = [*mine, *reversed(patients)]
        visits = [*my_visits[::2], *visits[::-1], *my_visits[1::2]]
    return ";\n".join(
        (
            f"CREATE TABLE patients ({PATIENTS})",
            f"CREATE TABLE visits ({VISITS})",
            f"CREATE TABLE codes ({CODES})",
            _insert("patients", patients),
            _insert("visits", visits),
            _insert(
                "codes", [("'flu'", "'common'"), ("'rare 0'", "'rare'"), ("'only one'", "'rare'")]
            ),
        )
    )


def _others() -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    patients: list[Sequence[str]] = []
    visits: list[Sequence[str]] = []
    for who in range(PEOPLE):
        smoker = ("true", "false", "NULL")[who % 3]
        income = str(10_000 + 1_000 * who)
        row = (str(who), f"'{REGIONS[who % 3]}'", str(1930 + who), income, smoker)
        patients.append(row)
        for which in range(3):
            diagnosis = "flu" if who % 2 or which else "cold"
            if who < RARE * (LEAST - 1) and which == 0:
                diagnosis = f"rare {who % RARE}"
            visits.append(_visit(3 * who + which, who, diagnosis, str(100 + who), 2 * who + which))
    return patients, visits


def _person() -> tuple[list[Sequence[str]], list[Sequence[str]]]:
    patient = (str(PERSON), "'west'", "NULL", "1000000000", "NULL")
    visits = []
    for which in range(500):
        diagnosis = ("flu", "only one", *(f"rare {place}" for place in range(RARE)))[which % 8]
        cost = ("1000000000", "-1000000000", "NULL", "5000")[which // 8 % 4]
        visits.append(_visit(100_000 + which, PERSON, diagnosis, cost, which % 400))
    return [patient], visits


def _visit(number: int, who: int, diagnosis: str, cost: str, day: int) -> Sequence[str]:
    when = date(2025, 1, 1) + timedelta(days=day)
    return (str(number), str(who), f"'{diagnosis}'", cost, f"DATE '{when}'")


def _insert(table: str, rows: Iterable[Sequence[str]]) -> str:
    return f"INSERT INTO {table} VALUES " + ", ".join(f"({', '.join(row)})" for row in rows)
