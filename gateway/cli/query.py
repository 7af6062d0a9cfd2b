"""`gateway query`: a query asked in this process, through the same pipeline as every query."""

import argparse
import json
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from types import FrameType
from typing import Any, Final

from gateway.admin.check_policies import current_policies
from gateway.admin.explain import open_temporary_twin
from gateway.admin.instance import open_foundation, operator_name
from gateway.app import open_query_api
from gateway.cancellation import CancelEvent
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_table, print_warning, printable
from gateway.errors import Code, OperatorError
from gateway.frontends.rest.gateway_api import QueryApi
from gateway.frontends.rest.response import answer_body
from gateway.intervals.digits import end_texts, margin_text, share_text, value_text
from gateway.policy.in_force import Cause
from gateway.policy.subjects import Subject
from gateway.requests.answer_json import estimate_json
from gateway.requests.request import Accuracy, Request, UnsupportedItems
from gateway.units import Epsilon, UnitError

_ACCURACY: Final = ("margin", "relative", "floor", "rows", "confidence")
_FOR_NOTHING: Final = "answered from an earlier release, nothing charged"
_FROM_EARLIER: Final = (
    "answered from an earlier release, charged to accounts that had not paid for it"
)
_LEAN: Final = 0.001  # each end is rounded outward by a thousandth of the margin at most


def run(arguments: argparse.Namespace) -> int:
    request = _request(arguments)
    with open_query_access(arguments) as (door, subject):
        if arguments.dry_run:
            body = estimate_json(door.estimate(subject, request))
        else:
            with _cancelled_by_interrupt() as cancelled:
                answer = door.answer(subject, request, cancelled)
            body = answer_body(answer, partial(door.accounts, subject, request.dataset))
    if arguments.json:
        print(json.dumps(body, indent=2))
    elif arguments.dry_run:
        _print_estimate(body)
    else:
        _print_answer(body)
    return 0


@contextmanager
def open_query_access(arguments: argparse.Namespace) -> Iterator[tuple[QueryApi, Subject]]:
    """Everything an answer needs, with a twin of its own, so that a running gateway is not disturbed."""
    settings = settings_from(arguments)
    with (
        open_temporary_twin(settings.postgres_bin) as twin,
        open_foundation(settings, print_warning) as foundation,
    ):
        foundation.require_ledger_kept()
        policies = current_policies(
            foundation.journal, foundation.trail, settings.policies, print_warning
        )
        policies.open(Cause(operator_name(), "gateway query"))
        subject = policies.value.subjects.get(arguments.subject)
        if subject is None:
            raise OperatorError(
                Code.SUBJECT_UNKNOWN,
                f"`{arguments.subject}`",
                "subjects are declared in subjects.yaml",
            )
        with open_query_api(foundation, policies, twin, "cli", print_warning) as door:
            yield door, subject


def _request(arguments: argparse.Namespace) -> Request:
    try:
        price = None if arguments.epsilon is None else Epsilon.parse(arguments.epsilon)
    except UnitError as error:
        raise OperatorError(Code.ARGUMENT_INVALID, f"--epsilon: {error}") from None
    if price is not None and not price:
        raise OperatorError(Code.ARGUMENT_INVALID, "--epsilon: epsilon must be more than 0")
    return Request(
        sql=arguments.sql,
        dataset=arguments.dataset,
        purpose=arguments.purpose,
        epsilon=price,
        address=operator_name(),
        accuracy=_accuracy(arguments),
        fresh=arguments.fresh,
        unsupported=UnsupportedItems(arguments.unsupported),
    )


def _accuracy(arguments: argparse.Namespace) -> Accuracy | None:
    given = {name: getattr(arguments, name) for name in _ACCURACY}
    said = {name: value for name, value in given.items() if value is not None}
    try:
        return Accuracy.parse(said) if said else None
    except UnitError as error:
        raise OperatorError(Code.ARGUMENT_INVALID, f"the accuracy: {error}") from None


@contextmanager
def _cancelled_by_interrupt() -> Iterator[threading.Event]:
    """The first Ctrl-C cancels the source query, and a record says so; the second ends the command."""
    cancelled = CancelEvent()

    def interrupt(number: int, frame: FrameType | None) -> None:
        del frame
        cancelled.set()
        signal.signal(number, before)

    before = signal.signal(signal.SIGINT, interrupt)
    try:
        yield cancelled
    finally:
        signal.signal(signal.SIGINT, before)


def _print_answer(body: dict[str, Any]) -> None:
    wide = [
        place
        for place, _ in enumerate(body["columns"])
        if any(row[place] is not None for row in body["intervals"])
    ]
    header: list[str] = []
    for place, column in enumerate(body["columns"]):
        header += [printable(column["name"]), *(["± 95 %"] if place in wide else [])]
    rows = [
        _row(row, intervals, wide)
        for row, intervals in zip(body["rows"], body["intervals"], strict=True)
    ]
    print_table(header, rows)
    privacy = body["privacy"]
    print(f"\nprice: epsilon {_number(privacy['charged_epsilon'])}", end="")
    print(f", delta {_number(privacy['delta'])}" if privacy["delta"] else "")
    if privacy["reused"] is not None:
        print(_FROM_EARLIER if privacy["charged_epsilon"] else _FOR_NOTHING)
    for account in body["budget"]["accounts"]:
        remaining, limit = account["epsilon_remaining"], account["epsilon_limit"]
        print(printable(f"{account['account']}: {_number(remaining)} of {_number(limit)} left"))
    _print_notices(body)


def _row(row: Sequence[Any], intervals: Sequence[Any], wide: Sequence[int]) -> list[str]:
    cells: list[str] = []
    for place, cell in enumerate(row):
        cells.append(_noisy_cell(cell, intervals[place]))
        if place in wide:
            cells.append(_margin(cell, intervals[place]))
    return cells


def _cell(cell: Any) -> str:  # noqa: ANN401  # JSON
    if cell is None:
        return ""
    if isinstance(cell, bool):
        return "true" if cell else "false"
    return _number(cell) if isinstance(cell, float) else printable(str(cell))


def _noisy_cell(cell: Any, ends: Any) -> str:  # noqa: ANN401  # JSON
    """The cell without decimals that are far below its margin."""
    if isinstance(cell, float) and _are_numbers(ends):
        return value_text(cell, (ends[1] - ends[0]) / 2)
    return _cell(cell)


def _margin(cell: Any, ends: Any) -> str:  # noqa: ANN401  # JSON
    """`± margin` if the interval is symmetric up to its rounding, otherwise its ends."""
    if ends is None:
        return ""
    if not _are_numbers(ends):
        return f"[{_cell(ends[0])}, {_cell(ends[1])}]"
    low, high = ends
    if isinstance(cell, int | float):
        below, above = cell - low, high - cell
        if abs(above - below) <= _LEAN * (abs(above) + abs(below)):
            return f"± {margin_text((above + below) / 2)}"
    return "[{}, {}]".format(*end_texts(low, high))


def _are_numbers(ends: Any) -> bool:  # noqa: ANN401  # JSON
    return ends is not None and all(isinstance(one, int | float) for one in ends)


def _print_estimate(body: dict[str, Any]) -> None:
    header, rows = ["column", "± 95 %"], []
    promised, lost, early = (
        any(name in one for one in body["columns"])
        for name in ("promised_margin", "expected_loss", "before_histogram")
    )
    for one in body["columns"]:
        rows.append([printable(one["name"]), _expected(one["expected_margin_95"])])
        if promised:
            rows[-1].append(_expected(one.get("promised_margin")))
        if lost:
            share = one.get("expected_loss")
            rows[-1].append(share_text(share) if isinstance(share, int | float) else "")
        if early:
            rows[-1].append("may be much larger" if one.get("before_histogram") else "")
    header += ["± as asked"] * promised + ["visible loss"] * lost + ["after its histogram"] * early
    print_table(header, rows)
    print(f"\nprice: epsilon {_number(body['price'])}; nothing was run or charged")
    if body["reused"] is not None:
        print("it would be answered from an earlier release")
    _print_notices(body)


def _expected(margin: Any) -> str:  # noqa: ANN401  # JSON
    if margin is None:
        return ""
    return f"± {margin_text(margin) if isinstance(margin, float) else _cell(margin)}"


def _print_notices(body: dict[str, Any]) -> None:
    for notice in body["notices"]:
        print(printable(f"note: {notice}"))


def _number(value: float) -> str:
    return f"{value:.15g}"
