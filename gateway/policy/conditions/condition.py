"""Compiles and evaluates CEL conditions, and decides whether one can ever hold.

A rule that never applies is a mistake, and its author should be told. The condition is split into worlds: sets of
claims that would have to be true together. A world in which an attribute would have to be two texts at once is
impossible; if all worlds are, so is the condition.

INVARIANT: only the result true permits, and only the result false lets a query pass a forbidding rule. Everything
else - a missing attribute, a comparison of a text with a number, a failure of the library - is neither.
INVARIANT: `is_unsatisfiable` means never; nothing is claimed of a condition that is too large to split.
"""

import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias

# `cel` imports its own command, with libraries for terminals that nothing here uses: 50 ms of each start
sys.modules.setdefault("cel.cli", ModuleType("cel.cli"))

import cel  # noqa: E402

from gateway.policy.conditions.parser import (  # noqa: E402
    REQUEST,
    And,
    Compare,
    ConditionCall,
    ConditionLiteral,
    InvalidCondition,
    ListOf,
    Macro,
    Not,
    Or,
    Path,
    Tree,
    Variable,
    attribute_paths,
    parse_condition,
)

_MOST_WORLDS: Final = 128


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


def _worlds(tree: Tree, *, truth: bool) -> list[_World]:
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
        case ConditionCall("has" | "startsWith" | "endsWith" | "contains") | Macro():
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
    """A condition and the attributes it reads."""

    text: str
    reads: frozenset[Path] = field(compare=False)
    _program: cel.Program = field(repr=False, compare=False)

    def outcome(self, facts: Facts) -> Truth:
        """The result of the condition for these facts: `{"subject": {...}, "request": {...}}`."""
        try:
            result = self._program.execute(facts)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException:  # noqa: BLE001  # a panic of the library is no Exception
            return Truth.NEITHER
        if result is True:
            return Truth.TRUE
        return Truth.FALSE if result is False else Truth.NEITHER

    def is_true(self, facts: Facts) -> bool:
        return self.outcome(facts) is Truth.TRUE

    def is_false(self, facts: Facts) -> bool:
        return self.outcome(facts) is Truth.FALSE


def compile_condition(text: str) -> Condition:
    """The condition written as `text`; refused if it is invalid, or can never be true."""
    tree = parse_condition(text)
    if is_unsatisfiable(tree):
        raise InvalidCondition("this condition can never hold", 0, "remove the rule, or correct it")
    try:
        program = cel.compile(text)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException:  # noqa: BLE001  # see above
        raise InvalidCondition("this is not a condition in CEL") from None
    return Condition(text, attribute_paths(tree), program)
