"""Several policies at once: whose table is it?

A protected table belongs to one ledger, or what is spent on it in one would be unknown to the other; and
what is protected in one policy cannot be public in another. Names are compared so that two policies which
may mean one table are taken to mean it.
"""

from collections.abc import Mapping

from gateway.errors import OperatorError
from gateway.policy.problems import Complaints, PolicyError
from gateway.policy.rules import Policy
from gateway.policy.yaml_text import quote


def tables_apart(
    policies: Mapping[str, Policy], complaints: Mapping[str, Complaints]
) -> list[OperatorError]:
    """What is wrong between the files, said at the later one."""
    found: list[OperatorError] = []
    files = list(policies)
    for later, file in enumerate(files):
        for earlier in files[:later]:
            found += _between(
                policies[earlier],
                policies[file],
                earlier=complaints[earlier],
                later=complaints[file],
            )
    return found


def may_be_one(one: str, other: str) -> bool:
    """Whether two names may mean one table; a name without a schema may be in any."""
    schema, _, name = one.lower().rpartition(".")
    other_schema, _, other_name = other.lower().rpartition(".")
    return name == other_name and (not schema or not other_schema or schema == other_schema)


def _between(
    first: Policy, second: Policy, *, earlier: Complaints, later: Complaints
) -> list[OperatorError]:
    where = later.place(("dataset",))
    there = earlier.place(("dataset",)).file
    if first.name == second.name:
        return [
            PolicyError(where, f"the dataset {quote(second.name)} is declared in `{there}` too")
        ]
    if first.source.identity != second.source.identity:
        return []
    if first.dataset.unit == second.dataset.unit:
        message = f"the ledger of this source and unit is that of dataset {quote(first.name)}"
        hint = "put the tables of one unit into one policy"
        return [PolicyError(where, message, hint)]
    return [
        PolicyError(
            later.place(("tables", table.name), at_key=True),
            f"{quote(table.name)} belongs to dataset {quote(first.name)}, where it is protected"
            if not other.public
            else f"{quote(table.name)} is protected here but public in dataset {quote(first.name)}",
            "a protected table belongs to one ledger",
        )
        for table in second.dataset.tables
        for other in first.dataset.tables
        if may_be_one(table.name, other.name) and not (table.public and other.public)
    ]
