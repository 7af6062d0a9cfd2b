"""Units in more than G listed groups: by how much each of them counts less, and that it is enough."""

from dataclasses import replace
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st
from sensitivity.analyses import analysed, dataset, whole
from sensitivity.released import Person, released

from gateway.catalog.domains import Values
from gateway.functions.range_arithmetic import Range
from gateway.noise.allocation import Distribution, PriceExceeded, price_noise
from gateway.ranges.lattice import lattice_of
from gateway.sensitivity.analysis import BITS, Analysis, GroupWeights
from gateway.sensitivity.formulas import Linear, Quotient

_LETTERS = "abcdefghijk"
_GROUPS, _ROWS = 3, 2
_TABLE = dataset(
    _ROWS,
    {"g": ("text", Values(tuple(_LETTERS))), "f": ("text", None), "x": ("integer", whole(-3, 6))},
    _GROUPS,
)
_SQL = "SELECT g, COUNT(*), COUNT(x), SUM(x), AVG(x), COUNT(DISTINCT u) FROM t GROUP BY g"
_LAPLACE, _GAUSSIAN = (analysed(_SQL, pairs=pairs, of=_TABLE) for pairs in (True, False))
_both = pytest.mark.parametrize("analysis", [_LAPLACE, _GAUSSIAN], ids=["laplace", "gaussian"])


def _formulas(analysis: Analysis) -> list[Linear | Quotient]:
    return [one for one in analysis.formulas if isinstance(one, Linear | Quotient)]


def _unit(groups: int, rows: int, x: int) -> list[Person]:
    """One that does all it can in so many groups."""
    row: dict[str, Fraction | None] = {"t.x": Fraction(x)}
    return [Person(9, name, row) for name in _LETTERS[:groups] for _ in range(rows)]


def _exceeds(analysis: Analysis) -> set[str]:
    """In which sums some unit moves more than is declared."""
    found, place = set(), 0
    for slot in analysis.slots:
        places = range(place, place + len(slot.measurements))
        place += len(slot.measurements)
        for groups in range(1, len(_LETTERS) + 1):
            for x in (-3, 6):
                exact = released(_unit(groups, _ROWS + 1, x), analysis).values()
                moved = [sum(abs(one[at]) for at in places) for one in exact]
                if max(moved) > slot.most:
                    found.add("group")
                if sum(moved) > slot.delta1(_GROUPS):
                    found.add("sum")
                if sum(one * one for one in moved) > slot.delta2_squared(_GROUPS):
                    found.add("squares")
    return found


def _with(analysis: Analysis, cap: int, *, squared: bool) -> Analysis:
    """The same, weighted as if these were declared."""
    return replace(analysis, weights=GroupWeights(cap, len(_LETTERS), squared=squared))


def _squared(analysis: Analysis) -> bool:
    return analysis.weights is not None and analysis.weights.squared


@given(st.integers(1, 10_000), st.integers(1, 10_000))
def test_weights_of_all_groups_come_to_no_more_than_those_of_the_cap(cap: int, groups: int) -> None:
    """In the sum for Laplace's noise, in the sum of squares for both."""
    line, square = (GroupWeights(cap, 10_000, squared=squared) for squared in (False, True))
    assert groups * line.of(groups) <= max(groups, cap) * 2**BITS
    if groups > cap:
        assert groups * line.of(groups) <= cap * 2**BITS
        assert groups * square.of(groups) ** 2 <= cap * 4**BITS
        assert groups * (square.of(groups) + 1) ** 2 > cap * 4**BITS
    for one in (line, square):
        assert one.of(groups + 1) <= one.of(groups) <= one.whole


def test_list_of_weights_begins_above_the_cap_and_ends_with_what_is_listed() -> None:
    """The source finds the weight of k groups at place k - G."""
    weights = GroupWeights(2, 5, squared=True)
    assert weights.lowered == (weights.of(3), weights.of(4), weights.of(5))


@pytest.mark.parametrize("rows", [1, 10, 2**16, 2**29])
def test_weighted_sum_of_a_unit_fits_into_a_bigint(rows: int) -> None:
    """Whatever R is, a pair of the widest lattice times 2^16 is below 2^63."""
    lattice = lattice_of(Range(Fraction(-(10**12)), Fraction(10**12), None), rows)
    assert rows * lattice.width * 2**BITS < 2**63


@_both
def test_no_unit_moves_more_than_declared_when_weighted(analysis: Analysis) -> None:
    """In any number of groups, with more rows than count, at either end of the domain."""
    assert analysis.weights is not None
    # weights for squares promise nothing of sums
    assert _exceeds(analysis) == ({"sum"} if _squared(analysis) else set())


def test_weights_for_squares_move_a_sum_too_far() -> None:
    """The root of a share is more than the share: under Laplace's noise it would not be paid for."""
    assert "sum" in _exceeds(_with(_LAPLACE, _GROUPS, squared=True))


@_both
def test_unit_moves_too_far_when_its_weight_is_that_of_fewer_groups(analysis: Analysis) -> None:
    """The same with a larger cap than what was declared is noticed."""
    for cap in (_GROUPS + 1, len(_LETTERS)):
        assert _exceeds(_with(analysis, cap, squared=_squared(analysis))) == {"sum", "squares"}


def test_weights_for_squares_are_not_priced_with_noise_for_sums() -> None:
    """An analysis for Gaussian noise cannot get Laplace's."""
    with pytest.raises(PriceExceeded):
        price_noise([_GAUSSIAN], Distribution.LAPLACE, Fraction(1), Fraction(0))


@_both
def test_formula_gives_the_exact_aggregate_when_no_unit_has_too_many_groups(
    analysis: Analysis,
) -> None:
    """In whole rows and in the unit of the column: counts, sums, means, and what clamps them."""
    values = [-3, 0, 1, 6, 6]
    people = [
        Person(place, name, {"t.x": Fraction(x)})
        for place, x in enumerate(values)
        for name in _LETTERS[:_GROUPS]
    ]
    for measured in released(people, analysis).values():
        wanted = [5, 5, 10, Fraction(2), 5]
        assert [one.value(measured) for one in _formulas(analysis)] == wanted
        assert [one.clamped(measured) for one in _formulas(analysis)] == wanted
    below = [-one.most for one in analysis.measurements]
    assert _formulas(analysis)[0].clamped(below) == 0
    # a mean is over one row at least, not over a part of one
    half = [one // 2 for one in released([Person(1, "a", {"t.x": Fraction(6)})], analysis)["a"]]
    mean = _formulas(analysis)[3]
    middle = mean.value([0] * len(half))
    assert mean.value(half) == middle + (6 - middle) / 2


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t",
        "SELECT f, COUNT(*) FROM t GROUP BY f",
        "SELECT g, COUNT(*), COUNT(DISTINCT x) FROM t GROUP BY g",
        "SELECT g, COUNT(*) FROM t WHERE g IN ('a', 'b') GROUP BY g",
    ],
)
def test_units_are_not_weighted_where_the_cap_is_nothing_or_chooses(sql: str) -> None:
    """Without keys, of found groups, with values of which some are kept, and where no more than G are listed."""
    analysis = analysed(sql, of=_TABLE)
    assert analysis.weights is None
    assert analysis.whole == 1
