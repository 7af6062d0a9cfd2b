"""Which grouping sets are measured, and which are added up from others."""

from dataclasses import replace
from functools import partial

import pytest
from sensitivity.analyses import plan_of

from gateway.plan.aggregates import Aggregate
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import Linear
from gateway.sensitivity.grouping_sets import (
    AnalyzedRelease,
    PartMeasurements,
    analyze_grouping_sets,
)
from gateway.sensitivity.measurement import Different, Rows, Units

_BOTH = "SELECT region, smoker, {} FROM patients GROUP BY {}"


def _rolled(
    sql: str, *, pairs: bool = True, blank: bool = False, most: int = 10_000
) -> AnalyzedRelease:
    one_set = partial(
        analyze_release, pairs=pairs, enumerated_groups=most, min_units=10, suppress_small=blank
    )
    return analyze_grouping_sets(plan_of(sql), one_set)


def _slots(found: AnalyzedRelease) -> list[int]:
    return [len(part.slots) for part in found.parts]


def test_release_of_one_set_has_one_part_and_one_level() -> None:
    """A plain GROUP BY is the release of its only grouping set."""
    found = _rolled(_BOTH.format("COUNT(*)", "1, 2"))
    [part], [level] = found.parts, found.levels
    assert level.drawn == (PartMeasurements(0, (0, 1)),)
    assert level.formulas == part.formulas
    assert level.units is None


@pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])
@pytest.mark.parametrize(
    ("measures", "slots"),
    [("COUNT(*)", 1), ("SUM(income), COUNT(*) FILTER (WHERE income > 5), AVG(income)", 2)],
)
def test_totals_are_added_up_when_keys_are_listed(
    measures: str,
    slots: int,
    pairs: bool,  # noqa: FBT001 - parametrized
) -> None:
    """One part has all slots; 5 regions and 3 answers of smokers, NULL among both, are put together."""
    found = _rolled(_BOTH.format(measures, "CUBE (region, smoker)"), pairs=pairs)
    assert _slots(found) == [slots if pairs else slots + 1 - (measures == "COUNT(*)")]
    drawn = [(level.keys, level.drawn) for level in found.levels]
    assert drawn == [
        ((0, 1), (PartMeasurements(0, (0, 1)),)),
        ((0,), (PartMeasurements(0, (0,), 3),)),
        ((1,), (PartMeasurements(0, (1,), 5),)),
        ((), (PartMeasurements(0, (), 15),)),
    ]


def test_persons_are_added_up_when_each_is_in_one_group() -> None:
    """Keys of the person's only row make a count of persons one that adds up."""
    found = _rolled(_BOTH.format("COUNT(DISTINCT patient_id)", "ROLLUP (region, smoker)"))
    assert _slots(found) == [1]
    assert found.parts[0].measurements[0].quantity == Units()


def test_persons_are_counted_in_every_set_when_they_are_in_several_groups() -> None:
    """The sum over months would count somebody twice; rows are added up all the same."""
    month = "extract(month FROM visit_date)"
    sql = f"SELECT {month}, COUNT(*), COUNT(DISTINCT patient_id) FROM visits GROUP BY ROLLUP ({month})"
    found = _rolled(sql)
    assert _slots(found) == [2, 1]
    months, total = found.levels
    assert [one.part for one in months.drawn] == [0]
    assert total.drawn == (PartMeasurements(0, (), 13), PartMeasurements(1, ()))
    rows, units = total.formulas
    assert isinstance(rows, Linear)
    assert isinstance(units, Linear)
    assert [place for place, _ in rows.weights] == [0]
    assert [place for place, _ in units.weights] == [2]
    assert found.parts[1].measurements[0].quantity == Units()


def test_different_values_are_counted_in_every_set() -> None:
    """And when nothing else is asked, no set is added up."""
    sql = _BOTH.format("COUNT(DISTINCT birth_year)", "ROLLUP (region, smoker)")
    found = _rolled(sql)
    assert _slots(found) == [1, 1, 1]
    assert all(isinstance(one.measurements[0].quantity, Different) for one in found.parts)


def test_variances_are_added_up() -> None:
    """They follow from counts, sums and sums of squares."""
    found = _rolled(_BOTH.format("VAR_SAMP(income), COUNT(*)", "ROLLUP (region, smoker)"))
    assert len(found.parts) == 1
    assert [level.drawn[0].together for level in found.levels] == [1, 3, 15]


def test_quantiles_are_chosen_in_every_set() -> None:
    """The median of all is not that of medians; rows beside it are added up."""
    measures = "COUNT(*), percentile_cont(0.5) WITHIN GROUP (ORDER BY income), MAX(birth_year)"
    found = _rolled(_BOTH.format(measures, "ROLLUP (region, smoker)"))
    assert _slots(found) == [1, 0, 0]
    assert [len(part.choices) for part in found.parts] == [2, 2, 2]
    for place, level in enumerate(found.levels):
        assert level.drawn[-1].part == place
        assert [one.place for one in level.formulas if isinstance(one, Chosen)] == [0, 1]


def test_every_set_is_measured_when_groups_are_found_in_the_data() -> None:
    """Groups that are not shown would be missing in a total."""
    found = _rolled("SELECT diagnosis, COUNT(*) FROM visits GROUP BY ROLLUP (diagnosis)")
    assert [type(part.groups) for part in found.parts] == [ThresholdGroups, EnumeratedGroups]
    assert [level.drawn for level in found.levels] == [
        (PartMeasurements(0, (0,)),),
        (PartMeasurements(1, ()),),
    ]


def test_totals_are_added_up_from_a_coarser_set_when_the_finest_is_found_in_the_data() -> None:
    """The total over years comes from the listed years, not from the names within them."""
    found = _rolled(
        "SELECT birth_year, name, COUNT(*) FROM patients GROUP BY ROLLUP (birth_year, name)"
    )
    assert [type(part.groups) for part in found.parts] == [ThresholdGroups, EnumeratedGroups]
    assert found.levels[2].drawn == (PartMeasurements(1, (), 102),)


def test_total_is_added_up_from_the_fewest_groups() -> None:
    """Of 5 regions rather than of 102 years: the fewer, the less noise."""
    found = _rolled(
        "SELECT region, birth_year, COUNT(*) FROM patients GROUP BY GROUPING SETS ((birth_year), (region), ())"
    )
    assert len(found.parts) == 2
    part = found.parts[found.levels[2].drawn[0].part]
    assert isinstance(part.groups, EnumeratedGroups)
    assert len(part.groups.keys) == found.levels[2].drawn[0].together == 5


def test_set_that_is_there_twice_is_measured_once() -> None:
    """Its rows come twice, as in PostgreSQL."""
    found = _rolled(
        "SELECT diagnosis, COUNT(*) FROM visits GROUP BY GROUPING SETS ((diagnosis), (), (diagnosis))"
    )
    assert len(found.parts) == 2
    assert found.levels[0] == found.levels[2] != found.levels[1]


def test_total_is_measured_when_no_group_is_listed() -> None:
    """The sum of nothing would be an exact 0."""

    def nothing_listed(plan: Aggregate, /, *, total: bool = False) -> Analysis:
        assert not total
        found = analyze_release(plan, pairs=True, enumerated_groups=10_000, min_units=10)
        return replace(found, groups=EnumeratedGroups(())) if plan.keys else found

    sql = "SELECT region, COUNT(*) FROM patients GROUP BY ROLLUP (region)"
    assert _slots(analyze_grouping_sets(plan_of(sql), nothing_listed)) == [1, 1]
    assert _slots(_rolled(sql)) == [1]


def test_keys_alone_cost_nothing_when_they_are_listed() -> None:
    """In all of their sets."""
    found = _rolled("SELECT region, smoker FROM patients GROUP BY CUBE (region, smoker)")
    assert _slots(found) == [0]


@pytest.mark.parametrize(
    ("sql", "slots", "units"),
    [
        # one row of a person, in one group: rows are persons, and add up
        (_BOTH.format("COUNT(*)", "ROLLUP (region, smoker)"), [1], [0, 0, 0]),
        (_BOTH.format("AVG(income)", "ROLLUP (region, smoker)"), [2], [2, 2, 2]),
        (
            "SELECT extract(month FROM visit_date), COUNT(*) FROM visits GROUP BY ROLLUP (1)",
            [2, 2],
            [1, 1],
        ),
        (
            _BOTH.format("COUNT(*), COUNT(DISTINCT birth_year)", "ROLLUP (region, smoker)"),
            [2, 2, 2],
            [0, 3, 3],
        ),
    ],
)
def test_persons_are_counted_in_every_set_when_small_groups_are_blanked(
    sql: str, slots: list[int], units: list[int]
) -> None:
    """By a count that adds up, or by one of the set's own."""
    found = _rolled(sql, blank=True)
    assert _slots(found) == slots
    assert [level.units for level in found.levels] == units
    for level in found.levels:
        measurements = [one for each in level.drawn for one in found.parts[each.part].measurements]
        assert level.units is not None
        counted = measurements[level.units]
        assert isinstance(counted.quantity, Rows | Units)
        assert level.least == 10 * counted.most
