"""`gateway policy init`: a first policy on standard output, and what is left to do on standard error."""

import argparse
import os
import sys
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Final

from gateway.admin.proposal.key_graph import KeyGraph, key_graph
from gateway.admin.proposal.marks import MARK, lines_to_decide
from gateway.admin.proposal.policy_text import (
    Proposal,
    Proposer,
    propose_policy,
    public_tables,
    search_path,
)
from gateway.admin.proposal.unit_candidates import (
    UnitCandidate,
    clear_winner,
    find_candidates,
    named_unit,
    refuse_unclear,
    told,
)
from gateway.cli.output import printable
from gateway.engines.catalog.annotations import read_annotations
from gateway.engines.catalog.describe import SourceTables, describe_source
from gateway.engines.connections import open_source
from gateway.errors import Code, OperatorError
from gateway.policy.policy import InvalidSource, SourceUrl, resolve_variables, source_from

_MOST_OFFERED: Final = 9


def run(arguments: argparse.Namespace) -> int:
    written: str = arguments.url
    try:
        source = source_from(resolve_variables(written, os.environ))
    except InvalidSource as error:
        raise OperatorError(Code.ARGUMENT_INVALID, str(error), error.hint) from None
    with open_source(source.url) as connection:
        described = describe_source(connection)
        annotations = read_annotations(connection)
    graph = key_graph(described, arguments.key or ())
    if not graph.tables:
        raise OperatorError(
            Code.SOURCE_UNUSABLE,
            "this login may not read any table of the source",
            "grant SELECT on the tables to it",
        )
    own_path = described.search_path
    described = replace(described, search_path=search_path(graph, described))
    named = [name for part in arguments.public or () for name in part.split(",") if name]
    public = public_tables(graph, described, named)
    unit, guessed = _unit(arguments.unit, graph, described)
    proposal = propose_policy(
        Proposer(graph, unit, described, own_path, public - {unit.table}, annotations),
        arguments.dataset or _dataset(source),
        written if "${" in written else "${SOURCE_URL}",
        guessed=guessed,
    )
    sys.stdout.write(proposal.text)
    sys.stdout.flush()
    _say(_summary(proposal, graph))
    return 0


def _unit(written: str | None, graph: KeyGraph, source: SourceTables) -> tuple[UnitCandidate, bool]:
    """The unit, and whether it is a guess that nobody has confirmed."""
    if written is not None:
        return named_unit(graph, source, written), False
    candidates = find_candidates(graph)
    if candidates and sys.stdin is not None and sys.stdin.isatty() and sys.stderr.isatty():
        return _asked(candidates[:_MOST_OFFERED], graph, source), False
    clear = clear_winner(candidates)
    if clear is None:
        raise refuse_unclear(graph, candidates)
    return clear, True


def _asked(
    candidates: Sequence[UnitCandidate], graph: KeyGraph, source: SourceTables
) -> UnitCandidate:
    """The unit that somebody at a terminal chooses; the first candidate if they press Enter."""
    _say(["Whose privacy is protected? Choose the table of persons:"])
    _say(f"  {at}  {one.table[1]}.{one.key}  ({told(one)})" for at, one in enumerate(candidates, 1))
    while True:
        print("a number, or TABLE.COLUMN [1]: ", end="", file=sys.stderr, flush=True)
        line = sys.stdin.readline()
        if not line:
            raise OperatorError(
                Code.ARGUMENT_INVALID, "no unit was chosen", "name it with --unit TABLE.COLUMN"
            )
        chosen = line.strip() or "1"
        if chosen.isascii() and chosen.isdecimal():
            if 1 <= int(chosen[:3]) <= len(candidates):
                return candidates[int(chosen) - 1]
            continue
        try:
            return named_unit(graph, source, chosen)
        except OperatorError as error:
            _say([error.detail])


def _summary(proposal: Proposal, graph: KeyGraph) -> list[str]:
    unit = proposal.unit
    lines = [f"unit: {unit.name}, by {unit.table[1]}.{unit.key}; {told(unit)}"]
    if proposal.guessed:
        others = [one for one in find_candidates(graph) if one.table != unit.table]
        rest = ", ".join(f"{one.table[1]}.{one.key}" for one in others[:3])
        lines.append(
            "  this is a guess from the keys; name another one with --unit TABLE.COLUMN"
            + (f", such as {rest}" if rest else "")
        )
    lines += [f"  warning: {doubt}" for doubt in proposal.doubts]
    lines.append(
        f"tables: {len(proposal.protected)} protected, {len(proposal.public)} public,"
        f" {len(proposal.left_out)} left out"
    )
    if proposal.about_nobody:
        names = ",".join(proposal.about_nobody)
        lines.append(f"  about nobody? Then name them with --public {names}")
    lines.append(f"{lines_to_decide(proposal.undecided)}, marked `{MARK}`")
    lines.append("next: decide them, then `gateway policy check policies`")
    return lines


def _say(lines: Iterable[str]) -> None:
    for line in lines:
        print(printable(line), file=sys.stderr)


def _dataset(source: SourceUrl) -> str:
    last = source.identity.rpartition("/")[2].partition(".")[0].lower()
    name = "".join(sign if sign.isascii() and sign.isalnum() else "_" for sign in last)
    return name if name[:1].isalpha() else f"d_{name}"
