"""Scopes that are compared beside what an answer is about: with any numbers of persons, as if nobody had what they leave out, and
with numbers of persons as conditions on rows.

INVARIANT: none of these was released. They close pairs and trackers, and open none, because they have no size.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace

from gateway.plan.aggregates import Measure
from gateway.plan.scalars import Ref, column_ids
from gateway.regions.absent_partners import without_absent_partners
from gateway.regions.region import TooLarge, region_without_missing
from gateway.regions.release_scope import (
    MOST_SCOPES,
    GroupKey,
    ReleaseScope,
    beside,
    of_region,
    of_relation,
)
from gateway.regions.resolved_plan import ResolvedPlan
from gateway.regions.row_readings import EVERY_NUMBER


def with_any_numbers(scope: ReleaseScope) -> Iterator[ReleaseScope]:
    """The same rows whatever the numbers of their persons are, if it has conditions on these.

    A number may be a condition on rows in disguise: `bool_or(income > X)` beside `income > X` restricts nothing. So the rows of
    two numbers would look as if they differed by wide regions in which there is nobody.
    """
    if scope.numbers:
        region = scope.region.without_axes(scope.numbers)
        yield replace(of_region(scope, region), any_numbers=True, of_groups=False)


def as_if_nobody(answers: Iterable[ReleaseScope], rows: ResolvedPlan) -> Iterator[ReleaseScope]:
    """The same rows as if nobody had what they leave out, with some numbers of persons and with any."""
    for scope in answers:
        for region in without_absent_partners(scope.region, rows.lineage.partners.is_of_partner):
            found = of_region(scope, region)
            found = replace(found, of_groups=scope.of_groups and bool(found.numbers))
            yield replace(found, as_if_of=scope)
            of_any = next(with_any_numbers(scope), scope)
            for one in with_any_numbers(found):
                yield replace(one, as_if_of=of_any)


def row_readings(
    own: ReleaseScope,
    told: Sequence[Measure],
    shown: Sequence[Measure],
    rows: ResolvedPlan,
    *,
    names: frozenset[str],
    keyed: Callable[[ResolvedPlan], tuple[GroupKey, ...]],
) -> Iterator[ReleaseScope]:
    """The same rows with conditions on numbers of persons as conditions on rows, where these say something.

    `shown` are the aggregates of the answer over bases, `names` the bases that keys and expressions of the answer read; `keyed`
    gives the keys of a part. The reading of all numbers says something even where it is true for all rows: other numbers of these
    rows are conditions on them.
    """
    whatever = own.region.without_axes(own.numbers - rows.lineage.numbered.keys())
    asked = [
        [rows.near(each) for each in one.scalars if not isinstance(each, Ref)] for one in shown
    ]
    read = [column_ids(*one) for one in asked]
    for place, (kind, part, others) in enumerate(rows.row_readings(names.union(*read))):
        if place > MOST_SCOPES:
            raise TooLarge
        said = replace(own, keys=keyed(part), row_reading=kind)
        mine = of_relation(said, part)
        # an aggregate over none of the numbers that are read says what it says without the reading
        about = [one for one, ids in zip(shown, read, strict=True) if ids & part.read_as.keys()]
        measured = [one.map_scalars(part.near) for one in about]
        several = (mine, *beside(said, told, part), *beside(mine, measured, part.over_bases))
        answers = list[ReleaseScope]()
        for one in dict.fromkeys(several):
            for region in one.region.slices(others):
                if kind == EVERY_NUMBER or region != whatever or said.keys != own.keys:
                    answers.append(of_region(one, region))
        yield from answers
        for one in answers:
            absent = without_absent_partners(one.region, rows.lineage.partners.is_of_partner)
            yield from (replace(of_region(one, region), as_if_of=one) for region in absent)


def persons_read(
    own: ReleaseScope, persons: Sequence[ReleaseScope], readings: Sequence[ReleaseScope]
) -> Iterator[ReleaseScope]:
    """The persons with any numbers as a reading of all numbers, if these say nothing of a person with one row."""
    if not persons or not readings:
        return
    whatever = region_without_missing(own.region.without_axes(own.numbers))
    for one in readings:
        if one.row_reading == EVERY_NUMBER and region_without_missing(one.region) == whatever:
            for each in persons:
                if each.any_numbers:
                    yield _read(each)
            return


def _read(persons: ReleaseScope) -> ReleaseScope:
    of = None if persons.as_if_of is None else _read(persons.as_if_of)
    return replace(persons, any_numbers=False, row_reading=EVERY_NUMBER, as_if_of=of)
