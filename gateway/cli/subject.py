"""`gateway subject list | suspend | resume`."""

import argparse
import json
from typing import Any

from gateway.admin.instance import Ground, open_ground, operator_name
from gateway.app import roster_of
from gateway.cli.arguments import settings_from
from gateway.cli.output import plain, print_table, warn
from gateway.policy.subjects import load_subjects


def run(arguments: argparse.Namespace) -> int:
    actions = {"list": _list, "suspend": _change, "resume": _change}
    with open_ground(settings_from(arguments), warn) as ground:
        return actions[arguments.action](ground, arguments)


def _list(ground: Ground, arguments: argparse.Namespace) -> int:
    found = roster_of(ground).subjects(load_subjects(ground.settings.policies))
    if arguments.json:
        print(json.dumps({"subjects": found}, indent=2))
        return 0
    print_table(
        ("subject", "role", "team", "suspended", "stopped today"),
        [
            (
                one["subject"],
                plain(one["role"] or "-"),
                plain(one["team"] or "-"),
                "; ".join(map(_suspended, one["suspended"])) or "-",
                ", ".join(f"{name}: {many}" for name, many in one["stopped_today"].items()) or "-",
            )
            for one in found
        ],
    )
    return 0


def _change(ground: Ground, arguments: argparse.Namespace) -> int:
    roster, known = roster_of(ground), load_subjects(ground.settings.policies)
    change = roster.suspend if arguments.action == "suspend" else roster.resume
    datasets = change(known, arguments.subject, arguments.dataset, operator_name())
    done = "suspended" if arguments.action == "suspend" else "resumed"
    if not datasets:
        already = "already suspended" if arguments.action == "suspend" else "not suspended"
        print(plain(f"{arguments.subject} is {already}"))
    for one in datasets:
        print(plain(f"{arguments.subject} is {done} on {_named(None if one == '*' else one)}"))
    return 0


def _suspended(one: dict[str, Any]) -> str:
    return f"{_named(one['dataset'])} since {one['since']} by {one['by']}"


def _named(dataset: str | None) -> str:
    return "every dataset" if dataset is None else dataset
