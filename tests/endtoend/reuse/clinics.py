"""Policies under which answers are reused and noise is seen, and one under which questions are held against each other.

Nothing is said twice here by chance: noise is so wide, and results are not clamped, that two draws that are equal are
as rare as 1 in 10^6.
"""

from typing import Final, TypedDict, Unpack

SUBJECTS: Final = """
alice: {role: researcher}
bob: {role: regional, region: north}
carol: {role: researcher}
dave: {role: researcher}
eve: {role: visitor}
"""
PRICE: Final = "0.001"
NO_AUDIT: Final = "{min_units: 1, narrow_cells: 0, opaque_predicates: allow}"
AUDIT: Final = (
    "{min_units: 10, narrow_cells: 1, opaque_predicates: refuse, trust_groups: [[alice, carol]]}"
)
_POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
privacy:
  unit: patient
  budget: {epsilon: 10000, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: 10000}
  mechanism: @MECHANISM@
tables:
  patients:
    unit_key: patient_id
    rows_per_unit: 1
    columns:
      patient_id: {type: bigint, class: identifier}
      region: {type: text, class: quasi, domain: {in: [north, east, south, west]}}
      birth_year: {type: integer, class: quasi, domain: {between: [1920, 2020]}}
      income: {type: numeric, class: sensitive, domain: {between: [0, 200000]}, step: 1}
      smoker: {type: boolean, class: sensitive}
      name: {type: text, class: sensitive}
  visits:
    unit_key: patient_id
    rows_per_unit: 16
    groups_per_unit: 16
    columns:
      visit_id: {type: bigint, class: identifier}
      patient_id: {type: bigint, class: identifier, joins: patients.patient_id}
      diagnosis: {type: text, class: sensitive}
      cost: {type: "numeric(12,2)", class: sensitive, domain: {between: [0, 5000]}, step: 0.01}
      visit_date: {type: date, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}}
  regions: {public: true}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [patients, visits, regions]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}
    budget: {epsilon: 10000}
  - id: own-region
    effect: permit
    when: subject.role == "regional"
    tables: [patients, visits]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}
    rows: {patients: "region = subject.region"}
    budget: {epsilon: 10000}
audit: @AUDIT@
reuse: {max_age: 7d, tell: @TELL@}
limits: {enumerated_groups: @GROUPS@, result_rows: 100000}
answers: {clamp_results: false}
"""


class Said(TypedDict, total=False):
    """What a policy says otherwise than the others."""

    price: str
    groups: int
    audit: str
    tell: str


def policy(dataset: str, source: str, mechanism: str, **said: Unpack[Said]) -> str:
    """The policy of a dataset whose source's URL is in an environment variable."""
    values = {
        "DATASET": dataset,
        "SOURCE": source,
        "MECHANISM": mechanism,
        "PRICE": said.get("price", PRICE),
        "GROUPS": str(said.get("groups", 10_000)),
        "AUDIT": said.get("audit", NO_AUDIT),
        "TELL": said.get("tell", "everyone"),
    }
    text = _POLICY
    for name, value in values.items():
        text = text.replace(f"@{name}@", value)
    return text
