"""Answers, estimates and one's own history as JSON: the bodies of the contract."""

from collections.abc import Callable, Sequence
from datetime import UTC
from typing import Any

from gateway.budget.standing import Standing
from gateway.frontends.rest.accounts import account_json, number
from gateway.frontends.rest.cells import column_json, double_json, doubles_json
from gateway.question import Answer, AnswerColumn, Estimate, ExpectedColumn, PastQuestion
from gateway.units import format_decimal


def answer_json(
    answer: Answer, accounts: Sequence[Standing], notices: Sequence[str] = ()
) -> dict[str, Any]:
    """The body of `POST /v1/query`; `notices` come after those of the answer itself."""
    return {
        "query_id": answer.query_id,
        "columns": [_column(column) for column in answer.columns],
        "rows": _rows(answer),
        "intervals": _by_column(answer.intervals, _intervals),
        **about_json(answer, accounts, notices),
    }


def about_json(
    answer: Answer, accounts: Sequence[Standing], notices: Sequence[str] = ()
) -> dict[str, Any]:
    """What is said of an answer beside its rows, whatever they are written as."""
    return {
        "privacy": _privacy(answer),
        "budget": {"accounts": [account_json(account) for account in accounts]},
        "notices": [*answer.notices, *notices],
    }


def estimate_json(estimate: Estimate) -> dict[str, Any]:
    """The body of `POST /v1/estimate`; what is not permitted is a refusal and has no estimate."""
    return {
        "decision": "permit",
        "price": number(estimate.price),
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
        "charged_epsilon": number(past.charged),
    }


def _column(column: AnswerColumn) -> dict[str, Any]:
    """What a column does not have is left out."""
    about: dict[str, Any] = {"name": column.name, "type": column.type, "noisy": column.noisy}
    if column.mechanism is not None:
        about["mechanism"] = column.mechanism
    if column.scale is not None:
        about["scale"] = double_json(column.scale)
    if column.rank_error is not None:
        about["rank_error"] = column.rank_error
    return about


def _rows(answer: Answer) -> list[Sequence[Any]]:
    types = iter([column.type for column in answer.columns])
    return _by_column(answer.rows, lambda texts: column_json(texts, next(types)))


def _by_column(
    rows: Sequence[Sequence[Any]], write: Callable[[Sequence[Any]], Sequence[Any]]
) -> list[Sequence[Any]]:
    """The rows, written column by column."""
    columns = [write(column) for column in zip(*rows, strict=True)]
    return list(zip(*columns, strict=True)) if columns else [()] * len(rows)


def _intervals(column: Sequence[tuple[float, float] | None]) -> Sequence[Any]:
    there = [ends for ends in column if ends is not None]
    lows, highs = (doubles_json([ends[side] for ends in there]) for side in (0, 1))
    written = zip(lows, highs, strict=True)
    return [None if ends is None else next(written) for ends in column]


def _privacy(answer: Answer) -> dict[str, Any]:
    rho = {} if answer.rho is None else {"rho": float(format_decimal(answer.rho))}
    return {
        "epsilon": number(answer.price),
        "charged_epsilon": number(answer.charged),
        **rho,
        "delta": number(answer.delta),
        "reused": None,
    }


def _expected(column: ExpectedColumn) -> dict[str, Any]:
    margin, ranks = column.expected_margin_95, column.expected_rank_error_95
    promised = column.promised_margin
    return {
        "name": column.name,
        "expected_margin_95": None if margin is None else double_json(margin),
        **({} if ranks is None else {"expected_rank_error_95": ranks}),
        **({} if promised is None else {"promised_margin": double_json(promised)}),
    }
