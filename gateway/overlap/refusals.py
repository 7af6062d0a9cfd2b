"""Refusals of the auditor: the earlier queries that clash, and how to ask for more people.

INVARIANT: a text contains texts of the query, column names, query ids and settings of the policy; no size,
released or not.
"""

import re
from collections.abc import Sequence
from typing import Final

from gateway.errors import Code, OverlapRefused
from gateway.overlap.differencing import Clash
from gateway.policy.policy import Auditing
from gateway.regions.axis import Kind
from gateway.regions.boxes import Axes
from gateway.regions.cells import is_fine

MOST_NAMED: Final = 3
_STAGED: Final = re.compile(r"value_of\([0-9a-f]{64}\)|\b[0-9a-f]{64}\b")
THIS: Final = ""  # the query id of the other parts of the question itself


def unreadable(condition: str) -> OverlapRefused:
    """The refusal of an opaque condition. Placeholders of other answers in it are left out, because no reader
    can use them.
    """
    shown = _STAGED.sub("another answer", condition)
    return OverlapRefused(
        Code.UNREADABLE_CONDITION,
        f"the condition `{shown}`",
        "compare columns with constants: `=`, `<`, BETWEEN, IN, IS NULL, put together by AND, OR and NOT",
    )


def small(query_id: str, rules: Auditing) -> OverlapRefused:
    return OverlapRefused(
        Code.SMALL_GROUP,
        f"as {_named([query_id])} told, these are fewer than {rules.min_units}",
        "ask about more people: leave a condition out, or widen it",
    )


def earlier_unreadable(tables: frozenset[str]) -> OverlapRefused:
    """The refusal of a query about tables for which an earlier release cannot be read."""
    shown = ", ".join(f"`{one}`" for one in sorted(tables))
    return OverlapRefused(
        Code.EARLIER_UNREADABLE,
        f"something was answered before about {shown}",
        "an administrator can restore the state from a backup",
    )


def not_compared() -> OverlapRefused:
    """The refusal of a query that could not be compared with the earlier ones."""
    return OverlapRefused(
        Code.NOT_COMPARED,
        "",
        "ask in another way, and tell an administrator the id of this question",
    )


def differencing(clashes: Sequence[Clash], axes: Axes, *, several: bool = False) -> OverlapRefused:
    """The refusal of a query that would isolate people together with these earlier answers."""
    named = _named([one.entry.query_id for one in clashes])
    how = "together with" if several else "beside"
    return OverlapRefused(
        Code.DIFFERENCING,
        f"{how} {named} this would tell about too few people",
        _hint(clashes[0].axis, axes),
    )


def _named(ids: Sequence[str]) -> str:
    """Up to three query ids."""
    distinct = list(dict.fromkeys(ids))[:MOST_NAMED]
    shown = sorted(f"`{one}`" if one != THIS else "another part of it" for one in distinct)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _hint(name: str | None, axes: Axes) -> str:
    if name is None:
        return "leave the condition as it was, or change it by more"
    axis = axes[name]
    if not axis.readable:
        return "leave the condition as it was"
    if axis.kind is Kind.STEPS and is_fine(axis):
        return f"move the ends of `{name}` by larger steps, or ask for groups of it in one question"
    return f"leave the conditions on `{name}` as they were, or ask for groups of it in one question"
