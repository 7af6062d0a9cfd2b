"""Check policies with all there is: the files alone, and where a source can be reached, against it.

No value of any table is read: the sources' catalogs are enough.
"""

from collections.abc import Sequence
from dataclasses import dataclass, replace

from gateway.engines.connect import reading_source
from gateway.engines.described import describe
from gateway.engines.fitting import Misfit, Proof, misfits, proofs
from gateway.errors import OperatorError
from gateway.policy.load import Reading
from gateway.policy.problems import Complaints, Path, PolicyError
from gateway.policy.rules import Policy


@dataclass(frozen=True)
class Checked:
    """What there is to say; `unreachable` are sources that could not be asked."""

    reading: Reading
    problems: tuple[OperatorError, ...]
    warnings: tuple[PolicyError, ...]
    proofs: tuple[tuple[str, Proof], ...] = ()
    unreachable: tuple[tuple[str, OperatorError], ...] = ()


def check_sources(reading: Reading) -> Checked:
    """The reading, held against the sources of its policies."""
    checked = Checked(reading, reading.problems, reading.warnings)
    if reading.loaded is None:
        return checked
    for policy in reading.loaded.policies.values():
        checked = _with_source(checked, policy, reading.places[policy.name])
    return checked


def _with_source(checked: Checked, policy: Policy, places: Complaints) -> Checked:
    try:
        with reading_source(policy.source.url) as connection:
            source = describe(connection)
    except OperatorError as error:
        return replace(checked, unreachable=(*checked.unreachable, (policy.name, error)))
    found = [_placed(each, places) for each in misfits(policy.dataset, source)]
    proven = ((policy.name, proof) for proof in proofs(policy.dataset, source))
    return replace(
        checked,
        problems=(*checked.problems, *found),
        proofs=(*checked.proofs, *proven),
    )


def _placed(misfit: Misfit, places: Complaints) -> PolicyError:
    path: Path = ("tables", misfit.table)
    if misfit.column is not None:
        path = (*path, "columns", misfit.column)
    return PolicyError(places.place(path, at_key=True), misfit.message, misfit.hint)


def problem_json(problem: OperatorError) -> dict[str, object]:
    """A problem for programs; without a place it is about something else than a line."""
    placed = problem if isinstance(problem, PolicyError) else None
    return {
        "file": placed.place.file if placed else None,
        "line": placed.place.line if placed else None,
        "column": placed.place.column if placed else None,
        "message": placed.message if placed else problem.detail,
        "hint": problem.hint,
    }


def checked_json(checked: Checked) -> dict[str, object]:
    """Everything for programs."""
    loaded = checked.reading.loaded
    return {
        "valid": not checked.problems,
        "hash": None if loaded is None else loaded.digest,
        "datasets": [] if loaded is None else sorted(loaded.policies),
        "problems": _all(checked.problems),
        "warnings": _all(checked.warnings),
        "proofs": [
            {"dataset": dataset, "table": proof.table, "message": proof.message}
            for dataset, proof in checked.proofs
        ],
        "unreachable": [
            {"dataset": dataset, "message": error.detail} for dataset, error in checked.unreachable
        ],
    }


def _all(problems: Sequence[OperatorError]) -> list[dict[str, object]]:
    return [problem_json(problem) for problem in problems]
