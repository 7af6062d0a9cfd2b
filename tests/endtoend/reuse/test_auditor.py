"""A query that would isolate people is refused, free of charge, with the queries that it conflicts with.

Noise is next to nothing here, so what is known of sizes is what the small clinic has: 96 persons, 4 in no region.
"""

from collections.abc import Callable, Mapping
from typing import Any

import pytest
from endtoend.reuse.datasets import AUDITED, Houses, Place

from gateway.errors import Code, OverlapRefused
from gateway.requests.request import CacheUse, UnsupportedItems
from gateway.trail.record import RecordKind
from gateway.trail.search import RecordFilter, latest_records

_ALL = "SELECT COUNT(*) FROM patients"
_BUT_ONE_YEAR = "SELECT COUNT(*) FROM patients WHERE birth_year <> 1962"


@pytest.fixture
def place(houses: Houses) -> Place:
    return houses.place(AUDITED)


def _refused(work: Callable[[], object]) -> OverlapRefused:
    with pytest.raises(OverlapRefused) as caught:
        work()
    return caught.value


@pytest.mark.parametrize("who", ["alice", "carol"])
@pytest.mark.parametrize(
    ("first", "second"),
    [
        (_ALL, _BUT_ONE_YEAR),
        (_BUT_ONE_YEAR, _ALL),
        (_ALL, "SELECT COUNT(*) FROM patients WHERE NOT (birth_year = 1962)"),
        (_ALL, "SELECT SUM(income) FROM patients WHERE birth_year <> 1962"),
        (
            "SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1940 AND 1970",
            "SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1941 AND 1971",
        ),
        (
            "SELECT region, COUNT(*) FROM patients GROUP BY region",
            "SELECT COUNT(*) FROM patients WHERE region = 'north' AND birth_year <> 1962",
        ),
    ],
)
def test_difference_of_few_people_is_refused_to_those_who_compare_notes(
    place: Place, first: str, second: str, who: str
) -> None:
    """To the same analyst and to another of the trust group; the refusal names the other question, and a way out."""
    answered = place.ask(first)
    spent = place.spent_by_all()
    refusal = _refused(lambda: place.ask(second, who))
    assert refusal.code is Code.DIFFERENCING
    assert answered.query_id in f"{refusal.detail} {refusal.hint}"
    assert refusal.hint
    assert place.spent_by_all() == spent
    (record,) = _records(place, refusal.query_id)
    assert (record["kind"], record["code"]) == (RecordKind.REFUSED, Code.DIFFERENCING.value)


def test_auditor_refuses_the_statement_and_no_item(place: Place) -> None:
    """With `unsupported` NULL for what cannot be answered, a difference of few people refuses all of it as before."""
    place.ask(_ALL)
    wide = _BUT_ONE_YEAR.replace("COUNT(*)", "COUNT(*), AVG(income), array_agg(income)")
    spent = place.spent_by_all()
    refusal = _refused(lambda: place.ask(wide, unsupported=UnsupportedItems.NULL))
    assert refusal.code is Code.DIFFERENCING
    assert place.spent_by_all() == spent
    (record,) = _records(place, refusal.query_id)
    assert record["attributes"]["null"] == [{"column": "array_agg", "code": "GW118"}]
    other = "SELECT COUNT(*), array_agg(income) FROM patients WHERE birth_year < 1970"
    assert place.ask(other, unsupported=UnsupportedItems.NULL).rows[0][1] is None


def test_difference_is_nothing_to_an_analyst_who_was_not_told_the_other_answer(
    place: Place,
) -> None:
    """Outside of the trust group a question is held against one's own past alone."""
    place.ask(_ALL)
    assert place.ask(_BUT_ONE_YEAR, "dave").charged
    # and now they have a past of their own
    refusal = _refused(
        lambda: place.ask("SELECT COUNT(*) FROM patients WHERE birth_year <> 1963", "dave")
    )
    assert refusal.code is Code.DIFFERENCING


def test_answer_that_was_told_from_memory_counts_as_told(place: Place) -> None:
    """Whoever was given somebody else's answer for nothing knows it as well as who bought it."""
    place.ask(_ALL)
    assert place.ask(_ALL, "dave").reused is CacheUse.SAME
    assert _refused(lambda: place.ask(_BUT_ONE_YEAR, "dave")).code is Code.DIFFERENCING


def test_question_about_a_group_that_is_known_to_be_small_is_refused(place: Place) -> None:
    """Four people have no region; what was released says so, and nothing more is told about them."""
    place.ask("SELECT region, COUNT(*) FROM patients GROUP BY region")
    refusal = _refused(lambda: place.ask("SELECT SUM(income) FROM patients WHERE region IS NULL"))
    assert refusal.code is Code.SMALL_GROUP
    # twelve are enough
    assert place.ask("SELECT SUM(income) FROM patients WHERE region = 'west'").charged


@pytest.mark.parametrize(
    "condition", ["name LIKE 'Z%'", "birth_year > income", "LENGTH(name) = 4 OR name = region"]
)
def test_condition_that_nobody_understands_is_refused_by_name(place: Place, condition: str) -> None:
    """Without any past: it could be anybody's."""
    refusal = _refused(lambda: place.ask(f"SELECT COUNT(*) FROM patients WHERE {condition}"))
    assert refusal.code is Code.UNREADABLE_CONDITION
    assert "name" in refusal.detail or "income" in refusal.detail
    assert place.spent_by_all() == 0


def test_estimate_tells_the_verdict_beforehand(place: Place) -> None:
    """What would be refused is refused there, with the same words; nothing is charged, and nothing is held against it."""
    place.estimate(_BUT_ONE_YEAR)
    place.ask(_ALL)
    beforehand = _refused(lambda: place.estimate(_BUT_ONE_YEAR))
    then = _refused(lambda: place.ask(_BUT_ONE_YEAR))
    assert (beforehand.code, beforehand.detail, beforehand.hint) == (
        then.code,
        then.detail,
        then.hint,
    )


def test_question_that_was_refused_is_nobodys_past(place: Place) -> None:
    """Only answers can be compared: after a refusal the same things may be asked as before."""
    first = place.ask(_ALL)
    _refused(lambda: place.ask(_BUT_ONE_YEAR))
    assert place.ask(_ALL).rows == first.rows
    assert place.ask("SELECT COUNT(*) FROM patients WHERE birth_year < 1970").charged


def test_ordinary_work_is_answered(place: Place) -> None:
    """From a total to its groups, and down by two of them, and back."""
    for sql in (
        _ALL,
        "SELECT region, COUNT(*), SUM(income) FROM patients GROUP BY region",
        "SELECT smoker, COUNT(*) FROM patients WHERE region = 'north' GROUP BY smoker",
        "SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1940 AND 1979",
        "SELECT birth_year / 10, COUNT(*) FROM patients GROUP BY 1",
        "SELECT region, COUNT(*) FROM patients WHERE birth_year >= 1960 GROUP BY region",
        "SELECT EXTRACT(year FROM visit_date), COUNT(*) FROM visits GROUP BY 1",
        "SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-01-01'",
        _ALL,
    ):
        assert place.ask(sql).rows, sql


def test_answers_of_before_are_held_against_questions_when_they_are_too_old_to_be_given_again(
    place: Place,
) -> None:
    """Who was told something does not forget it after a week."""
    first = place.ask(_ALL)
    place.later(30)
    refusal = _refused(lambda: place.ask(_BUT_ONE_YEAR))
    assert refusal.code is Code.DIFFERENCING
    assert first.query_id in f"{refusal.detail} {refusal.hint}"


def _records(place: Place, query_id: str | None) -> list[Mapping[str, Any]]:
    assert query_id
    with place.opened.foundation.engine.connect() as connection:
        return latest_records(connection, 10, RecordFilter(query_id=query_id))
