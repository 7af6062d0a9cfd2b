"""Auditor: may a query be answered, given everything that its trust group has received?

0. An earlier release about the same tables that cannot be read refuses the query: nothing can be compared with it.
1. An opaque condition cannot be compared. `opaque_predicates` decides: `refuse` refuses the query; `allow` leaves
   the part out of every comparison; `count_as_unknown` compares it by released sizes and in trackers.
2. A region that was counted before, by itself or as whole groups, with fewer than `min_units`, is refused; and so is a
   part of it, either of them beside narrow parts, and a group of it if the query chose the boundary of a key.
3. `differencing`: the new answer minus one earlier answer.
4. `trackers`: all answers together.

`narrow` defines when a difference is about too few people.

INVARIANT: the verdict and its text are a function of (concerned, history, rules). There is no database here, no
clock and no randomness; limits are numbers of compared entries. None of the three contains protected rows: a
history holds scopes, which follow from plans and policies, and released noisy counts.
"""

from collections.abc import Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import islice, product
from math import prod
from typing import Final

from gateway.overlap.differencing import find_clashes
from gateway.overlap.history import (
    History,
    Index,
    PriorRelease,
    as_float,
    comparable_indexes,
)
from gateway.overlap.known_sizes import KnownSize, KnownSizes
from gateway.overlap.narrow import Judge, Residual
from gateway.overlap.question_part import NewQuery, QuestionPart, cut_sides, part_of
from gateway.overlap.refusals import (
    MOST_NAMED,
    THIS,
    differencing_refusal,
    earlier_unreadable_refusal,
    not_compared_refusal,
    small_refusal,
    unreadable_refusal,
)
from gateway.overlap.trackers import find_trackers
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.boxes import Side, subtract_boxes
from gateway.regions.cells import is_empty, without_null
from gateway.regions.scope import ReleaseScope

_MOST_GROUPS: Final = 256
_MOST_BOXES: Final = 16  # of a region: each is tried as a part of one that is small


def audit(concerned: Sequence[NewQuery], history: History, rules: Auditing) -> None:
    """Refuse the query, or return. The parts of the query are compared with each other as well.

    INVARIANT: there is a verdict for every query. A query that cannot be compared, because of an internal
    error, is refused.
    """
    try:
        find_violation(concerned, history, rules)
    except (ArithmeticError, LookupError, TypeError, ValueError, RecursionError) as error:
        raise not_compared_refusal() from error


def find_violation(concerned: Sequence[NewQuery], history: History, rules: Auditing) -> None:
    """The same; the tests check that it raises nothing but a refusal.

    The parts of the query are compared twice: as they are, and as if nobody had what any of them leaves out. A part and the
    same part as if nobody had it differ by just these rows, so they are never compared with each other.
    INVARIANT: a part that leaves nothing out is compared in both ways.
    """
    within, as_if = History(), History()
    told = {one.scope.as_if_of for one in concerned} - {None}
    for number, one in enumerate(concerned):
        if one.scope.region.is_nothing:
            continue  # an answer about no rows is noise alone
        if history.misses(one.scope.tables) and (rules.min_units > 1 or rules.narrow_cells):
            raise earlier_unreadable_refusal(one.scope.tables)
        if one.scope.unreadable:
            if rules.opaque is UnreadableConditions.REFUSE:
                raise unreadable_refusal(one.scope.unreadable[0])
            if rules.opaque is UnreadableConditions.ALLOW:
                continue
        for parts in _worlds(one.scope, told, within, as_if):
            indexes = comparable_indexes(one.scope, (parts, history))
            if indexes:
                _audited(part_of(one, indexes), indexes, rules)
            parts.add(PriorRelease(f"{number}", THIS, one.scope, None, one.spread))


def _worlds(
    scope: ReleaseScope, told: AbstractSet[ReleaseScope | None], within: History, as_if: History
) -> Iterator[History]:
    """The parts of the query that this one is compared with. `told` are those that leave something out."""
    if scope.as_if_of is None:
        yield within
    if told and scope not in told:
        yield as_if


def _audited(part: QuestionPart, indexes: tuple[Index, ...], rules: Auditing) -> None:
    sizes = KnownSizes(indexes, part.axes, as_float(part.spread))
    places = [index.lying(part.around, part.keys, part.axes) for index in indexes]
    for near in places:
        sizes.seen(part.around, near)
    judge = Judge(rules, sizes, part.axes)
    if rules.min_units > 1:
        _not_small(part, sizes, judge, rules)
    for near in places:
        found = list(islice(find_clashes(part, near, judge, rules), MOST_NAMED))
        if found:
            raise differencing_refusal(found, part.axes)
    several = find_trackers(part, places, judge, rules)
    if several:
        raise differencing_refusal(several, part.axes, several=True)


def _not_small(part: QuestionPart, sizes: KnownSizes, judge: Judge, rules: Auditing) -> None:
    for sides in (part.sides, *_chosen_groups(part)):
        known = sizes.exactly(sides) or sizes.grouped(sides)
        if known is None or not known.is_small(rules.min_units):
            known = _small_within(part, sides, sizes, judge, rules)
        if known is not None and known.is_small(rules.min_units):
            raise small_refusal(known.query_id, rules)


def _small_within(
    part: QuestionPart, sides: Sequence[Side], sizes: KnownSizes, judge: Judge, rules: Auditing
) -> KnownSize | None:
    """The size of a small region outside of which the boxes have nothing, or narrow parts alone.

    INVARIANT: the analyst can choose values that nobody has, so an OR with narrow parts asks about the small region again.
    """
    for one in sides[:_MOST_BOXES]:
        for known, around in sizes.small_around(one, rules.min_units):
            outside = subtract_boxes(sides, around, part.axes)
            if outside is None:
                continue
            parts = outside.parts
            if not parts or judge.narrow(Residual(parts, [{}], [{}], None)) is not None:
                return known
    return None


def _chosen_groups(part: QuestionPart) -> Iterator[list[Side]]:
    """The groups of the part, if the query chose the boundary of a key: `GROUP BY year = 1922` asks as WHERE does.

    Tables over the calendar or over the values of a column have small groups, which nobody chose.
    """
    keys = [one for one in part.keys if one.cells is not None]
    # the group of NULL has no weight
    cut = [[each for each in one.cells or () if not is_empty(without_null(each))] for one in keys]
    if not any(one.chosen for one in keys) or prod(map(len, cut)) > _MOST_GROUPS:
        return
    for cells in product(*cut):
        sides = list(part.sides)
        for key, each in zip(keys, cells, strict=True):
            sides = cut_sides(sides, key.axis.name, each)
        if sides:
            yield sides


__all__ = ["History", "NewQuery", "PriorRelease", "audit"]
