"""The SQL of each function: what the table of functions has no place for, by the same names.

Takes a call with the rendering of its operands, gives SQL for the dialect that the rendering has.

INVARIANT: every function of `gateway.functions.table` has one rendering, which serves both dialects, gives NULL where
PostgreSQL would raise, and names no operand more often than the function says
(`tests/functions/test_table.py`, `tests/engines/test_copies.py`).
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gateway.engines.sql import choices, conditions, numbers, text, times
from gateway.engines.sql.interfaces import Sql
from gateway.engines.sql.pieces import Render, Rendering
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call
from gateway.plan.types import is_number


def _added(name: str) -> Render:
    """Of numbers, or of dates and days."""
    of_numbers, of_dates = numbers.arithmetic(name), times.render_shift(name)

    def render(rendering: Rendering, call: Call) -> Sql:
        of = of_numbers if all(is_number(one.type) for one in call.parts) else of_dates
        return of(rendering, call)

    return render


RENDERINGS: Final[Mapping[str, Render]] = MappingProxyType(
    {
        **{name: _added(name) for name in ("+", "-")},
        **numbers.RENDERINGS,
        **text.RENDERINGS,
        **times.RENDERINGS,
        **choices.RENDERINGS,
        **conditions.RENDERINGS,
    }
)


def render_call(rendering: Rendering, call: Call) -> Sql:
    """The SQL of a call."""
    render = RENDERINGS.get(call.function)
    if render is None:
        raise BrokenPlan(f"no rendering of {call.function}")
    return render(rendering, call)
