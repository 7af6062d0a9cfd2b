"""How far one unit moves the exact release: never more than declared, and sometimes just as much."""

from fractions import Fraction

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import draws
from sensitivity.analyses import analysed, dataset, whole
from sensitivity.released import Exact, Person, cut, released, uncut

from gateway.catalog.domains import Interval, Values
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.clip import DECLARED_CLIP, ClipRule
from gateway.sensitivity.formulas import Linear, Quotient
from gateway.sensitivity.measurement import Slot, Units

_LOW, _HIGH, _ROWS, _GROUPS = -3, 6, 2, 2
_CLIP = 4  # whole, so that rows of one group reach it
_TABLE = dataset(
    _ROWS,
    {
        "g": ("text", Values(("p", "q", "r"))),
        "x": ("integer", whole(_LOW, _HIGH)),
        "y": ("numeric", Interval(Fraction(0), Fraction(2), Fraction(1, 4))),
    },
    _GROUPS,
)
_SQL = """
    SELECT g, COUNT(*), COUNT(x), SUM(x), AVG(x), COUNT(DISTINCT u), COUNT(DISTINCT x), SUM(y),
           COUNT(*) FILTER (WHERE x > 1), SUM(x) FILTER (WHERE x > 1), SUM(2 * x - 1)
    FROM t GROUP BY g
"""
# of small numbers, and of some whose squares are counted in units of many
_SPREADS = """
    SELECT g, COUNT(DISTINCT x), VAR_POP(x), STDDEV(y) FILTER (WHERE x > 1), VAR_SAMP(1000003 * x + y)
    FROM t GROUP BY g
"""
_LINES = """
    SELECT g, COUNT(DISTINCT x), CORR(x, y), REGR_COUNT(y, x), COVAR_POP(1000003 * x + y, 90001 * y + x)
    FROM t GROUP BY g
"""
_ANALYSES = {
    f"{name}, {noise}": analysed(sql, pairs=noise == "laplace", of=_TABLE, clip=ClipRule(_CLIP**2))
    for name, sql in (("sums", _SQL), ("spreads", _SPREADS), ("lines", _LINES))
    for noise in ("laplace", "gaussian")
}
_DECLARED = {
    f"{name}, declared": analysed(sql, pairs=False, of=_TABLE, clip=DECLARED_CLIP)
    for name, sql in (("sums", _SQL), ("spreads", _SPREADS), ("lines", _LINES))
}
_IDS = list(_ANALYSES)
_each = pytest.mark.parametrize("analysis", _ANALYSES.values(), ids=_IDS)
_sums = pytest.mark.parametrize("analysis", list(_ANALYSES.values())[:2], ids=_IDS[:2])

_rows = st.fixed_dictionaries(
    {
        "t.x": st.one_of(st.none(), st.integers(_LOW, _HIGH).map(Fraction)),
        "t.y": st.one_of(st.none(), st.integers(0, 8).map(lambda n: Fraction(n, 4))),
    }
)


def _people(unit: st.SearchStrategy[int], most: int) -> st.SearchStrategy[list[Person]]:
    one = st.builds(Person, unit, st.sampled_from(["p", "q", "r"]), _rows)
    return st.lists(one, max_size=most)


_others, _added = _people(st.integers(0, 3), 12), _people(st.just(9), 12)


def _moves(before: Exact, after: Exact, places: range) -> list[list[int]]:
    """How far each measurement moved, group by group."""
    return [
        [
            after.get(name, _nothing(after))[place] - before.get(name, _nothing(after))[place]
            for place in places
        ]
        for name in sorted({*before, *after})
    ]


def _nothing(like: Exact) -> list[int]:
    return [0] * max((len(one) for one in like.values()), default=0)


def _slots(analysis: Analysis) -> list[tuple[Slot, range]]:
    found, place = [], 0
    for slot in analysis.slots:
        found.append((slot, range(place, place + len(slot.measurements))))
        place += len(slot.measurements)
    return found


@pytest.mark.parametrize(
    "analysis", [*_ANALYSES.values(), *_DECLARED.values()], ids=[*_IDS, *_DECLARED]
)
@settings(max_examples=draws(400), deadline=None, derandomize=True)
@given(others=_others, added=_added)
def test_one_unit_moves_no_measurement_by_more_than_declared(
    analysis: Analysis, others: list[Person], added: list[Person]
) -> None:
    """Per group by `most`, over all groups by Δ1 and Δ2, both totals of a pair together."""
    before, after = released(others, analysis), released([*others, *added], analysis)
    for slot, places in _slots(analysis):
        moves = _moves(before, after, places)
        for each in moves:
            assert sum(map(abs, each)) <= slot.most
            for move, one in zip(each, slot.measurements, strict=True):
                assert abs(move) <= one.most
        if _adds_up(slot):
            assert sum(abs(one) for each in moves for one in each) <= slot.delta1(_GROUPS)
        assert sum(one * one for each in moves for one in each) <= slot.delta2_squared(_GROUPS)


def _adds_up(slot: Slot) -> bool:
    """Weights for Gaussian noise bound squares alone."""
    return slot.norm is None or slot.norm.added is not None


def _extremes() -> list[list[Person]]:
    """Units that do as much as they can: as many rows as the clip in one group, or many in every group, that of NULL too."""
    ends = [(x, y) for x in (_LOW, _HIGH) for y in (0, 2)]
    just = [
        [Person(9, "p", {"t.x": Fraction(x), "t.y": Fraction(y)}) for _ in range(_CLIP)]
        for x, y in ends
    ]
    same = [
        [
            Person(9, group, {"t.x": Fraction(x), "t.y": Fraction(y)})
            for group in "pqr-"
            for _ in range(_ROWS + 3)
        ]
        for x, y in ends
    ]
    mixed = [
        Person(9, group, {"t.x": Fraction(x), "t.y": Fraction(1)})
        for group in "pqr-"
        for x in range(_LOW, _HIGH + 1)
    ]
    return [*just, *same, mixed]


@_each
def test_declared_move_is_reached_for_every_slot(analysis: Analysis) -> None:
    """Nothing is declared that no unit can do: with one less, some unit would exceed it, also over G groups."""
    for slot, places in _slots(analysis):
        moved = [_moves({}, released(unit, analysis), places) for unit in _extremes()]
        in_group = [sum(map(abs, each)) for moves in moved for each in moves]
        over_all = [sum(abs(one) for each in moves for one in each) for moves in moved]
        squared = [sum(sum(map(abs, each)) ** 2 for each in moves) for moves in moved]
        assert max(in_group) == slot.most
        if _adds_up(slot):
            assert max(over_all) == slot.delta1(_GROUPS)
        if slot.norm is None or not _adds_up(slot):  # Laplace noise is for sums
            assert max(squared) == slot.delta2_squared(_GROUPS)


@_each
def test_declared_move_is_exceeded_when_nothing_is_cut(analysis: Analysis) -> None:
    """The bound is the doing of cut and weight: without them, or with a unit in all groups, units move more."""
    for slot, places in _slots(analysis):
        if isinstance(slot.measurements[0].quantity, Units):
            continue  # there are four groups, and no more
        free = [_moves({}, released(unit, analysis, how=uncut), places) for unit in _extremes()]
        assert max(sum(map(abs, one)) for each in free for one in each) > slot.most
        everywhere = [
            _moves({}, released(unit, analysis, groups=4), places) for unit in _extremes()
        ]
        over_all = [sum(abs(one) for each in moves for one in each) for moves in everywhere]
        squared = [sum(sum(map(abs, each)) ** 2 for each in moves) for moves in everywhere]
        assert not _adds_up(slot) or max(over_all) > slot.delta1(_GROUPS)
        assert max(squared) > slot.delta2_squared(_GROUPS)


@settings(max_examples=draws(500), deadline=None, derandomize=True)
@given(st.integers(1, 50), st.integers(-(2**30), 2**30), st.integers(1, 50))
def test_cut_leaves_no_more_than_its_share(n: int, s: int, most: int) -> None:
    """The cut keeps the sign, and at most R rows' part of the sum."""
    left = cut(n, s, most)
    assert abs(left) * n <= abs(s) * min(n, most)
    assert left * s >= 0


@_sums
@settings(max_examples=draws(200), deadline=None, derandomize=True)
@given(rows=st.lists(_rows, max_size=12))
def test_formula_gives_the_exact_aggregate_when_nothing_is_cut_or_added(
    analysis: Analysis, rows: list[dict[str, Fraction | None]]
) -> None:
    """Without noise, and with one row for each unit, COUNT, SUM and AVG are what they are in SQL."""
    people = [Person(place, "p", row) for place, row in enumerate(rows)]
    found = released(people, analysis)
    measured = found.get("p", [0] * len(analysis.measurements))
    x = [row["t.x"] for row in rows if row["t.x"] is not None]
    y = [row["t.y"] for row in rows if row["t.y"] is not None]
    some = [one for one in x if one > 1]
    mean = sum(x) / len(x) if x else None
    expected = [
        *(len(rows), len(x), sum(x), mean, len(rows), len(set(x)), sum(y)),
        *(len(some), sum(some), sum(2 * one - 1 for one in x)),
    ]
    for formula, wanted in zip(analysis.formulas, expected, strict=True):
        assert isinstance(formula, Linear | Quotient)
        if wanted is not None:
            assert formula.value(measured) == wanted
            assert formula.clamped(measured) == wanted
