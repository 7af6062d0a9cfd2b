"""Cached answers expire: by age, by a data refresh, by a changed policy, or if their content is lost."""

from fractions import Fraction
from typing import Any

import psycopg
import pytest
from endtoend.clinic_gateway import dsn
from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import POSTGRESQL, PURE, Opened, Place
from fix_gateway import gateway, no_gateway
from psycopg import sql

from gateway.budget.charge import Receipt
from gateway.errors import Refusal
from gateway.requests.request import CacheUse
from gateway.stages.charge import charge_query

_PRICE = Fraction(PRICE)
_SUM = "SELECT SUM(income) FROM patients"


def test_answer_is_measured_anew_when_it_is_too_old(place: Place) -> None:
    """Within `max_age` it is given again, after it there is another; the age is that of the noise."""
    first = place.ask(_SUM)
    place.later(6.9)
    assert place.ask(_SUM).rows == first.rows
    place.later(0.2)
    anew = place.ask(_SUM)
    assert anew.reused is None
    assert anew.rows != first.rows
    assert place.spent_by_all() == 2 * _PRICE
    assert place.ask(_SUM).rows == anew.rows


def test_roll_up_is_as_old_as_what_it_is_made_of(pure: Place) -> None:
    """Asking again and again keeps nothing young."""
    pure.ask("SELECT region, SUM(income) FROM patients GROUP BY region")
    for _ in range(3):
        pure.later(2.3)
        assert pure.ask(_SUM).reused is CacheUse.ROLLUP
    pure.later(2.3)
    assert pure.ask(_SUM).reused is None


def test_answers_are_measured_anew_when_an_operator_says_the_data_is_new(few: Opened) -> None:
    """`gateway data refreshed` ends what was there in its dataset, in a gateway that runs."""
    pure = few.place(PURE)
    first = pure.ask(_SUM)
    environment = {
        **no_gateway(),
        **few.environment,
        "GATEWAY_HOME": str(few.home / "state"),
        "GATEWAY_POLICIES": str(few.home / "policies"),
    }
    done = gateway("data", "refreshed", "--dataset", pure.dataset, env=environment)
    assert done.code == 0, done
    pure.later(0.001)
    anew = pure.ask(_SUM)
    assert anew.reused is None
    assert anew.rows != first.rows
    assert pure.spent_by_all() == 2 * _PRICE
    assert pure.ask(_SUM).rows == anew.rows


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("[1920, 2020]", "[1910, 2020]"),
        ("{between: [0, 200000]}", "{between: [0, 100000]}"),
        ("rows_per_unit: 1\n", "rows_per_unit: 2\n"),
    ],
)
def test_answers_are_measured_anew_when_what_they_rest_on_was_declared_anew(
    few: Opened, old: str, new: str
) -> None:
    """Another domain or another bound is another question, though its text is the same."""
    pure = few.place(PURE)
    first = pure.ask("SELECT SUM(income), AVG(birth_year) FROM patients")
    pure.change_policy(old, new)
    anew = pure.ask("SELECT SUM(income), AVG(birth_year) FROM patients")
    assert anew.reused is None
    assert anew.rows != first.rows
    assert anew.charged.value > 0


def test_answers_stay_when_the_policy_says_nothing_else_about_them(few: Opened) -> None:
    """The negative control of the one above: another highest price moves nothing."""
    pure = few.place(PURE)
    first = pure.ask(_SUM)
    pure.change_policy("max: 10000", "max: 9999")
    assert pure.ask(_SUM).rows == first.rows
    assert pure.spent_by_all() == _PRICE


def test_answers_stay_when_reuse_is_cut_to_nothing_and_back(few: Opened) -> None:
    """`max_age: 0d` reuses nothing while it is in force."""
    pure = few.place(PURE)
    first = pure.ask(_SUM)
    pure.change_policy("max_age: 7d", "max_age: 0d")
    second = pure.ask(_SUM)
    assert second.reused is None
    assert second.rows != first.rows
    pure.change_policy("max_age: 0d", "max_age: 7d")
    assert pure.ask(_SUM).reused is CacheUse.SAME
    assert pure.spent_by_all() == 2 * _PRICE


def test_answer_that_was_lost_is_bought_anew(few: Opened, monkeypatch: pytest.MonkeyPatch) -> None:
    """The charge stays, as it may have been seen; what the source never gave is given to nobody."""
    place = few.place(POSTGRESQL)

    def charged(*given: Any, **named: Any) -> Receipt:  # noqa: ANN401 - whatever the stage takes
        receipt = charge_query(*given, **named)
        _rename(few, place, "patients", "gone")
        return receipt

    with monkeypatch.context() as patch:
        patch.setattr("gateway.stages.charge.charge_query", charged)
        with pytest.raises(Refusal):
            place.ask(_SUM)
    _rename(few, place, "gone", "patients")
    assert place.spent_by_all() == _PRICE
    first = place.ask(_SUM)
    assert first.reused is None
    assert place.spent_by_all() == 2 * _PRICE
    again = place.ask(_SUM)
    assert (again.reused, again.rows) == (CacheUse.SAME, first.rows)
    assert place.spent_by_all() == 2 * _PRICE


def test_answer_is_given_again_when_the_source_is_away(few: Opened) -> None:
    """What is released needs nobody's table."""
    place = few.place(POSTGRESQL)
    first = place.ask(_SUM)
    _rename(few, place, "patients", "gone")
    assert place.ask(_SUM).rows == first.rows
    assert place.ask(_SUM, "dave").rows == first.rows


def _rename(few: Opened, place: Place, before: str, after: str) -> None:
    with psycopg.connect(dsn(few.urls[place.dataset]), autocommit=True) as connection:
        connection.execute(
            sql.SQL("ALTER TABLE {} RENAME TO {}").format(
                sql.Identifier(before), sql.Identifier(after)
            )
        )
