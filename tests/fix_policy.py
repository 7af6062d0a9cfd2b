"""Policies to work on: the base policy of the cases, changes to it, and readings of both."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

from gateway.errors import Code, OperatorError
from gateway.policy.files.load import LoadedPolicies, read_policies, read_policy, sort_problems
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject, subjects_from
from gateway.policy.validate import Complaints, PolicyError
from gateway.policy.yaml import parse_yaml

CASES = Path(__file__).parent / "cases" / "policy"
BASE = (CASES / "base.yaml").read_text()
ENVIRONMENT = MappingProxyType({"CLINIC_URL": "duckdb:////data/clinic.duckdb"})
FILE = "clinic.yaml"


@dataclass(frozen=True)
class Case:
    """A change to the base policy, and what is said of the result."""

    title: str
    old: str
    new: str
    says: tuple[str, ...]

    @property
    def text(self) -> str:
        assert self.old in BASE, self.title
        return BASE.replace(self.old, self.new, 1)


def cases(name: str) -> list[Case]:
    """The cases of a file."""
    text = (CASES / name).read_text()
    return [_case(part) for part in text.split("-- title: ")[1:]]


def _case(part: str) -> Case:
    title, _, rest = part.partition("\n-- replace\n")
    old, _, rest = rest.partition("\n-- with\n")
    new, _, says = rest.partition("\n-- says\n")
    return Case(title, old, new, tuple(says.strip().splitlines()))


@dataclass(frozen=True)
class Read:
    """What became of a text."""

    policy: Policy | None
    problems: tuple[OperatorError, ...]
    warnings: tuple[PolicyError, ...]

    @property
    def accepted(self) -> Policy:
        assert self.policy is not None, [str(problem) for problem in self.problems]
        return self.policy

    @property
    def said(self) -> tuple[str, ...]:
        return tuple(_said(problem) for problem in self.problems)


def _said(problem: OperatorError) -> str:
    hint = f" [{problem.hint}]" if problem.hint else ""
    return problem.detail.removeprefix(f"{FILE}:") + hint


def read(text: str, environment: Mapping[str, str] | None = ENVIRONMENT) -> Read:
    """Read a policy file's text."""
    try:
        tree = parse_yaml(text.encode(), file=FILE, code=Code.POLICY_INVALID)
    except OperatorError as error:
        return Read(None, (error,), ())
    complaints = Complaints(tree)
    policy = read_policy(complaints, environment)
    return Read(policy, tuple(sort_problems(complaints.problems)), tuple(complaints.warnings))


def changed(old: str, new: str) -> Policy:
    """The base policy with one change."""
    return read(Case("changed", old, new, ()).text).accepted


def with_rules(*rules: str) -> Policy:
    """The base policy with these rules, each a flow mapping, in the place of its own."""
    head, _, _ = BASE.partition("access:\n")
    listed = "".join(f"  - {rule}\n" for rule in rules)
    return read(f"{head}access:{' []' if not rules else ''}\n{listed}").accepted


def people(text: str) -> Mapping[str, Subject]:
    """Subjects from the text of a subjects file."""
    return subjects_from(
        parse_yaml(text.encode(), file="subjects.yaml", code=Code.SUBJECTS_INVALID)
    )


def loaded(policy: Policy, subjects: str, digest: str = "00") -> LoadedPolicies:
    """One policy and some subjects, as if they had been loaded."""
    return LoadedPolicies({policy.name: policy}, people(subjects), digest, (FILE,))


def loaded_policies(directory: Path, environment: Mapping[str, str]) -> LoadedPolicies:
    """Everything in the directory, or the first of the problems."""
    reading = read_policies(directory, environment)
    if reading.loaded is None:
        raise reading.problems[0]
    return reading.loaded
