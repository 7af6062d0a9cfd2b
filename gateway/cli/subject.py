"""`gateway subject list | suspend | resume`."""

import argparse
import json
from typing import Any

from gateway.admin.instance import Foundation, open_foundation, operator_name
from gateway.app import subject_list
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_table, print_warning, printable
from gateway.policy.subjects import load_subjects


def run(arguments: argparse.Namespace) -> int:
    actions = {"list": _list, "suspend": _change, "resume": _change}
    with open_foundation(settings_from(arguments), print_warning) as foundation:
        return actions[arguments.action](foundation, arguments)


def _list(foundation: Foundation, arguments: argparse.Namespace) -> int:
    found = subject_list(foundation).subjects(load_subjects(foundation.settings.policies))
    if arguments.json:
        print(json.dumps({"subjects": found}, indent=2))
        return 0
    print_table(
        ("subject", "role", "team", "suspended", "stopped today"),
        [
            (
                one["subject"],
                printable(one["role"] or "-"),
                printable(one["team"] or "-"),
                "; ".join(map(_suspended, one["suspended"])) or "-",
                ", ".join(f"{name}: {many}" for name, many in one["stopped_today"].items()) or "-",
            )
            for one in found
        ],
    )
    return 0


def _change(foundation: Foundation, arguments: argparse.Namespace) -> int:
    roster, known = subject_list(foundation), load_subjects(foundation.settings.policies)
    change = roster.suspend if arguments.action == "suspend" else roster.resume
    datasets = change(known, arguments.subject, arguments.dataset, operator_name())
    done = "suspended" if arguments.action == "suspend" else "resumed"
    if not datasets:
        already = "already suspended" if arguments.action == "suspend" else "not suspended"
        print(printable(f"{arguments.subject} is {already}"))
    for one in datasets:
        print(printable(f"{arguments.subject} is {done} on {_named(None if one == '*' else one)}"))
    return 0


def _suspended(one: dict[str, Any]) -> str:
    return f"{_named(one['dataset'])} since {one['since']} by {one['by']}"


def _named(dataset: str | None) -> str:
    return "every dataset" if dataset is None else dataset
