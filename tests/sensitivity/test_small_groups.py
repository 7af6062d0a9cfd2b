"""What is measured so that small groups that a policy lists can be blanked."""

from dataclasses import replace

import pytest
from sensitivity.analyses import analysed, plan_of

from gateway.sensitivity.analysis import Analysis, EnumeratedGroups, ThresholdGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.measurement import Rows, Units


def _blanking(sql: str, *, pairs: bool = True, most: int = 10_000) -> Analysis:
    return analyze_release(
        plan_of(sql), pairs=pairs, enumerated_groups=most, min_units=10, suppress_small=True
    )


@pytest.mark.parametrize(
    ("sql", "place", "added"),
    [
        ("SELECT region, COUNT(*) FROM patients GROUP BY 1", 0, 0),
        ("SELECT region, COUNT(DISTINCT patient_id) FROM patients GROUP BY 1", 0, 0),
        ("SELECT COUNT(*) FROM patients", 0, 0),
        ("SELECT region, COUNT(*) FILTER (WHERE smoker) FROM patients GROUP BY 1", 1, 1),
        ("SELECT COUNT(*) FROM visits", 1, 1),
        ("SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM visits", 1, 0),
        # a sum in the pure currency takes two measurements, and one slot
        ("SELECT SUM(cost) FROM visits", 2, 1),
    ],
)
def test_persons_are_counted_when_nobody_asked_for_it(sql: str, place: int, added: int) -> None:
    """A count of persons that was asked serves; else one is measured besides, and pays its share."""
    shown, blank = analysed(sql), _blanking(sql)
    assert isinstance(shown.groups, EnumeratedGroups)
    assert blank.groups == replace(shown.groups, units=place, least=10)
    assert len(blank.slots) == len(shown.slots) + added
    quantity = blank.measurements[place].quantity
    assert quantity == Units() if added else isinstance(quantity, Rows | Units)
    assert blank.formulas == shown.formulas
    assert blank.groups_per_unit == shown.groups_per_unit


@pytest.mark.parametrize(
    ("sql", "most"),
    [
        ("SELECT region FROM patients GROUP BY region", 10_000),  # nothing there to blank
        ("SELECT region, COUNT(*) FROM patients GROUP BY region", 1),  # found in the data
        ("SELECT name, COUNT(*) FROM patients GROUP BY name", 10_000),
    ],
)
def test_analysis_is_as_without_the_setting_when_nothing_is_blanked(sql: str, most: int) -> None:
    """Only aggregates of listed groups become blank."""
    blank = _blanking(sql, most=most)
    assert blank == analysed(sql, most=most)
    if isinstance(blank.groups, EnumeratedGroups):
        assert blank.groups.units is None
    else:
        assert isinstance(blank.groups, ThresholdGroups)
