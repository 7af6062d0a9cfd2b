"""Lines of EXPLAIN: the price of a query, where its answer would come from, and how exact each column would be."""

from collections.abc import Iterator, Mapping
from typing import Final

from gateway.intervals.digits import margin_text, share_text
from gateway.requests.request import CacheUse, Estimate, ExpectedColumn

_REUSED: Final[Mapping[CacheUse, str]] = {
    CacheUse.SAME: "the same was answered before",
    CacheUse.FILTER: "groups that were answered before",
    CacheUse.ROLLUP: "groups that were answered before, added up",
}


def plan_lines(estimate: Estimate) -> tuple[str, ...]:
    """An estimate as lines of an EXPLAIN: the price and where it comes from, then the expected error of each
    column.
    """
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
        told.append(f"95 % within ±{margin_text(column.expected_margin_95)}")
    if column.expected_rank_error_95 is not None:
        told.append(f"95 % within {column.expected_rank_error_95} ranks")
    if column.promised_margin is not None:
        told.append(f"promised ±{margin_text(column.promised_margin)}")
    if column.expected_loss is not None:
        told.append(f"visible loss {share_text(column.expected_loss)}")
    if told and column.before_histogram:
        told.append("before its histogram of norms: after it the margin may be much larger")
    yield f"{column.name}: {', '.join(told)}" if told else column.name
