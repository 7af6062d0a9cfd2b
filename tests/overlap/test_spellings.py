"""Spellings of one question: EXISTS, IN, comma joins, USING and LEFT JOIN get the verdict of the JOIN.

Rows that are asked for by their partners are compared along the partners' columns, whatever the words. The tables of
the clinic have all links: patients to visits by the unit, visits to prescriptions by the key of a unit path.
"""

from itertools import product

import pytest
from laws import for_each
from overlap.sequences import Asked
from overlap.walk import DEFAULTS, parts, walked

from gateway.errors import Code, OverlapRefused

_BY_UNIT = (
    "SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost >= {})",
    "SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE cost >= {})",
    "SELECT COUNT(DISTINCT a.patient_id) FROM patients a JOIN visits v ON v.patient_id = a.patient_id WHERE v.cost >= {}",
    "SELECT COUNT(DISTINCT a.patient_id) FROM patients a, visits v WHERE v.patient_id = a.patient_id AND v.cost >= {}",
    "SELECT COUNT(DISTINCT patient_id) FROM patients JOIN visits USING (patient_id) WHERE cost >= {}",
    "SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost >= {}",
    "SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost >= {})",
    "SELECT COUNT(*) FROM patients a LEFT JOIN visits v ON v.patient_id = a.patient_id AND v.cost >= {} WHERE v.patient_id IS NULL",
)
_BY_PATH = (
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose >= {})",
    "SELECT COUNT(*) FROM visits WHERE visit_id IN (SELECT visit_id FROM prescriptions WHERE dose >= {})",
    "SELECT COUNT(DISTINCT v.patient_id) FROM visits v JOIN prescriptions p ON p.visit_id = v.visit_id WHERE p.dose >= {}",
    "SELECT COUNT(DISTINCT v.patient_id) FROM prescriptions p, visits v WHERE p.visit_id = v.visit_id AND p.dose >= {}",
    "SELECT COUNT(DISTINCT patient_id) FROM visits JOIN prescriptions USING (visit_id) WHERE dose >= {}",
    "SELECT COUNT(*) FROM prescriptions WHERE dose >= {}",
    "SELECT COUNT(*) FROM prescriptions p WHERE p.dose >= {} AND EXISTS (SELECT 1 FROM visits v WHERE v.visit_id = p.visit_id)",
    "SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose >= {})",
    "SELECT COUNT(*) FROM visits v LEFT JOIN prescriptions p ON p.visit_id = v.visit_id AND p.dose >= {} WHERE p.visit_id IS NULL",
)
_OF_PARENT = (
    "SELECT COUNT(*) FROM prescriptions p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.visit_id = p.visit_id AND v.cost >= {})",
    "SELECT COUNT(*) FROM prescriptions WHERE visit_id IN (SELECT visit_id FROM visits WHERE cost >= {})",
    "SELECT COUNT(*) FROM prescriptions p JOIN visits v ON v.visit_id = p.visit_id WHERE v.cost >= {}",
    "SELECT COUNT(*) FROM visits v, prescriptions p WHERE v.visit_id = p.visit_id AND v.cost >= {}",
    "SELECT COUNT(*) FROM prescriptions JOIN visits USING (visit_id) WHERE cost >= {}",
    "SELECT COUNT(*) FROM prescriptions p LEFT JOIN visits v USING (visit_id) WHERE v.cost >= {}",
    "SELECT COUNT(*) FROM prescriptions p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.visit_id = p.visit_id AND v.cost >= {})",
)
_BY_TIMES = (
    "SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.prescribed_at::date - v.visit_date >= {})",
    "SELECT COUNT(DISTINCT v.patient_id) FROM visits v JOIN prescriptions p USING (visit_id) WHERE p.prescribed_at::date - v.visit_date >= {}",
    "SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND v.visit_date + {} <= p.prescribed_at::date)",
)
# the bounds of each: the first, the next value, and one far away
_GROUPS = (
    (_BY_UNIT, ("1000", "1000.01", "2500")),
    (_BY_PATH, ("500", "501", "1200")),
    (_OF_PARENT, ("1000", "1000.01", "2500")),
    (_BY_TIMES, ("3", "4", "40")),
)


def _verdict(*asked: str) -> Code | None:
    case = Asked("", "clinic", tuple(("alice", one) for one in asked))
    refusal: OverlapRefused | None = walked(case, DEFAULTS).refusal
    return None if refusal is None else refusal.code


@for_each("group", _GROUPS)
def test_auditor_answers_each_spelling_of_a_question(
    group: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    """None of them is opaque: a strict policy answers EXISTS where it answers the JOIN."""
    spellings, bounds = group
    assert {one: _verdict(one.format(bounds[0])) for one in spellings} == dict.fromkeys(spellings)


@for_each("group", _GROUPS)
def test_auditor_refuses_a_bound_that_moves_by_one_value_in_any_spelling(
    group: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    """An earlier answer in one spelling refuses the next value in each other, as it does between two JOINs."""
    spellings, (first, moved, _) = group
    # the rows beside those of an EXISTS of the parent are a region of their own: `test_complement_of_exists_…`
    compared = spellings[:-1] if spellings is _OF_PARENT else spellings
    for one, other in product(compared, repeat=2):
        found = _verdict(one.format(first), other.format(moved))
        assert found is Code.DIFFERENCING, (one, other, found)


@for_each("group", _GROUPS)
def test_auditor_answers_a_bound_that_moves_far_in_any_spelling(
    group: tuple[tuple[str, ...], tuple[str, ...]],
) -> None:
    """The control: bounds far apart are answered, whichever spelling each has."""
    spellings, (first, _, far) = group
    for one, other in product(spellings, repeat=2):
        assert _verdict(one.format(first), other.format(far)) is None, (one, other)


@pytest.mark.parametrize(
    "condition",
    [
        "p.dose > v.cost",
        "p.drug = v.diagnosis",
        "p.prescription_id = v.visit_id",
    ],
)
def test_other_conditions_between_rows_stay_opaque(condition: str) -> None:
    """Only keys of unit paths and differences of times are read; the rest is refused where the policy is strict."""
    inner = f"SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND {condition}"
    for word in ("EXISTS", "NOT EXISTS"):
        asked = f"SELECT COUNT(*) FROM visits v WHERE {word} ({inner})"
        assert _verdict(asked) is Code.UNREADABLE_CONDITION, asked


def test_condition_on_the_outer_row_inside_exists_is_one_on_the_row() -> None:
    """It does not depend on the row that is found, so it moves out of EXISTS and of NOT EXISTS."""
    exists = "EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id{})"
    inside = f"SELECT COUNT(*) FROM visits v WHERE {exists.format(' AND v.cost >= 100')}"
    beside = f"SELECT COUNT(*) FROM visits v WHERE {exists.format('')} AND v.cost >= 100"
    assert parts("clinic", inside)[0].scope == parts("clinic", beside)[0].scope


def test_exists_of_the_parent_is_the_join_with_the_parent() -> None:
    """Each row has one parent: both are questions about the same rows, and so is the complement."""
    asked = [one.format("1000") for one in _OF_PARENT]
    scopes = [parts("clinic", one)[0].scope for one in asked]
    assert {(one.shape, one.region) for one in scopes[:-1]} == {(scopes[0].shape, scopes[0].region)}
    assert scopes[-1].shape == scopes[0].shape == "prescriptions"
    assert scopes[-1].region.meet(scopes[0].region).is_nothing


def test_complement_of_exists_of_the_parent_closes_the_total() -> None:
    """Two halves that overlap by one value are a tracker beside the total, as with two JOINs."""
    exists = _OF_PARENT[0].format("1000")
    others = _OF_PARENT[-1].format("1000.01")
    assert _verdict("SELECT COUNT(*) FROM prescriptions", exists, others) is Code.DIFFERENCING


@pytest.mark.parametrize("beside", ["", " AND q.dose >= 1"])
def test_row_that_exists_because_it_is_itself_hides_nobody(beside: str) -> None:
    """A row is among the rows with its own key: such an EXISTS is opaque, so it makes no difference look wide."""
    inner = f"SELECT 1 FROM prescriptions q WHERE q.visit_id = p.visit_id{beside}"
    asked = f"SELECT COUNT(*) FROM prescriptions p WHERE p.dose >= 501 AND EXISTS ({inner})"
    assert _verdict(asked) is Code.UNREADABLE_CONDITION


_ITSELF = "SELECT COUNT(*) FROM visits v JOIN visits w ON w.patient_id = v.patient_id AND {} WHERE v.cost > 5"


@pytest.mark.parametrize(
    "beside",
    ["", " AND w.cost = v.cost", " AND w.visit_date = v.visit_date AND v.diagnosis = w.diagnosis"],
)
def test_row_joined_with_itself_is_one_row_whatever_else_is_compared(beside: str) -> None:
    """Its columns are equal to themselves, unless they are NULL."""
    found = parts("clinic", _ITSELF.format(f"w.visit_id = v.visit_id{beside}"))[0].scope
    assert found.shape == "visits"
    assert {one.name for one in found.region.axes} <= {
        "visits.cost",
        "visits.visit_date",
        "visits.diagnosis",
    }


def test_row_joined_with_itself_by_another_column_keeps_the_condition() -> None:
    """Two columns of one row are compared, which is opaque; without its key it is another row."""
    crossed = _ITSELF.format("w.visit_id = v.visit_id AND w.patient_id = v.visit_id")
    assert _verdict(crossed) is Code.UNREADABLE_CONDITION
    days = _ITSELF.format("w.visit_date = v.visit_date")
    assert "visits#2" in parts("clinic", days)[0].scope.shape
