"""`gateway db upgrade | current | backup | restore`."""

import argparse
from pathlib import Path

from gateway.admin.instance import open_foundation, operator_name
from gateway.admin.restore import restore
from gateway.budget.account import ratio_text
from gateway.budget.limits import AccountOpened, Act, LedgerOpened, LimitsSet, RateFixed
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_warning
from gateway.config import Settings, prepare_home
from gateway.state.backup import write_backup
from gateway.state.connections import engine_for
from gateway.state.open import reach_state, translate_connection_errors, upgrade_state
from gateway.state.schema import HEAD, current_revision
from gateway.trail.chain import load_audit_key
from gateway.trail.record import utc_now


def run(arguments: argparse.Namespace) -> int:
    settings = settings_from(arguments)
    prepare_home(settings)
    actions = {"upgrade": _upgrade, "current": _current, "backup": _backup, "restore": _restore}
    return actions[arguments.action](settings, arguments)


def _upgrade(settings: Settings, arguments: argparse.Namespace) -> int:
    del arguments
    with reach_state(settings) as urls:
        upgrade_state(urls)
    print(f"the state is at revision {HEAD}")
    return 0


def _current(settings: Settings, arguments: argparse.Namespace) -> int:
    del arguments
    with reach_state(settings) as urls:
        engine = engine_for(urls.application)
        with translate_connection_errors(urls.application), engine.connect() as connection:
            print(f"{current_revision(connection) or 'empty'} (this gateway needs {HEAD})")
        engine.dispose()
    return 0


def _backup(settings: Settings, arguments: argparse.Namespace) -> int:
    with open_foundation(settings, print_warning) as foundation:
        path = Path(arguments.file).absolute()
        with translate_connection_errors(foundation.engine.url):
            backup = write_backup(foundation.engine, path, foundation.key.secret, utc_now())
    print(f"{arguments.file}: the state up to trail record {backup.position.seq}")
    return 0


def _restore(settings: Settings, arguments: argparse.Namespace) -> int:
    restored = restore(
        settings,
        load_audit_key(settings),
        None if arguments.file is None else Path(arguments.file),
        replace=arguments.replace,
        actor=operator_name(),
        now=utc_now(),
    )
    for taken in restored.withdrawals:
        print(
            f"charged {ratio_text(taken.amount)} to {taken.account}: given, but unknown to this state"
        )
    for act in restored.acts:
        print(_told(act))
    for revoked in restored.revoked:
        print(f"revoked key {revoked.key_id} of {revoked.subject} again")
    for dataset in restored.refreshed:
        print(f"the data of {dataset} was refreshed since: nothing from before is given again")
    if restored.anchored is None:
        print("the state is in place; there was no anchor, so what it may lack is not known")
    else:
        print("the state is in place; nothing that was spent is forgotten")
    return 0


def _told(act: Act) -> str:
    match act:
        case LedgerOpened(ledger):
            return f"opened ledger {ledger.name} again"
        case RateFixed(ledger):
            return f"fixed what one epsilon costs in {ledger.name} again"
        case AccountOpened(account):
            return f"opened {account.name} again, with epsilon {account.limits.epsilon}"
        case LimitsSet(account, _, after):
            return f"set the limits of {account} again, to epsilon {after.epsilon}"
