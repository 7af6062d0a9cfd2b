"""What a statement leaves out of the rows of a unit, whatever their norm: sentences beside the answer.

Weights make a unit count less, and `clipped_scopes` says so. Three limits leave rows or values out instead: groups that are
found in the data, of which a unit keeps some; different values; and numbers that are computed for each unit.

INVARIANT: all of it follows from the analysis of the query, which depends on the query and the policy.
"""

from collections.abc import Iterable, Iterator

from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Protected
from gateway.plan.node import walk_nodes
from gateway.results.clipped_scopes import scope_text
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.grouping_sets import AnalyzedRelease, constant_per_unit
from gateway.sensitivity.measurement import Different

_OF_FEW_ROWS = frozenset({"count", "sum"})


def left_out_notices(releases: Iterable[AnalyzedRelease]) -> Iterator[str]:
    """A sentence for each limit, each once."""
    found = (one for release in releases for part in release.parts for one in _limits(part))
    yield from dict.fromkeys(found)


def _limits(part: Analysis) -> Iterator[str]:
    label = part.plan.child.label
    if not isinstance(label, Protected):
        return
    yield from _of_each_unit(part.plan, label.unit)
    if part.clips is None:
        return
    keys, most = part.plan.keys, part.groups_per_unit
    over = scope_text(part.plan)
    if keys and isinstance(part.groups, ThresholdGroups) and not constant_per_unit(part.plan):
        yield f"{over}: each {label.unit} counts in {_most(most, 'group')}, as the groups are found in the data"
    values = [one.most for one in part.measurements if isinstance(one.quantity, Different)]
    if values:
        within = f" in each of {_most(most, 'group')}" if keys else ""
        yield f"{over}: {_most(max(values), 'different value')} of each {label.unit} count{within}"


def _of_each_unit(plan: Aggregate, unit: str) -> Iterator[str]:
    for node in walk_nodes(plan.child):
        if not isinstance(node, PerUnit) or not isinstance(node.child.label, Protected):
            continue
        rows = node.child.label.rows
        if rows not in {None, 1} and any(one.function in _OF_FEW_ROWS for _, one in node.measures):
            yield f"counts and sums of each {unit} are those of {_most(rows or 0, 'row')}"


def _most(many: int, word: str) -> str:
    return f"at most {many} {word}{'' if many == 1 else 's'}"
