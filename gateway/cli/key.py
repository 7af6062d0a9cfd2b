"""`gateway key create | list | revoke`."""

import argparse
import json
from datetime import datetime

from gateway.admin.instance import Foundation, open_foundation, operator_name
from gateway.admin.key_actions import create_key, revoke_key
from gateway.auth.key_store import KeyOrder, KnownKey, list_keys
from gateway.auth.keys import parse_duration
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_table, print_warning
from gateway.policy.subjects import load_subjects
from gateway.trail.record import utc_now


def run(arguments: argparse.Namespace) -> int:
    actions = {"create": _create, "list": _list, "revoke": _revoke}
    with open_foundation(settings_from(arguments), print_warning) as foundation:
        return actions[arguments.action](foundation, arguments)


def _create(foundation: Foundation, arguments: argparse.Namespace) -> int:
    now = utc_now()
    expires = None if arguments.expires is None else now + parse_duration(arguments.expires)
    order = KeyOrder(arguments.subject, operator_name(), now, expires)
    subjects = load_subjects(foundation.settings.policies)
    create_key(foundation.journal, foundation.trail, order, subjects.__contains__)
    print(order.key.reveal())
    return 0


def _list(foundation: Foundation, arguments: argparse.Namespace) -> int:
    with foundation.engine.connect() as connection:
        keys = list_keys(connection)
    if arguments.json:
        print(json.dumps({"keys": [_key_json(key) for key in keys]}, indent=2))
    elif not keys:
        print("no keys were made; see `gateway key create`")
    else:
        print_table(
            ("id", "subject", "created", "expires", "revoked", "last used"),
            [tuple(value or "-" for value in _key_json(key).values()) for key in keys],
        )
    return 0


def _revoke(foundation: Foundation, arguments: argparse.Namespace) -> int:
    revoked = revoke_key(
        foundation.journal, foundation.trail, arguments.id, actor=operator_name(), now=utc_now()
    )
    print(f"key {revoked.key_id} of {revoked.subject} is revoked")
    return 0


def _key_json(key: KnownKey) -> dict[str, str | None]:
    return {
        "id": key.id,
        "subject": key.subject,
        "created_at": _shown(key.created_at),
        "expires_at": _shown(key.expires_at),
        "revoked_at": _shown(key.revoked_at),
        "last_used_at": _shown(key.last_used_at),
    }


def _shown(moment: datetime | None) -> str | None:
    return None if moment is None else f"{moment:%Y-%m-%dT%H:%M:%SZ}"
