"""`gateway policy preview`: what counts would be worth at the default price, before anybody asks."""

import argparse
import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

from gateway.admin.check_policies import complete_from_sources
from gateway.admin.policy_review import estimated_rows
from gateway.admin.preview import Preview, PreviewedCount, preview_json, preview_policy
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_table, printable
from gateway.engines.catalog.describe import describe_source
from gateway.engines.catalog.statistics import read_statistics
from gateway.engines.connections import open_source
from gateway.errors import Code, OperatorError
from gateway.policy.files.load import PolicyReading, read_paths
from gateway.policy.policy import Budget, Policy

_HEADER: Final = ("table", "by", "groups", "± 95 %", "rows", "off by")
_USELESS: Final = 0.5
_TEXTS: Final = 2  # so many columns have no numbers


def run(arguments: argparse.Namespace) -> int:
    paths = arguments.paths or [settings_from(arguments).policies]
    offline: bool = arguments.offline
    readings = [_read(reading, offline=offline) for reading in read_paths(map(Path, paths))]
    previews: list[Preview] = []
    for reading in readings:
        if reading.loaded is None:
            raise reading.problems[0]
        for policy in reading.loaded.policies.values():
            rows = {} if arguments.offline else _rows(policy)
            previews.append(preview_policy(policy, rows))
    if arguments.json:
        print(json.dumps({"previews": [preview_json(one) for one in previews]}, indent=2))
    else:
        for one in previews:
            _print(one)
    return 0


def _read(reading: PolicyReading, *, offline: bool) -> PolicyReading:
    return reading if offline else complete_from_sources(reading)


def _rows(policy: Policy) -> Mapping[str, int]:
    """The source's own estimates; a preview needs none."""
    try:
        path = policy.dataset.search_path
        with open_source(policy.source.url, path) as connection:
            source = describe_source(connection, path)
            return estimated_rows(policy, source, read_statistics(connection))
    except OperatorError:
        return {}


def _print(found: Preview) -> None:
    print(f"{found.dataset}: each question costs epsilon {found.price}, the default")
    print(f"  an analyst:   {found.by_analyst:,} questions (epsilon {_budget(found.analyst)})")
    print(f"  all together: {found.by_everyone:,} questions (epsilon {_budget(found.everyone)})")
    print()
    print_table(*_aligned([_row(one) for one in found.counts]))
    print()
    print("± 95 % is the margin of a COUNT, off by its part of an average group")
    if any(one.rows is None for one in found.counts):
        print("rows are the source's own estimates, where it has them: ANALYZE makes them")
    if any(one.before_histogram for one in found.counts):
        print(
            f"* under the clip without a histogram of norms: the first such question buys one for epsilon {found.histogram}, and the"
            " clip that is chosen from it may make the margin much larger or smaller"
        )
    useless = [one for one in found.counts if (one.relative or 0) > _USELESS]
    worst = [one for one in useless if not one.before_histogram]
    if worst:
        print(
            f"{len(worst)} of these counts would be mostly noise: raise `per_query.default`,"
            " set a smaller `clip.default`, or group more coarsely"
        )
    print("next: `gateway serve`, or `gateway policy explain SQL --as SUBJECT` for one question")


def _budget(budget: Budget) -> str:
    rate = budget.rate
    within = "" if rate is None else f", {rate.epsilon} of it each {rate.every}"
    return f"{budget.epsilon} for ever{within}"


def _aligned(rows: Sequence[list[str]]) -> tuple[list[str], list[list[str]]]:
    """The header and the rows, with numbers to the right of their columns."""
    table = [list(_HEADER), *rows]
    widths = [max(len(row[at]) for row in table) for at in range(len(_HEADER))]
    for row in table:
        row[_TEXTS:] = [cell.rjust(widths[at]) for at, cell in enumerate(row)][_TEXTS:]
    return table[0], table[1:]


def _row(count: PreviewedCount) -> list[str]:
    off = "" if count.relative is None else f"{count.relative:.1%}".replace("%", " %")
    return [
        printable(count.table),
        printable(count.grouping),
        _groups(count),
        "" if count.margin is None else f"{count.margin:,.0f}{'*' * count.before_histogram}",
        "" if count.rows is None else f"{count.rows:,}",
        off,
    ]


def _groups(count: PreviewedCount) -> str:
    if count.refusal is not None and count.refusal.startswith(Code.NO_BOUND.value):
        return "needs a domain"
    if count.refusal is not None:
        return f"refused ({count.refusal.partition(':')[0]})"
    if count.groups is None:
        return f"found, of {count.shown_from} or more"
    return f"{count.groups:,}"
