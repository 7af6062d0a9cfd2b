"""Trackers: sums and differences of many answers that single out what no pair of them does."""

from collections.abc import Sequence
from fractions import Fraction
from itertools import pairwise, product

import numpy as np
import pytest
from numpy.typing import NDArray
from overlap.invented import (
    DAY,
    RULES,
    SIDE,
    SPREAD,
    YEAR,
    names,
    past,
    ranges,
    refusal,
    scope,
    steps,
    where,
)
from samples import draws

from gateway.errors import Code
from gateway.overlap.atoms import MOST_ATOMS, atoms_of
from gateway.overlap.auditor import History, NewQuery, PriorRelease, audit
from gateway.overlap.estimates import best_variances
from gateway.overlap.trackers import MOST_RANGES, MOST_REGIONS, count_ranges
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.boxes import Side, sides_of
from gateway.regions.cells import StepCells, axis_width
from gateway.regions.region import EVERYTHING

SMALL = steps("small", 0, 39, nullable=False)
CELLS_ONLY = Auditing(1, 1, (), UnreadableConditions.REFUSE)


@pytest.mark.parametrize("seed", range(draws(30)))
def test_best_variance_is_that_of_weighted_least_squares(seed: int) -> None:
    """What is computed for all atoms at once is what the pseudo-inverse gives for each, or nothing does."""
    chance = np.random.default_rng(seed)
    answers, atoms = int(chance.integers(1, 9)), int(chance.integers(1, 9))
    members = chance.random((answers, atoms)) < 0.5
    variances = chance.integers(1, 1000, answers).astype(np.float64)
    found = best_variances(members, variances)
    for atom in range(atoms):
        wanted = _by_least_squares(members, variances, atom)
        assert np.isclose(found[atom], wanted, rtol=1e-6), (found[atom], wanted)


def _by_least_squares(
    members: NDArray[np.bool_], variances: NDArray[np.float64], atom: int
) -> float:
    target = np.zeros(members.shape[1])
    target[atom] = 1.0
    weighted = (members / np.sqrt(variances)[:, None]).T
    factors, *_ = np.linalg.lstsq(weighted, target, rcond=None)
    if not np.allclose(weighted @ factors, target, atol=1e-7):
        return float("inf")
    return float(factors @ factors)


@pytest.mark.parametrize("seed", range(draws(20)))
def test_no_combination_of_whole_factors_sees_an_atom_better_than_the_best_variance(
    seed: int,
) -> None:
    """All sums and differences of four answers are tried: none that gives an atom has less variance."""
    chance = np.random.default_rng(100 + seed)
    members = chance.random((4, 5)) < 0.6
    variances = chance.integers(1, 50, 4).astype(np.float64)
    found = best_variances(members, variances)
    reached = np.full(5, np.inf)
    for factors in product((-2, -1, 0, 1, 2), repeat=4):
        given = np.array(factors) @ members
        for atom in range(5):
            if given[atom] == 1 and np.count_nonzero(given) == 1:
                reached[atom] = min(reached[atom], float(np.array(factors) ** 2 @ variances))
    assert np.all(found <= reached + 1e-9)
    assert np.all(np.isfinite(found) | np.isinf(reached))


@pytest.mark.parametrize("seed", range(draws(25)))
def test_tracker_is_refused_exactly_when_a_combination_gives_a_single_cell(seed: int) -> None:
    """In a small universe, whatever is let pass has no combination of variance below the limit that shows one cell."""
    chance = np.random.default_rng(200 + seed)
    told: list[PriorRelease] = []
    masks: list[NDArray[np.bool_]] = []
    for number in range(14):
        mask = chance.random(40) < 0.5
        mask[np.arange(40) // 4 % 2 == number % 2] = bool(number % 3)
        if not mask.any():
            continue
        region = where((SMALL, _cells(mask)))
        refused = refusal(region, told, CELLS_ONLY) is not None
        itself = int(mask.sum()) == 1
        shown = _shows_one(masks, mask)
        if shown and not itself:
            assert refused, number
        if refused:
            assert shown or _pair_of_one(masks, mask)
            continue
        told.append(past(number, region))
        masks.append(mask)
    assert told


def _cells(mask: NDArray[np.bool_]) -> StepCells:
    found: list[tuple[int, int]] = []
    for cell in np.flatnonzero(mask).tolist():
        if found and found[-1][1] == cell - 1:
            found[-1] = (found[-1][0], cell)
        else:
            found.append((cell, cell))
    return StepCells(tuple(found))


def _shows_one(masks: Sequence[NDArray[np.bool_]], new: NDArray[np.bool_]) -> bool:
    """Whether some cell can be computed with the new answer, below the limit, and could not before."""
    limit = max(1.0, 16 * float(SPREAD))
    before = _variances([*masks]) if masks else np.full(40, np.inf)
    after = _variances([*masks, new])
    return bool(np.any((after < limit) & (before >= limit)))


def _variances(masks: Sequence[NDArray[np.bool_]]) -> NDArray[np.float64]:
    members = np.array(masks)
    variances = np.full(len(masks), float(SPREAD))
    return np.array([_by_least_squares(members, variances, cell) for cell in range(40)])


def _pair_of_one(masks: Sequence[NDArray[np.bool_]], new: NDArray[np.bool_]) -> bool:
    """Whether one cell at most is left on each side of a pair."""
    return any(
        (mask & new).any() and (mask & ~new).sum() <= 1 and (new & ~mask).sum() <= 1
        for mask in masks
    )


def test_tracker_of_many_answers_is_found_among_others() -> None:
    """Nine parts that leave one day out, in a history of hundreds of other questions."""
    others = [
        past(
            number,
            where(
                (YEAR, ranges((1900 + number % 90, 1905 + number % 90))),
                (DAY, ranges((low, low + 900))),
            ),
        )
        for number, low in enumerate(range(0, 28_000, 70))
    ]
    ends = [0, 3000, 6000, 9000, 12_000, 15_000, 18_000, 21_000, 24_000, 30_000]
    parts = [
        past(1000 + place, where((DAY, ranges((low + (low == 12_000), high - 1)))))
        for place, (low, high) in enumerate(pairwise(ends))
    ]
    found = refusal(EVERYTHING, [*others, *parts])
    assert found is not None
    assert found.code is Code.DIFFERENCING
    whole = [*parts[:4], past(1004, where((DAY, ranges((12_000, 14_999))))), *parts[5:]]
    assert refusal(EVERYTHING, [*others, *whole]) is None


def test_tracker_is_found_when_other_questions_divide_the_person() -> None:
    """A question about a region cuts the day in two; what is seen of both halves together is still seen."""
    parts = [
        past(1, where((DAY, ranges((0, 11_999))))),
        past(2, where((DAY, ranges((12_001, 29_999))))),
    ]
    dividing = [
        past(3, where((SIDE, names("north")))),
        past(4, where((YEAR, ranges((1920, 1949))))),
    ]
    assert refusal(EVERYTHING, parts) is not None
    assert refusal(EVERYTHING, [*parts, *dividing]) is not None
    assert refusal(EVERYTHING, dividing) is None
    assert refusal(where((DAY, ranges((12_000, 12_000)))), dividing) is None


def test_tracker_is_let_pass_when_its_noise_hides_a_person() -> None:
    """A sum of more answers than 16 tells less than the limit, as long as they are this noisy."""
    step = 30_000 // 20
    parts = [
        past(place, where((DAY, ranges((low + (place == 5), low + step - 1)))), spread=SPREAD * 2)
        for place, low in enumerate(range(0, 30_000, step))
    ]
    assert refusal(EVERYTHING, parts) is None
    exact = [PriorRelease(one.release, one.query_id, one.scope, None, Fraction(1)) for one in parts]
    assert refusal(EVERYTHING, exact) is not None


@pytest.mark.parametrize("decoys", [0, 64, 300])
def test_decoys_at_almost_no_price_hide_no_earlier_answer(decoys: int) -> None:
    """They lie nearer than the answer that matters, and their own noise hides everybody: they take no place."""
    base = past(1, where((YEAR, ranges((1_950, 1_999)))))
    new = where((YEAR, ranges((1_951, 1_999))))
    near = [
        past(2 + one, new.meet(where((DAY, ranges((one, 29_999))))), spread=Fraction(10**6))
        for one in range(1, 1 + decoys)
    ]
    assert refusal(new, [base, *near]) is not None
    assert refusal(new, near) is None  # the negative control


@pytest.mark.parametrize("decoys", [0, 100])
def test_decoys_hide_no_tracker(decoys: int) -> None:
    """Two parts leave one day out; a hundred answers of mere noise lie nearer to the whole."""
    parts = [
        past(1, where((DAY, ranges((0, 11_999))))),
        past(2, where((DAY, ranges((12_001, 29_999))))),
    ]
    near = [
        past(3 + one, where((DAY, ranges((one, 29_999)))), spread=Fraction(10**9))
        for one in range(100, 100 + decoys)
    ]
    assert refusal(EVERYTHING, [*parts, *near]) is not None
    assert refusal(EVERYTHING, near) is None  # the negative control


def test_pairs_decide_when_there_are_too_many_atoms() -> None:
    """Above the limits nothing is allowed that a pair refuses."""
    axes = [steps(f"a{place}", 0, 999) for place in range(8)]
    wild = [
        past(
            number,
            where(
                *(
                    (axis, ranges((100 * number, 100 * number + 500 + place)))
                    for place, axis in enumerate(axes)
                )
            ),
        )
        for number in range(8)
    ]
    assert (
        atoms_of([sides_of(one.scope.region) for one in wild[:6]], {one.name: one for one in axes})
        is None
    )
    first = where((axes[0], ranges((0, 800))), (axes[1], ranges((0, 800))))
    second = where((axes[0], ranges((0, 800))), (axes[1], ranges((0, 801))))
    assert refusal(second, wild) is None
    assert refusal(second, [*wild, past(99, first)]) is not None


def test_atoms_are_the_joint_partition_of_regions() -> None:
    """Disjoint, each inside or outside of every region, and together all of them."""
    regions = [
        where((YEAR, ranges((1950, 1969)))),
        where((SIDE, names("north"))),
        EVERYTHING.without(where((YEAR, ranges((1960, 1960))), (SIDE, names("south")))),
    ]
    sides: list[list[Side]] = [sides_of(one) for one in regions]
    atoms = atoms_of(sides, {"t.year": YEAR, "t.side": SIDE})
    assert atoms is not None
    assert atoms.members.shape[1] == 5
    assert atoms.members.shape[1] <= MOST_ATOMS
    for place, region in enumerate(regions):
        size = sum(_size(box) for box in sides_of(region))
        inside = [atom for atom in range(5) if atoms.members[place, atom]]
        assert sum(_size(box) for atom in inside for box in atoms.pieces([atom])) == size


def _size(box: Side) -> int:
    year, side = axis_width(box.get("t.year"), YEAR), axis_width(box.get("t.side"), SIDE)
    assert year is not None
    assert side is not None
    return year * side


def test_parts_of_one_question_are_held_against_each_other() -> None:
    """Two subqueries that differ by a day are refused although nothing was asked before."""
    parts = [
        NewQuery(scope(region), SPREAD)
        for region in (where((DAY, ranges((0, 99)))), where((DAY, ranges((0, 100)))))
    ]
    audit(parts[:1], History(), RULES)
    with pytest.raises(Exception, match="GW401") as refused:
        audit(parts, History(), RULES)
    assert "another part of the query" in str(refused.value)


def test_limits_are_numbers() -> None:
    """What the page says of them."""
    assert (MOST_REGIONS, MOST_ATOMS) == (48, 512)


def test_number_of_ranges_that_are_compared_together_is_limited() -> None:
    """Parts that several regions have count once: the same hours in every question leave no region out."""
    hours = StepCells(tuple((10 * place, 10 * place + 5) for place in range(9_000)))
    others = [StepCells(((place, 2 * place),)) for place in range(1, 30)]
    assert count_ranges([[{"a": hours, "b": one}] for one in others]) == 9_000 + len(others)
    apart = [StepCells((*hours.ranges, (100_000 + place, 200_000))) for place in range(12)]
    assert count_ranges([[{"a": one}] for one in apart]) > MOST_RANGES
