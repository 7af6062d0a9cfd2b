"""NULL groups that an answer leaves out: those of columns that the policy declares with `nulls: none`.

Leaving them out is post-processing of a released table: what is measured, its price and its totals stay what they are, and
the auditor and the release cache see the whole release. So it needs no constraint of the source, and proves nothing.

INVARIANT: a NULL group is left out only if the key is NULL exactly where such a column is: a NULL from an outer join, a CASE,
a division or a failed cast has its group.
"""

from collections.abc import Mapping
from dataclasses import replace

from gateway.functions.range_arithmetic import Bounds
from gateway.plan.aggregates import Aggregate
from gateway.plan.scalars import Ref, Scalar, transform, walk_scalar
from gateway.ranges.enumerate import can_be_null, list_values
from gateway.ranges.relations import inner_columns


def hidden_null_groups(plan: Aggregate) -> frozenset[int]:
    """The places of the keys whose NULL group is left out."""
    keys = [key for _, key in plan.keys]
    if not any(map(_hides_nulls, keys)):
        return frozenset()
    columns = inner_columns(plan, narrowed=True)
    return frozenset(
        place
        for place, key in enumerate(keys)
        if _hides_nulls(key) and not _is_null_elsewhere(key, columns)
    )


def _hides_nulls(key: Scalar) -> bool:
    """Whether it reads columns, and all of them are declared without NULL groups."""
    read = [one.field for one in walk_scalar(key) if isinstance(one, Ref)]
    return bool(read) and all(one.hides_nulls for one in read)


def _is_null_elsewhere(key: Scalar, columns: Mapping[str, Bounds]) -> bool:
    """Whether it may be NULL although its columns are not."""

    def present(one: Scalar) -> Scalar:
        return Ref(replace(one.field, nullable=False)) if isinstance(one, Ref) else one

    there = transform(key, present)
    if not can_be_null(there, columns):
        return False
    values = list_values(there, columns)
    return values is None or None in values
