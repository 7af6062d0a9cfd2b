"""Two clinics that differ in one person, and what may be asked about them.

The person does what can be done to stand out: 500 visits where 3 count, values far outside of every domain,
NULLs, nobody else in the region, one more in diagnoses that have one person too few to be shown, and a
diagnosis of their own. Nobody else is different, but all rows lie in another order.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import date, timedelta

PERSON = 10_000
PEOPLE = 60
MIN_UNITS = 5
RARE = (
    6  # diagnoses with one person too few: a cap of groups keeps some of them, whichever they are
)
REGIONS = ("north", "east", "south")  # and `west`, where nobody is but the person

PATIENTS = "patient_id bigint PRIMARY KEY, region text, birth_year integer, income numeric(14,2), smoker boolean"
VISITS = "visit_id bigint, patient_id bigint, diagnosis text, cost numeric(14,2), visit_date date"
CODES = "code text PRIMARY KEY, chapter text"

POLICY = """\
gateway: 1
dataset: clinic
source: ${{CLINIC_URL}}
privacy:
  unit: patient
  budget: {{epsilon: 1000000, delta: 1e-6}}
  per_query: {{default: 1, max: 1000}}
  mechanism: {mechanism}
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
audit: {{min_units: 5, narrow_cells: 1, opaque_predicates: refuse}}
limits: {{enumerated_groups: 1000, result_rows: 10000}}
"""
SUBJECTS = "alice: {role: researcher}\nbob: {role: researcher}\n"


@dataclass(frozen=True)
class Shape:
    """One kind of question. `enumerated`: every answer has the same rows, by their keys."""

    name: str
    sql: str
    enumerated: bool = True


SHAPES = (
    Shape("count", "SELECT COUNT(*) FROM patients"),
    Shape("count of rows", "SELECT COUNT(*) FROM visits"),
    Shape("count of people", "SELECT COUNT(DISTINCT patient_id) FROM visits"),
    Shape("count of values", "SELECT COUNT(DISTINCT diagnosis) FROM visits"),
    Shape("count of what is there", "SELECT COUNT(birth_year), COUNT(smoker) FROM patients"),
    Shape("sum with outliers", "SELECT SUM(cost) FROM visits"),
    Shape("average with outliers", "SELECT AVG(income), COUNT(*) FROM patients"),
    Shape("sum, count and average", "SELECT SUM(cost), COUNT(*), AVG(cost) FROM visits"),
    Shape("listed groups", "SELECT region, COUNT(*) FROM patients GROUP BY region"),
    Shape(
        "listed groups of dates",
        "SELECT EXTRACT(quarter FROM visit_date) AS q, COUNT(*) FROM visits GROUP BY 1",
    ),
    Shape("found groups", "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis", False),
    Shape(
        "found groups with a sum",
        "SELECT diagnosis, SUM(cost) FROM visits GROUP BY diagnosis",
        False,
    ),
    Shape(
        "found groups of what is in no domain",
        "SELECT diagnosis, region, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY 1, 2",
        False,
    ),
    Shape("one person's group", "SELECT COUNT(*), AVG(income) FROM patients WHERE region = 'west'"),
    Shape("one person's filter", "SELECT COUNT(*) FROM visits WHERE diagnosis = 'only one'"),
    Shape("one person's NULLs", "SELECT COUNT(*) FROM patients WHERE birth_year IS NULL"),
    Shape("one person's outliers", "SELECT COUNT(*) FROM patients WHERE income >= 200000"),
    Shape(
        "join",
        "SELECT region, SUM(cost) FROM patients JOIN visits USING (patient_id) GROUP BY region",
    ),
    Shape(
        "join with what is public",
        "SELECT COUNT(*) FROM visits JOIN codes ON diagnosis = code WHERE chapter = 'rare'",
    ),
    Shape(
        "per person",
        "SELECT AVG(n), COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) AS t",
    ),
    Shape(
        "per person with a sum",
        "SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) AS t WHERE s > 9000",
    ),
    Shape(
        "who has rows",
        "SELECT COUNT(*) FROM patients AS p WHERE EXISTS"
        " (SELECT 1 FROM visits AS v WHERE v.patient_id = p.patient_id AND v.cost > 4999)",
    ),
    Shape(
        "having",
        "SELECT region, COUNT(*) AS n FROM patients GROUP BY region HAVING COUNT(*) > 1",
        False,
    ),
    Shape(
        "order and limit",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*), region LIMIT 1",
        False,
    ),
    Shape("presence of a group", "SELECT DISTINCT diagnosis FROM visits", False),
    Shape(
        "number of groups", "SELECT COUNT(*) FROM (SELECT diagnosis FROM visits GROUP BY 1) AS t"
    ),
    Shape(
        "what could fail",
        "SELECT SUM(1 / (income - 200000)), AVG(SQRT(income - 100000)), AVG(income / birth_year) FROM patients",
    ),
    Shape(
        "one answer in another",
        "SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients)",
    ),
)

HANGING = Shape(
    "an error that hangs on noise", "SELECT 100 / (COUNT(*) - 61) FROM patients", enumerated=False
)

REFUSED = (
    "SELECT * FROM patients",
    "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id LIMIT",
    "SELECT income FROM patients WHERE region = 'west'",
    "SELECT SUM(patient_id) FROM patients",
    "SELECT SUM(DISTINCT income) FROM patients",
    "SELECT COUNT(*) FROM patients TABLESAMPLE SYSTEM (10)",
    "SELECT COUNT(*) FROM patients WHERE pg_sleep(1) IS NULL",
    "SELECT COUNT(*) FROM nobody",
    "SELECT COUNT(*) FROM patients WHERE income = 'many'",
    "SELECT MEDIAN(income) FROM patients",
    "SELECT a.region FROM patients a FULL JOIN patients b ON a.income = b.income",
    "SELECT 1 / COUNT(*) * 0 / 0 FROM patients",
    "DELETE FROM patients",
    "SELECT CAST(region AS integer), COUNT(*) FROM patients GROUP BY 1",
)


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
            if who < RARE * (MIN_UNITS - 1) and which == 0:
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
