"""Notices of an answer: what it is not, where it comes from, and on a connection what it cost and how exact it is.

Takes released tables, and for a connection how much it wants to be told and what is left of the analyst's quota. Gives
the lines that REST and the command line show, and the NOTICE messages of a connection, in the same words:

- `full`: a summary, then each other line as a NOTICE of its own.
- `brief`: one NOTICE. The summary is its message. Lines that say what the answer is
  not, and which persons count with less weight, are its DETAIL, and advice about columns that are mostly noise is its HINT.
- `off`: only the lines that say that the answer is not what the statement asks for: a key that is read more coarsely, a
  result in ranges, an item that is NULL, a probe that read nothing. Silence there would mislead; `client_min_messages`
  is the client's own way to hear of nothing at all.

A summary is made of the parts in `_summary`, in their order: a part is a text, or is left out. It has the reuse of earlier
answers, which stands in the place of the price where the whole answer is one.

INVARIANT: a notice depends on the question, the policy, the analyst's own account, the public parameters of the noise and
released values alone. It is computed after the charge, and charges nothing.
"""

from collections.abc import Iterable, Iterator
from enum import Enum
from typing import Final, TypeAlias

from gateway.budget.report import QuotaBalance
from gateway.intervals.digits import margin_text
from gateway.policy.levels import level_notices
from gateway.requests.request import Notice, NoticeDetail
from gateway.results.clipped_scopes import clip_notices, clipped_scopes
from gateway.results.columns import ColumnMargin, in_ranges, widest_margins
from gateway.results.constants import UNDEFINED
from gateway.results.left_out import left_out_notices
from gateway.stages.purchase import Bill, Released
from gateway.units import format_down

_MOST_COLUMNS: Final = 8


class NoticeKind(Enum):
    """What a line speaks of: an answer that differs from the statement, persons who count with less weight, an earlier
    answer, or noise.
    """

    DIFFERENT = "different"
    CLIPPED = "clipped"
    REUSED = "reused"
    NOISE = "noise"


NoticeLine: TypeAlias = tuple[NoticeKind, str]


def notice_lines(
    done: Released, *, simulated: Iterable[str] = (), undefined: bool = False
) -> tuple[NoticeLine, ...]:
    """Everything that is said beside an answer. `simulated` names columns without intervals; `undefined`: a NULL stands
    where PostgreSQL has no value.
    """
    query = done.query
    ranged = in_ranges(one.priced.rolled for one in done.noisy.values())
    lines: Iterable[tuple[NoticeKind, Iterable[str]]] = (
        (NoticeKind.DIFFERENT, (*map(str, query.nulled), *query.cut.notices)),
        (NoticeKind.REUSED, done.bill.notices),
        (NoticeKind.DIFFERENT, (*level_notices(query.decision.levels), *ranged)),
        (NoticeKind.CLIPPED, clip_notices(clipped_scopes(query.releases, query.histograms))),
        (NoticeKind.CLIPPED, left_out_notices(query.releases)),
        (NoticeKind.NOISE, (*done.notices, *simulated)),
        (NoticeKind.DIFFERENT, (UNDEFINED,) if undefined or done.undefined else ()),
    )
    return tuple((kind, text) for kind, texts in lines for text in texts)


def connection_notices(
    done: Released, lines: Iterable[NoticeLine], detail: NoticeDetail, quota: QuotaBalance | None
) -> tuple[Notice, ...]:
    """What a connection is told of an answer, at this detail."""
    said = tuple(lines)
    different = _texts(said, NoticeKind.DIFFERENT)
    if detail is NoticeDetail.OFF:
        return tuple(map(Notice, different))
    reused, clipped = _texts(said, NoticeKind.REUSED), _texts(said, NoticeKind.CLIPPED)
    summary = _summary(done, reused, quota)
    if detail is NoticeDetail.FULL:
        rest = (text for kind, text in said if kind is not NoticeKind.REUSED or not summary)
        return tuple(map(Notice, (*filter(None, [summary]), *rest)))
    first, *more = (*filter(None, [summary]), *different, *clipped, "")
    if not first:
        return ()
    return (Notice(first, tuple(filter(None, more)), _texts(said, NoticeKind.NOISE)),)


def _texts(lines: Iterable[NoticeLine], kind: NoticeKind) -> tuple[str, ...]:
    return tuple(text for one, text in lines if one is kind)


def _summary(done: Released, reused: tuple[str, ...], quota: QuotaBalance | None) -> str:
    """Price, quota and margins in one line; nothing for a statement that measures nothing.

    `reused` says what was charged, too, where the whole answer came from the cache.
    """
    quote = done.bill.quote
    if quote.plan is None:
        return ""
    price = "" if reused and quote.reused is not None else _price(done.bill)
    margins = widest_margins(done.query.cut, done.noisy, done.small)
    return "; ".join(filter(None, (price, *reused, _quota(quota), _margins(margins))))


def _price(bill: Bill) -> str:
    """What the analyst's own account was charged."""
    delta = f", delta {bill.delta}" if bill.delta.value else ""
    return f"price: epsilon {bill.charged}{delta}"


def _quota(quota: QuotaBalance | None) -> str:
    if quota is None:
        return ""
    left, window = format_down(quota.epsilon_remaining.value), quota.window
    text = f"left: epsilon {left} of {quota.epsilon_limit}"
    if window is None:
        return text
    now = format_down(window.epsilon_remaining.value)
    return f"{text}, {now} of {window.epsilon_limit} this {window.every}"


def _margins(margins: tuple[ColumnMargin, ...]) -> str:
    """The largest 95 % margin of each column: of the first ones, if there are many."""
    told = "; ".join(filter(None, [_known(margins), _unknown(margins)]))
    more = len(margins) - _MOST_COLUMNS
    columns = "column" if more == 1 else "columns"
    return f"{told}, and {more} more {columns}" if more > 0 else told


def _known(margins: tuple[ColumnMargin, ...]) -> str:
    texts = ", ".join(_each(margins[:_MOST_COLUMNS]))
    return f"largest 95 % margins: {texts}" if texts else ""


def _each(margins: Iterable[ColumnMargin]) -> Iterator[str]:
    for one in margins:
        if one.margin is not None:
            yield f"`{one.name}` ±{margin_text(one.margin)}"
        elif one.rank_error is not None:
            yield f"`{one.name}` {one.rank_error} ranks"


def _unknown(margins: tuple[ColumnMargin, ...]) -> str:
    names = ", ".join(
        f"`{one.name}`"
        for one in margins[:_MOST_COLUMNS]
        if one.margin is None and one.rank_error is None
    )
    return f"no margin for {names}" if names else ""
