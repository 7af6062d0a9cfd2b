"""`gateway policy check | explain`."""

import argparse
import json
from collections.abc import Collection, Sequence
from datetime import UTC, datetime
from pathlib import Path

from gateway.admin.check_policies import (
    PolicyCheck,
    check_files,
    check_json,
    check_sources,
    complete_from_sources,
    review_offline,
)
from gateway.admin.cost_estimate import CostForecast
from gateway.admin.explain import (
    audited_queries,
    explain,
    explanation_json,
    explanation_text,
    open_temporary_twin,
    subject_and_policy,
)
from gateway.admin.instance import open_foundation
from gateway.admin.proposal.marks import MARK, lines_to_decide
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_warning, printable
from gateway.config import Settings
from gateway.datasets.view import Question
from gateway.errors import OperatorError, Refusal
from gateway.overlap.auditor import audit
from gateway.policy.files.load import PolicyReading, read_paths, read_policies
from gateway.policy.policy import Policy
from gateway.policy.subjects import Subject
from gateway.release_cache.cache import ReleaseCaches
from gateway.requests.request import Request


def run(arguments: argparse.Namespace) -> int:
    actions = {"check": _check, "explain": _explain}
    return actions[arguments.action](arguments)


def _check(arguments: argparse.Namespace) -> int:
    readings = read_paths(Path(path) for path in arguments.paths)
    checked = [_checked(reading, offline=arguments.offline) for reading in readings]
    if arguments.json:
        print(json.dumps({"checked": [check_json(each) for each in checked]}, indent=2))
    else:
        for each in checked:
            _print_checked(each, offline=arguments.offline)
        _print_next(checked, arguments.paths)
    return int(any(each.has_failed for each in checked))


def _checked(reading: PolicyReading, *, offline: bool) -> PolicyCheck:
    if offline:
        return review_offline(check_files(reading))
    return check_sources(reading, statistics=True)


def _print_checked(checked: PolicyCheck, *, offline: bool) -> None:
    for problem in checked.problems:
        print(printable(problem.detail))
        _print_hint(problem)
    for dataset, error in checked.unreachable:
        print(printable(f"{dataset}: the source was not looked at: {error.detail}"))
        _print_hint(error)
    for dataset, proof in checked.proofs:
        print(printable(f"note: {dataset}.{proof.table}: {proof.message}"))
    hints: set[str] = set()
    for warning in checked.warnings:
        print(printable(f"{warning.place}: warning: {warning.message}"))
        if warning.hint not in hints:  # many columns have one remedy
            _print_hint(warning)
        hints.add(warning.hint)
    loaded = checked.reading.loaded
    if loaded is not None and not checked.problems:
        away = dict(checked.unreachable)
        for policy in loaded.policies.values():
            print(
                f"{policy.name}: {len(policy.dataset.tables)} tables and {len(policy.rules)} rules"
                f" are well{_of_source(policy.name, away, offline=offline)}"
            )
        print(f"hash: {loaded.digest}")


def _of_source(dataset: str, away: Collection[str], *, offline: bool) -> str:
    if offline:
        return "; the source was not looked at (--offline)"
    return ", but the source was not looked at" if dataset in away else ", and it fits its source"


def _print_next(checked: Sequence[PolicyCheck], paths: Sequence[str]) -> None:
    """What is left to do, and the command for it."""
    where = " ".join(paths)
    undecided = sum(one.undecided for one in checked)
    if undecided:
        print(f"{lines_to_decide(undecided)}: search for `{MARK}`, and remove the mark of each")
    if any(one.problems for one in checked):
        return
    if any(one.unreachable for one in checked):
        print("next: start the source, or say --offline")
    elif any(one.reading.loaded and one.reading.loaded.policies for one in checked):
        print(f"next: `gateway policy preview {where}`")


def _print_hint(problem: OperatorError) -> None:
    if problem.hint:
        print(printable(f"  hint: {problem.hint}"))


def _explain(arguments: argparse.Namespace) -> int:
    settings = settings_from(arguments)
    reading = complete_from_sources(read_policies(settings.policies))
    if reading.loaded is None:
        raise reading.problems[0]
    subject, policy = subject_and_policy(reading.loaded, arguments.subject, arguments.dataset)
    request = Request(
        arguments.sql,
        policy.name,
        arguments.purpose,
        address=arguments.address or "",
        tls=arguments.tls,
    )
    asked_at = arguments.time or datetime.now(UTC)
    question = Question(request, subject, arguments.front_end, asked_at)
    with open_temporary_twin(settings.postgres_bin) as twin:
        found = explain(question, policy, twin.borrowed)
    stands = True
    lines: tuple[str, ...] = ()
    if found.price is not None and {"home", "state_url"} & settings.model_fields_set:
        stands, lines = _verdict(settings, found.price, subject, policy)
    if arguments.json:
        print(json.dumps(explanation_json(found, lines), indent=2))
    else:
        print(printable(explanation_text(found, lines), keep_newline=True))
    return int(found.refusal is not None or not stands)


def _verdict(
    settings: Settings, price: CostForecast, subject: Subject, policy: Policy
) -> tuple[bool, tuple[str, ...]]:
    """The auditor's verdict, given everything that the subject's trust group has received."""
    with open_foundation(settings, print_warning) as foundation:
        cache = ReleaseCaches(foundation.engine, foundation.trail.seal)[policy.name]
        cache.refresh()
        history = cache.history(policy.auditing.trusted_with(subject.name))
        try:
            audit(audited_queries(price), history, policy.auditing)
        except Refusal as refusal:
            return False, (f"refused beside earlier answers: {refusal}", f"  hint: {refusal.hint}")
    return True, ("no earlier answer stands against it",)
