"""Conditions on the address, the encryption and the time of a request."""

from dataclasses import replace
from datetime import UTC, datetime

import pytest
from fix_policy import people, with_rules
from laws import for_each

from gateway.policy.applicable import Peer, RequestContext, account_budget, facts_of, rules_at
from gateway.policy.conditions.condition import Truth, compile_condition
from gateway.policy.conditions.parser import InvalidCondition, parse_condition
from gateway.policy.conditions.request_facts import normal_address
from gateway.policy.conditions.tree import tree_text

ALICE = people("alice: {role: researcher, purposes: [care]}")["alice"]
MOMENT = datetime(2026, 11, 19, 5, 30, tzinfo=UTC)  # a Thursday
HERE = RequestContext("rest", "care", 5, 4, "192.0.2.7", tls=True, time=MOMENT)
POLICY = with_rules()
INSIDE = 'cidr("192.0.2.0/24").containsIP(request.address)'


def outcome(text: str, here: RequestContext = HERE) -> Truth:
    return compile_condition(text).outcome(facts_of(POLICY, ALICE, here))


@for_each(
    ("text", "expected"),
    [
        (INSIDE, Truth.TRUE),
        ("cidr('192.0.2.8/29').containsIP(request.address)", Truth.FALSE),
        ("cidr('0.0.0.0/0').containsIP(request.address)", Truth.TRUE),
        ("cidr('::/0').containsIP(request.address)", Truth.FALSE),
        ("request.address == '192.0.2.7'", Truth.TRUE),
        ("request.address in ['192.0.2.6', '192.0.2.7']", Truth.TRUE),
        ("request.tls", Truth.TRUE),
        ("!request.tls", Truth.FALSE),
        ("request.tls == true", Truth.TRUE),
        ("request.time.getHours() >= 6", Truth.FALSE),
        ("request.time.getHours() == 5 && request.time.getMinutes() == 30", Truth.TRUE),
        ("request.time.getDayOfWeek() == 4 && request.time.getDate() == 19", Truth.TRUE),
        ("request.time.getMonth() == 10 && request.time.getFullYear() == 2026", Truth.TRUE),
        ("request.time < timestamp('2027-01-01T00:00:00Z')", Truth.TRUE),
        ("request.time < timestamp('2026-11-19T06:00:00+01:00')", Truth.FALSE),
        ("request.time > 5", Truth.NEITHER),
        (f"{INSIDE} && request.tls && request.time.getHours() < 6", Truth.TRUE),
    ],
)
def test_condition_reads_the_facts_of_the_connection(text: str, expected: Truth) -> None:
    """Networks contain addresses, times have fields in UTC, and types that do not fit are neither."""
    assert outcome(text) is expected


@for_each(
    "text",
    [INSIDE, f"!{INSIDE}", "request.tls", "!request.tls", "request.time.getHours() >= 0"],
)
def test_condition_is_neither_when_the_fact_is_not_known(text: str) -> None:
    """A fact that nobody gave permits nothing, and lets nothing pass a forbid."""
    nowhere = replace(HERE, address=None, tls=None, time=None)
    assert outcome(text, nowhere) is Truth.NEITHER
    assert outcome(f"true || {text}", nowhere) is Truth.TRUE  # negative control


@for_each(
    "text",
    [
        "request.address in '192.0.2.0/24'",
        "request.address in subject.networks",
        "cidr('192.0.2.7').containsIP(request.address)",
        "cidr('192.0.2.1/24').containsIP(request.address)",
        "cidr('nonsense/8').containsIP(request.address)",
        "cidr(subject.network).containsIP(request.address)",
        "cidr('192.0.2.0/24').containsIP(subject.address)",
        "cidr('192.0.2.0/24').containsIP('192.0.2.7')",
        "cidr('192.0.2.0/24')",
        "cidr('192.0.2.0/24') == request.address",
        "containsIP(request.address)",
        "timestamp('tomorrow') < request.time",
        "timestamp('2026-02-30T00:00:00Z') < request.time",
        "timestamp('2026-02-03T00:00:00') < request.time",
        "timestamp(subject.until) < request.time",
        "subject.until.getHours() < 3",
        "request.time.getHours('Europe/Berlin') < 3",
        "request.time.hours < 3",
        "request.tls && !request.tls",
        "request.time == '2026'",
    ],
)
def test_condition_with_a_wrong_fact_is_refused_when_it_is_loaded(text: str) -> None:
    """A network, a moment or a method that is none never waits for the first query to fail."""
    with pytest.raises(InvalidCondition):
        compile_condition(text)


def test_address_is_read_as_sockets_show_it() -> None:
    """IPv4 in IPv6 is IPv4; what is no address is not known."""
    assert normal_address("::ffff:192.0.2.7") == "192.0.2.7"
    assert normal_address("fe80::1%eth0") == "fe80::1"
    assert normal_address("2001:DB8::0:1") == "2001:db8::1"
    assert [normal_address(one) for one in ("", "unknown", "/run/socket", "192.0.2")] == [None] * 4


RULE = (
    "{id: office, effect: permit, tables: [patients], budget: {epsilon: 1}, when: "
    '\'cidr("192.0.2.0/24").containsIP(request.address) && request.tls'
    " && request.time.getHours() >= 6'}"
)
FORBID = (
    "{id: outside, effect: forbid, when: '!cidr(\"192.0.2.0/24\").containsIP(request.address)'}"
)


def test_rules_apply_by_the_peer_and_the_time_of_each_request() -> None:
    """The same subject is permitted from the office in the day, and neither elsewhere nor at night."""
    policy = with_rules(RULE, FORBID)
    day, night = MOMENT.replace(hour=6), MOMENT

    def applying(peer: Peer, now: datetime) -> tuple[list[str], list[str]]:
        found = rules_at(policy, ALICE, peer, None, now)
        return [one.id for one in found.permits], [one.id for one in found.forbids]

    office = Peer("rest", "192.0.2.9", tls=True)
    assert applying(office, day) == (["office"], [])
    assert applying(office, night) == ([], [])
    assert applying(replace(office, tls=False), day) == ([], [])
    assert applying(replace(office, address="198.51.100.1"), day) == ([], ["outside"])
    assert applying(replace(office, address="unknown"), day) == ([], ["outside"])  # fails closed


def test_account_is_opened_for_whom_a_rule_may_permit_something_at_some_time() -> None:
    """Addresses and times are not gone through: what may hold there counts, what the subject rules out does not."""
    somebody = RULE.replace("6'}", '6 && subject.role == "researcher"\'}')
    nobody = RULE.replace("6'}", '6 && subject.role == "auditor"\'}')
    never = RULE.replace("request.tls", 'request.front_end == "fax"')
    assert account_budget(with_rules(somebody), ALICE) is not None
    assert account_budget(with_rules(nobody), ALICE) is None
    assert account_budget(with_rules(never), ALICE) is None
    many = " || ".join(f"request.time.getHours() == {hour}" for hour in range(9))
    assert account_budget(with_rules(RULE.replace("request.tls", f"({many})")), ALICE) is not None


@for_each(
    "text",
    [
        INSIDE,
        "!(subject.a == 'x' && request.tls) || subject.b in ['y', \"z\\\"\", 'q\\\\']",
        "subject.c.exists(p, p.startsWith('a')) && size(subject.c) == -1",
        "request.time < timestamp('2027-01-01T00:00:00Z') && has(subject.d) && int(subject.e) > 3",
    ],
)
def test_tree_is_written_as_the_condition_that_it_was_parsed_from(text: str) -> None:
    """The text of a tree has the same tree."""
    tree = parse_condition(text)
    assert parse_condition(tree_text(tree)) == tree
