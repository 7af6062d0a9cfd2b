"""Names in a policy that no subject bears: allowed, since subjects come and go, but worth a word."""

from collections.abc import Mapping

from gateway.policy.problems import Complaints, suggestion
from gateway.policy.rules import Policy
from gateway.policy.subjects import Subject
from gateway.policy.yaml_text import quote


def unfamiliar_names(
    policy: Policy, subjects: Mapping[str, Subject], complaints: Complaints
) -> None:
    """Warn of attributes that nobody has and of members that nobody is."""
    if not subjects:
        return
    attributes = {"name"}.union(*(subject.attributes for subject in subjects.values()))
    teams = {subject.team for subject in subjects.values()}
    for place, rule in enumerate(policy.rules):
        read = {path.name for path in rule.when.reads if path.root == "subject"}
        for name in sorted(read - attributes):
            message = f"no subject has an attribute {quote(name)}"
            complaints.warn(("access", place, "when"), message, suggestion(name, attributes))
        for table, rows in rule.rows.items():
            for name in sorted(rows.attributes - attributes):
                message = f"no subject has an attribute {quote(name)}"
                hint = suggestion(name, attributes)
                complaints.warn(("access", place, "rows", table), message, hint)
    for name in policy.privacy.teams:
        if name not in teams:
            complaints.warn(
                ("privacy", "teams", name), f"nobody is in team {quote(name)}", at_key=True
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
                    path, f"there is no subject {quote(name)}", suggestion(name, subjects)
                )
