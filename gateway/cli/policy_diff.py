"""`gateway policy diff | schema`: what is known of policy files without any source.

This module imports no driver of a database and no stage of a query: an editor asks for the schema, and a hook of a
repository compares policies at each change, so both begin within the time that reading YAML takes.
"""

import argparse
import json
from pathlib import Path

from gateway.policy.diff import Change, differences
from gateway.policy.files.load import LoadedPolicies, read_paths
from gateway.policy.model import policy_schema


def run(arguments: argparse.Namespace) -> int:
    actions = {"schema": _schema, "diff": _diff}
    return actions[arguments.action](arguments)


def _schema(arguments: argparse.Namespace) -> int:
    del arguments
    print(json.dumps(policy_schema(), indent=2))
    return 0


def _diff(arguments: argparse.Namespace) -> int:
    changes = differences(_loaded(arguments.old), _loaded(arguments.new))
    if arguments.json:
        print(json.dumps({"changes": [vars(change) for change in changes]}, indent=2))
    elif not changes:
        print("nothing became wider or narrower")
    else:
        for change in changes:
            print(_line(change))
    return 0


def _line(change: Change) -> str:
    return f"{change.direction:9}{change.about}: {change.message}"


def _loaded(path: str) -> LoadedPolicies:
    (reading,) = read_paths([Path(path)], None)
    if reading.loaded is None:
        raise reading.problems[0]
    return reading.loaded
