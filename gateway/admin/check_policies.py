"""Policy check against the sources, as far as they can be reached, and completion from their catalogs.

No value of any table is read: the sources' catalogs are enough.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import Final

from gateway.engines.catalog.describe import describe_source
from gateway.engines.catalog.proofs import (
    Proof,
    SchemaMismatch,
    apply_not_null,
    find_mismatches,
    list_proofs,
    prove_tables,
    with_public_columns,
    without_columns,
)
from gateway.engines.connections import open_source
from gateway.errors import Code, OperatorError
from gateway.policy.files.load import PolicyReading
from gateway.policy.model import COLUMN_NAME
from gateway.policy.policy import Policy
from gateway.policy.validate import Complaints, FieldPath, PolicyError

_NAME: Final = re.compile(COLUMN_NAME)


@dataclass(frozen=True)
class PolicyCheck:
    """The result of a check; `unreachable` are sources that could not be asked."""

    reading: PolicyReading
    problems: tuple[OperatorError, ...]
    warnings: tuple[PolicyError, ...]
    proofs: tuple[tuple[str, Proof], ...] = ()
    unreachable: tuple[tuple[str, OperatorError], ...] = ()


def check_sources(reading: PolicyReading) -> PolicyCheck:
    """The reading, checked against the sources of its policies."""
    checked = PolicyCheck(reading, reading.problems, reading.warnings)
    if reading.loaded is None:
        return checked
    for policy in reading.loaded.policies.values():
        checked = _with_source(checked, policy, reading.places[policy.name])
    return checked


def _with_source(checked: PolicyCheck, policy: Policy, places: Complaints) -> PolicyCheck:
    try:
        with open_source(policy.source.url) as connection:
            source = describe_source(connection)
    except OperatorError as error:
        if error.code is Code.SOURCE_VERSION:
            return replace(checked, problems=(*checked.problems, error))
        return replace(checked, unreachable=(*checked.unreachable, (policy.name, error)))
    found = [_placed(each, places) for each in find_mismatches(policy.dataset, source)]
    whole = with_public_columns(policy.dataset, source, _nameable)
    proven = ((policy.name, proof) for proof in list_proofs(whole, source))
    return replace(
        checked,
        problems=(*checked.problems, *found),
        proofs=(*checked.proofs, *proven),
    )


def complete_from_sources(reading: PolicyReading) -> PolicyReading:
    """The reading, completed with what the policies leave to their sources: columns of public tables, and NOT
    NULL.

    If a source cannot be reached, or has no such table, this stays open; missing columns cause a warning. The
    hash stays that of the files. Sources are asked one after the other.
    """
    if reading.loaded is None:
        return reading
    policies = dict(reading.loaded.policies)
    warnings: list[PolicyError] = []
    for name, policy in policies.items():
        policies[name], missed = _completed(policy, reading.places[name])
        warnings += missed
    loaded = replace(
        reading.loaded,
        policies=MappingProxyType(policies),
        warnings=(*reading.loaded.warnings, *warnings),
    )
    return replace(reading, loaded=loaded)


def _completed(policy: Policy, places: Complaints) -> tuple[Policy, list[PolicyError]]:
    why = "the source has no such table, or the table has no column of a supported type"
    try:
        with open_source(policy.source.url) as connection:
            source = describe_source(connection)
        dataset = with_public_columns(policy.dataset, source, _nameable)
        dataset = apply_not_null(dataset, prove_tables(dataset, source))
    except OperatorError as error:
        dataset, why = policy.dataset, error.detail
    warnings = [
        PolicyError(
            places.place(("tables", table.name), at_key=True),
            f"the columns of `{table.name}` are not known: {why}",
            "declare them, or reload the policies when the source can be reached",
        )
        for table in without_columns(dataset)
    ]
    return replace(policy, dataset=dataset), warnings


def _nameable(name: str) -> bool:
    return _NAME.fullmatch(name) is not None


def _placed(misfit: SchemaMismatch, places: Complaints) -> PolicyError:
    path: FieldPath = ("tables", misfit.table)
    if misfit.column is not None:
        path = (*path, "columns", misfit.column)
    return PolicyError(places.place(path, at_key=True), misfit.message, misfit.hint)


def problem_json(problem: OperatorError) -> dict[str, object]:
    """A problem as JSON; one without a position is not about a line."""
    placed = problem if isinstance(problem, PolicyError) else None
    return {
        "file": placed.place.file if placed else None,
        "line": placed.place.line if placed else None,
        "column": placed.place.column if placed else None,
        "message": placed.message if placed else problem.detail,
        "hint": problem.hint,
    }


def check_json(checked: PolicyCheck) -> dict[str, object]:
    """The whole result as JSON."""
    loaded = checked.reading.loaded
    return {
        "valid": not checked.problems,
        "hash": None if loaded is None else loaded.digest,
        "datasets": [] if loaded is None else sorted(loaded.policies),
        "problems": _all(checked.problems),
        "warnings": _all(checked.warnings),
        "proofs": [
            {
                "dataset": dataset,
                "table": proof.table,
                "about": proof.about,
                "columns": list(proof.columns),
                "message": proof.message,
            }
            for dataset, proof in checked.proofs
        ],
        "unreachable": [
            {"dataset": dataset, "message": error.detail} for dataset, error in checked.unreachable
        ],
    }


def _all(problems: Sequence[OperatorError]) -> list[dict[str, object]]:
    return [problem_json(problem) for problem in problems]
