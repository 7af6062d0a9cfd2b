"""Where two readers of SQL could bind operators differently, brackets are asked for.

sqlglot and PostgreSQL agree on the precedence of arithmetic, AND, OR and NOT. They do not agree
everywhere else: on `a || b + c`, on `-2 ^ 2`, on comparisons of comparisons. A core that is computed
from the wrong reading would be a wrong answer, so such text is refused until it has brackets.
"""

from typing import Final

from sqlglot import exp

from gateway.errors import Code, UnsupportedSql

_COMPARING: Final = (
    exp.EQ, exp.NEQ, exp.LT, exp.LTE, exp.GT, exp.GTE, exp.Like, exp.ILike, exp.In,
    exp.Between, exp.Is, exp.NullSafeEQ, exp.NullSafeNEQ,
)  # fmt: skip
_ADDING: Final = (exp.Add, exp.Sub, exp.Mul, exp.Div, exp.Mod)


def check_brackets(node: exp.Expression) -> None:
    """Refuse an operator whose operands might be others in PostgreSQL."""
    for name in ("this", "expression", "low", "high"):
        inner = node.args.get(name)
        if isinstance(inner, exp.Expression) and _unclear(node, inner):
            raise UnsupportedSql(
                Code.TEXT_DRIFTS,
                "operators whose order is not clear",
                "put brackets around the part that comes first",
            )


def _unclear(node: exp.Expression, inner: exp.Expression) -> bool:
    if isinstance(node, _COMPARING):
        return isinstance(inner, (*_COMPARING, exp.Not, exp.And, exp.Or))
    if isinstance(node, exp.DPipe):
        return isinstance(inner, (*_ADDING, *_COMPARING, exp.Pow, exp.Neg, exp.Not))
    if isinstance(node, (*_ADDING, exp.Pow, exp.Neg)):
        if isinstance(inner, (exp.DPipe, *_COMPARING, exp.Not)):
            return True
        powers = isinstance(node, exp.Pow) or isinstance(inner, exp.Pow)
        return powers and isinstance(inner, (*_ADDING, exp.Neg, exp.Pow))
    return False
