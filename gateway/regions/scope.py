"""Scope of a part of a release: the rows that it selects, and the keys that group them.

INVARIANT: a scope follows from the plan and the policy alone and holds nothing of the data. Equal scopes select the
same rows in the same groups.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial

from gateway.catalog.values import Value
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.node import Node
from gateway.plan.relations import StagedRows
from gateway.plan.scalars import Ref, Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.regions.cells import NameCells
from gateway.regions.chosen_keys import KeyPart, parts_of_key
from gateway.regions.compared_scopes import (
    as_if_nobody,
    persons_read,
    row_readings,
    with_any_numbers,
)
from gateway.regions.conditional_aggregates import join_regions
from gateway.regions.declarations import declarations
from gateway.regions.few_chosen import without_chosen
from gateway.regions.joined_tables import joined_tables
from gateway.regions.key_cells import key_axis, values_at
from gateway.regions.predicate import opaque_axis
from gateway.regions.region import TooLarge, region_along
from gateway.regions.region_work import WorkSpent, allow_work
from gateway.regions.release_scope import (
    MOST_SCOPES,
    GroupKey,
    ReleaseScope,
    beside,
    of_relation,
    unreadable_of,
)
from gateway.regions.resolved_plan import ResolvedPlan, resolve_plan
from gateway.regions.union_sides import MOST_RELATIONS, MOST_SIDES
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups

__all__ = [
    "GroupKey",
    "ReleaseScope",
    "aggregate_scopes",
    "declarations",
    "normal_text",
    "scope_of",
    "scopes_beside",
]


def scope_of(
    plan: Aggregate,
    listed: EnumeratedGroups | None,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> ReleaseScope:
    """The scope of a release. `plan` has one grouping set, its row rules are filters, its moments are folded.

    `constants` has the digest of each staged constant's content, `known` the values of those that are known.
    """
    followed = resolve_plan(plan, constants, known)
    values = [
        None if listed is None else values_at(listed, place) for place in range(len(plan.keys))
    ]
    with allow_work():
        keys = _keys(plan, values, followed, followed)
    return ReleaseScope(
        followed.shape,
        followed.tables,
        followed.region,
        keys,
        unreadable_of(followed.region, keys),
        joined_tables(plan),
    )


def _keys(
    plan: Aggregate,
    values: Sequence[tuple[Value | None, ...] | None],
    whole: ResolvedPlan,
    part: ResolvedPlan,
) -> tuple[GroupKey, ...]:
    """The grouping keys of the plan in this part of it."""
    keys = []
    for (_, one), listed in zip(plan.keys, values, strict=True):
        made = part.inside(whole.resolved(one))
        keys.append(_key_of(made, listed, part))
    return tuple(keys)


def _key_of(
    scalar: Scalar, listed: tuple[Value | None, ...] | None, part: ResolvedPlan
) -> GroupKey:
    """The key over bases as a value of the auditor."""
    try:
        axis, cells = key_axis(scalar, listed, part.bases)
    except WorkSpent:
        axis, cells = None, None
    return GroupKey(scalar_sql(scalar), axis, listed, cells)


def scopes_beside(
    analysis: Analysis,
    scope: ReleaseScope,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> tuple[ReleaseScope, ...]:
    """The other scopes that an answer reveals: those of single aggregates, and of a total that is measured with its groups.

    INVARIANT: what is told of the total's noise is that of a group, which is less than it has: the auditor takes the
    groups for independent, and the total for one more release.
    """
    found = aggregate_scopes(analysis.plan, scope, constants, known)
    if not analysis.total:
        return found
    total = replace(scope, keys=())
    as_if = (replace(one, keys=(), as_if_of=total) for one in found if one.as_if_of == scope)
    return (*found, total, *as_if)


def aggregate_scopes(
    plan: Aggregate,
    scope: ReleaseScope,
    constants: Mapping[str, str],
    known: Mapping[str, StagedRows] | None = None,
) -> tuple[ReleaseScope, ...]:
    """The other scopes that the answer reveals, each once.

    They are the rows that single aggregates select, the rows that were grouped by person, rows with and without a partner
    in an outer join or EXISTS, the rows of windows, and each side of a union.
    """
    followed = resolve_plan(plan, constants, known)
    found = list[ReleaseScope]()
    try:
        with allow_work():
            for one in _of_chosen_keys(plan, scope, followed):
                found += (one, *with_any_numbers(one))
            found.extend(_revealed(plan, scope, followed))
    except (TooLarge, WorkSpent):
        found.append(_too_many_sides(scope))
    # what is both an answer and another one as if nobody had something is an answer
    found.sort(key=lambda one: one.as_if_of is not None)
    return tuple(dict.fromkeys(found))


def _revealed(
    plan: Aggregate, scope: ReleaseScope, followed: ResolvedPlan
) -> Iterator[ReleaseScope]:
    """The same, beside the groups of chosen boundaries."""
    given = [measure for _, measure in plan.measures]
    shown = [followed.resolved(part) for one in given for part in one.scalars]
    divided_by = [followed.resolved(key) for _, key in plan.keys]
    told_ids = column_ids(*shown, *divided_by)
    # a plain number of a person that is summed, or averaged, is no condition
    asked_ids = column_ids(*(one for one in shown if not isinstance(one, Ref)), *divided_by)
    values = [one.values for one in scope.keys]
    told_over_bases = [one.map_scalars(followed.resolved) for one in given]
    left = deque([(followed, given)])
    windows = set[str]()
    sides, relations, scopes = 0, 0, 0
    while left:
        one, told = left.popleft()
        parts = one.sides
        sides, relations = sides + len(parts), relations + 1
        if sides > 2 * MOST_SIDES or relations > MOST_RELATIONS or scopes > MOST_SCOPES:
            raise TooLarge
        left += ((part, told) for part in parts)
        read = one.reads(told_ids)
        left += ((each, [total]) for each, total in one.windows(read - windows))
        windows |= read
        if parts and one.within:
            continue  # its sides are next
        own = scope
        if one is not followed:
            keys = _keys(plan, values, followed, one) if one.within else scope.keys
            own = of_relation(replace(scope, keys=keys), one)
            yield own
        several = beside(own, told, one)
        scopes += len(several)
        yield from several
        asked = [one.inside(key) for key in divided_by]
        if one.within:
            divided = [*asked, *map(one.inside, followed.lineage.divisions)]
            for each in dict.fromkeys(divided):
                for piece in parts_of_key(each, one.bases, one.lineage.conditional):
                    yield _part_scope(replace(own, keys=()), piece, one)
        yield from _without_few(scope, own, several, one, asked)
        yield from as_if_nobody((own, *several), one)
        left += ((each, told) for each in one.met)
        left += ((each, told) for each in one.without_unread(told))
        persons = list(_of_persons(own, told, one, asked))
        yield from persons
        keyed = partial(_keys, plan, values, followed)
        shown_below = () if one is followed else told_over_bases
        readings = list(row_readings(own, told, shown_below, one, names=asked_ids, keyed=keyed))
        yield from readings
        yield from persons_read(own, persons, readings)
        if (rows := one.rows) is not None:
            # sums of values that were computed for each person reveal the rows behind them
            left.append((rows, rows.measures_of_persons(told_ids)))
            continue
        for answer in (own, *several):
            yield from with_any_numbers(answer)


def _of_persons(
    scope: ReleaseScope, told: Iterable[Measure], rows: ResolvedPlan, keys: Sequence[Scalar]
) -> Iterator[ReleaseScope]:
    """Persons in the place of their rows, and those whom the aggregates are about: without keys that divide their rows."""
    given = list(told)
    whole = scope if column_ids(*keys) <= rows.lineage.singles else replace(scope, keys=())
    found = [(whole, one, list[Measure]()) for one in rows.counted_persons(given)]
    if (persons := rows.persons(keys)) is not None:
        found.append((scope, persons, given))
    for grouped, each, measures in found:
        own = of_relation(grouped, each)
        several = (own, *beside(own, measures, each))
        answers = [replace(one, of_groups=bool(one.numbers)) for one in several]
        for one in answers:
            yield one
            yield from with_any_numbers(one)
        yield from as_if_nobody(answers, each)


def _without_few(
    scope: ReleaseScope,
    own: ReleaseScope,
    several: Iterable[ReleaseScope],
    rows: ResolvedPlan,
    asked: Sequence[Scalar],
) -> Iterator[ReleaseScope]:
    """These rows, and those of its aggregates and of the keys, as all rows but those of few persons."""
    regions = [one.region for one in several]
    for part in rows.without_few(regions, asked):
        yield of_relation(scope, part)
    for part in without_chosen(rows, regions, asked):
        yield of_relation(replace(own, keys=()), part)


def _of_chosen_keys(
    plan: Aggregate, scope: ReleaseScope, followed: ResolvedPlan
) -> Iterator[ReleaseScope]:
    """The groups of keys whose boundaries the query chose: of the release, if their cells are not known, and of a person.

    How many groups a person has depends on whether his rows are on both sides of the boundary.
    """
    conditional = followed.lineage.conditional
    for (_, scalar), key in zip(plan.keys, scope.keys, strict=True):
        if key.cells is None:
            others = tuple(one for one in scope.keys if one is not key)
            for part in parts_of_key(followed.resolved(scalar), followed.bases, conditional):
                yield _part_scope(replace(scope, keys=others), part, followed)
    if followed.lineage.divisions:
        rows = followed.rows or followed
        grouped = scope if rows is followed else of_relation(scope, rows)
        for scalar in dict.fromkeys(followed.lineage.divisions):
            for part in parts_of_key(scalar, followed.bases, conditional):
                yield _part_scope(grouped, part, followed)


def _part_scope(scope: ReleaseScope, part: KeyPart, followed: ResolvedPlan) -> ReleaseScope:
    region = join_regions(scope.region, part.region)
    rest = () if part.rest is None else (_key_of(part.rest, None, followed),)
    keys = (*scope.keys, *rest)
    return replace(scope, region=region, keys=keys, unreadable=unreadable_of(region, keys))


def _too_many_sides(scope: ReleaseScope) -> ReleaseScope:
    region = region_along(
        opaque_axis(f"a side of {scope.shape}", ()), NameCells(frozenset({"true"}))
    )
    return replace(scope, region=region, unreadable=unreadable_of(region, scope.keys))


def normal_text(plan: Node, scalar: Scalar, constants: Mapping[str, str]) -> str:
    """The normal text of an expression over the fields of a relation, without aliases."""
    return scalar_sql(resolve_plan(plan, constants).resolved(scalar))
