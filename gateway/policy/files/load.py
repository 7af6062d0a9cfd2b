"""Loads all policy files or none.

INVARIANT: a `LoadedPolicies` is the content of the files at one moment, and its hash identifies it: equal content
has an equal hash, whatever the comments and the order of keys.
"""

import json
import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import timedelta
from pathlib import Path
from types import MappingProxyType
from typing import Final

from gateway.digest import digest
from gateway.errors import Code, OperatorError
from gateway.policy.files.access import analyst_budget, parse_rules
from gateway.policy.files.consistency import check_shared_tables, warn_unfamiliar_names
from gateway.policy.files.level_definitions import parse_levels
from gateway.policy.files.tables import parse_dataset
from gateway.policy.files.zone_offsets import write_offsets
from gateway.policy.model import PolicyModel, PrivacyModel
from gateway.policy.policy import (
    AnswerSettings,
    Auditing,
    Budget,
    Clipping,
    InvalidSource,
    Mechanism,
    Policy,
    Privacy,
    ResultLimits,
    Results,
    SourceUrl,
    UnreadableConditions,
    placeholder_source,
    resolve_variables,
    source_from,
)
from gateway.policy.rounding import read_reported
from gateway.policy.subjects import FILE_NAME, Subject, require_subjects, subjects_from
from gateway.policy.validate import Complaints, FieldPath, PolicyError, parse_model
from gateway.policy.yaml import Fields, Plain, file_problem, quote_word, read_yaml
from gateway.units import Epsilon

DEFAULT_MAX_AGE: Final = timedelta(days=7)
_CLIP_MAX_AGE: Final = timedelta(days=30)
_LARGEST_CLIP: Final = 1 << 14
"""The largest clip under which a weight has 16 bits."""
_RECKLESS_DELTA: Final = "1e-4"


def read_policy(complaints: Complaints, environment: Mapping[str, str] | None) -> Policy | None:
    """The policy of the file; None when `complaints` has problems instead.

    Without an environment the source is left open: enough to compare policies, not to use them.
    """
    model = parse_model(complaints)
    if model is None:
        return None
    model = write_offsets(model, complaints)
    source = _source(model.source, environment, complaints)
    dataset = parse_dataset(model, complaints)
    privacy = _privacy(model.privacy, complaints)
    auditing = _auditing(model, complaints)
    clipping = _clipping(model, privacy, complaints)
    if dataset is None:
        return None
    reported = read_reported(model, dataset, complaints)
    levels = parse_levels(model, dataset, complaints)
    rules = parse_rules(model.access, dataset, privacy.budget, levels, complaints)
    if source is None or complaints.problems:
        return None
    reuse = model.reuse
    return Policy(
        dataset,
        source,
        privacy,
        rules,
        auditing,
        DEFAULT_MAX_AGE if reuse.max_age is None else reuse.max_age,
        ResultLimits(
            model.limits.enumerated_groups, model.limits.result_rows, model.limits.expected_groups
        ),
        clipping,
        Results(
            model.answers.clamp_results,
            model.answers.suppress_small,
            model.answers.reply_grid_ms,
            reported,
        ),
        model.limits.timeouts_per_day,
        AnswerSettings(reuse.tell),
    )


def sort_problems(problems: list[OperatorError]) -> list[OperatorError]:
    """The problems in the order of the file."""

    def place(problem: OperatorError) -> tuple[int, int]:
        if not isinstance(problem, PolicyError):
            return 0, 0
        return problem.place.line, problem.place.column

    return sorted(problems, key=place)


def _source(
    text: str, environment: Mapping[str, str] | None, complaints: Complaints
) -> SourceUrl | None:
    if environment is None:
        return placeholder_source(str(complaints.tree.plain().get("dataset")))
    try:
        source = source_from(resolve_variables(text, environment))
    except InvalidSource as error:
        complaints.add(("source",), str(error), error.hint)
        return None
    if source.url.password and "${" not in text:
        hint = "write `source: ${CLINIC_URL}` and set the variable"
        complaints.warn(("source",), "the file contains a password", hint)
    return source


def _privacy(model: PrivacyModel, complaints: Complaints) -> Privacy:
    path: FieldPath = ("privacy",)
    budget = Budget(model.budget.epsilon, model.budget.delta)
    price = model.per_query
    if price.default > price.max:
        complaints.add((*path, "per_query", "default"), "the default price is above the highest")
    # the default price times 10⁻² is exact in decimal
    lowest = Epsilon(price.default.value / 100) if price.min is None else price.min
    if not lowest:
        complaints.add((*path, "per_query", "min"), "the lowest price must be more than 0")
    if lowest > price.default:
        complaints.add((*path, "per_query", "min"), "the lowest price is above the default")
    if price.default > budget.epsilon:
        message = "the default price is above the whole budget"
        complaints.add((*path, "per_query", "default"), message)
    elif price.max > budget.epsilon:
        complaints.warn((*path, "per_query", "max"), "this is more than the whole budget")
    if model.mechanism == "gaussian" and not budget.delta:
        message = "`mechanism: gaussian` needs a delta above zero"
        complaints.add((*path, "budget", "delta"), message)
    if budget.delta > type(budget.delta).parse(_RECKLESS_DELTA):
        hint = "delta should be far below 1 / number of units"
        complaints.warn(
            (*path, "budget", "delta"), "this delta is too large to protect individuals", hint
        )
    teams = {
        name: analyst_budget(each, budget, (*path, "teams", name), complaints)
        for name, each in model.teams.items()
    }
    return Privacy(budget, price.default, lowest, price.max, Mechanism(model.mechanism), teams)


def _auditing(model: PolicyModel, complaints: Complaints) -> Auditing:
    audit = model.audit
    seen: set[str] = set()
    for group, members in enumerate(audit.trust_groups):
        for place, name in enumerate(members):
            if name in seen:
                hint = "a subject can be in one trust group at most; merge the groups"
                message = f"{quote_word(name)} is already in a trust group"
                complaints.add(("audit", "trust_groups", group, place), message, hint)
            seen.add(name)
    return Auditing(
        audit.min_units,
        audit.narrow_cells,
        tuple(frozenset(members) for members in audit.trust_groups),
        UnreadableConditions(audit.opaque_predicates),
    )


def _clipping(model: PolicyModel, privacy: Privacy, complaints: Complaints) -> Clipping:
    clip = model.clip
    # the default price times 10⁻¹ is exact in decimal
    price = Epsilon(privacy.default_price.value / 10) if clip.price is None else clip.price
    lowest = privacy.lowest_price
    if clip.price is None:
        price = max(price, lowest)
    elif price and price < lowest:
        hint = "raise it, or write 0 for no histograms of norms"
        complaints.add(("clip", "price"), "this is below the lowest price, `per_query.min`", hint)
    elif price > privacy.highest_price:
        complaints.add(("clip", "price"), "this is above the highest price, `per_query.max`")
    largest = _LARGEST_CLIP if clip.max is None else clip.max
    default = clip.default
    if default is not None and default > largest:
        message = f"the clip without a histogram is above the largest clip, which is {largest}"
        complaints.add(("clip", "default"), message, "lower it, or raise `max`")
    max_age = _CLIP_MAX_AGE if clip.max_age is None else clip.max_age
    if clip.exact and not price:
        complaints.add(
            ("clip", "exact"), "no histogram is measured at a price of 0", "raise `price`"
        )
    return Clipping(price, max_age, default, largest, clip.exact)


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
    paths: tuple[Path, ...] = ()


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
    paths = tuple(paths)
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
        return PolicyReading(None, tuple(files.problems), warnings, paths=paths)
    policies = {policy.name: policy for policy in files.policies.values()}
    loaded = LoadedPolicies(
        MappingProxyType(policies),
        known,
        _digest(files, tree),
        tuple(Path(name).name for name in files.trees),
        warnings,
    )
    places = {policy.name: files.complaints[name] for name, policy in files.policies.items()}
    return PolicyReading(loaded, (), warnings, places, paths)


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
