"""From a query to a permitted plan: views, row rules, binding and decision."""

from dataclasses import replace

import pytest
from binding.cases import Case, accepted, bind_case
from fix_permissions import ALICE, EVERYTHING, permit, policy_of, question, without_column
from laws import for_each

from gateway.binding.bound import Cut
from gateway.catalog.tables import Column, ColumnRef
from gateway.catalog.types import parse_type
from gateway.datasets.view import BoundQuery, Views
from gateway.errors import Code, NotPermitted, Reason, Refusal
from gateway.plan.node import walk_nodes
from gateway.plan.print import explain_plan
from gateway.plan.relations import Filter, Scan
from gateway.plan.uses import Use, UseKind
from gateway.policy.applicable import RequestContext, applicable_rules
from gateway.policy.conditions.condition import compile_condition
from gateway.policy.decide import decide, filter_rows
from gateway.policy.policy import Policy
from gateway.policy.row_rules import parse_row_rule
from gateway.policy.subjects import Subject
from gateway.twin import Twin, TwinRefused

CONSENTS = Column("consents", parse_type("text"), is_array=True)
ACCEPTED = accepted()
NORTH = policy_of(
    permit(
        rows={
            "patients": "region = subject.region",
            "visits": "diagnosis in ('flu')",
            "intakes": "note = 'x'",
        }
    )
)


def _asked(sql: str, policy: Policy, twin: Twin, subject: Subject = ALICE) -> BoundQuery:
    return Views(policy).bind(question(sql, subject), twin.borrowed)


def _plan(found: BoundQuery) -> str:
    assert isinstance(found.bound, Cut)
    return explain_plan(found.bound.releases[-1].plan)


def test_row_rule_is_a_filter_above_the_scan_when_the_table_is_read(twin: Twin) -> None:
    """What the rule permits is bound as a constant of the subject, never spliced."""
    found = _asked("SELECT COUNT(*) FROM patients p", NORTH, twin)
    assert _plan(found).splitlines() == [
        "release: m1 = count(*)",
        "  filter (p.region in ('north'))",
        "    scan patients as p [protected(patient), rows 1]",
    ]
    other = Subject("bob", {"role": "researcher", "region": "n'; DROP TABLE patients --"})
    with pytest.raises(Refusal):
        # it is no value of the column's domain, yet it is data all the same
        _asked("SELECT nope FROM patients", NORTH, twin, other)
    assert "(p.region in ('n''; DROP TABLE patients --'))" in _plan(
        _asked("SELECT COUNT(*) FROM patients p", NORTH, twin, other)
    )


@for_each("case", ACCEPTED)
def test_row_rule_stands_above_every_scan_wherever_it_is(case: Case) -> None:
    """In joins, EXISTS, UNION ALL and nested groups alike, no scan is read without its filter."""
    bound = bind_case(case)
    if not isinstance(bound, Cut):
        return
    rules = applicable_rules(NORTH, ALICE, RequestContext("rest", None, 12, 1))
    decision = decide(rules, bound.tables, bound.uses)
    for release in bound.releases:
        plan = filter_rows(release.plan, NORTH.dataset, decision.rows)
        guarded = {id(node.child) for node in walk_nodes(plan) if isinstance(node, Filter)}
        scans = [
            node for node in walk_nodes(plan) if isinstance(node, Scan) and not node.table.public
        ]
        assert scans or "visits" not in explain_plan(release.plan)
        assert all(id(scan) in guarded for scan in scans)
        assert [one.type for one in plan.fields] == [one.type for one in release.plan.fields]


def test_row_rule_may_read_a_column_that_the_subject_does_not_see(twin: Twin) -> None:
    """Who may not use a column at all is still held to the rows that it tells apart."""
    hidden = [Use(ColumnRef("patients", "region"), one) for one in UseKind]
    policy = policy_of(permit(without=hidden, rows={"patients": "region = subject.region"}))
    with pytest.raises(TwinRefused):
        _asked("SELECT region, COUNT(*) FROM patients GROUP BY region", policy, twin)
    assert "filter (p.region in ('north'))" in _plan(
        _asked("SELECT AVG(income) FROM patients p", policy, twin)
    )


@pytest.mark.parametrize(
    ("policy", "chosen"),
    [
        (EVERYTHING, True),
        (policy_of(permit(rows={"patients": "region in ('north', 'west')"})), True),
        (policy_of(permit(rows={"patients": "region = subject.region"})), False),
        (replace(EVERYTHING, sizes=replace(EVERYTHING.sizes, enumerated_groups=3)), False),
    ],
)
def test_most_frequent_keys_are_counted_when_the_policy_leaves_no_room_for_choices(
    policy: Policy, twin: Twin, *, chosen: bool
) -> None:
    """Where rules leave fewer values than places, or groups are not listed, it is answered as groups are."""
    top = "GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2"
    found = _asked(f"SELECT region FROM patients WHERE region IS NOT NULL {top}", policy, twin)
    assert isinstance(found.bound, Cut)
    assert found.bound.instead is None
    assert ("dp_top(2)" in _plan(found)) is chosen
    assert ("by k1 = patients.region" in _plan(found)) is not chosen
    assert ("(patients.region in (" in _plan(found)) is bool(found.decision.rows)


def test_most_frequent_keys_need_the_right_to_group_and_no_other(twin: Twin) -> None:
    """The right to aggregate a column does not stand for it, nor is it needed."""
    top = "GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2"
    sql = f"SELECT region FROM patients WHERE region IS NOT NULL {top}"
    column = ColumnRef("patients", "region")
    grouping = policy_of(permit(without=[Use(column, UseKind.AGGREGATE)]))
    assert "dp_top(2)" in _plan(_asked(sql, grouping, twin))
    aggregating = policy_of(permit(without=[Use(column, UseKind.GROUP_BY)]))
    with pytest.raises(NotPermitted):
        _asked(sql, aggregating, twin)


def test_view_is_shared_when_the_same_rules_apply() -> None:
    """Two subjects under the same rules bind against one catalog; a forbidding rule makes another."""
    views = Views(EVERYTHING)
    at_noon = RequestContext("rest", None, 12, 1)
    bob = Subject("bob", {"role": "auditor"})
    one, other = (views.of(applicable_rules(EVERYTHING, who, at_noon)) for who in (ALICE, bob))
    assert one is other
    assert views.shown == {one.shown}


def test_row_rule_binds_the_purpose_and_reads_an_array_that_nobody_sees(twin: Twin) -> None:
    """Each purpose has its rows and its plan; the array is in no view, whatever the rules permit."""
    tables = tuple(
        replace(one, columns=(*one.columns, CONSENTS)) if one.name == "patients" else one
        for one in EVERYTHING.dataset.tables
    )
    dataset = replace(EVERYTHING.dataset, tables=tables)
    rule = permit()
    rows = {"patients": parse_row_rule("request.purpose = ANY (consents)", tables[0])}
    policy = replace(EVERYTHING, dataset=dataset, rules=(replace(rule, rows=rows),))
    alice = Subject("alice", {"purposes": ("care", "research")})
    sql = "SELECT COUNT(*) FROM patients p"

    def plan(purpose: str | None) -> str:
        asked = question(sql, alice)
        return _plan(
            Views(policy).bind(
                replace(asked, request=replace(asked.request, purpose=purpose)), twin.borrowed
            )
        )

    assert 'filter p."consents has care"' in plan("care")
    assert plan("research") == plan("care").replace("care", "research")
    with pytest.raises(NotPermitted):
        plan(None)
    with pytest.raises(TwinRefused):
        _asked(
            "SELECT COUNT(consents) FROM patients",
            policy,
            twin,
            Subject("bob", {"purposes": "care"}),
        )
    with pytest.raises(Refusal):
        _asked(
            'SELECT COUNT(*) FROM patients WHERE "consents has care"',
            policy,
            twin,
            Subject("bob", {"purposes": "care"}),
        )


def test_verdict_is_not_kept_when_time_passes(twin: Twin) -> None:
    """A statement that was permitted in the day is refused at night, by the same views, and the other way round."""
    by_day = compile_condition("request.time.getHours() < 18 && request.tls")
    policy = replace(EVERYTHING, rules=(replace(permit(), when=by_day),))
    views, asked = Views(policy), question("SELECT COUNT(*) FROM patients")
    asked = replace(asked, request=replace(asked.request, tls=True))
    night = replace(asked, asked_at=asked.asked_at.replace(hour=18))
    open_ = replace(asked, request=replace(asked.request, tls=False))
    views.bind(asked, twin.borrowed)
    for refused in (night, open_):
        with pytest.raises(NotPermitted):
            views.bind(refused, twin.borrowed)
    views.bind(asked, twin.borrowed)


def test_statement_is_bound_once_when_it_comes_again(twin: Twin) -> None:
    """The second time neither the text is read nor the twin asked."""
    views = Views(EVERYTHING)
    asked = question("SELECT COUNT(*) FROM patients")
    first = views.bind(asked, twin.borrowed)

    def none_left(subject: str, shown: object) -> object:
        pytest.fail(f"a session for {subject} was borrowed for {shown}")

    again = views.bind(asked, none_left)  # type: ignore[arg-type]
    assert again.bound is first.bound


def test_hidden_column_is_refused_as_if_it_had_never_been_there(twin: Twin) -> None:
    """Code, words, hint and place are those of a dataset without the column, hints of PostgreSQL included."""
    hidden = [Use(ColumnRef("patients", "income"), one) for one in UseKind]
    never = without_column(EVERYTHING, "patients", "income")
    said = []
    for policy in (policy_of(permit(without=hidden)), never):
        with pytest.raises(TwinRefused) as caught:
            _asked("SELECT AVG(income) FROM patients", policy, twin)
        refusal = caught.value
        assert refusal.reason is Reason.NOT_PERMITTED
        said.append((refusal.code, refusal.detail, refusal.hint, refusal.position))
    assert said[0] == said[1]


@pytest.mark.parametrize("purpose", ["care-quality", None])
def test_purpose_is_that_of_the_subject_when_there_is_one(purpose: str | None, twin: Twin) -> None:
    """A subject with one purpose need not name it; one that is not held is refused."""
    asked = question("SELECT COUNT(*) FROM patients")
    asked = replace(asked, request=replace(asked.request, purpose=purpose))
    found = Views(EVERYTHING).bind(asked, twin.borrowed)
    assert found.decision.purpose == "care-quality"
    other = replace(asked, request=replace(asked.request, purpose="marketing"))
    with pytest.raises(NotPermitted) as caught:
        Views(EVERYTHING).bind(other, twin.borrowed)
    assert caught.value.code is Code.PURPOSE_NOT_PERMITTED
