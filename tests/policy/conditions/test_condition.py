"""Conditions are bounded before they are compiled, and permit only when they are true."""

import subprocess
import sys
import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from laws import for_each
from samples import draws

from gateway.policy.conditions.condition import Facts, Truth, compile_condition, is_unsatisfiable
from gateway.policy.conditions.parser import LONGEST, InvalidCondition, parse_condition

FACTS: Facts = {
    "subject": {"name": "alice", "role": "researcher", "level": "7", "purposes": ["care", "audit"]},
    "request": {
        "purpose": "care",
        "dataset": "clinic",
        "front_end": "rest",
        "hour": 9,
        "weekday": 3,
    },
}


@for_each(
    ("text", "outcome"),
    [
        ("true", Truth.TRUE),
        ('subject.role == "researcher"', Truth.TRUE),
        ('subject.role == "auditor"', Truth.FALSE),
        ("subject.role == 'researcher'", Truth.TRUE),
        ("request.purpose in subject.purposes", Truth.TRUE),
        ('"other" in subject.purposes', Truth.FALSE),
        ('subject.name in ["alice", "bob"]', Truth.TRUE),
        ('subject.team == "x"', Truth.NEITHER),  # no such attribute
        ('subject.team != "x"', Truth.NEITHER),
        ('!(subject.team == "x")', Truth.NEITHER),
        ('subject.team == "x" || subject.role == "researcher"', Truth.TRUE),
        ('subject.team == "x" && subject.role == "auditor"', Truth.FALSE),
        ("has(subject.team)", Truth.FALSE),
        ('!has(subject.team) || subject.team == "x"', Truth.TRUE),
        ("request.hour >= 8 && request.hour < 18", Truth.TRUE),
        ('subject.level > "6"', Truth.TRUE),  # texts, by their signs
        ("subject.level > 6", Truth.NEITHER),  # a text is no number
        ("int(subject.level) > 6", Truth.TRUE),
        ("int(subject.role) > 6", Truth.NEITHER),
        ('"care" in subject.role', Truth.NEITHER),  # a text is no list
        ('subject.purposes == "care"', Truth.FALSE),
        ('subject.purposes.exists(p, p.startsWith("aud"))', Truth.TRUE),
        ('subject.purposes.all(p, p.startsWith("aud"))', Truth.FALSE),
        ('subject.role.contains("search")', Truth.TRUE),
        ("size(subject.purposes) == 2", Truth.TRUE),
        ("-1 < request.hour", Truth.TRUE),
        (r'subject.role == "\"" || true', Truth.TRUE),
    ],
)
def test_condition_is_what_cel_says(text: str, outcome: Truth) -> None:
    """True, false, or neither: a missing attribute or a mix of types is never true."""
    assert compile_condition(text).outcome(FACTS) is outcome


@for_each(
    "text",
    [
        "",
        " ",
        "subject",
        "subject.",
        "subject.role.",
        "subject.role ==",
        "subject.role = 'a'",
        "subject.role == 'a' == true",
        "subject['role'] == 'a'",
        "subject.role == 'a' ? true : false",
        "subject.role + 'a' == 'b'",
        "{'a': 1}.a == 1",
        "subject.role == b'a'",
        "subject.role == r'a'",
        "subject.role == '''a'''",
        "subject.role == 'a\nb'",
        r"subject.role == 'a\n'",
        r"subject.role == 'a",
        "1.5 < request.hour",
        "1e3 < request.hour",
        "0x10 < request.hour",
        "1u < request.hour",
        "99999999999999999999 < request.hour",
        "true // comment",
        "request.at < 1",
        "now() < 1",
        "type(subject.role) == string",
        "subject.role.matches('(a+)+$')",
        "subject.purposes.map(p, p) == []",
        "subject.purposes.filter(p, p == 'a') == []",
        "subject.purposes.exists(subject, true)",
        "subject.purposes.exists(p, subject.purposes.exists(q, p == q))",
        "subject.purposes.exists(p, subject.purposes.all(q, p == q))",
        "p == 'a'",
        "has(subject)",
        "has('a')",
        "size(subject.a, subject.b) == 1",
        "(true",
        "true)",
        "!" * 17 + "true",
        "subject.röle == 'a'",
        "\N{NO-BREAK SPACE}true",
        "true;",
        "subject.true == 'a'",
    ],
)
def test_condition_is_refused_when_it_is_none(text: str) -> None:
    """What is not understood here is not given to the library."""
    with pytest.raises(InvalidCondition):
        compile_condition(text)


@for_each(
    "text",
    [
        "1 + " * 20_000 + "1 == 1",
        "(" * 5_000 + "true" + ")" * 5_000,
        "[" * 200 + "]" * 200,
        "!" * 2_000 + "true",
        "true && " * 10_000 + "true",
        "a." * 1_000 + "b",
        "subject.a.exists(x, " * 80 + "true" + ")" * 80,
        "'" + "a" * 5_000,
        "\x00" * 3_000,
        "true || " * 200 + "true",
    ],
)
def test_condition_that_would_break_the_library_is_refused_at_once(text: str) -> None:
    """Length, nesting and words are bounded before anything is compiled."""
    began = time.process_time()
    with pytest.raises(InvalidCondition):
        compile_condition(text)
    assert time.process_time() - began < 0.5


@pytest.mark.gateway
def test_library_breaks_without_our_limits() -> None:
    """The negative control: what we refuse above does take a process down, or is refused wildly."""
    program = "import cel\ncel.compile('1 + ' * 20000 + '1 == 1').execute({})"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, check=False)
    assert done.returncode != 0


@pytest.mark.parametrize(
    "text",
    [
        "(" * 32 + "true" + ")" * 32,
        "!" * 16 + "true",
        " || ".join(["false"] * 198 + ["true"]),
        " && ".join(["true"] * 200),
        " || ".join(f"subject.a{number} == 'x'" for number in range(65)),
        "subject.a == '" + "x" * (LONGEST - 15) + "'",
        " && ".join(f"(subject.a{n} == 'x' || subject.b{n} == 'y')" for n in range(20)),
    ],
)
def test_condition_at_the_limits_works(text: str) -> None:
    """The largest that is allowed is compiled and evaluated soon."""
    began = time.process_time()
    condition = compile_condition(text)
    condition.outcome(FACTS)
    assert time.process_time() - began < 1.0


@for_each(
    "text",
    [
        "false",
        "1 == 2",
        "1",
        "'true'",
        "subject.role",
        "!subject.role",
        "size(subject.role)",
        "['a']",
        "true && false",
        "!(true || subject.a == 'x')",
        "subject.role == 'a' && subject.role == 'b'",
        "subject.role == 'a' && subject.role != 'a'",
        "subject.role in ['a', 'b'] && !(subject.role in ['a', 'b', 'c'])",
        "subject.role in []",
        "(subject.role == 'a' || subject.role == 'b') && subject.role == 'c'",
        "subject.role == 1",
        "subject.role == true",
        "request.hour == '9'",
        "has(subject.a) && !has(subject.a)",
        "request.purpose in subject.purposes && !(request.purpose in subject.purposes)",
        "subject.role != subject.role",
    ],
)
def test_condition_that_can_never_hold_is_found(text: str) -> None:
    """Constants and contradictions, also of sets."""
    assert is_unsatisfiable(parse_condition(text))


@pytest.mark.parametrize(
    "text",
    [
        "true",
        "subject.role == 'a' || false",
        "subject.role == 'a' || subject.role == 'b'",
        "subject.role != 'a' && subject.role != 'b'",
        "1 != true",
        "!(subject.role == 1)",
        "subject.role == subject.role",
        "subject.a == 'x' && subject.b == 'y'",
        "request.hour < 6 || request.hour > 20",
    ],
)
def test_condition_that_can_hold_is_let_be(text: str) -> None:
    """What somebody could satisfy is not called impossible."""
    assert not is_unsatisfiable(parse_condition(text))


ATOMS = st.sampled_from(
    [
        "subject.a == 'x'",
        "subject.a == 'y'",
        "subject.a != 'x'",
        "subject.a in ['x', 'z']",
        "subject.b == 'x'",
        "'x' in subject.c",
        "has(subject.a)",
        "request.hour == 3",
        "true",
        "false",
    ]
)
TREES = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        inner.map(lambda one: f"!({one})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} && {two[1]})"),
        st.tuples(inner, inner).map(lambda two: f"({two[0]} || {two[1]})"),
    ),
    max_leaves=6,
)
WORDS = st.sampled_from(["x", "y", "z", "w"])


@settings(max_examples=draws(200), deadline=None)
@given(
    text=TREES, a=WORDS | st.none(), b=WORDS, c=st.lists(WORDS, max_size=2), hour=st.integers(0, 23)
)
def test_condition_that_holds_is_never_called_impossible(
    text: str, a: str | None, b: str, c: list[str], hour: int
) -> None:
    """`never` means never: whatever makes the library say true refutes it."""
    tree = parse_condition(text)
    condition = compile_condition(f"({text}) || subject.unset == 'x'")
    if is_unsatisfiable(tree):
        assert condition.outcome(_facts(a, b, c, hour)) is not Truth.TRUE


def _facts(a: str | None, b: str, c: list[str], hour: int) -> Facts:
    held: dict[str, object] = {"b": b, "c": c}
    if a is not None:
        held["a"] = a
    return {"subject": held, "request": {"hour": hour}}


@settings(max_examples=draws(200), deadline=None)
@given(st.text(alphabet="subject.role='\"()[]!&|<>in ,a1\\", max_size=60))
def test_condition_of_any_text_is_read_or_refused(text: str) -> None:
    """Nothing but a refusal comes out of a text that is no condition."""
    try:
        compile_condition(text).outcome(FACTS)
    except InvalidCondition:
        return


def test_evaluation_takes_microseconds() -> None:
    """A compiled condition costs far less than anything else of a question."""
    condition = compile_condition(
        'subject.role == "researcher" && request.purpose in subject.purposes'
    )
    best = min(_seconds(condition.outcome) for _ in range(5))
    assert best < 200e-6


def _seconds(run: object) -> float:
    assert callable(run)
    began = time.perf_counter()
    for _ in range(200):
        run(FACTS)
    return (time.perf_counter() - began) / 200
