"""Compiles and evaluates CEL conditions, and decides whether one can ever hold.

A rule that never applies is a mistake, and its author should be told. The condition is split into worlds: sets of
claims that would have to be true together. A world in which an attribute would have to be two texts at once is
impossible; if all worlds are, so is the condition.

INVARIANT: only the result true permits, and only the result false lets a query pass a forbidding rule. Everything
else - a missing attribute, a comparison of a text with a number, a failure of the library - is neither.
INVARIANT: `is_unsatisfiable` means never; nothing is claimed of a condition that is too large to split.
"""

import sys
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from enum import Enum
from itertools import product
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias

# `cel` imports its own command, with libraries for terminals that nothing here uses: 50 ms of each start
sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))

import cel  # noqa: E402

from gateway.policy.conditions.parser import InvalidCondition, parse_condition  # noqa: E402
from gateway.policy.conditions.request_facts import (  # noqa: E402
    CONTAINS_IP,
    OPEN_FACTS,
    REQUEST,
    contains_address,
)
from gateway.policy.conditions.tree import (  # noqa: E402
    And,
    Compare,
    ConditionCall,
    ConditionLiteral,
    ListOf,
    Macro,
    Not,
    Or,
    Path,
    Tree,
    Variable,
    attribute_paths,
    networks_of,
    tree_text,
)

_MOST_WORLDS: Final = 128
_MOST_OPEN: Final = 4


class _TooMany(Exception):
    """The condition is too large to split."""


@dataclass(frozen=True)
class _World:
    """Attributes with their possible texts, attributes with their excluded texts, and other claims."""

    one_of: Mapping[Path, frozenset[object]] = field(default_factory=lambda: MappingProxyType({}))
    none_of: Mapping[Path, frozenset[object]] = field(default_factory=lambda: MappingProxyType({}))
    claims: frozenset[tuple[Tree, bool]] = frozenset()

    def possible(self) -> bool:
        left = all(
            values - self.none_of.get(path, frozenset()) for path, values in self.one_of.items()
        )
        return left and all((claim, not said) not in self.claims for claim, said in self.claims)

    def __and__(self, other: "_World") -> "_World":
        one_of = dict(self.one_of)
        for path, values in other.one_of.items():
            one_of[path] = one_of[path] & values if path in one_of else values
        none_of = dict(self.none_of)
        for path, values in other.none_of.items():
            none_of[path] = none_of.get(path, frozenset()) | values
        return _World(one_of, none_of, self.claims | other.claims)


def is_unsatisfiable(tree: Tree) -> bool:
    """True if the condition is true for no subject and no request."""
    try:
        return not _worlds(tree, truth=True)
    except _TooMany:
        return False


def _worlds(tree: Tree, *, truth: bool) -> list[_World]:  # noqa: PLR0911 - one answer for each kind of node
    match tree:
        case ConditionLiteral(value) if value is truth:
            return [_World()]
        case Not(inner):
            return _worlds(inner, truth=not truth)
        case And(parts) | Or(parts):
            together = isinstance(tree, And) is truth
            return _all_of(parts, truth=truth) if together else _any_of(parts, truth=truth)
        case Compare():
            return _compared(tree, truth=truth)
        case Path("request", name) if REQUEST[name] is bool:
            return _one_of(tree, [ConditionLiteral(value=True)], truth=truth)
        case ConditionCall("has" | "startsWith" | "endsWith" | "contains" | "containsIP") | Macro():
            return [_World(claims=frozenset({(tree, truth)}))]
        case _:
            return []  # a text, a number or a list is neither true nor false


def _all_of(parts: Iterable[Tree], *, truth: bool) -> list[_World]:
    worlds = [_World()]
    for part in parts:
        more = _worlds(part, truth=truth)
        if len(worlds) * len(more) > 4 * _MOST_WORLDS:
            raise _TooMany
        joined = (one & other for one in worlds for other in more)
        worlds = _limited(world for world in joined if world.possible())
    return worlds


def _any_of(parts: Iterable[Tree], *, truth: bool) -> list[_World]:
    return _limited(world for part in parts for world in _worlds(part, truth=truth))


def _limited(worlds: Iterable[_World]) -> list[_World]:
    found: list[_World] = []
    for world in worlds:
        found.append(world)
        if len(found) > _MOST_WORLDS:
            raise _TooMany
    return found


def _compared(tree: Compare, *, truth: bool) -> list[_World]:
    sign, left, right = tree.sign, tree.left, tree.right
    if sign in {"==", "!="}:
        if isinstance(left, ConditionLiteral):
            left, right = right, left
        if isinstance(left, ConditionLiteral) and isinstance(right, ConditionLiteral):
            return [_World()] if (left == right) is ((sign == "==") is truth) else []
        if isinstance(left, Path) and isinstance(right, ConditionLiteral):
            return _one_of(left, [right], truth=(sign == "==") is truth)
    if sign == "in" and isinstance(right, ListOf):
        literals = [item for item in right.items if isinstance(item, ConditionLiteral)]
        if isinstance(left, Path) and len(literals) == len(right.items):
            return _one_of(left, literals, truth=truth)
        if isinstance(left, ConditionLiteral) and len(literals) == len(right.items):
            return [_World()] if (left in literals) is truth else []
    if left == right and not isinstance(left, Variable):
        return [_World()] if (sign in {"==", "<=", ">="}) is truth else []
    return [_World(claims=frozenset({(tree, truth)}))]


def _one_of(path: Path, literals: list[ConditionLiteral], *, truth: bool) -> list[_World]:
    """A path is, or is not, one of these; values of another type it can never be."""
    kind = REQUEST.get(path.name, str) if path.root == "request" else str
    fitting = frozenset(one.value for one in literals if type(one.value) is kind)
    if not truth:
        return [_World(none_of={path: fitting})]
    return [_World(one_of={path: fitting})] if fitting else []


Facts: TypeAlias = dict[str, Any]


class Truth(Enum):
    TRUE = "true"
    FALSE = "false"
    NEITHER = "neither"


@dataclass(frozen=True)
class Condition:
    """A condition and the attributes it reads.

    `_closed` are the forms of it without the tests of addresses and times, each of which is replaced by true or false;
    None if there are too many of them.
    """

    text: str
    reads: frozenset[Path] = field(compare=False)
    _program: cel.Program = field(repr=False, compare=False)
    _closed: tuple[cel.Program, ...] | None = field(default=None, repr=False, compare=False)

    def outcome(self, facts: Facts) -> Truth:
        """The result of the condition for these facts: `{"subject": {...}, "request": {...}}`."""
        return _outcome(self._program, facts)

    def can_be_true(self, facts: Facts) -> bool:
        """Whether it may be true for these facts at some time and from some address.

        INVARIANT: false is said only where no time and no address makes it true.
        """
        if not any(path.root == "request" and path.name in OPEN_FACTS for path in self.reads):
            return self.is_true(facts)
        closed = self._closed
        return closed is None or any(_outcome(one, facts) is Truth.TRUE for one in closed)

    @property
    def addresses(self) -> frozenset[str]:
        """The first address of each network in the condition."""
        return networks_of(parse_condition(self.text))

    def is_true(self, facts: Facts) -> bool:
        return self.outcome(facts) is Truth.TRUE

    def is_false(self, facts: Facts) -> bool:
        return self.outcome(facts) is Truth.FALSE


def compile_condition(text: str) -> Condition:
    """The condition written as `text`; refused if it is invalid, or can never be true."""
    tree = parse_condition(text)
    if is_unsatisfiable(tree):
        raise InvalidCondition("this condition can never hold", 0, "remove the rule, or correct it")
    return Condition(text, attribute_paths(tree), _compiled(text), _closed_forms(tree))


def _compiled(text: str) -> cel.Program:
    try:
        return cel.compile(text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  # a panic of the library is no Exception
        raise InvalidCondition("this is not a condition in CEL") from None


def _outcome(program: cel.Program, facts: Facts) -> Truth:
    try:
        result = program.execute(_with_networks(facts) if _has_networks(program) else facts)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  # a panic of the library is no Exception
        return Truth.NEITHER
    if result is True:
        return Truth.TRUE
    return Truth.FALSE if result is False else Truth.NEITHER


def _has_networks(program: cel.Program) -> bool:
    return CONTAINS_IP in program.source


def _with_networks(facts: Facts) -> cel.Context:
    context = cel.Context(facts)
    context.add_function("cidr", str)
    context.add_function(CONTAINS_IP, contains_address)
    return context


def _closed_forms(tree: Tree) -> tuple[cel.Program, ...] | None:
    """The condition for all results of its tests of addresses and times."""
    tests = tuple(dict.fromkeys(_open_tests(tree)))
    if len(tests) > _MOST_OPEN:
        return None
    forms = (
        _with_results(tree, dict(zip(tests, results, strict=True)))
        for results in product((True, False), repeat=len(tests))
    )
    return tuple(_compiled(tree_text(one)) for one in forms)


def _open_tests(tree: Tree) -> Iterator[Tree]:
    """The smallest conditions with an address or a time in them."""
    match tree:
        case And(parts) | Or(parts):
            for part in parts:
                yield from _open_tests(part)
        case Not(inner):
            yield from _open_tests(inner)
        case _ if any(
            one.root == "request" and one.name in OPEN_FACTS for one in attribute_paths(tree)
        ):
            yield tree


def _with_results(tree: Tree, results: Mapping[Tree, bool]) -> Tree:
    if tree in results:
        return ConditionLiteral(results[tree])
    match tree:
        case And(parts):
            return And(tuple(_with_results(part, results) for part in parts))
        case Or(parts):
            return Or(tuple(_with_results(part, results) for part in parts))
        case Not(inner):
            return Not(_with_results(inner, results))
        case _:
            return tree
