"""Policies compared with their sources, and put in force after a change, a signal or a request.

Sources are compared as far as they can be reached, and policies completed from their catalogs. No value of any
table is read. A reload writes its events and trail records here.
"""

import os
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from types import FrameType, MappingProxyType
from typing import Any, Final

from sqlalchemy import URL

from gateway.admin.open_accounts import open_policies, record_rejection
from gateway.admin.policy_review import review_policy, unkeyed_levels
from gateway.admin.proposal.marks import count_marks_of
from gateway.catalog.tables import Table
from gateway.engines.catalog.describe import SourceTables, describe_source
from gateway.engines.catalog.proofs import (
    Proof,
    SchemaMismatch,
    find_mismatches,
    list_other_paths,
    list_proofs,
    prove_tables,
)
from gateway.engines.catalog.source_columns import (
    apply_not_null,
    with_places,
    with_public_columns,
    without_columns,
)
from gateway.engines.catalog.statistics import Statistics, read_statistics
from gateway.engines.connections import open_source
from gateway.errors import Code, GatewayError, OperatorError
from gateway.events import Emit, PoliciesLoaded, PoliciesRejected, PolicyWarning
from gateway.frontends.rest.gateway_api import PolicyApi
from gateway.policy.field_types import COLUMN_NAME
from gateway.policy.files.load import LoadedPolicies, PolicyReading, read_policies
from gateway.policy.in_force import Cause, CurrentPolicies, FileWatch
from gateway.policy.policy import Policy
from gateway.policy.validate import Complaints, FieldPath, PolicyError
from gateway.state.journal import Journal
from gateway.trail.record import Trail, utc_now

_NAME: Final = re.compile(COLUMN_NAME)


@dataclass(frozen=True)
class PolicyCheck:
    """The result of a check; `unreachable` are sources that could not be asked.

    `undecided` is how many lines of the files are marked as open.
    """

    reading: PolicyReading
    problems: tuple[OperatorError, ...]
    warnings: tuple[PolicyError, ...]
    proofs: tuple[tuple[str, Proof], ...] = ()
    unreachable: tuple[tuple[str, OperatorError], ...] = ()
    undecided: int = 0

    @property
    def has_failed(self) -> bool:
        """True if there is a problem, or a source that was to be asked and could not be."""
        return bool(self.problems or self.unreachable)


def check_sources(reading: PolicyReading, *, statistics: bool = False) -> PolicyCheck:
    """The reading, checked against the sources of its policies.

    `statistics` are those of the sources, for whoever has their logins.
    """
    checked = check_files(reading)
    if reading.loaded is None:
        return checked
    for policy in reading.loaded.policies.values():
        places = reading.places[policy.name]
        checked = _with_source(checked, policy, places, statistics=statistics)
    return checked


def check_files(reading: PolicyReading) -> PolicyCheck:
    """The reading alone, with its marked lines."""
    return PolicyCheck(
        reading,
        reading.problems,
        reading.warnings,
        undecided=sum(map(count_marks_of, reading.paths)),
    )


def review_offline(checked: PolicyCheck) -> PolicyCheck:
    """A check that asks no source, with the warnings that need none."""
    reading = checked.reading
    for policy in () if reading.loaded is None else reading.loaded.policies.values():
        found = review_policy(policy, None, Statistics(), reading.places[policy.name])
        checked = replace(checked, warnings=(*checked.warnings, *found))
    return checked


def _with_source(
    checked: PolicyCheck, policy: Policy, places: Complaints, *, statistics: bool
) -> PolicyCheck:
    try:
        path = policy.dataset.search_path
        with open_source(policy.source.url, path) as connection:
            source = describe_source(connection, path)
            collected = read_statistics(connection) if statistics else Statistics()
    except OperatorError as error:
        if error.code is Code.SOURCE_VERSION:
            return replace(checked, problems=(*checked.problems, error))
        return replace(checked, unreachable=(*checked.unreachable, (policy.name, error)))
    found = [_placed(each, places) for each in find_mismatches(policy.dataset, source)]
    found += unkeyed_levels(policy, source, places)
    views = [_view_warning(one, places) for one in policy.dataset.tables if _is_view(one, source)]
    reviewed = review_policy(policy, source, collected, places)
    whole = with_public_columns(policy.dataset, source, _nameable)
    proven = ((policy.name, proof) for proof in list_proofs(whole, source))
    others = (_placed(each, places) for each in list_other_paths(policy.dataset, source))
    return replace(
        checked,
        problems=(*checked.problems, *found),
        warnings=(*checked.warnings, *others, *views, *reviewed),
        proofs=(*checked.proofs, *proven),
    )


def _is_view(table: Table, source: SourceTables) -> bool:
    there = source.find(table.name)
    return not table.public and there is not None and there.is_view


def _view_warning(table: Table, places: Complaints) -> PolicyError:
    return PolicyError(
        places.place(("tables", table.name), at_key=True),
        f"`{table.name}` is a view: each of its rows must follow from rows of one unit",
        "nothing checks that; docs/policies.md, Views",
    )


def complete_from_sources(reading: PolicyReading) -> PolicyReading:
    """The reading, completed with what the policies leave to their sources: columns of public tables, and NOT
    NULL.

    If a source cannot be reached, or has no such table, this stays open; missing columns cause a warning. The
    hash stays that of the files. Sources are asked one after the other, each of them once.
    """
    if reading.loaded is None:
        return reading
    policies = dict(reading.loaded.policies)
    warnings: list[PolicyError] = []
    described = cache(_described)
    for name, policy in policies.items():
        there = described(policy.source.url, tuple(policy.dataset.search_path))
        policies[name], missed = _completed(policy, there, reading.places[name])
        warnings += missed
    loaded = replace(
        reading.loaded,
        policies=MappingProxyType(policies),
        warnings=(*reading.loaded.warnings, *warnings),
    )
    return replace(reading, loaded=loaded)


def _described(url: URL, search_path: tuple[str, ...]) -> SourceTables | OperatorError:
    """The tables of a source, or why it cannot tell them."""
    try:
        with open_source(url, search_path) as connection:
            return describe_source(connection, search_path)
    except OperatorError as error:
        return error


def _completed(
    policy: Policy, source: SourceTables | OperatorError, places: Complaints
) -> tuple[Policy, list[PolicyError]]:
    why = "the source has no such table, or the table has no column of a supported type"
    if isinstance(source, OperatorError):
        dataset, why = policy.dataset, source.detail
    else:
        dataset = with_public_columns(policy.dataset, source, _nameable)
        dataset = apply_not_null(dataset, prove_tables(dataset, source))
        dataset = with_places(dataset, source)
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
        "valid": not checked.has_failed,
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
        "undecided": checked.undecided,
    }


def _all(problems: Sequence[OperatorError]) -> list[dict[str, object]]:
    return [problem_json(problem) for problem in problems]


_GATEWAY: Final = "gateway"
_MOST_WARNINGS: Final = 20


def current_policies(
    journal: Journal,
    trail: Trail,
    directory: Path,
    emit: Emit,
    environment: Mapping[str, str] = os.environ,
) -> CurrentPolicies:
    """The policies of `directory`, not opened yet; opening completes them from their sources."""

    def read() -> PolicyReading:
        return complete_from_sources(read_policies(directory, environment))

    def accept(loaded: LoadedPolicies, before: LoadedPolicies | None, cause: Cause) -> None:
        open_policies(journal, trail, loaded, before=before, cause=cause, now=utc_now())
        emit(PoliciesLoaded(loaded.digest, len(loaded.policies), len(loaded.warnings)))
        for warning in loaded.warnings[:_MOST_WARNINGS]:
            emit(PolicyWarning(warning.detail))

    def reject(
        problems: tuple[OperatorError, ...], in_force: LoadedPolicies | None, cause: Cause
    ) -> None:
        emit(PoliciesRejected(problems[0].detail, len(problems)))
        record_rejection(journal, trail, problems, in_force, cause)

    return CurrentPolicies(read, accept, reject)


@contextmanager
def reload_on_change(
    policies: CurrentPolicies, directory: Path, *, on_signal: bool = True
) -> Iterator[None]:
    """Reload when the files change and, with `on_signal` on the main thread of a process, on SIGHUP."""
    watch = FileWatch(
        directory,
        changed=lambda: _reload(policies, "the files changed"),
        asked=lambda: _reload(policies, "SIGHUP"),
    )

    def hang_up(number: int, frame: FrameType | None) -> None:
        del number, frame
        watch.ask()

    listens = on_signal and threading.current_thread() is threading.main_thread()
    before = signal.signal(signal.SIGHUP, hang_up) if listens else None
    watch.start()
    try:
        yield
    finally:
        if listens:
            signal.signal(signal.SIGHUP, before or signal.SIG_DFL)
        watch.stop()


def policy_api(policies: CurrentPolicies) -> PolicyApi:
    """The policy functions for administrators' endpoints."""

    def check() -> Mapping[str, Any]:
        return check_json(check_sources(policies.check()))

    def reload(subject: str) -> Mapping[str, Any]:
        result = policies.reload(Cause(subject, "an administrator asked"))
        return {
            "valid": not result.problems,
            "changed": result.changed,
            "hash": result.in_force.digest,
            "datasets": sorted(result.in_force.policies),
            "problems": [problem_json(problem) for problem in result.problems],
            "warnings": [problem_json(warning) for warning in result.in_force.warnings],
        }

    return PolicyApi(check, reload)


def _reload(policies: CurrentPolicies, because: str) -> bool:
    """True if the files were dealt with; an unreachable state is tried again at the next check."""
    try:
        policies.reload(Cause(_GATEWAY, because))
    except GatewayError:
        return False
    return True
