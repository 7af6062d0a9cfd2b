"""JSON of answers, estimates and a subject's own queries: the bodies of the REST contract."""

from collections.abc import Iterator, Sequence
from datetime import UTC
from itertools import chain
from typing import Any

from gateway.budget.report import AccountBalance
from gateway.columnar.intervals import IntervalEnds, IntervalRows
from gateway.columnar.texts import BLOCK, TextRows
from gateway.requests.json_accounts import balance_json, display_number
from gateway.requests.json_cells import column_json, double_json, doubles_json
from gateway.requests.json_text import ascii_json
from gateway.requests.request import (
    Answer,
    AnswerColumn,
    CacheUse,
    Estimate,
    ExpectedColumn,
    PastQuestion,
)
from gateway.units import format_decimal


def answer_json(
    answer: Answer, accounts: Sequence[AccountBalance], notices: Sequence[str] = ()
) -> dict[str, Any]:
    """The body of `POST /v1/query`; `notices` come after those of the answer itself."""
    return {
        "query_id": answer.query_id,
        "columns": [_column(column) for column in answer.columns],
        "rows": list(chain.from_iterable(_rows(answer))),
        "intervals": list(chain.from_iterable(_intervals(answer))),
        **about_json(answer, accounts, notices),
    }


def json_chunks(answer: Answer, about: dict[str, Any]) -> Iterator[bytes]:
    """The same as text, some thousand rows at a time; `about` is the result of `about_json`."""
    head = {
        "query_id": answer.query_id,
        "columns": [_column(column) for column in answer.columns],
    }
    yield ascii_json(head)[:-1] + b',"rows":['
    yield from _listed(_rows(answer))
    yield b'],"intervals":['
    yield from _listed(_intervals(answer))
    yield b"]," + ascii_json(about)[1:]


def _listed(parts: Iterator[Sequence[Any]]) -> Iterator[bytes]:
    """The elements of all parts, without the brackets around them."""
    comma = b""
    for part in parts:
        yield comma + ascii_json(part)[1:-1]
        comma = b","


def about_json(
    answer: Answer, accounts: Sequence[AccountBalance], notices: Sequence[str] = ()
) -> dict[str, Any]:
    """The part of an answer beside its rows, for every format."""
    return {
        "privacy": _privacy(answer),
        "budget": {"accounts": [balance_json(account) for account in accounts]},
        "notices": [*answer.notices, *notices],
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """The body of `POST /v1/estimate`; a query that is not permitted has a refusal instead."""
    return {
        "decision": "permit",
        "price": display_number(estimate.price),
        "reused": _reused(estimate.reused),
        "columns": [_expected(column) for column in estimate.columns],
        "notices": list(estimate.notices),
    }


def past_json(past: PastQuestion) -> dict[str, Any]:
    """One line of `GET /v1/queries`."""
    reason = {} if past.reason is None else {"reason": past.reason}
    return {
        "query_id": past.query_id,
        "at": past.at.astimezone(UTC).isoformat(),
        "sql": past.sql,
        "outcome": past.outcome,
        **reason,
        "charged_epsilon": display_number(past.charged),
    }


def _column(column: AnswerColumn) -> dict[str, Any]:
    """A column; properties that it does not have are left out."""
    about: dict[str, Any] = {"name": column.name, "type": column.type, "noisy": column.noisy}
    if column.mechanism is not None:
        about["mechanism"] = column.mechanism
    if column.scale is not None:
        about["scale"] = double_json(column.scale)
    if column.rank_error is not None:
        about["rank_error"] = column.rank_error
    return about


def _rows(answer: Answer) -> Iterator[list[Sequence[Any]]]:
    """Some thousand rows at a time, written column by column."""
    types = [column.type for column in answer.columns]
    for many, columns in TextRows.of(answer.rows).parts():
        yield _across([column_json(*one) for one in zip(columns, types, strict=True)], many)


def _intervals(answer: Answer) -> Iterator[list[Sequence[Any]]]:
    for many, columns in IntervalRows.of(answer.intervals).parts(BLOCK):
        yield _across([_ends(one, many) for one in columns], many)


def _across(columns: Sequence[Sequence[Any]], many: int) -> list[Sequence[Any]]:
    return list(zip(*columns, strict=True)) if columns else [()] * many


def _ends(column: IntervalEnds | None, many: int) -> Sequence[Any]:
    if column is None:
        return [None] * many
    lows, highs = (doubles_json(ends[column.there].tolist()) for ends in (column.low, column.high))
    written = zip(lows, highs, strict=True)
    if len(lows) == many:
        return list(written)
    return [next(written) if there else None for there in column.there.tolist()]


def _privacy(answer: Answer) -> dict[str, Any]:
    rho = {} if answer.rho is None else {"rho": float(format_decimal(answer.rho))}
    return {
        "epsilon": display_number(answer.price),
        "charged_epsilon": display_number(answer.charged),
        **rho,
        "delta": display_number(answer.delta),
        "reused": _reused(answer.reused),
    }


def _reused(way: CacheUse | None) -> str | None:
    return None if way is None else way.value


def _expected(column: ExpectedColumn) -> dict[str, Any]:
    margin, ranks = column.expected_margin_95, column.expected_rank_error_95
    promised = column.promised_margin
    return {
        "name": column.name,
        "expected_margin_95": None if margin is None else double_json(margin),
        **({} if ranks is None else {"expected_rank_error_95": ranks}),
        **({} if promised is None else {"promised_margin": double_json(promised)}),
    }
