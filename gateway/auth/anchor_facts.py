"""Anchor facts of revoked keys, so that an older state cannot make a key valid again."""

from collections.abc import Mapping
from datetime import datetime
from functools import partial

from sqlalchemy import Connection, select

from gateway.auth.issue import REVOKED, KeyRevoked, revoke
from gateway.auth.lookup import find_key
from gateway.state.anchor import Fact
from gateway.state.draft import Draft
from gateway.state.tables import key_revocations


def load_revocation_facts(connection: Connection, seq: int) -> dict[str, Fact]:
    """The revocations that an anchor needs if it begins at `seq`."""
    return {
        f"{REVOKED}{row.id}": Fact(seq, {"at": row.at.isoformat(), "actor": row.actor})
        for row in connection.execute(select(key_revocations))
    }


def revocations_of(facts: Mapping[str, Fact]) -> dict[str, Fact]:
    """The facts about revoked keys, including keys that this state does not know."""
    return {name: fact for name, fact in facts.items() if name.startswith(REVOKED)}


def revoke_again(draft: Draft, facts: Mapping[str, Fact]) -> list[KeyRevoked]:
    """Revoke every key that is revoked in the anchor and valid in the state."""
    found = []
    for name, fact in revocations_of(facts).items():
        key_id = name.removeprefix(REVOKED)
        known = draft.recall(("restored key", key_id), partial(find_key, key_id=key_id))
        if known is not None and known.revoked_at is None:
            at = datetime.fromisoformat(str(fact.value["at"]))
            found.append(revoke(draft, key_id, actor=str(fact.value["actor"]), at=at))
    return found
