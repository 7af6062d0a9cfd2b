"""The grounds of a part of a release: its own, and one for each condition that its aggregates are under.

`COUNT(*) FILTER (WHERE c)` is the answer to another question than the rest of its statement, and so is
`SUM(CASE WHEN c THEN 1 ELSE 0 END)`: each is about the rows for which c is true.
"""

from collections.abc import Iterator, Mapping

from gateway.overlap.ground import Ground, ground_of
from gateway.plan.aggregates import Measure
from gateway.plan.grouping import Aggregate
from gateway.plan.relations import Filter
from gateway.plan.scalars import Case, Scalar, walk
from gateway.sensitivity.analysis import Enumerated


def grounds_of(
    plan: Aggregate, listed: Enumerated | None, constants: Mapping[str, str]
) -> tuple[Ground, ...]:
    """The ground of the part first, then those of the conditions in its aggregates, each once."""
    found = [ground_of(plan, listed, constants)]
    conditions = dict.fromkeys(one for _, measure in plan.measures for one in _conditions(measure))
    for condition in conditions:
        under = Aggregate(Filter(plan.child, condition), plan.keys, plan.measures, plan.sets)
        found.append(ground_of(under, listed, constants))
    return tuple(dict.fromkeys(found))


def _conditions(measure: Measure) -> Iterator[Scalar]:
    if measure.where is not None:
        yield measure.where
    for argument in measure.arguments:
        for one in walk(argument):
            if isinstance(one, Case):
                yield from (condition for condition, _ in one.branches)
