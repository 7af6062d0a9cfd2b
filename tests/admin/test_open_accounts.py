"""Policies open their ledgers and accounts, in one transaction with its record."""

import json
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Any

import pytest
from fix_policy import BASE, Case, loaded, read
from sqlalchemy import select

from gateway.admin.actions import grant
from gateway.admin.open_accounts import ledger_of, open_policies, record_rejection
from gateway.budget.account import Currency, Every, Limits, RateLimit
from gateway.budget.balances import load_accounts, load_ledger
from gateway.errors import Code, OperatorError
from gateway.policy.applicable import account_budget
from gateway.policy.files.load import LoadedPolicies
from gateway.policy.in_force import Cause
from gateway.state.open import State
from gateway.state.tables import trail_records
from gateway.trail.record import RecordKind, Trail
from gateway.units import Delta, Epsilon

NOW = datetime(2026, 11, 18, tzinfo=UTC)
CAUSE = Cause("dave", "test")
SUBJECTS = (
    "alice: {role: researcher, region: north, team: oncology}\n"
    "bob: {role: researcher, region: south}\n"
    "carol: {role: auditor, region: north}\n"
    "erin: {role: researcher}\n"  # without a region no rule can permit her anything
)


def policies(
    old: str = "gateway: 1", new: str = "gateway: 1", subjects: str = SUBJECTS
) -> LoadedPolicies:
    """The base policy with one change, as if it had been loaded."""
    return loaded(read(Case("", old, new, ()).text).accepted, subjects, digest=f"{hash(new):x}")


def put(state: State, trail: Trail, value: LoadedPolicies) -> None:
    open_policies(state.journal, trail, value, before=None, cause=CAUSE, now=NOW)


def accounts(state: State) -> Mapping[str, tuple[str | None, Limits]]:
    with state.engine.connect() as connection:
        return {one.name: (one.parent, one.limits) for one in load_accounts(connection)}


def records(state: State, *kinds: RecordKind) -> list[dict[str, Any]]:
    query = select(trail_records.c.body).order_by(trail_records.c.seq)
    with state.engine.connect() as connection:
        found = [json.loads(row.body) for row in connection.execute(query)]
    return [record for record in found if not kinds or record["kind"] in kinds]


def limits(epsilon: str, delta: str = "1e-6", window: RateLimit | None = None) -> Limits:
    return Limits(Epsilon.parse(epsilon), Delta.parse(delta), window)


MONTH = RateLimit(Every.MONTH, Epsilon.parse("0.5"))


def test_opening_gives_everyone_who_can_be_permitted_an_account(state: State, trail: Trail) -> None:
    """Whom no rule can ever permit anything has none."""
    put(state, trail, policies())
    assert accounts(state) == {
        "dataset:clinic": (None, limits("10")),
        "analyst:alice@clinic": ("dataset:clinic", limits("2", window=MONTH)),
        "analyst:bob@clinic": ("dataset:clinic", limits("2", window=MONTH)),
    }
    with state.engine.connect() as connection:
        ledger = load_ledger(connection, "dataset:clinic")
    assert ledger is not None
    assert (ledger.source, ledger.unit) == ("duckdb:////data/clinic.duckdb", "patient")
    (record,) = records(state, RecordKind.POLICY_LOADED)
    assert record["about"]["datasets"] == "clinic"
    assert record["actor"] == "dave"


def test_opening_again_writes_the_record_alone(state: State, trail: Trail) -> None:
    """Accounts that are as they should be are left."""
    put(state, trail, policies())
    before = len(records(state))
    put(state, trail, policies())
    assert len(records(state)) == before + 1


def test_analysts_of_a_team_with_a_budget_are_below_it(state: State, trail: Trail) -> None:
    """Others of no such team are below the ledger."""
    teams = "  teams: {oncology: {epsilon: 3}}\n  per_query"
    put(state, trail, policies("  per_query", teams))
    found = accounts(state)
    assert found["team:oncology@clinic"] == ("dataset:clinic", limits("3"))
    assert found["analyst:alice@clinic"][0] == "team:oncology@clinic"
    assert found["analyst:bob@clinic"][0] == "dataset:clinic"


def test_account_is_not_moved_by_a_reload(state: State, trail: Trail) -> None:
    """What was spent where stays there: the reload is refused whole."""
    put(state, trail, policies())
    teams = "  teams: {oncology: {epsilon: 3}}\n  per_query"
    before = accounts(state), len(records(state))
    with pytest.raises(OperatorError) as refused:
        put(state, trail, policies("  per_query", teams))
    assert refused.value.code is Code.LEDGER_CHANGED
    assert (accounts(state), len(records(state))) == before


def test_new_number_of_a_policy_becomes_the_limit(state: State, trail: Trail) -> None:
    """For the dataset and for analysts."""
    put(state, trail, policies())
    put(state, trail, policies("budget: {epsilon: 2,", "budget: {epsilon: 1.5,"))
    assert accounts(state)["analyst:alice@clinic"][1].epsilon == Epsilon.parse("1.5")
    put(state, trail, policies("{epsilon: 10,", "{epsilon: 8,"))
    assert accounts(state)["dataset:clinic"][1].epsilon == Epsilon.parse("8")
    assert accounts(state)["analyst:alice@clinic"][1].epsilon == Epsilon.parse("2")


def test_grant_stays_until_the_policy_says_another_number(state: State, trail: Trail) -> None:
    """A restart does not take back what an administrator gave."""
    put(state, trail, policies())
    grant(state.journal, trail, "analyst:alice@clinic", limits("5"), actor="dave", now=NOW)
    put(state, trail, policies("max_age: 7d", "max_age: 6d"))
    assert accounts(state)["analyst:alice@clinic"][1] == limits("5")
    put(state, trail, policies("budget: {epsilon: 2,", "budget: {epsilon: 3,"))
    assert accounts(state)["analyst:alice@clinic"][1] == limits("3", window=MONTH)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("unit: patient", "unit: household"),
        ("dataset: clinic", "dataset: hospital"),  # the same people under another name
        (
            "dataset: clinic\nsource: ${CLINIC_URL}\nprivacy:\n  unit: patient",
            "dataset: hospital\nsource: ${CLINIC_URL}\nprivacy:\n  unit: household",
        ),
        ("source: ${CLINIC_URL}", "source: duckdb:////data/other.duckdb"),
    ],
)
def test_changed_ledger_is_refused(state: State, trail: Trail, old: str, new: str) -> None:
    """Neither unit nor source of a ledger change, and no second ledger takes its tables."""
    put(state, trail, policies())
    before = accounts(state), len(records(state))
    with pytest.raises(OperatorError) as refused:
        put(state, trail, policies(old, new))
    assert refused.value.code is Code.LEDGER_CHANGED
    assert (accounts(state), len(records(state))) == before


def test_table_that_was_given_up_is_remembered(state: State, trail: Trail) -> None:
    """A table that left one ledger cannot be protected by another later."""
    put(state, trail, policies())
    without = BASE[: BASE.index("  visits:")] + BASE[BASE.index("  regions:") :]
    without = without.replace("[patients, visits]", "[patients]")
    put(state, trail, loaded(read(without).accepted, SUBJECTS))
    other = "gateway: 1\ndataset: other\nsource: ${CLINIC_URL}\nprivacy:\n  unit: visit\n  budget: {epsilon: 1, delta: 0}\n  per_query: {default: 1, max: 1}\ntables:\n  {NAME}:\n    unit_key: id\n    rows_per_unit: 1\n    columns: {id: {type: bigint, class: identifier}}\n"
    clinic = read(without).accepted
    for name, works in (("main.visits", False), ("staff", True)):
        more = read(other.replace("{NAME}", name)).accepted
        both = LoadedPolicies({"clinic": clinic, "other": more}, {}, "00")
        if works:
            put(state, trail, both)
        else:
            with pytest.raises(OperatorError, match="belongs to the ledger of unit `patient`"):
                put(state, trail, both)


def test_auto_keeps_the_currency_the_ledger_was_opened_in(state: State, trail: Trail) -> None:
    """Other numbers would be better in another currency, but what was spent is counted in this one."""
    put(state, trail, policies("default: 0.05", "default: 1"))
    few = policies("default: 0.05", "default: 1").policies["clinic"]
    many = policies().policies["clinic"]
    assert (ledger_of(few).currency, ledger_of(many).currency) == (Currency.ZCDP, Currency.ZCDP)
    put(state, trail, policies())


@pytest.mark.parametrize(
    ("change", "currency"),
    [
        (("mechanism: auto", "mechanism: auto"), Currency.ZCDP),
        (("mechanism: auto", "mechanism: laplace"), Currency.PURE),
        (("mechanism: auto", "mechanism: gaussian"), Currency.ZCDP),
        (("delta: 1e-6", "delta: 0"), Currency.PURE),
        # 10 questions to 4 groups are 40; cap²/(4 rho*) is 100/(4 · 1.48) = 16.9
        (("default: 0.05", "default: 1"), Currency.ZCDP),
        (("groups_per_unit: 4", "groups_per_unit: 1"), Currency.ZCDP),
        # 10 questions to one group: Laplace is better
        (("few", "few"), Currency.PURE),
    ],
)
def test_currency_is_the_better_one_unless_it_is_given(
    change: tuple[str, str], currency: Currency
) -> None:
    """Questions at the default price times groups, against cap²/(4 rho*)."""
    text = BASE.replace("  per_query", "  mechanism: auto\n  per_query").replace(*change)
    if change[0] == "few":
        text = text.replace("default: 0.05", "default: 1").replace(
            "groups_per_unit: 4", "groups_per_unit: 1"
        )
    assert ledger_of(read(text).accepted).currency is currency


def test_rejection_is_recorded(state: State, trail: Trail) -> None:
    """With the first problem, and what is in force all the same."""
    problem = OperatorError(Code.POLICY_INVALID, "clinic.yaml:1:1: wrong")
    record_rejection(state.journal, trail, (problem,), policies(), CAUSE)
    (record,) = records(state)
    assert record["kind"] == RecordKind.POLICY_REJECTED
    assert record["about"]["first"] == "clinic.yaml:1:1: wrong"
    assert record["about"]["in_force"] == policies().digest


def test_budget_of_an_analyst_is_the_least_of_the_rules_that_can_apply() -> None:
    """Also of those that apply at another hour, or for another purpose."""
    rule = "  - {id: night, effect: permit, when: request.hour > 20 && request.purpose == 'care', tables: [patients], budget: {epsilon: 0.1}}\n"
    text = BASE.replace("  - id: nobody", f"{rule}  - id: nobody")
    subjects = SUBJECTS.replace("team: oncology", "purposes: [care, audit]")
    value = loaded(read(text).accepted, subjects)
    policy = value.policies["clinic"]
    found = {name: account_budget(policy, subject) for name, subject in value.subjects.items()}
    assert {name: str(one.epsilon) for name, one in found.items() if one} == {
        "alice": "0.1",
        "bob": "2",
    }
