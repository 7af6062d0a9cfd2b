"""The policy of the small clinic, in the three forms that tests ask of it.

`policy` is one under which noise is nothing and no bound bites, or under which the budget ends: nothing is refused for
what was asked before, nor answered from it. `endtoend.reuse.clinics` lets answers be reused, `wire_more.running` has
the clinic of the demo.
"""

from collections.abc import Iterable, Mapping
from typing import Final

# so dear that a draw other than 0 has a probability below e^-25, whatever is measured
PRICE: Final = "1e36"
SUBJECTS: Final = """
alice: {role: researcher, purposes: [care-quality], region: north}
bob: {role: regional, purposes: [care-quality], region: north}
eve: {role: visitor}
"""
_POLICY: Final = """
gateway: 1
dataset: @DATASET@
source: ${@SOURCE@}
privacy:
  unit: patient
  budget: {epsilon: @BUDGET@, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: @MOST@}
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
    rows_per_unit: @ROWS@
    groups_per_unit: @ROWS@
    columns:
      visit_id: {type: bigint, class: identifier}
      patient_id: {type: bigint, class: identifier, joins: patients.patient_id}
      diagnosis: {type: text, class: sensitive}
      cost: {type: "numeric(12,2)", class: sensitive, domain: {between: [0, 5000]}, step: 0.01}
      visit_date: {type: date, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}}
      admitted: {type: timestamp, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}}
      weight: {type: double precision, class: sensitive, domain: {between: [1, 300]}, step: 1}
  calls:
    unit_key: patient_id
    rows_per_unit: @ROWS@
    groups_per_unit: @ROWS@
    columns:
      call_id: {type: bigint, class: identifier}
      patient_id: {type: bigint, class: identifier, joins: patients.patient_id}
      began: {type: timestamptz, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}}
      ended: {type: timestamptz, class: quasi, domain: {between: [2020-01-01, 2026-12-31]}}
      minutes: {type: integer, class: sensitive, domain: {between: [0, 90]}}
  regions: {public: true}
  codes: {public: true}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [patients, visits, calls, regions, codes]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}
    budget: {epsilon: @BUDGET@}
  - id: own-region
    effect: permit
    when: subject.role == "regional"
    tables: [patients, visits]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"], join: ["*"]}
    rows: {patients: "region = subject.region"}
    budget: {epsilon: @BUDGET@}
audit: @AUDIT@
reuse: @REUSE@
limits: {enumerated_groups: @GROUPS@, result_rows: 100000}
clip: @CLIP@
"""
NO_AUDIT: Final = "{min_units: 1, narrow_cells: 0, opaque_predicates: allow}"
NO_REUSE: Final = "{max_age: 0d}"
NO_CLIP: Final = "{default: 1024, price: 0}"
"""A clip that nobody of the clinic reaches, and no histograms of norms."""


def clinic_policy(values: Mapping[str, str], without: Iterable[str] = ()) -> str:
    """The policy's text with these values, without some of its columns and tables."""
    lines = [
        line
        for line in _POLICY.splitlines(keepends=True)
        if not any(line.lstrip().startswith(f"{name}:") for name in without)
    ]
    text = "".join(lines)
    for name in without:
        text = text.replace(f", {name}]", "]")
    given = {"ROWS": "16", "AUDIT": NO_AUDIT, "REUSE": NO_REUSE, "CLIP": NO_CLIP, **values}
    for name, value in {"MOST": given["PRICE"], **given}.items():
        text = text.replace(f"@{name}@", value)
    return text


def policy(
    dataset: str, source: str, mechanism: str, *, groups: int, price: str = PRICE, budget: str = ""
) -> str:
    """The policy of a dataset whose source's URL is in an environment variable."""
    said = {
        "DATASET": dataset,
        "SOURCE": source,
        "MECHANISM": mechanism,
        "GROUPS": str(groups),
        "PRICE": price,
        "BUDGET": budget or "1e40",
    }
    return clinic_policy(said)


def noisy_policies(price: str, most: str, budget: str) -> dict[str, str]:
    """Three datasets with noise whose answers are reused: in either currency, and with counts in ranges of ten.

    The source of each is in an environment variable with its name in capitals.
    """
    values = {"PRICE": price, "MOST": most, "BUDGET": budget, "GROUPS": "10000"}
    kinds = {"laplace": "laplace", "gaussian": "gaussian", "ranged": "laplace"}
    policies = {
        name: clinic_policy(
            {
                **values,
                "REUSE": "{max_age: 7d}",
                "DATASET": name,
                "SOURCE": name.upper(),
                "MECHANISM": mechanism,
            }
        )
        for name, mechanism in kinds.items()
    }
    policies["ranged"] += "answers: {report: {count: 10}}\n"
    return policies
