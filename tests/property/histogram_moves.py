"""By how much one unit moved a histogram, held against what was declared."""

from collections.abc import Iterator, Mapping, Sequence
from typing import TypeAlias

from property.moves import Key

from gateway.exact import ExactHistogram
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups

Counts: TypeAlias = Mapping[Key, Mapping[int, int]]


def counts_of(histogram: ExactHistogram) -> Counts:
    """The counts that are not 0, by group and bucket."""
    found = {
        key: {place: rows for place, rows in zip(*one, strict=True) if rows}
        for key, one in histogram.counts.items()
    }
    return {key: one for key, one in found.items() if one}


def too_far(before: Sequence[Counts], after: Sequence[Counts], analysis: Analysis) -> Iterator[str]:
    """Where one unit more takes a row away, adds more than R to a group, or is in more than G groups."""
    groups = analysis.groups
    for place, (old, new) in enumerate(zip(before, after, strict=True)):
        listed = set(groups.keys) if isinstance(groups, EnumeratedGroups) else {*old, *new}
        moved = 0
        for key in {*old, *new} & listed:
            was, now = old.get(key, {}), new.get(key, {})
            by = [now.get(one, 0) - was.get(one, 0) for one in {*was, *now}]
            moved += any(by)
            if min(by) < 0:
                yield f"histogram {place + 1} of {key}: a bucket has fewer rows"
            if sum(by) > analysis.rows:
                yield f"histogram {place + 1} of {key}: {sum(by)} > {analysis.rows}"
        if moved > analysis.groups_per_unit:
            yield f"histogram {place + 1}: {moved} groups > {analysis.groups_per_unit}"


def fully_moved(
    before: Sequence[Counts], after: Sequence[Counts], analysis: Analysis
) -> Iterator[str]:
    """Whether a group was moved by all of R."""
    for old, new in zip(before, after, strict=True):
        for key in {*old, *new}:
            was, now = old.get(key, {}), new.get(key, {})
            if sum(now.values()) - sum(was.values()) == analysis.rows:
                yield "histogram"
