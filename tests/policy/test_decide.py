"""Default deny, forbid beats permit, and rules are a set."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from itertools import product

import pytest
from fix_policy import BASE, people, read, with_rules
from hypothesis import given, settings
from hypothesis import strategies as st
from samples import draws

from gateway.catalog.tables import ColumnRef, Dataset
from gateway.errors import Code, NotPermitted
from gateway.policy.applicable import Peer, RequestContext, applicable_rules, purpose_of, rules_at
from gateway.policy.decide import (
    ColumnUse,
    Decision,
    TableUse,
    Use,
    usable_columns,
    usable_tables,
    visible_by,
)
from gateway.policy.decide import decide as decide_with
from gateway.policy.policy import Effect, Operation, Policy, Rule
from gateway.policy.row_rules import BoundRows, BoundTest
from gateway.policy.subjects import Subject
from gateway.units import Epsilon

SUBJECTS = people(
    "alice: {role: researcher, purposes: [care, audit], region: north, regions: [north, east]}\n"
    "bob: {role: researcher}\n"
    "eve: {}\n"
)
ALICE, BOB, EVE = (SUBJECTS[name] for name in ("alice", "bob", "eve"))
NOON = RequestContext("rest", None, 12, 3)
BUDGET = "budget: {epsilon: 1}"
READS = f"{{id: reads, effect: permit, when: true, tables: [patients, visits], {BUDGET}}}"
GROUPS = (
    "{id: groups, effect: permit, when: true, tables: [patients],"
    f" use: {{group_by: [patients.region], aggregate: ['*']}}, {BUDGET}}}"
)


def use(column: str, operation: Operation) -> ColumnUse:
    table, _, name = column.rpartition(".")
    return ColumnUse(ColumnRef(table, name), operation)


REGION = use("patients.region", Operation.GROUP_BY)
INCOME = use("patients.income", Operation.AGGREGATE)


def decide(
    policy: Policy,
    subject: Subject,
    circumstances: RequestContext,
    tables: Iterable[str],
    uses: Iterable[ColumnUse],
) -> Decision:
    """As the gateway decides: the purpose first, then the rules that apply."""
    held = replace(circumstances, purpose=purpose_of(subject, circumstances.purpose))
    return decide_with(applicable_rules(policy, subject, held), tables, uses)


def visible(policy: Policy, subject: Subject) -> Dataset:
    return visible_by(applicable_rules(policy, subject, NOON))


def code(
    policy: Policy, tables: Iterable[str] = (), uses: Iterable[ColumnUse] = (), **more: object
) -> Code | tuple[str, ...]:
    """The refusal's code, or the ids of the rules that permit."""
    subject = more.get("subject", ALICE)
    try:
        return decide(policy, subject, NOON, tables, uses).because  # type: ignore[arg-type]
    except NotPermitted as refusal:
        return refusal.code


def test_nothing_is_permitted_without_rules() -> None:
    """An empty policy denies everything, to everyone."""
    policy = with_rules()
    uses = [use(f"{t}.{c}", o) for t, c, o in every_column(policy)]
    for subject in SUBJECTS.values():
        for table in policy.dataset.tables:
            assert code(policy, [table.name], subject=subject) is Code.DATASET_NOT_PERMITTED
        for one in uses:
            assert code(policy, uses=[one], subject=subject) is Code.DATASET_NOT_PERMITTED
        assert code(policy, subject=subject) is Code.DATASET_NOT_PERMITTED
        assert usable_columns(policy, subject, NOON) == {}
        assert visible(policy, subject).tables == ()


def every_column(policy: Policy) -> Iterator[tuple[str, str, Operation]]:
    for table in policy.dataset.tables:
        for column, operation in product(table.columns, Operation):
            yield table.name, column.name, operation


def test_table_alone_permits_counting_persons_and_no_column() -> None:
    """Units may be counted and joined; every column needs its use."""
    policy = with_rules(READS)
    assert code(policy, ["patients", "visits"]) == ("reads",)
    assert code(policy, ["patients"], [REGION]) is Code.COLUMN_UNKNOWN
    seen = visible(policy, ALICE)
    assert [[column.name for column in table.columns] for table in seen.tables] == [
        ["patient_id"],
        ["patient_id"],
        [],
    ]


def test_column_is_permitted_for_the_operations_that_are_named() -> None:
    """To group is not to filter; the hint says what may be done, and of nothing else."""
    policy = with_rules(GROUPS)
    assert code(policy, ["patients"], [REGION, INCOME]) == ("groups",)
    with pytest.raises(NotPermitted) as refused:
        decide(policy, ALICE, NOON, ["patients"], [use("patients.region", Operation.FILTER)])
    assert refused.value.code is Code.OPERATION_NOT_PERMITTED
    assert refused.value.detail == "column `patients.region` may not be filtered on"
    assert refused.value.hint == "it may be aggregated or grouped by"


def test_hidden_names_and_unknown_names_read_alike() -> None:
    """Nobody learns from a refusal what is there."""
    policy = with_rules(
        GROUPS,
        "{id: f, effect: forbid, when: true, use: {aggregate: [patients.income], filter: [patients.income]}}",
    )
    for hidden, unknown in (
        (use("visits.cost", Operation.FILTER), use("nothing.cost", Operation.FILTER)),
        (INCOME, use("patients.nothing", Operation.AGGREGATE)),
    ):
        refusals = []
        for one in (hidden, unknown):
            with pytest.raises(NotPermitted) as refused:
                decide(policy, ALICE, NOON, [], [one])
            error = refused.value
            shown = error.detail.replace(str(one.column), "X").replace(one.table, "X")
            refusals.append((error.code, error.title, shown, error.hint))
        assert refusals[0] == refusals[1]


def test_forbid_beats_permit() -> None:
    """Whatever permits it, what is forbidden is not permitted."""
    whole = "{id: none, effect: forbid, when: true, tables: [visits]}"
    some = "{id: some, effect: forbid, when: true, use: {group_by: [class:quasi]}}"
    assert code(with_rules(READS, GROUPS, whole), ["visits"]) is Code.RELATION_UNKNOWN
    assert code(with_rules(READS, GROUPS, whole), ["patients"]) == ("groups", "reads")
    assert code(with_rules(GROUPS, some), ["patients"], [REGION]) is Code.OPERATION_NOT_PERMITTED
    assert code(with_rules(GROUPS, some), ["patients"], [INCOME]) == ("groups",)


@pytest.mark.parametrize(
    ("condition", "permits", "forbids"),
    [
        ("subject.role == 'researcher'", True, True),
        ("subject.role == 'auditor'", False, False),
        ("subject.team == 'x'", False, True),  # an error: does not permit, forbids
        ("subject.role > 5", False, True),
    ],
)
def test_condition_that_fails_does_not_permit_and_does_forbid(
    condition: str, *, permits: bool, forbids: bool
) -> None:
    """Whatever goes wrong, less is permitted."""
    permit = f'{{id: p, effect: permit, when: "{condition}", tables: [patients], {BUDGET}}}'
    assert (code(with_rules(permit), ["patients"]) == ("p",)) is permits
    forbid = f'{{id: f, effect: forbid, when: "{condition}"}}'
    assert (code(with_rules(READS, forbid), ["patients"]) != ("reads",)) is forbids


def test_public_table_is_readable_by_whoever_is_granted_a_table() -> None:
    """And by nobody else; a rule can forbid it all the same."""
    assert code(with_rules(GROUPS), ["regions"]) == ("groups",)
    assert code(with_rules(), ["regions"]) is Code.DATASET_NOT_PERMITTED
    night = "{id: f, effect: forbid, when: true, tables: [regions]}"
    assert code(with_rules(GROUPS, night), ["regions"]) is Code.RELATION_UNKNOWN
    assert code(with_rules(READS, GROUPS), ["patients", "regions"], [REGION]) == ("groups", "reads")


def test_budget_is_the_smallest_of_the_rules_that_permit() -> None:
    """Each part is the least; of the rates the slowest."""
    more = "{id: more, effect: permit, when: true, tables: [patients], budget: {epsilon: 3, delta: 1e-9, window: {every: day, epsilon: 1}}}"
    less = "{id: less, effect: permit, when: true, tables: [patients], budget: {epsilon: 0.5, window: {every: month, epsilon: 0.4}}}"
    other = "{id: other, effect: permit, when: true, tables: [visits], budget: {epsilon: 0.1}}"
    terms = decide(with_rules(more, less, other), ALICE, NOON, ["patients"], [])
    assert terms.budget.epsilon == Epsilon.parse("0.5")
    assert str(terms.budget.delta) == "1e-9"
    assert terms.budget.rate is not None
    assert terms.budget.rate.every == "month"


def test_purpose_must_be_one_of_the_subject() -> None:
    """A purpose is named from the subject's list; the only one need not be."""
    assert purpose_of(ALICE, None) is None
    assert purpose_of(ALICE, "care") == "care"
    assert purpose_of(people("u: {purposes: [care]}")["u"], None) == "care"
    for subject, asked in ((ALICE, "research"), (EVE, "care")):
        with pytest.raises(NotPermitted) as refused:
            purpose_of(subject, asked)
        assert refused.value.code is Code.PURPOSE_NOT_PERMITTED
        with pytest.raises(NotPermitted):
            decide(with_rules(READS), subject, replace(NOON, purpose=asked), ["patients"], [])


def test_condition_reads_purpose_front_end_and_hour() -> None:
    """What conditions read of a request is its own, in UTC."""
    rule = (
        "{id: p, effect: permit, when: \"request.purpose == 'care' && request.front_end == 'rest'"
        f' && request.hour == 23 && request.weekday == 7", tables: [patients], {BUDGET}}}'
    )
    moment = datetime(2026, 11, 22, 23, 59, tzinfo=UTC)
    assert [
        one.id for one in rules_at(with_rules(rule), ALICE, Peer("rest"), "care", moment).permits
    ] == ["p"]
    here = RequestContext("rest", "care", 23, 7)
    assert decide(with_rules(rule), ALICE, here, ["patients"], []).because == ("p",)
    for other in (replace(here, purpose="audit"), replace(here, front_end="cli"), NOON):
        with pytest.raises(NotPermitted):
            decide(with_rules(rule), ALICE, other, ["patients"], [])


def rows_of(decision: Decision) -> dict[str, list[set[BoundRows]]]:
    return {table: [set(clause) for clause in rows] for table, rows in decision.rows.items()}


NORTH = BoundRows((BoundTest("region", ("north",)),))
OLD = BoundRows((BoundTest("birth_year", (1950,)),))
IN_REGION = f"{{id: region, effect: permit, when: true, tables: [patients], use: {{aggregate: [patients.income], group_by: [patients.region]}}, rows: {{patients: 'region = subject.region'}}, {BUDGET}}}"
IF_OLD = f"{{id: old, effect: permit, when: true, tables: [patients], use: {{aggregate: [patients.income]}}, rows: {{patients: 'birth_year = 1950'}}, {BUDGET}}}"


def test_row_rules_are_those_of_the_rules_that_are_needed() -> None:
    """For every use, the row must be one of which some rule that grants the use speaks."""
    both = with_rules(IN_REGION, IF_OLD)
    assert rows_of(decide(with_rules(IN_REGION), ALICE, NOON, ["patients"], [INCOME])) == {
        "patients": [{NORTH}]
    }
    found = rows_of(decide(both, ALICE, NOON, ["patients"], [INCOME]))
    assert found == {"patients": [{NORTH, OLD}]}
    found = rows_of(decide(both, ALICE, NOON, ["patients"], [INCOME, REGION]))
    assert sorted(map(len, found["patients"])) == [1, 2]
    assert {NORTH} in found["patients"]


def test_row_rules_fall_away_for_a_use_that_a_rule_grants_on_all_rows() -> None:
    """A rule without rows means all rows, for what it grants and no more."""
    found = rows_of(decide(with_rules(IN_REGION, GROUPS), ALICE, NOON, ["patients"], [INCOME]))
    assert found == {}
    policy = with_rules(IN_REGION, READS)
    assert rows_of(decide(policy, ALICE, NOON, ["patients"], [])) == {}
    assert rows_of(decide(policy, ALICE, NOON, ["patients"], [INCOME])) == {"patients": [{NORTH}]}


def test_row_rule_that_cannot_be_bound_takes_its_rule_with_it() -> None:
    """Bob has no region, and so none of its rows."""
    assert code(with_rules(IN_REGION), ["patients"], subject=BOB) is Code.DATASET_NOT_PERMITTED


POOL = [
    rule
    for text in (
        READS,
        GROUPS,
        IN_REGION,
        IF_OLD,
        f'{{id: v, effect: permit, when: "subject.role == \'researcher\'", tables: [visits], use: {{aggregate: [class:sensitive], filter: ["*"]}}, {BUDGET}}}',
        "{id: f1, effect: forbid, when: true, tables: [visits]}",
        "{id: f2, effect: forbid, when: true, use: {group_by: [class:quasi], join: ['*']}}",
        "{id: f3, effect: forbid, when: subject.team == 'x', use: {aggregate: [patients.income]}}",
        "{id: f4, effect: forbid, when: subject.role == 'researcher', tables: [patients], use: {filter: ['*']}}",
    )
    for rule in with_rules(text).rules
]
FORBIDS = [rule for rule in POOL if rule.effect is Effect.FORBID]
EMPTY = read(BASE).accepted
ALL_USES: list[Use] = [
    *(TableUse(table.name) for table in EMPTY.dataset.tables),
    *(use(f"{t}.{c}", o) for t, c, o in every_column(EMPTY)),
]


@dataclass(frozen=True)
class Verdict:
    """What can be told of a decision from outside."""

    because: tuple[str, ...] | None
    code: Code | None
    rows: str = ""


def verdict(rules: Iterable[Rule], subject: str, uses: Iterable[Use]) -> Verdict:
    policy = replace(EMPTY, rules=tuple(rules))
    tables = [one.table for one in uses]
    columns = [one for one in uses if isinstance(one, ColumnUse)]
    try:
        made = decide(policy, SUBJECTS[subject], NOON, tables, columns)
    except NotPermitted as refusal:
        return Verdict(None, refusal.code)
    return Verdict(made.because, None, repr((made.purpose, made.budget, made.rows)))


subsets = st.lists(st.sampled_from(POOL), unique=True, max_size=5)
asked = st.lists(st.sampled_from(ALL_USES), max_size=4)
names = st.sampled_from(sorted(SUBJECTS))


@settings(max_examples=draws(150), deadline=None)
@given(subsets, st.sampled_from(FORBIDS), names, asked)
def test_adding_a_forbid_never_widens(
    rules: list[Rule], forbid: Rule, subject: str, uses: list[Use]
) -> None:
    """What was refused stays refused, and what is visible does not grow."""
    before = verdict(rules, subject, uses)
    after = verdict([*rules, forbid], subject, uses)
    if before.because is None:
        assert after.because is None
    old, new = (replace(EMPTY, rules=tuple(each)) for each in (rules, [*rules, forbid]))
    who = SUBJECTS[subject]
    assert usable_tables(new, who, NOON) <= usable_tables(old, who, NOON)
    ways = usable_columns(old, who, NOON)
    for column, operations in usable_columns(new, who, NOON).items():
        assert operations <= ways[column]


@settings(max_examples=draws(150), deadline=None)
@given(subsets, st.randoms(use_true_random=False), names, asked)
def test_order_of_rules_and_uses_says_nothing(
    rules: list[Rule], random: "st.DataObject", subject: str, uses: list[Use]
) -> None:
    """The decision, its reasons, its terms and its refusal are the same."""
    other_rules, other_uses = list(rules), list(uses)
    random.shuffle(other_rules)  # type: ignore[attr-defined]
    random.shuffle(other_uses)  # type: ignore[attr-defined]
    assert verdict(rules, subject, uses) == verdict(other_rules, subject, other_uses)


@settings(max_examples=draws(150), deadline=None)
@given(subsets, names, asked)
def test_decision_agrees_with_what_is_shown(
    rules: list[Rule], subject: str, uses: list[Use]
) -> None:
    """What is visible is what is permitted: nobody is shown a column that cannot be used."""
    policy = replace(EMPTY, rules=tuple(rules))
    who = SUBJECTS[subject]
    ways, tables = usable_columns(policy, who, NOON), usable_tables(policy, who, NOON)
    expected = all(
        one.table in tables
        and (isinstance(one, TableUse) or one.operation in ways.get(one.column, ()))
        for one in uses
    )
    found = verdict(rules, subject, uses)
    anything = any(r.effect is Effect.PERMIT for r in rules) and verdict(rules, subject, []).because
    assert (found.because is not None) is bool(expected and anything)
