"""The table of functions: each function and operator over rows once, by its name.

What is not here does not bind, and a plan that has it all the same is broken. To add a function, see
CONTRIBUTING.md, "Add an SQL function".

INVARIANT: everything here is deterministic, free of side effects and independent of session settings, and is rendered
as SQL that gives NULL where PostgreSQL would raise.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Final

from gateway.functions.conditions import CHOICES, CONDITIONS
from gateway.functions.function import Function, Signature
from gateway.functions.numbers import NUMBERS
from gateway.functions.text import TEXT
from gateway.functions.time_bins import BINS, DATE_BIN
from gateway.functions.times import DATE_TRUNC, DATES
from gateway.functions.zoned_times import CLOCKS, TIMEZONE
from gateway.plan.node import BrokenPlan
from gateway.plan.scalars import Call

FUNCTIONS: Final[Mapping[str, Function]] = MappingProxyType(
    {one.name: one for one in (*NUMBERS, *TEXT, *DATES, *BINS, *CLOCKS, *CHOICES, *CONDITIONS)}
)
SIGNATURES: Final[Mapping[str, Signature]] = MappingProxyType(
    {name: one.signature for name, one in FUNCTIONS.items() if one.signature is not None}
)
"""What an analyst calls by name with plain arguments."""
CALLED: Final = frozenset({*SIGNATURES, DATE_BIN.name, DATE_TRUNC.name, TIMEZONE.name})
"""What an analyst calls by name."""


def function_of(call: Call) -> Function:
    """The row of what is called."""
    found = FUNCTIONS.get(call.function)
    if found is None:
        raise BrokenPlan(f"no function {call.function}")
    return found
