"""Answers, estimates and one's own history as JSON: the bodies of the contract."""

from collections.abc import Sequence
from datetime import UTC
from typing import Any

from gateway.budget.standing import Standing
from gateway.frontends.rest.accounts import account_json, number
from gateway.frontends.rest.cells import cell_json, double_json
from gateway.question import Answer, AnswerColumn, Estimate, ExpectedColumn, PastQuestion
from gateway.units import format_decimal


def answer_json(
    answer: Answer, accounts: Sequence[Standing], notices: Sequence[str] = ()
) -> dict[str, Any]:
    """The body of `POST /v1/query`; `notices` come after those of the answer itself."""
    types = [column.type for column in answer.columns]
    return {
        "query_id": answer.query_id,
        "columns": [_column(column) for column in answer.columns],
        "rows": [
            [cell_json(cell, type_name) for cell, type_name in zip(row, types, strict=True)]
            for row in answer.rows
        ],
        "intervals": [[_interval(cell) for cell in row] for row in answer.intervals],
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
    return about


def _interval(ends: tuple[float, float] | None) -> list[float | str] | None:
    return None if ends is None else [double_json(end) for end in ends]


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
    margin = column.expected_margin_95
    return {
        "name": column.name,
        "expected_margin_95": None if margin is None else double_json(margin),
    }
