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
    """Where one unit more takes a row away, or adds more than declared: to a group, to all groups, or to too many."""
    groups, clips = analysis.groups, analysis.clips
    for place, (old, new) in enumerate(zip(before, after, strict=True), 1):
        keys = {*old, *new}
        if clips is None and isinstance(groups, EnumeratedGroups):
            keys &= set(groups.keys)
        by = {key: _changes(old.get(key, {}), new.get(key, {})) for key in keys}
        for key, changes in by.items():
            if min(changes) < 0:
                yield f"histogram {place} of {key}: a bucket has fewer rows"
        added = [sum(one) for one in by.values()]
        if clips is None:
            yield from (
                f"histogram {place}: {one} > {analysis.rows}"
                for one in added
                if one > analysis.rows
            )
            if sum(map(bool, added)) > analysis.groups_per_unit:
                yield f"histogram {place}: more than {analysis.groups_per_unit} groups"
            continue
        if (squares := sum(one * one for one in added)) > clips.rows.bound:
            yield f"histogram {place}: squares of {squares} > {clips.rows.bound}"
        if not clips.rows.squares and sum(added) > clips.rows.most:
            yield f"histogram {place}: {sum(added)} > {clips.rows.most}"


def _changes(was: Mapping[int, int], now: Mapping[int, int]) -> list[int]:
    return [now.get(one, 0) - was.get(one, 0) for one in {*was, *now}]


def fully_moved(
    before: Sequence[Counts], after: Sequence[Counts], analysis: Analysis
) -> Iterator[str]:
    """Whether a histogram was moved by nine tenths of what it may move by."""
    clips = analysis.clips
    for old, new in zip(before, after, strict=True):
        added = [sum(_changes(old.get(key, {}), new.get(key, {}))) for key in {*old, *new}]
        if clips is None:
            moved, most = max(added, default=0), analysis.rows
        elif clips.rows.squares:
            moved, most = sum(one * one for one in added), clips.rows.bound
        else:
            moved, most = sum(added), clips.rows.most
        if 10 * moved >= 9 * most:
            yield "histogram"
