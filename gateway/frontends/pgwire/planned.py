"""An estimate as the lines of an EXPLAIN."""

from collections.abc import Iterator, Mapping
from typing import Final

from gateway.question import Estimate, ExpectedColumn, Reused

_REUSED: Final[Mapping[Reused, str]] = {
    Reused.SAME: "the same was answered before",
    Reused.FILTER: "groups that were answered before",
    Reused.ROLLUP: "groups that were answered before, added up",
}


def plan_lines(estimate: Estimate) -> tuple[str, ...]:
    """What a person reads: the price first, where it comes from, then what to expect of each column."""
    delta = f", delta {estimate.delta}" if estimate.delta.value else ""
    head = (
        f"Private Aggregate  (price: epsilon {estimate.price}{delta}; nothing was run or charged)"
    )
    reused = () if estimate.reused is None else (f"Reused: {_REUSED[estimate.reused]}",)
    columns = (f"  ->  {line}" for one in estimate.columns for line in _column(one))
    return (head, *reused, *columns, *(f"Notice: {one}" for one in estimate.notices))


def _column(column: ExpectedColumn) -> Iterator[str]:
    told = []
    if column.expected_margin_95 is not None:
        told.append(f"95 % within ±{column.expected_margin_95:.6g}")
    if column.expected_rank_error_95 is not None:
        told.append(f"95 % within {column.expected_rank_error_95} ranks")
    if column.promised_margin is not None:
        told.append(f"promised ±{column.promised_margin:.6g}")
    yield f"{column.name}: {', '.join(told)}" if told else column.name
