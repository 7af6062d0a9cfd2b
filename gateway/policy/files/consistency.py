"""Consistency between policy files: tables that several datasets name, and names that no subject has.

A protected table belongs to one ledger, otherwise one ledger would not know the charges of the other; and a
table that is protected in one policy cannot be public in another. Two names that may mean one table are taken
to mean it. Names that no subject has are allowed, because subjects come and go, but cause a warning.
"""

from collections.abc import Mapping

from gateway.errors import OperatorError
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.policy.validate import Complaints, PolicyError, suggestion
from gateway.policy.yaml import quote_word


def check_shared_tables(
    policies: Mapping[str, Policy], complaints: Mapping[str, Complaints]
) -> list[OperatorError]:
    """The conflicts between the files, each reported at the later one."""
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


def may_be_same_table(one: str, other: str) -> bool:
    """True if two names may mean one table; a name without a schema may be in any."""
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
            PolicyError(
                where, f"the dataset {quote_word(second.name)} is also declared in `{there}`"
            )
        ]
    if first.source.identity != second.source.identity:
        return []
    if first.dataset.unit == second.dataset.unit:
        message = f"dataset {quote_word(first.name)} already has the ledger of this source and unit"
        hint = "put the tables of one unit into one policy"
        return [PolicyError(where, message, hint)]
    return [
        PolicyError(
            later.place(("tables", table.name), at_key=True),
            f"{quote_word(table.name)} belongs to dataset {quote_word(first.name)}, where it is protected"
            if not other.public
            else f"{quote_word(table.name)} is protected here but public in dataset {quote_word(first.name)}",
            "a protected table belongs to one ledger",
        )
        for table in second.dataset.tables
        for other in first.dataset.tables
        if may_be_same_table(table.name, other.name) and not (table.public and other.public)
    ]


def warn_unfamiliar_names(
    policy: Policy, subjects: Mapping[str, Subject], complaints: Complaints
) -> None:
    """Warn of attributes and members that no subject has."""
    if not subjects:
        return
    attributes = {"name"}.union(*(subject.attributes for subject in subjects.values()))
    teams = {subject.team for subject in subjects.values()}
    for place, rule in enumerate(policy.rules):
        read = {path.name for path in rule.when.reads if path.root == "subject"}
        for name in sorted(read - attributes):
            message = f"no subject has an attribute {quote_word(name)}"
            complaints.warn(("access", place, "when"), message, suggestion(name, attributes))
        for table, rows in rule.rows.items():
            for name in sorted(rows.attributes - attributes):
                message = f"no subject has an attribute {quote_word(name)}"
                hint = suggestion(name, attributes)
                complaints.warn(("access", place, "rows", table), message, hint)
    for name in policy.privacy.teams:
        if name not in teams:
            complaints.warn(
                ("privacy", "teams", name), f"no subject is in team {quote_word(name)}", at_key=True
            )
    _strangers(subjects, complaints)


def _strangers(subjects: Mapping[str, Subject], complaints: Complaints) -> None:
    audit = complaints.tree.plain().get("audit")
    groups = audit.get("trust_groups") if isinstance(audit, dict) else None
    for group, members in enumerate(groups if isinstance(groups, list) else []):
        for place, name in enumerate(members if isinstance(members, list) else []):
            if isinstance(name, str) and name not in subjects:
                path = ("audit", "trust_groups", group, place)
                complaints.warn(
                    path, f"subject {quote_word(name)} does not exist", suggestion(name, subjects)
                )
