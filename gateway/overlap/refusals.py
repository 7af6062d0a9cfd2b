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
from gateway.regions.axis import AxisKind
from gateway.regions.boxes import Axes
from gateway.regions.cells import is_fine

MOST_NAMED: Final = 3
_STAGED: Final = re.compile(r"value_of\([0-9a-f]{64}\)|\b[0-9a-f]{64}\b")
_MOST_LISTED: Final = 10_000  # groups by each value of a column with more values are not listed
THIS: Final = ""  # the query id of the other parts of the question itself


def unreadable_refusal(condition: str) -> OverlapRefused:
    """The refusal of an opaque condition. Placeholders of other answers in it are left out, because no reader
    can use them.
    """
    shown = _STAGED.sub("another answer", condition)
    return OverlapRefused(
        Code.UNREADABLE_CONDITION,
        f"the gateway cannot tell which rows `{shown}` selects",
        "compare columns with constants by `=`, `<`, BETWEEN, IN or IS NULL, combined with AND, OR and NOT; "
        "or group by the column, and leave the condition out",
    )


def small_refusal(query_id: str, rules: Auditing) -> OverlapRefused:
    return OverlapRefused(
        Code.SMALL_GROUP,
        f"according to the answer to {_named([query_id])}, these are fewer than {rules.min_units} people",
        "select more people: remove a condition or widen it, such as to a month instead of a day",
    )


def earlier_unreadable_refusal(tables: frozenset[str]) -> OverlapRefused:
    """The refusal of a query about tables for which an earlier release cannot be read."""
    shown = ", ".join(f"`{one}`" for one in sorted(tables))
    return OverlapRefused(
        Code.EARLIER_UNREADABLE,
        f"it is about {shown}",
        "an administrator can restore the state from a backup",
    )


def not_compared_refusal() -> OverlapRefused:
    """The refusal of a query that could not be compared with the earlier ones."""
    return OverlapRefused(
        Code.NOT_COMPARED,
        "",
        "rephrase the query, and report its id to an administrator",
    )


def differencing_refusal(
    clashes: Sequence[Clash], axes: Axes, *, several: bool = False
) -> OverlapRefused:
    """The refusal of a query that would isolate people together with these earlier answers."""
    named = _named([one.entry.query_id for one in clashes])
    how = "combined with the answers to" if several else "combined with the answer to"
    return OverlapRefused(
        Code.DIFFERENCING,
        f"{how} {named}, this would isolate fewer people than the policy allows",
        _hint(clashes[0].axis, axes),
    )


def _named(ids: Sequence[str]) -> str:
    """Up to three query ids."""
    distinct = list(dict.fromkeys(ids))[:MOST_NAMED]
    shown = sorted(f"`{one}`" if one != THIS else "another part of the query" for one in distinct)
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def _hint(name: str | None, axes: Axes) -> str:
    if name is None:
        return "keep the condition of the earlier query, or change it by more"
    axis = axes[name]
    if not axis.readable:
        return "keep the condition of the earlier query"
    if axis.kind is not AxisKind.STEPS or not is_fine(axis):
        return f"keep the conditions on `{name}` of the earlier query, or use GROUP BY `{name}` in one query"
    if axis.size is None or axis.size > _MOST_LISTED:
        return (
            f"let bounds of `{name}` begin on round steps, such as whole days or thousands, and load the table or "
            "chart with GROUP BY these steps first: bounds may move over groups that it shows to be large"
        )
    return (
        f"load the table or chart with GROUP BY `{name}` and the same other conditions first: bounds may move over "
        f"groups that it shows to be large; or change the bounds of `{name}` by larger steps"
    )
