"""Units with many rows in many groups: how much less each of them counts, and that it is enough."""

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import draws
from sensitivity.analyses import analysed, dataset, plan_of, whole
from sensitivity.released import Person, released

from gateway.catalog.domains import Values
from gateway.functions.range_arithmetic import Range
from gateway.noise.allocation import Distribution, PriceExceeded, price_noise
from gateway.ranges.lattice import lattice_of, unit_of
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import (
    DECLARED_CLIP,
    LARGEST_CLIP,
    MOST_ROWS,
    TOTAL_PARTS,
    Clip,
    ClipRule,
    Clips,
    units_clip,
    weight_bits,
)
from gateway.sensitivity.formulas import Linear, Quotient
from gateway.sensitivity.measurement import Different, Slot, UnboundedSum

_LETTERS = "abcdefghijk"
_ROWS, _GROUPS = 7, 3
_TABLE = dataset(
    _ROWS,
    {"g": ("text", Values(tuple(_LETTERS))), "f": ("text", None), "x": ("integer", whole(-3, 6))},
    _GROUPS,
)
_SQL = """
    SELECT g, COUNT(*), COUNT(x), SUM(x), AVG(x), VAR_POP(x), COUNT(DISTINCT u),
           COUNT(*) FILTER (WHERE x > 1), SUM(x) FILTER (WHERE x > 1)
    FROM t GROUP BY g
"""
_FOUR = ClipRule(16)
_LAPLACE, _GAUSSIAN, *_DECLARED = (
    analysed(_SQL, pairs=pairs, of=_TABLE, clip=clip)
    for clip in (_FOUR, DECLARED_CLIP)
    for pairs in (True, False)
)
_NAMES = ["laplace", "gaussian", "laplace declared", "gaussian declared"]
_both = pytest.mark.parametrize("analysis", [_LAPLACE, _GAUSSIAN, *_DECLARED], ids=_NAMES)
_clips = st.builds(
    lambda square, squares, groups: Clip(
        square, squares=squares, bits=weight_bits(square)
    ).with_total(TOTAL_PARTS * groups if squares else 0),
    st.integers(1, 2**40),
    st.booleans(),
    st.sampled_from([0, 0, 1, 4, 100]),
)
_counts = st.lists(st.one_of(st.integers(1, 50), st.integers(1, 2**31)), min_size=1, max_size=50)


def _unit(counts: Sequence[int], x: int) -> list[Person]:
    """One that has so many rows in each of its groups, all alike."""
    row: dict[str, Fraction | None] = {"t.x": Fraction(x)}
    return [
        Person(9, name, row)
        for name, many in zip(_LETTERS, counts, strict=False)
        for _ in range(many)
    ]


_UNITS = [
    *([1] * many for many in range(1, len(_LETTERS) + 1)),
    *([many] for many in (2, 3, 4, 5, 30)),
    [30] * len(_LETTERS),
    [1, 2, 3, 4, 5],
    [4, 1],
    [17, 1, 1],
]


def _exceeds(analysis: Analysis) -> set[str]:
    """In which sums some unit moves more than is declared."""
    found, place, groups = set(), 0, analysis.groups_per_unit
    for slot in analysis.slots:
        places = range(place, place + len(slot.measurements))
        place += len(slot.measurements)
        for counts in _UNITS:
            for x in (-3, 6):
                exact = released(_unit(counts, x), analysis).values()
                moved = [sum(abs(one[at]) for at in places) for one in exact]
                if max(moved) > slot.most:
                    found.add("group")
                if _added(slot) and sum(moved) > slot.delta1(groups):
                    found.add("sum")
                if sum(one * one for one in moved) > slot.delta2_squared(groups):
                    found.add("squares")
    return found


def _added(slot: Slot) -> bool:
    """Whether the sum of moves is bounded at all."""
    return slot.norm is None or slot.norm.added is not None


def _with(analysis: Analysis, clips: Clips) -> Analysis:
    """The same, weighted as if these were declared."""
    return replace(analysis, clips=clips)


@settings(max_examples=draws(500), deadline=None, derandomize=True)
@given(_clips, _counts)
def test_weight_is_the_largest_that_keeps_the_norm_within_its_limit(
    clip: Clip, counts: list[int]
) -> None:
    """W²·Q ≤ B for Gaussian noise, W·N ≤ isqrt(B) for Laplace's; with one more it would not hold."""
    weight = clip.weight(counts)
    assert 0 <= weight <= clip.whole
    norm = sum(one * one for one in counts) if clip.squares else sum(counts) ** 2
    if clip.total:
        norm = 16 * norm + -(-(sum(counts) ** 2) // clip.groups)
    assert weight**2 * norm <= clip.limit
    if sum(counts) <= MOST_ROWS and weight < clip.whole:
        assert (weight + 1) ** 2 * norm > clip.limit


@settings(max_examples=draws(300), deadline=None, derandomize=True)
@given(_clips, _counts, st.data())
def test_contribution_stays_within_every_declared_bound(
    clip: Clip, counts: list[int], data: st.DataObject
) -> None:
    """Any integers that so many rows can add: in one group, in the sum of squares, and in the sum where that is bounded."""
    row = data.draw(st.sampled_from([1, 7, 2**30 - 1]))
    added = [data.draw(st.integers(-row * many, row * many)) for many in counts]
    weighted = [clip.weight(counts) * one for one in added]
    norm = clip.norm(row)
    assert max(map(abs, weighted)) <= clip.most * row < 2**61
    total = Fraction(sum(weighted) ** 2, clip.total) if clip.total else 0
    assert sum(one * one for one in weighted) + total <= norm.squares
    if norm.added is not None:
        assert sum(map(abs, weighted)) <= norm.added


def test_unit_counts_in_full_up_to_the_clip_and_never_more() -> None:
    """Sixteen groups of one row, or four rows of one group, are the norm 4; weights never grow with rows."""
    clip = Clip(16, squares=True)
    assert clip.weight([4]) == clip.weight([1] * 16) == clip.whole
    assert clip.weight([5]) < clip.whole
    assert clip.weight([1] * 17) < clip.whole
    assert Clip(16, squares=False).weight([1] * 5) < clip.whole
    for one in (clip, Clip(16, squares=False)):
        found = [one.weight([many]) for many in range(1, 200)]
        assert all(later <= earlier for earlier, later in pairwise(found))


@pytest.mark.parametrize("squares", [True, False])
def test_unit_with_more_rows_than_can_be_squared_counts_nowhere(*, squares: bool) -> None:
    """Beyond 2^31 - 1 rows the weight is 0; a norm of 2^30 rows still weighs something at the largest clip."""
    largest = Clip(2**28, squares=squares)
    assert largest.weight([2**30]) == 1
    assert largest.weight([MOST_ROWS + 1]) == 0
    assert largest.weight([2**30, 2**30]) == 0
    assert Clip(1, squares=squares).weight([2**16]) == 1
    assert Clip(1, squares=squares).weight([2**16 + 1]) == 0


def test_clip_leaves_room_for_the_bits_of_its_weights() -> None:
    """c·2^f is at most 2^30, whatever c is; a clip that does not fit is none."""
    for square in (1, 16, 2**28, 2**28 + 1, 2**40):
        bits = weight_bits(square)
        assert square * 4**bits <= 4**30
        assert bits == 16 or square * 4 ** (bits + 1) > 4**30
    for square, bits in ((0, 16), (2**28 + 1, 16), (16, 17), (2**40, 11)):
        with pytest.raises(ValueError, match="a clip is at least 1"):
            Clip(square, squares=True, bits=bits)


@pytest.mark.parametrize("of", [10**12, 2**62])
def test_weighted_sum_of_a_unit_fits_into_a_bigint(of: int) -> None:
    """A pair of the widest lattice, and products, times the weighted rows of a unit are below 2^63."""
    lattice = lattice_of(Range(Fraction(-of), Fraction(of), None))
    assert Clip(2**28, squares=True).most * lattice.width < 2**62
    assert Clip(2**28, squares=True).most * (of // unit_of(of)) < 2**62


@_both
def test_no_unit_moves_more_than_declared_when_weighted(analysis: Analysis) -> None:
    """In any number of groups, with any number of rows, at either end of the domain."""
    assert analysis.clips is not None
    assert _exceeds(analysis) == set()


def test_weights_for_squares_move_a_sum_too_far() -> None:
    """The norm of squares is less than the sum: under Laplace noise it would not be paid for."""
    rows = Clip(16, squares=True)
    assert "sum" in _exceeds(_with(_LAPLACE, Clips(rows, units_clip(rows, len(_LETTERS)))))


@_both
@pytest.mark.parametrize("wrong", ["larger", "units", "rows"])
def test_unit_moves_too_far_when_its_weight_is_that_of_another_clip(
    analysis: Analysis, wrong: str
) -> None:
    """Rows clipped higher than declared, or counted as groups; units that are not clipped at all."""
    assert analysis.clips is not None
    rows, units = analysis.clips.rows, analysis.clips.units
    higher = replace(rows, square=rows.square + (4 if rows.squares else 20))
    lowest = replace(rows, square=1)
    broken = {
        "larger": Clips(higher, units),
        "rows": Clips(replace(rows, square=10**4), units),
        "units": Clips(rows, None),
    }[wrong]
    found = _exceeds(_with(_narrow(analysis, lowest) if wrong == "units" else analysis, broken))
    assert found & {"sum", "squares"}


def _narrow(analysis: Analysis, clip: Clip) -> Analysis:
    """The same question where one group of a unit counts in full."""
    return analyze_release(
        analysis.plan,
        pairs=not clip.squares,
        enumerated_groups=10_000,
        min_units=10,
        clip=ClipRule(clip.square),
    )


def test_weights_for_squares_are_not_priced_with_noise_for_sums() -> None:
    """An analysis for Gaussian noise cannot get Laplace's; its slots do not even say for how much."""
    with pytest.raises(PriceExceeded):
        price_noise([_GAUSSIAN], Distribution.LAPLACE, Fraction(1), Fraction(0))
    with pytest.raises(UnboundedSum):
        _GAUSSIAN.slots[0].delta1(3)


@_both
def test_formula_gives_the_exact_aggregate_when_no_unit_is_clipped(analysis: Analysis) -> None:
    """In whole rows and in the unit of the column: counts, sums, means, and what clamps them."""
    values = [-3, 0, 1, 6, 6]
    people = [
        Person(place, name, {"t.x": Fraction(x)})
        for place, x in enumerate(values)
        for name in _LETTERS[:3]
    ]
    simple = [one for one in analysis.formulas if isinstance(one, Linear | Quotient)]
    for measured in released(people, analysis).values():
        wanted = [5, 5, 10, Fraction(2), 5, 2, 12]
        assert [one.value(measured) for one in simple] == wanted
        assert [one.clamped(measured) for one in simple] == wanted
    below = [-one.most for one in analysis.measurements]
    assert simple[0].clamped(below) == 0
    # a mean is over one row at least, not over a part of one
    half = [one // 2 for one in released([Person(1, "a", {"t.x": Fraction(6)})], analysis)["a"]]
    middle = simple[3].value([0] * len(half))
    assert simple[3].value(half) == middle + (6 - middle) / 2


def test_count_of_units_is_clipped_by_what_can_be_asked_at_most() -> None:
    """Four listed groups are a norm of 2, not of the clip; groups that are found are at most G."""
    few = analysed(
        "SELECT g, COUNT(DISTINCT u) FROM t WHERE g < 'e' GROUP BY g", of=_TABLE, clip=_FOUR
    )
    assert few.slots[0].norm == Clip(16, squares=False).norm(1)
    four = "SELECT g, COUNT(DISTINCT u) FROM t WHERE g IN ('a', 'b', 'c', 'd') GROUP BY g"
    by_squares = analysed(four, pairs=False, of=_TABLE, clip=_FOUR)
    assert by_squares.slots[0].norm == Clip(4, squares=True).norm(1)
    assert by_squares.clips == Clips(Clip(16, squares=True), None)
    found = analysed("SELECT f, COUNT(*) FROM t GROUP BY f", pairs=False, of=_TABLE, clip=_FOUR)
    assert isinstance(found.groups, ThresholdGroups)
    assert found.slots[found.groups.units].norm == Clip(3, squares=True).norm(1)


def test_unit_in_one_group_counts_once_where_groups_are_constant_or_there_are_none() -> None:
    """Without keys a unit is 1; with one group for each unit it is 1, and whoever breaks that weighs less."""
    total = analysed("SELECT COUNT(DISTINCT u), COUNT(*) FROM t", of=_TABLE)
    assert total.slots[0].norm == Clip(1, squares=False).norm(1)
    assert total.clips is not None
    assert total.clips.units is None
    joined = "SELECT p.region, COUNT(DISTINCT v.patient_id) FROM visits v JOIN patients p USING (patient_id) GROUP BY 1"
    constant = analyze_release(plan_of(joined), pairs=False, enumerated_groups=10_000, min_units=10)
    assert isinstance(constant.groups, EnumeratedGroups)
    assert constant.clips is not None
    assert constant.clips.units == Clip(1, squares=True)


@pytest.mark.parametrize("pairs", [True, False])
def test_values_are_kept_beside_weights(*, pairs: bool) -> None:
    """A count of different values is in whole values and in G groups, where everything else is weighted."""
    found = analysed(
        "SELECT g, COUNT(*), COUNT(DISTINCT x) FROM t GROUP BY g", pairs=pairs, of=_TABLE
    )
    rows, values = found.slots
    assert isinstance(values.measurements[0].quantity, Different)
    assert (values.norm, values.most, values.measurements[0].whole) == (None, 7, 1)
    assert values.delta2_squared(found.groups_per_unit) == 3 * 7**2
    assert rows.norm is not None
    assert _exceeds(found) == set()


def test_table_of_one_row_per_unit_is_not_weighted() -> None:
    """One row in one group: what it adds is an integer of its own."""
    one = dataset(1, {"g": ("text", Values(tuple(_LETTERS))), "x": ("integer", whole(-3, 6))})
    found = analysed("SELECT g, COUNT(*), SUM(x) FROM t GROUP BY g", of=one)
    assert found.clips is None
    assert all(each.whole == 1 for each in found.measurements)
    persons = "SELECT n, COUNT(*) FROM (SELECT u, COUNT(*) AS n FROM t GROUP BY u) AS p GROUP BY n"
    assert analysed(persons, of=_TABLE).clips is None


_ASKED = {
    "listed": "SELECT g, COUNT(*), COUNT(DISTINCT u) FROM t GROUP BY g",
    "found": "SELECT f, COUNT(*), COUNT(DISTINCT u) FROM t GROUP BY f",
    "none": "SELECT COUNT(*), COUNT(DISTINCT u) FROM t",
}
_SINGLE = dataset(1, {"g": ("text", Values(tuple(_LETTERS))), "f": ("text", None)})
_asked = pytest.mark.parametrize("sql", _ASKED.values(), ids=_ASKED)


@_asked
@pytest.mark.parametrize("pairs", [True, False])
def test_declared_clip_counts_everybody_in_full_who_has_what_is_declared(
    sql: str, *, pairs: bool
) -> None:
    """At most R rows in each of at most G groups: rows and groups weigh 2^f. With one row more in every group, less."""
    found = analysed(sql, pairs=pairs, of=_TABLE)
    most = found.groups_per_unit
    assert found.clips is not None
    rows = found.clips.rows
    units = rows if found.clips.units is None else found.clips.units
    for groups in range(1, most + 1):
        for many in range(1, _ROWS + 1):
            assert rows.weight([many] * groups) == rows.whole
        assert rows.weight([_ROWS, *range(1, groups)]) == rows.whole
        assert units.weight([1] * groups) == units.whole
    assert rows.weight([_ROWS + 1] * most) < rows.whole
    assert rows.weight([_ROWS] * (most + 1)) < rows.whole


@_asked
@pytest.mark.parametrize("x", [-3, 0, 6])
@pytest.mark.parametrize("pairs", [True, False])
def test_person_who_has_what_is_declared_adds_all_of_it(sql: str, x: int, *, pairs: bool) -> None:
    """R rows in each of G groups add R to each of G counts, and 1 to each count of units; one row more adds less."""
    found = analysed(sql, pairs=pairs, of=_TABLE)
    most = found.groups_per_unit
    [rows, units] = [one.whole for one in found.measurements]
    exact = released(_unit([_ROWS] * most, x), found)
    assert list(exact.values()) == [[_ROWS * rows, units]] * most
    more = released(_unit([_ROWS + 1] * most, x), found).values()
    assert all(one < (_ROWS + 1) * rows for one, _ in more)


@_asked
@pytest.mark.parametrize("noise", [Distribution.LAPLACE, Distribution.GAUSSIAN])
def test_declared_clip_needs_no_more_noise_than_rows_that_are_cut(
    sql: str, noise: Distribution
) -> None:
    """Of the noise of one row in one group √G·R for Gaussian noise, G·R for Laplace's: just what R rows in G groups are."""
    pairs = noise is Distribution.LAPLACE
    single, found = (analysed(sql, pairs=pairs, of=of) for of in (_SINGLE, _TABLE))
    assert single.clips is None
    most = found.groups_per_unit
    assert most == (1 if sql == _ASKED["none"] else _GROUPS)
    once, often = (
        price_noise([one], noise, Fraction(1, 1000), Fraction(1, 10**6))[0]
        for one in (single, found)
    )
    larger = often.drawn[0].std / once.drawn[0].std
    larger /= found.measurements[0].whole
    declared = _ROWS * most if pairs else _ROWS * most**0.5
    assert larger == pytest.approx(declared, rel=1e-4)


def test_declared_clip_is_at_most_the_largest_and_at_least_one() -> None:
    """Rows of joins multiply: the product may be any number, and weights keep their bits."""
    for squares in (True, False):
        assert ClipRule().of_rows(2**40, 2**20, squares=squares).square == LARGEST_CLIP**2
        assert ClipRule(largest=9).of_rows(7, 3, squares=squares).square == 9
        assert ClipRule().of_rows(1, 1, squares=squares) == Clip(1, squares=squares)
        assert ClipRule(2**20).of_rows(7, 3, squares=squares).square == 2**20
    assert ClipRule().of_rows(7, 3, squares=True).square == 7**2 * 3
    assert ClipRule().of_rows(7, 3, squares=False).square == (7 * 3) ** 2


@settings(max_examples=draws(300), deadline=None, derandomize=True)
@given(st.integers(1, 2**28), st.integers(1, 20), _counts)
def test_unit_within_the_clip_counts_in_full_beside_a_total(
    square: int, groups: int, counts: list[int]
) -> None:
    """In at most G groups, the norm that counts in full is the same with a total and without one."""
    few = [min(one, 2**13) for one in counts[:groups]]
    alone = Clip(square, squares=True, bits=weight_bits(square))
    with_total = alone.with_total(TOTAL_PARTS * groups)
    if sum(one * one for one in few) <= square:
        assert alone.weight(few) == alone.whole
        assert with_total.weight(few) == with_total.whole


def test_total_is_for_gaussian_noise_alone() -> None:
    """Weights for Laplace's noise bound another sum."""
    with pytest.raises(ValueError, match="Gaussian"):
        Clip(4, squares=False).with_total(16)
    for measured in (Slot((), 3, total=16), Slot((), 3, SQUARES.norm(3), 16)):
        with pytest.raises(UnboundedSum):
            measured.delta1(1)


SQUARES = Clip(4, squares=True).with_total(16)
