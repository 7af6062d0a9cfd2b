"""`gateway data refreshed`."""

import argparse

from gateway.admin.actions import refresh_data
from gateway.admin.instance import Foundation, open_foundation, operator_name
from gateway.budget.account import ledger_name
from gateway.budget.balances import load_accounts
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_warning
from gateway.errors import Code, OperatorError
from gateway.trail.record import utc_now


def run(arguments: argparse.Namespace) -> int:
    with open_foundation(settings_from(arguments), print_warning) as foundation:
        dataset = _named(foundation, arguments.dataset)
        refresh_data(
            foundation.journal, foundation.trail, dataset, actor=operator_name(), now=utc_now()
        )
    print(f"{dataset}: earlier answers will not be reused")
    return 0


def _named(foundation: Foundation, name: str | None) -> str:
    """The dataset of this name, or the only one; a dataset is known if its ledger was ever opened."""
    with foundation.engine.connect() as connection:
        ledgers = {account.ledger.name for account in load_accounts(connection)}
    known = sorted(ledger.removeprefix(ledger_name("")) for ledger in ledgers)
    if name in known:
        return str(name)
    if name is None and len(known) == 1:
        return known[0]
    if not known:
        said, hint = "no dataset is known", "`gateway serve` opens the datasets of the policies"
    elif name is None:
        said, hint = "several datasets exist", f"add --dataset, one of {', '.join(known)}"
    else:
        said, hint = f"dataset `{name}` does not exist", f"the datasets are {', '.join(known)}"
    raise OperatorError(Code.ARGUMENT_INVALID, said, hint)
