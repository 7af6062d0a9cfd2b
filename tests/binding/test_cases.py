"""Every golden case: accepted with the plan it shows, or refused with the code it names."""

import pytest
from binding.cases import ROOM, Case, accepted, bind_case, every, found, read, refused, write
from laws import for_each

from gateway.binding.bound import Cut, PassThrough
from gateway.errors import REASON, Code, Reason, Refusal

CASES = every()
_ENOUGH_ACCEPTED = 200
_ENOUGH_REFUSED = 300


def test_cases_are_written_again_when_asked(request: pytest.FixtureRequest) -> None:
    """Golden files change by `--update-cases` alone."""
    if not request.config.getoption("--update-cases", default=False):
        assert sorted(ROOM.glob("*.sql"))
        return
    for path in sorted(ROOM.glob("*.sql")):
        write(path, read(path))


@for_each("case", CASES)
def test_case_binds_as_written(case: Case) -> None:
    """A statement means what its golden case says."""
    assert found(case) == case.expected


def test_cases_are_many_and_told_apart() -> None:
    """Accepted and refused cases are some hundreds, and no title is used twice in a file."""
    assert sum(not case.refused for case in CASES) >= _ENOUGH_ACCEPTED
    assert sum(case.refused for case in CASES) >= _ENOUGH_REFUSED
    assert len({case.name for case in CASES}) == len(CASES)


def test_codes_of_binding_have_a_case_each() -> None:
    """Every refusal of binding is shown by a case."""
    shown = {case.expected for case in CASES if case.refused}
    assert {code.value for code in Code if code.startswith("GW1")} == shown


@for_each("case", refused())
def test_refusal_reads_well_when_a_case_is_refused(case: Case) -> None:
    """A refusal starts lower-case or with the user's words, has no final period, and its class fits."""
    with pytest.raises(Refusal) as caught:
        bind_case(case)
    for text in (caught.value.detail, caught.value.hint):
        assert not text.endswith(".")
        assert "sqlglot" not in text
    reason = REASON[caught.value.code]
    assert (type(caught.value).__name__ == "Unbounded") is (reason is Reason.UNBOUNDED)
    assert (type(caught.value).__name__ == "NotAggregate") is (reason is Reason.NOT_AGGREGATE)
    assert (type(caught.value).__name__ == "UnsupportedSql") is (reason is Reason.UNSUPPORTED_SQL)


@for_each("case", accepted())
def test_finishing_names_no_table_of_the_source_when_a_case_is_accepted(case: Case) -> None:
    """What goes to the twin names constants alone: no table of persons is left in it."""
    bound = bind_case(case)
    if isinstance(bound, PassThrough):
        return
    assert isinstance(bound, Cut)
    stages = [step.sql.text() for step in bound.steps if hasattr(step, "sql")]
    for text in (bound.finishing.text(), *stages):
        words = text.replace('"patients"', " ") if 'AS "patients"' in text else text
        assert "visits" not in words
        assert "FROM patients" not in words or "WITH patients AS" in words


@for_each("case", CASES)
def test_binding_gives_the_same_again(case: Case) -> None:
    """Binding depends on the text and the catalog alone."""
    assert found(case) == found(case)
