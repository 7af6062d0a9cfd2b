"""Joins that multiply rows in the eyes of the auditor and of the release cache: questions of their own."""

from binding.clinic import CLINIC
from sensitivity.analyses import plan_of

from gateway.bounding.fan_out import mark_fan_out
from gateway.budget.account import Currency
from gateway.plan.aggregates import Aggregate
from gateway.regions.scope import scope_of
from gateway.release_cache.fingerprints import bounding_of, is_additive, is_plain
from gateway.release_cache.group_sizes import counting_of
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.analyze import analyze_release

_MET = "JOIN codes c ON c.chapter = p.name"


def _analysis(sql: str, *, several: bool = True) -> Analysis:
    plan = mark_fan_out(plan_of(sql, CLINIC), lambda _: not several)
    assert isinstance(plan, Aggregate)
    return analyze_release(plan, pairs=True, enumerated_groups=100, min_units=10)


def _shape(sql: str) -> str:
    return scope_of(_analysis(sql).plan, None, {}).shape


def test_join_with_several_public_rows_has_a_shape_of_its_own() -> None:
    """With the public table in it, once for each time it is joined: never that of the rows without it."""
    shapes = [
        _shape("SELECT COUNT(*) FROM patients p"),
        _shape(f"SELECT COUNT(*) FROM patients p {_MET}"),
        _shape(f"SELECT COUNT(*) FROM patients p LEFT {_MET}"),
        _shape(f"SELECT COUNT(*) FROM patients p {_MET} JOIN codes d ON d.chapter = p.name"),
    ]
    assert len(set(shapes)) == len(shapes)
    assert "codes" not in shapes[0]
    assert all("codes" in one for one in shapes[1:])


def test_release_over_multiplied_rows_is_combined_with_no_other() -> None:
    """Which public rows are kept depends on the columns that are read, so a part of it is no answer to another question."""
    for sql in (
        f"SELECT COUNT(*) FROM patients p {_MET}",
        f"SELECT p.region, COUNT(*) FROM patients p {_MET} GROUP BY 1",
    ):
        many, one = _analysis(sql), _analysis(sql, several=False)
        assert (is_plain(many), is_additive(many)) == (False, False)
        assert is_plain(one)
        assert bounding_of(many, Currency.PURE, "") != bounding_of(one, Currency.PURE, "")
    read = f"SELECT COUNT(*), COUNT(c.code) FROM patients p {_MET}"
    of = [
        bounding_of(_analysis(one), Currency.PURE, "")
        for one in (read, read.replace("c.code", "p.income"))
    ]
    assert of[0] != of[1]


def test_rows_that_are_multiplied_are_no_size_of_a_region() -> None:
    """A patient has one row, but counts as often as it is joined; persons are counted once each."""
    rows = counting_of(_analysis(f"SELECT COUNT(*) FROM patients p {_MET}"))
    alone = counting_of(_analysis("SELECT COUNT(*) FROM patients p"))
    persons = counting_of(_analysis(f"SELECT COUNT(DISTINCT p.patient_id) FROM patients p {_MET}"))
    by_code = counting_of(
        _analysis(f"SELECT c.code, COUNT(DISTINCT p.patient_id) FROM patients p {_MET} GROUP BY 1")
    )
    found = (rows, alone, persons, by_code)
    assert [None if one is None else one.from_below for one in found] == [True, False, False, True]
