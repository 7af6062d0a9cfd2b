"""Default deny over the whole corpus: without a rule nothing is answered, and no use without its grant."""

from contextlib import AbstractContextManager

import pytest
from binding.cases import Case, accepted, bind_case, every
from fix_permissions import ALICE, EVERYTHING, NOTHING, permit, policy_of, question
from laws import for_each

from gateway.binding.bound import Cut, PassThrough
from gateway.datasets.view import Views
from gateway.errors import Code, NotPermitted
from gateway.plan.uses import Use
from gateway.policy.applicable import RequestContext, applicable_rules
from gateway.policy.decide import Decision, decide
from gateway.policy.policy import Policy
from gateway.twin import Twin, VisibleTables
from gateway.twin.session import TwinSession

CASES = every()
ACCEPTED = accepted()
_DENIALS = {Code.OPERATION_NOT_PERMITTED, Code.COLUMN_UNKNOWN, Code.RELATION_UNKNOWN}


def _no_twin(subject: str, shown: VisibleTables, zone: str) -> AbstractContextManager[TwinSession]:
    pytest.fail(f"the twin was asked for {subject} and {len(shown)} tables in {zone}")


def _decision(case: Case, policy: Policy) -> Decision:
    bound = bind_case(case)
    rules = applicable_rules(policy, ALICE, RequestContext("rest", None, 12, 1))
    if isinstance(bound, PassThrough):
        return decide(rules)
    return decide(rules, bound.tables, bound.uses)


@for_each("case", CASES)
def test_statement_is_refused_when_no_rule_permits_anything(case: Case) -> None:
    """Under an empty policy every statement gets one and the same refusal, before anything is read."""
    with pytest.raises(NotPermitted) as caught:
        Views(NOTHING).bind(question(case.sql), _no_twin)
    refusal = caught.value
    assert (refusal.code, refusal.detail) == (Code.DATASET_NOT_PERMITTED, "`clinic`")


def test_statements_are_permitted_when_every_use_is(twin: Twin) -> None:
    """The law above has teeth: the same statements go through where a rule grants all of it."""
    views = Views(EVERYTHING)
    for case in ACCEPTED:
        found = views.bind(question(case.sql), twin.borrowed)
        assert found.decision.because == ("everything",), case.name


@for_each("case", ACCEPTED)
def test_statement_is_refused_when_any_one_use_is_not_granted(case: Case) -> None:
    """Every use of every statement is decisive: take its grant away, and the statement is refused."""
    bound = bind_case(case)
    if not isinstance(bound, Cut):
        return
    assert _decision(case, EVERYTHING).because == ("everything",)
    for use in bound.uses:
        _refused(case, policy_of(permit(without=[use])), use)


@for_each("case", ACCEPTED)
def test_statement_is_refused_when_a_protected_table_of_it_is_not_granted(case: Case) -> None:
    """Rows of persons take part in no answer unless a rule names their table."""
    bound = bind_case(case)
    if not isinstance(bound, Cut):
        return
    for table in bound.tables & {"patients", "visits"}:
        rest = frozenset(one.name for one in EVERYTHING.dataset.tables) - {table}
        _refused(case, policy_of(permit(tables=rest)), table)


def _refused(case: Case, policy: Policy, what: Use | str) -> None:
    with pytest.raises(NotPermitted) as caught:
        _decision(case, policy)
    assert caught.value.code in _DENIALS, f"{case.name} without {what}"
