"""Loading of policy files: a directory, or files named on the command line. Every file is valid, or nothing is
loaded.

INVARIANT: a `LoadedPolicies` is the content of the files at one moment, and its hash identifies it: equal
content has an equal hash, whatever the comments and the order of keys.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from types import MappingProxyType

from gateway.digest import digest
from gateway.errors import Code, OperatorError
from gateway.policy.files.consistency import check_shared_tables, warn_unfamiliar_names
from gateway.policy.files.parse import read_policy, sort_problems
from gateway.policy.policy import Policy
from gateway.policy.problems import Complaints, PolicyError
from gateway.policy.subjects import FILE_NAME, Subject, require_subjects, subjects_from
from gateway.policy.yaml import Fields, Plain, file_problem, read_yaml

_SUFFIXES = frozenset({".yaml", ".yml"})
_MOST_FILES = 1000


@dataclass(frozen=True)
class LoadedPolicies:
    """The loaded policies by dataset, and the subjects by name."""

    policies: Mapping[str, Policy]
    subjects: Mapping[str, Subject]
    digest: str
    files: tuple[str, ...] = ()
    warnings: tuple[PolicyError, ...] = field(default=(), compare=False)

    @property
    def longest_grid_ms(self) -> int | None:
        """The longest reply grid of all; None when no policy has one."""
        grids = (policy.results.reply_grid_ms for policy in self.policies.values())
        return max((one for one in grids if one is not None), default=None)


@dataclass(frozen=True)
class PolicyReading:
    """The result of an attempt to load: `loaded` is None if there are problems."""

    loaded: LoadedPolicies | None
    problems: tuple[OperatorError, ...]
    warnings: tuple[PolicyError, ...]
    places: Mapping[str, Complaints] = field(default_factory=dict)  # by dataset


@dataclass
class _Files:
    """The files read so far."""

    trees: dict[str, Fields] = field(default_factory=dict)
    complaints: dict[str, Complaints] = field(default_factory=dict)
    policies: dict[str, Policy] = field(default_factory=dict)
    problems: list[OperatorError] = field(default_factory=list)


def read_policies(
    directory: Path, environment: Mapping[str, str] | None = os.environ
) -> PolicyReading:
    """Everything in the directory, or all of the problems."""
    try:
        paths = policy_files(directory)
    except OperatorError as error:
        return PolicyReading(None, (error,), ())
    return read_files(paths, directory, directory / FILE_NAME, environment)


def policy_files(directory: Path) -> list[Path]:
    """The policy files of a directory, in the order of their names."""
    try:
        names = sorted(entry.name for entry in directory.iterdir())
    except FileNotFoundError:
        return []  # without it there are no subjects either, and that is the message
    except OSError as error:
        hint = "set GATEWAY_POLICIES to the directory with your policies"
        why = error.strerror or "not a directory"
        raise file_problem(Code.POLICY_INVALID, directory, f"cannot be read: {why}", hint) from None
    found = [
        directory / name
        for name in names
        if Path(name).suffix in _SUFFIXES and not name.startswith(".") and name != FILE_NAME
    ]
    if len(found) > _MOST_FILES:
        raise file_problem(
            Code.POLICY_INVALID, directory, f"the directory has more than {_MOST_FILES} files"
        )
    return found


def read_files(
    paths: Iterable[Path],
    inside: Path,
    subjects: Path | None,
    environment: Mapping[str, str] | None,
) -> PolicyReading:
    """These policy files together, with the subjects of that file."""
    files = _Files()
    for path in paths:
        _read(path, inside, environment, files)
    known, tree = _subjects(subjects, inside, files)
    files.problems += check_shared_tables(files.policies, files.complaints)
    for name, policy in files.policies.items():
        warn_unfamiliar_names(policy, known, files.complaints[name])
    warnings = tuple(
        warning for complaints in files.complaints.values() for warning in complaints.warnings
    )
    if files.problems:
        return PolicyReading(None, tuple(files.problems), warnings)
    policies = {policy.name: policy for policy in files.policies.values()}
    loaded = LoadedPolicies(
        MappingProxyType(policies),
        known,
        _digest(files, tree),
        tuple(Path(name).name for name in files.trees),
        warnings,
    )
    places = {policy.name: files.complaints[name] for name, policy in files.policies.items()}
    return PolicyReading(loaded, (), warnings, places)


def _read(path: Path, inside: Path, environment: Mapping[str, str] | None, files: _Files) -> None:
    if path.stem == Path(FILE_NAME).stem:
        files.problems.append(
            file_problem(Code.POLICY_INVALID, path, f"must have the name `{FILE_NAME}`")
        )
        return
    try:
        tree = read_yaml(path, inside=inside, code=Code.POLICY_INVALID)
    except OperatorError as error:
        files.problems.append(error)
        return
    complaints = Complaints(tree)
    files.trees[str(path)] = tree
    files.complaints[str(path)] = complaints
    policy = read_policy(complaints, environment)
    files.problems += sort_problems(complaints.problems)
    if policy is not None:
        files.policies[str(path)] = policy


def _subjects(
    path: Path | None, inside: Path, files: _Files
) -> tuple[Mapping[str, Subject], Fields | None]:
    if path is None:
        return MappingProxyType({}), None
    try:
        require_subjects(path)
        tree = read_yaml(path, inside=inside, code=Code.SUBJECTS_INVALID)
        return subjects_from(tree), tree
    except OperatorError as error:
        files.problems.append(error)
        return MappingProxyType({}), None


def _digest(files: _Files, subjects: Fields | None) -> str:
    """The hash of the files' content and of the sources' identities, without any password."""
    policies: dict[str, Plain] = {}
    for name, tree in files.trees.items():
        # the identity of a source is added below; as written it may hold a password
        policies[Path(name).name] = {**tree.plain(), "source": None}
    content: Plain = {
        "policies": policies,
        "sources": {policy.name: policy.source.identity for policy in files.policies.values()},
        "subjects": None if subjects is None else subjects.plain(),
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=True, separators=(",", ":"))
    return digest(text)


def read_paths(
    paths: Iterable[Path], environment: Mapping[str, str] | None = os.environ
) -> list[PolicyReading]:
    """A reading for each directory, and one for the files of each directory that were named alone."""
    readings: list[PolicyReading] = []
    alone: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_dir():
            readings.append(read_policies(path, environment))
        else:
            alone.setdefault(path.parent, []).append(path)
    for directory, files in alone.items():
        subjects = directory / FILE_NAME
        wanted = subjects.exists() or any(file.name == FILE_NAME for file in files)
        policies = [file for file in files if file.name != FILE_NAME]
        readings.append(read_files(policies, directory, subjects if wanted else None, environment))
    return readings
