"""Operators over bound expressions: comparisons, negations, and chains of ANDs or ORs as their parts."""

from collections.abc import Sequence
from typing import Protocol

from sqlglot import exp

from gateway.binding import clocks
from gateway.errors import Code, SyntaxRefused
from gateway.plan.fields import BOOLEAN, common_type, is_number, plain
from gateway.plan.scalars import Call, Literal, Scalar


class Binding(Protocol):
    """Binds the arguments of a call."""

    def bind(self, node: exp.Expression) -> Scalar: ...

    def together(self, nodes: Sequence[exp.Expression]) -> list[Scalar]: ...

    @property
    def zone(self) -> str:
        """The session's time zone."""
        ...


def compare(operator: str, left: Scalar, right: Scalar) -> Scalar:
    """A comparison of two values that can be compared."""
    if common_type(plain(left.type), plain(right.type)) is None:
        raise SyntaxRefused(
            Code.TYPE_MISMATCH,
            f"the operator `{operator}` does not accept {left.type} and {right.type}",
        )
    never = operator.endswith("distinct from")
    parts = clocks.without_clock(operator, (left, right))
    nullable = not never and any(one.nullable for one in parts)
    return Call(operator, parts, BOOLEAN, nullable)


def flatten(node: exp.Expression, kind: type[exp.Expression]) -> list[exp.Expression]:
    """The parts of a chain of ANDs or ORs, however long, without recursion."""
    parts: list[exp.Expression] = []
    stack = [node]
    while stack:
        one = stack.pop()
        while isinstance(one, exp.Paren) and isinstance(one.this, (kind, exp.Paren)):
            one = one.this
        if isinstance(one, kind):
            stack += [one.expression, one.this]
        else:
            parts.append(one)
    return parts


def negate(inner: Scalar) -> Scalar:
    return Call("not", (inner,), BOOLEAN, inner.nullable)


def change_sign(inner: Scalar) -> Scalar:
    if isinstance(inner, Literal) and is_number(inner.type) and inner.value is not None:
        return Literal(-inner.value, inner.type)  # type: ignore[operator]
    return Call("negate", (inner,), plain(inner.type), inner.nullable)
