"""Exact histograms of the rows that a source gives, added over parts.

What a group has in its buckets comes as one text and is kept as words of 64 bits: a row of a driver for each bucket
would take twenty times as much memory.
"""

from array import array
from collections.abc import Iterator, Sequence
from typing import TypeAlias

from gateway.bounding.bounded import BoundedRelease
from gateway.catalog.values import Value
from gateway.engines.exact_rows import Rows, keys_of
from gateway.engines.reading_values import value_of
from gateway.exact import ExactHistogram
from gateway.plan.node import BrokenPlan
from gateway.sensitivity.choices import Binned, Histogram, Listed

Key: TypeAlias = tuple[Value | None, ...]
Cells: TypeAlias = tuple["array[int]", "array[int]"]


def histogram_of(
    release: BoundedRelease, histogram: Histogram, parts: Sequence[Rows]
) -> ExactHistogram:
    """What the rows of such a SELECT say, of each part. Values that are not listed are dropped: domains leave none."""
    counts: dict[Key, Cells] = {}
    for rows in parts:
        found = (
            _binned(release, histogram, rows)
            if isinstance(histogram, Binned)
            else _listed(release, histogram, rows)
        )
        there: dict[Key, Cells] = {}
        for key, (places, many) in found:
            mine = there.setdefault(key, (array("q"), array("q")))
            mine[0].extend(places)
            mine[1].extend(many)
        counts = _added(counts, there) if counts else there
    return ExactHistogram(counts)


def _binned(release: BoundedRelease, histogram: Binned, rows: Rows) -> Iterator[tuple[Key, Cells]]:
    for key, row in zip(keys_of(release, rows), rows, strict=True):
        if row[-1] is None:  # without keys there is a row even where nobody is
            continue
        cells = array("q", map(int, row[-1].split()))
        places, many = cells[::2], cells[1::2]
        if not (min(places) >= 0 and max(places) < histogram.candidates):
            raise BrokenPlan("a bucket that is none of them")
        yield key, (places, many)


def _listed(release: BoundedRelease, histogram: Listed, rows: Rows) -> Iterator[tuple[Key, Cells]]:
    places = {value: place for place, value in enumerate(histogram.values)}
    for key, row in zip(keys_of(release, rows), rows, strict=True):
        given, many = row[len(release.keys) :]
        value = value_of(given, histogram.value.type)
        if value is not None and value in places:
            yield key, (array("q", [places[value]]), array("q", [int(many)]))


def _added(one: dict[Key, Cells], other: dict[Key, Cells]) -> dict[Key, Cells]:
    """Both together; a bucket that both have is there once, with its sum."""
    for key, (places, many) in other.items():
        mine = one.get(key)
        if mine is None:
            one[key] = places, many
            continue
        sums = dict(zip(*mine, strict=True))
        for place, rows in zip(places, many, strict=True):
            sums[place] = sums.get(place, 0) + rows
        one[key] = array("q", sums), array("q", sums.values())
    return one
