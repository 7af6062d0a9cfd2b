"""`gateway budget show | grant`."""

import argparse
import json
from dataclasses import replace

from gateway.admin.actions import grant
from gateway.admin.instance import open_foundation, operator_name
from gateway.budget.account import Every, Limits, RateLimit
from gateway.budget.balances import load_account
from gateway.budget.guarantees import Guarantee
from gateway.budget.report import standings
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_table, print_warning
from gateway.errors import Code, OperatorError
from gateway.requests.answer_json import balance_json
from gateway.trail.record import utc_now
from gateway.units import Delta, Epsilon, UnitError, format_down


def run(arguments: argparse.Namespace) -> int:
    return _show(arguments) if arguments.action == "show" else _grant(arguments)


def _show(arguments: argparse.Namespace) -> int:
    with (
        open_foundation(settings_from(arguments), print_warning) as foundation,
        foundation.engine.connect() as connection,
    ):
        found = standings(connection, utc_now(), dataset=arguments.dataset)
    if arguments.json:
        print(json.dumps({"accounts": [balance_json(one) for one in found]}, indent=2))
    elif not found:
        print("no accounts are open")
    else:
        print_table(
            ("account", "limit", "spent", "remaining", "delta", "promised", "released", "window"),
            [
                (
                    one.account,
                    str(one.epsilon_limit),
                    str(one.epsilon_spent),
                    format_down(one.epsilon_remaining.value),
                    str(one.delta_limit),
                    told(one.promised),
                    told(one.released),
                    f"{format_down(one.window.epsilon_remaining.value)}"
                    f" of {one.window.epsilon_limit}"
                    f" left this {one.window.every}"
                    if one.window
                    else "",
                )
                for one in found
            ],
        )
    return 0


def told(guarantee: Guarantee) -> str:
    """The epsilon for people; `none` where no epsilon holds."""
    return "none" if guarantee.epsilon is None else str(guarantee.epsilon)


def _grant(arguments: argparse.Namespace) -> int:
    with open_foundation(settings_from(arguments), print_warning) as foundation:
        with foundation.engine.connect() as connection:
            account = load_account(connection, arguments.account)
        if account is None:
            raise OperatorError(
                Code.ARGUMENT_INVALID,
                f"account `{arguments.account}` does not exist",
                "`gateway budget show` lists all accounts",
            )
        limits = _limits(arguments, account.limits)
        grant(
            foundation.journal,
            foundation.trail,
            account.name,
            limits,
            actor=operator_name(),
            now=utc_now(),
        )
    print(f"{account.name}: epsilon {account.limits.epsilon} -> {limits.epsilon}")
    return 0


def _limits(arguments: argparse.Namespace, now: Limits) -> Limits:
    try:
        limits = replace(now, epsilon=Epsilon.parse(arguments.epsilon))
        if arguments.delta is not None:
            limits = replace(limits, delta=Delta.parse(arguments.delta))
        if arguments.window is not None:
            limits = replace(limits, window=_window(arguments.window))
    except UnitError as error:
        raise OperatorError(Code.ARGUMENT_INVALID, str(error)) from None
    return limits


def _window(text: str) -> RateLimit | None:
    if text == "none":
        return None
    every, _, epsilon = text.partition(":")
    if every not in tuple(Every):
        raise OperatorError(
            Code.ARGUMENT_INVALID,
            f"`{text}` is not a window",
            "write day:E, week:E, month:E or none",
        )
    return RateLimit(Every(every), Epsilon.parse(epsilon))
