"""What a statement leaves out of the rows of a unit, whatever their norm: sentences beside the answer.

Weights make a unit count less, and `clipped_scopes` says so. Four limits leave rows or values out instead: groups that are
found in the data, of which a unit keeps some; different values; numbers that are computed for each unit, by grouping or in
windows; and joins in which a row may meet many others. Whether a limit leaves anything out is not known without a release, so the limit is said.

INVARIANT: all of it follows from the analysis of the query, which depends on the query and the policy.
"""

from collections.abc import Iterable, Iterator

from gateway.bounding.bound_joins import is_key_lookup
from gateway.bounding.fan_out import may_be_pairs, multiplied_tables
from gateway.bounding.row_samples import MOST_MATCHES, MOST_MET, MOST_PAIRS
from gateway.plan.aggregates import Aggregate, PerUnit
from gateway.plan.fields import Protected
from gateway.plan.joins import Join, Mark, is_cut
from gateway.plan.narrowed_domains import conjuncts
from gateway.plan.node import walk_nodes
from gateway.results.clipped_scopes import scope_text
from gateway.results.cut_windows import cut_window_notices
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
    yield from _of_joins(part.plan, label.unit)
    yield from _of_each_unit(part.plan, label.unit)
    yield from cut_window_notices(part.plan, label.unit)
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


def _of_joins(plan: Aggregate, unit: str) -> Iterator[str]:
    """Joins with a public table that no key proves to be unique, and joins of rows of one unit with each other."""
    for table in multiplied_tables(plan):
        yield (
            f"no key of `{table}` is proven for a join: a row counts as often as it matches,"
            f" with at most {MOST_MATCHES} rows of `{table}` for each value"
        )
    joins = [one for one in walk_nodes(plan) if isinstance(one, Join | Mark)]
    cut = [one for one in joins if _meets_own_rows(one)]
    several = [one for one in joins if isinstance(one, Join) and one.several]
    if any(may_be_pairs(side) for one in (*cut, *several) for side in one.below):
        yield f"of the rows of one {unit} that meet in joins at most {MOST_PAIRS} pairs count"
    elif cut:
        yield f"of the rows of one {unit} that meet in a join at most {MOST_MET} of each side count"


def _meets_own_rows(join: Join | Mark) -> bool:
    """Whether the rows of a unit are cut before they meet; those that are looked up by a key are not."""
    if not is_cut(join):
        return False
    looked_up = isinstance(join, Mark) and (
        join.condition is None or all(is_key_lookup(one, join) for one in conjuncts(join.condition))
    )
    return not looked_up


def _of_each_unit(plan: Aggregate, unit: str) -> Iterator[str]:
    for node in walk_nodes(plan.child):
        if not isinstance(node, PerUnit) or not isinstance(node.child.label, Protected):
            continue
        rows = node.child.label.rows
        if rows not in {None, 1} and any(one.function in _OF_FEW_ROWS for _, one in node.measures):
            yield f"counts and sums of each {unit} are those of {_most(rows or 0, 'row')}"


def _most(many: int, word: str) -> str:
    return f"at most {many} {word}{'' if many == 1 else 's'}"
