"""Conditions, compiled once and evaluated for each request by a CEL library.

INVARIANT: only the result true permits, and only the result false lets a query pass a forbidding rule.
Everything else - a missing attribute, a comparison of a text with a number, a failure of the library - is
neither.
"""

from dataclasses import dataclass, field
from enum import Enum
from typing import Any, TypeAlias

import cel

from gateway.policy.conditions.lexer import InvalidCondition
from gateway.policy.conditions.parser import Path, attribute_paths, parse_condition
from gateway.policy.conditions.satisfiable import is_unsatisfiable

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
