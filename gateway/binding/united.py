"""UNION ALL: every row comes from a row of one side, and from none of the other side's.

What is made a column of one side is NULL in the other, so that both have as many columns as before.
"""

from dataclasses import replace

from sqlglot import exp

from gateway.binding.names import quoted
from gateway.binding.origins import Origin, Rows, Shown
from gateway.plan.node import BrokenPlan
from gateway.plan.types import BIGINT


class United:
    """The rows of both sides. Only the numbers of their rows can be made columns of it."""

    def __init__(self, node: exp.Union, left: Rows, right: Rows, hidden: str) -> None:
        self._node = node
        self._sides = (left, right)
        self._hidden = hidden
        self._below = {
            replace(one, sure=False): (side, one)
            for side, rows in enumerate(self._sides)
            for one in rows.origins
        }
        self._made: dict[Origin, str] = {}
        self.origins = tuple(self._below)
        self.columns: tuple[Shown, ...] | None = _columns(left, right, self._below)

    def expose(self, origin: Origin, column: str) -> str:
        """The result has the names of the first query."""
        if column != "n":
            raise BrokenPlan("an end of an interval, of rows that come from several releases")
        if origin not in self._made:
            side, below = self._below[origin]
            name = self._sides[side].expose(below, column)
            hidden = f"{self._hidden}_{len(self._made) + 1}"
            _with_nothing(self._node.expression if side == 0 else self._node.this, hidden)
            self._made[origin] = name if side == 0 else hidden
        return self._made[origin]


def can_be_united(node: exp.SetOperation) -> bool:
    """Whether both sides can have a column more."""
    if not isinstance(node, exp.Union) or node.args.get("distinct"):
        return False
    return all(map(_can_be_wider, (node.this, node.expression)))


def _can_be_wider(query: exp.Expression) -> bool:
    if isinstance(query, exp.Subquery):
        return _can_be_wider(query.this)
    if isinstance(query, exp.SetOperation):
        return can_be_united(query)
    return isinstance(query, exp.Select)


def _with_nothing(query: exp.Expression, name: str) -> None:
    """NULL as one column more, in every query of this side."""
    match query:
        case exp.Subquery():
            _with_nothing(query.this, name)
        case exp.Union():
            _with_nothing(query.this, name)
            _with_nothing(query.expression, name)
        case _:
            nothing = exp.Cast(this=exp.Null(), to=exp.DataType.build(str(BIGINT)))
            query.append("expressions", exp.Alias(this=nothing, alias=quoted(name)))


def _columns(
    left: Rows, right: Rows, below: dict[Origin, tuple[int, Origin]]
) -> tuple[Shown, ...] | None:
    if left.columns is None or right.columns is None:
        return None
    above = {place: mine for mine, place in below.items()}
    made = []
    for one, other in zip(left.columns, right.columns, strict=False):
        cells = [
            (above[side, each.of], each.form)
            for side, each in enumerate((one, other))
            if each.form is not None and each.of is not None and (side, each.of) in above
        ] + [
            (above[side, of], form)
            for side, each in enumerate((one, other))
            for of, form in each.also
            if (side, of) in above
        ]
        made.append(Shown(one.name, reads=one.reads | other.reads, also=tuple(cells)))
    return tuple(made)
