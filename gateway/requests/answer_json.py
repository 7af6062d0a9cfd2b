"""Answers, estimates, history and accounts as JSON; a cell by its PostgreSQL type.

INVARIANT: a client that reads JSON numbers as doubles gets exactly the numbers that were sent.
"""

import json
import math
import re
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC
from itertools import chain
from typing import Any, Final, TypeAlias

import numpy as np

from gateway.budget.guarantees import Guarantee
from gateway.budget.report import AccountBalance, RateLimitBalance
from gateway.columnar.intervals import IntervalEnds
from gateway.columnar.texts import BLOCK
from gateway.requests.request import (
    Answer,
    AnswerColumn,
    CacheUse,
    ClippedScope,
    Estimate,
    ExpectedColumn,
    PastQuestion,
)
from gateway.units import Delta, Epsilon, format_decimal, format_down

Cell: TypeAlias = "bool | int | float | str | None"

_LARGEST_INTEGER: Final = 2**53
_DIGITS: Final = 15
_MANY: Final = 64  # from so many values on, an array is faster
_POWERS: Final = np.array([float(10**places) for places in range(22)])  # exact, each of them
_LEAST: Final = 1e14  # of 15 digits
_HALF: Final = 0.5
_MODIFIER = re.compile(r"\([^)]*\)")
_MOMENT = re.compile(r"([0-9]{4,}-[0-9]{2}-[0-9]{2}) ([0-9:.]+)([+-][0-9:]+)?( BC)?")
_HOURS = re.compile(r"[+-][0-9]{2}")


def column_json(texts: Sequence[str | None], type_name: str) -> Sequence[Cell]:
    """The JSON cells of a column; a type without a JSON form keeps PostgreSQL's texts."""
    write = _WRITERS.get(_MODIFIER.sub("", type_name).strip())
    if write is None:
        return texts
    there = [text for text in texts if text is not None]
    written = write(there)
    if len(there) == len(texts):
        return written
    found = iter(written)
    return [None if text is None else next(found) for text in texts]


def doubles_json(values: Sequence[float]) -> list[float | str]:
    """`double_json` of each value: computed for many at once, except where double arithmetic leaves it open.

    A value times a power of ten is off by at most half of its last bit. So only a product that lies exactly
    between two whole numbers may be nearer to the other one.
    """
    if len(values) < _MANY:
        return list(map(double_json, values))
    given = np.array(values, dtype=np.float64)
    with np.errstate(all="ignore"):
        places = _DIGITS - 1 - np.floor(np.log10(np.abs(given)))
        known = (places >= 0) & (places < len(_POWERS))
        powers = _POWERS[np.where(known, places, 0).astype(np.int64)]
        moved = given * powers
        whole, size = np.rint(moved), np.abs(moved)
        known &= (size >= _LEAST) & (size < 10 * _LEAST) & (np.abs(moved - whole) != _HALF)
    shown: list[float | str] = (whole / powers).tolist()
    for place in np.flatnonzero(~known).tolist():
        shown[place] = double_json(values[place])
    return shown


def double_json(value: float) -> float | str:
    """At most 15 significant digits; a value that is not finite is a string, as PostgreSQL writes it."""
    if math.isnan(value):
        return "NaN"
    if math.isinf(value):
        return "Infinity" if value > 0 else "-Infinity"
    rounded = float(f"{value:.{_DIGITS}g}") + 0.0  # no negative zero
    return repr(value) if math.isinf(rounded) else rounded


def _integers(texts: Sequence[str]) -> Sequence[Cell]:
    values = list(map(int, texts))
    if not values or (min(values) >= -_LARGEST_INTEGER and max(values) <= _LARGEST_INTEGER):
        return values
    return [
        value if abs(value) <= _LARGEST_INTEGER else text
        for value, text in zip(values, texts, strict=True)
    ]


def _decimals(texts: Sequence[str]) -> Sequence[Cell]:
    """Numbers; those without a near double stay texts."""
    values = list(map(float, texts))
    shown = doubles_json(values)
    if not {0.0, math.inf, -math.inf}.isdisjoint(values):
        return [
            text if _lost(text, value) else one
            for text, value, one in zip(texts, values, shown, strict=True)
        ]
    return shown


def _lost(text: str, value: float) -> bool:
    return math.isinf(value) or (value == 0 and text.strip("-0.") != "")


def _each(write: Callable[[str], Cell]) -> Callable[[Sequence[str]], Sequence[Cell]]:
    return lambda texts: list(map(write, texts))


def _truth(text: str) -> bool:
    return text in {"t", "true"}


def _moment(text: str) -> str:
    """ISO 8601; years before Christ and infinity as PostgreSQL writes them in JSON too."""
    match = _MOMENT.fullmatch(text)
    if match is None:
        return text
    day, clock, offset, era = match.groups(default="")
    return f"{day}T{clock}{_whole(offset)}{era}"


def _whole(offset: str) -> str:
    return f"{offset}:00" if _HOURS.fullmatch(offset) else offset


_WRITERS: Final[dict[str, Callable[[Sequence[str]], Sequence[Cell]]]] = {
    **dict.fromkeys(("smallint", "integer", "bigint", "int2", "int4", "int8", "oid"), _integers),
    **dict.fromkeys(("numeric", "real", "double precision", "float4", "float8"), _decimals),
    **dict.fromkeys(("boolean", "bool"), _each(_truth)),
    **dict.fromkeys(
        (
            *("timestamp", "timestamp without time zone"),
            *("timestamptz", "timestamp with time zone"),
        ),
        _each(_moment),
    ),
}


def balance_json(standing: AccountBalance) -> dict[str, Any]:
    return {
        "account": standing.account,
        "dataset": standing.dataset,
        "epsilon_limit": display_number(standing.epsilon_limit),
        "epsilon_spent": display_number(standing.epsilon_spent),
        "epsilon_remaining": display_remaining(standing.epsilon_remaining),
        "delta_limit": display_number(standing.delta_limit),
        "window": None if standing.window is None else _window_json(standing.window),
        "promised": _guarantee_json(standing.promised),
        "released": _guarantee_json(standing.released),
    }


def _guarantee_json(guarantee: Guarantee) -> dict[str, float | None]:
    """`epsilon` is null where no epsilon holds."""
    return {
        "epsilon": None if guarantee.epsilon is None else display_number(guarantee.epsilon),
        "delta": display_number(guarantee.delta),
    }


def display_number(amount: Epsilon | Delta) -> float:
    """The number for display alone; compared and summed amounts stay exact."""
    return float(str(amount))


def display_remaining(amount: Epsilon) -> float:
    """The remaining amount, never rounded up: a query at exactly this price is answered."""
    return float(format_down(amount.value))


def _window_json(window: RateLimitBalance) -> dict[str, Any]:
    return {
        "every": window.every,
        "epsilon_limit": display_number(window.epsilon_limit),
        "epsilon_spent": display_number(window.epsilon_spent),
        "epsilon_remaining": display_remaining(window.epsilon_remaining),
        "reopens_at": window.reopens_at.isoformat(),
    }


_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, allow_nan=False, separators=(",", ":"))


def ascii_json(content: object) -> bytes:
    return _ENCODER.encode(content).replace("\x7f", "\\u007f").encode("ascii")


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
    clipped = [{"over": over, "limit": double_json(math.sqrt(most))} for over, most in past.clipped]
    return {
        "query_id": past.query_id,
        "at": past.at.astimezone(UTC).isoformat(),
        "sql": past.sql,
        "outcome": past.outcome,
        **reason,
        "charged_epsilon": display_number(past.charged),
        **({"clipped": clipped} if clipped else {}),
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
    for many, columns in answer.rows.parts():
        yield _across([column_json(*one) for one in zip(columns, types, strict=True)], many)


def _intervals(answer: Answer) -> Iterator[list[Sequence[Any]]]:
    for many, columns in answer.intervals.parts(BLOCK):
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
        "clipped": [_clipped(one) for one in answer.clipped] or None,
    }


def _clipped(scope: ClippedScope) -> dict[str, Any]:
    """Shares with three digits: they are estimates; None where they are not known."""
    shares = {
        "units": scope.units,
        "units_at_most": scope.units_at_most,
        "rows": scope.rows,
    }
    told = {name: None if one is None else _share(one) for name, one in shares.items()}
    return {"over": scope.over, "limit": double_json(scope.limit), **told}


def _share(share: float) -> float:
    return float(f"{share:.3g}")


def _reused(way: CacheUse | None) -> str | None:
    return None if way is None else way.value


def _expected(column: ExpectedColumn) -> dict[str, Any]:
    margin, ranks = column.expected_margin_95, column.expected_rank_error_95
    promised, lost = column.promised_margin, column.expected_loss
    return {
        "name": column.name,
        "expected_margin_95": None if margin is None else double_json(margin),
        **({} if ranks is None else {"expected_rank_error_95": ranks}),
        **({} if promised is None else {"promised_margin": double_json(promised)}),
        **({} if lost is None else {"expected_loss": _share(lost)}),
        **({"before_histogram": True} if column.before_histogram else {}),
    }
