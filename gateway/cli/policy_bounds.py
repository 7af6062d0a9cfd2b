"""`gateway policy bounds`: bounds of columns as suggestions, found through the pipeline for a declared price."""

import argparse
import os
import sys
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from fractions import Fraction
from pathlib import Path

from gateway.admin.bounds_search import (
    OPERATOR,
    Search,
    assumed_policies,
    new_search,
    released_bounds,
)
from gateway.admin.check_policies import complete_from_sources
from gateway.admin.domain_edits import DomainEdit, PolicyFile, require_undecided
from gateway.admin.explain import open_temporary_twin
from gateway.admin.instance import Foundation, open_foundation, operator_name
from gateway.admin.open_accounts import open_policies, record_rejection
from gateway.admin.proposal.marks import count_marks, lines_to_decide
from gateway.app import open_query_api
from gateway.budget.account import analyst_account
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_warning, printable
from gateway.errors import Code, OperatorError
from gateway.frontends.rest.gateway_api import QueryApi
from gateway.policy.files.load import LoadedPolicies, PolicyReading, read_policies
from gateway.policy.in_force import Cause, CurrentPolicies
from gateway.requests.request import Request
from gateway.twin import Twin
from gateway.units import Epsilon, UnitError


class _AssumedPolicies:
    """The policies of the round that runs, put in force in this process alone."""

    def __init__(self, ground: Foundation, files: LoadedPolicies, dataset: str) -> None:
        self._files, self._dataset = files, dataset
        self._value = files
        journal, trail = ground.journal, ground.trail
        self.current = CurrentPolicies(
            lambda: PolicyReading(self._value, (), ()),
            lambda loaded, before, cause: open_policies(
                journal, trail, loaded, before=before, cause=cause, now=datetime.now(UTC)
            ),
            lambda problems, before, cause: record_rejection(
                journal, trail, problems, before, cause
            ),
        )
        self._is_open = False

    def assume(self, search: Search) -> None:
        """Put the domain of a search in force; the trail says so."""
        self._value = assumed_policies(self._files, self._dataset, search)
        said = f"policy bounds: {search.reference} from {search.where}"
        cause = Cause(operator_name(), said)
        if not self._is_open:
            self.current.open(cause)
            self._is_open = True
            return
        problems = self.current.reload(cause).problems
        if problems:
            raise problems[0]


def run(arguments: argparse.Namespace) -> int:
    settings = settings_from(arguments)
    epsilon = _epsilon(arguments.epsilon)
    reading = complete_from_sources(read_policies(settings.policies))
    if reading.loaded is None:
        raise reading.problems[0]
    dataset = _dataset(reading.loaded, arguments.dataset)
    given = None if arguments.between is None else (arguments.between[0], arguments.between[1])
    policy = reading.loaded.policies[dataset]
    if len(set(arguments.columns)) < len(arguments.columns):
        raise OperatorError(
            Code.ARGUMENT_INVALID, "a column is given twice, and would be paid twice"
        )
    searches = [new_search(policy.dataset, one, given) for one in arguments.columns]
    file = _file(reading, dataset, searches) if arguments.write else None
    with (
        open_temporary_twin(settings.postgres_bin) as twin,
        open_foundation(settings, print_warning) as ground,
    ):
        ground.require_ledger_kept()
        paid = Fraction(0)
        for found in find_bounds(ground, twin, reading.loaded, dataset, searches, epsilon=epsilon):
            paid += found.paid
            print(printable(found.line), flush=True)
            if file is not None and found.domain is not None:
                for line in file.write(found.domain):
                    print(printable(line), flush=True)
    where = min(str(settings.policies), os.path.relpath(settings.policies), key=len)
    account = analyst_account(OPERATOR.name, dataset)
    print(f"spent: epsilon {float(paid):.6g} of {epsilon}, from `{account}`", file=sys.stderr)
    if file is None:
        told = f"put these domains into the files of {where}, or use --write next time, then"
    else:
        told = f"{lines_to_decide(count_marks(file.text))} in {file.path.name};"
    print(f"next: {told} `gateway policy check {where}`", file=sys.stderr)
    return 0


def _file(reading: PolicyReading, dataset: str, searches: Sequence[Search]) -> PolicyFile:
    """The file of the policy; what cannot be written is refused before anything is paid."""
    file = PolicyFile(Path(reading.places[dataset].tree.place.file), os.environ)
    file.require_writable()
    for search in searches:
        require_undecided(file.text, search.reference)
    return file


@dataclass(frozen=True)
class FoundBounds:
    """What was found of one column, as a line to print and as a domain, if anything; and what it cost."""

    line: str
    domain: DomainEdit | None
    paid: Fraction


def find_bounds(
    ground: Foundation,
    twin: Twin,
    loaded: LoadedPolicies,
    dataset: str,
    searches: Sequence[Search],
    *,
    epsilon: Epsilon,
) -> Iterator[FoundBounds]:
    """The bounds of each column; all of their rounds together cost `epsilon` at most."""
    price = Epsilon(epsilon.value / sum(one.left for one in searches))
    assumed = _AssumedPolicies(ground, loaded, dataset)
    assumed.assume(searches[0])
    with open_query_api(ground, assumed.current, twin, "cli", print_warning) as door:
        for one in searches:
            yield _search(one, assumed, door, price)


def _search(
    search: Search, assumed: _AssumedPolicies, door: QueryApi, price: Epsilon
) -> FoundBounds:
    paid = Fraction(0)
    line, domain = f"{search.reference}: nothing was found", None
    for _ in range(search.left):
        assumed.assume(search)
        request = Request(search.sql, epsilon=price, address=operator_name(), fresh=True)
        answer = door.answer(OPERATOR, request, threading.Event())
        paid += answer.charged.value
        [row] = answer.rows
        found = released_bounds(search, row)
        if found is None:
            return FoundBounds(f"{search.reference}: nothing was found; is it empty?", None, paid)
        missed = max((one.rank_error or 0 for one in answer.columns), default=0)
        domain = search.suggestion(*found)
        line = _line(search, domain, missed)
        narrowed = search.narrowed(*found)
        if narrowed is None:
            break
        search = narrowed
    return FoundBounds(line, domain, paid)


def _line(search: Search, domain: DomainEdit, missed: int) -> str:
    step = "" if domain.step is None else f", step: {domain.step}"
    line = f"{search.reference}: domain: {domain.domain}{step}"
    meant = "99 % of the rows, give or take" if search.left == 1 else "the rows but"
    return f"{line:<60}  # {meant} about {missed:,} at each end"


def _epsilon(text: str) -> Epsilon:
    try:
        epsilon = Epsilon.parse(text)
    except UnitError as error:
        raise OperatorError(Code.ARGUMENT_INVALID, f"--epsilon: {error}") from None
    if not epsilon:
        raise OperatorError(Code.ARGUMENT_INVALID, "--epsilon: epsilon must be more than 0")
    return epsilon


def _dataset(loaded: LoadedPolicies, named: str | None) -> str:
    known: Sequence[str] = sorted(loaded.policies)
    if named is None and len(known) != 1:
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"a dataset must be named; there are {len(known)}: {', '.join(known)}",
            "add --dataset NAME",
        )
    dataset = named or known[0]
    if dataset not in loaded.policies:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"dataset `{dataset}` does not exist", ", ".join(known)
        )
    return dataset
