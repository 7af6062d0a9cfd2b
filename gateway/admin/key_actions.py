"""Acts on API keys, and refused log-ins, each written with its trail record in one transaction."""

from collections.abc import Callable
from datetime import datetime

from gateway.auth import key_store
from gateway.auth.key_store import KeyCreated, KeyOrder, KeyRevoked, LoginFailed, RecordFailure
from gateway.state.draft import Draft
from gateway.state.journal import Journal
from gateway.trail.record import ActRecord, RecordKind, Trail


def create_key(
    journal: Journal, trail: Trail, order: KeyOrder, known: Callable[[str], bool]
) -> KeyCreated:
    """Create a key; `order.key.reveal()` may be shown once, after this returns."""

    def step(draft: Draft) -> KeyCreated:
        created = key_store.create(draft, order, known)
        expires = created.expires_at.isoformat() if created.expires_at else None
        about = {
            "key": created.key_id,
            "expires_at": expires,
            "fingerprint": created.fingerprint,
        }
        trail.append(
            draft, ActRecord(RecordKind.KEY_CREATED, created.actor, about, subject=created.subject)
        )
        return created

    return journal.commit(step)


def revoke_key(
    journal: Journal, trail: Trail, key_id: str, *, actor: str, now: datetime
) -> KeyRevoked:
    """Revoke a key for ever."""

    def step(draft: Draft) -> KeyRevoked:
        revoked = key_store.revoke(draft, key_id, actor=actor, at=now)
        record_revocation(draft, trail, revoked)
        return revoked

    return journal.commit(step)


def record_revocation(draft: Draft, trail: Trail, revoked: KeyRevoked) -> None:
    about = {"key": revoked.key_id}
    trail.append(
        draft, ActRecord(RecordKind.KEY_REVOKED, revoked.actor, about, subject=revoked.subject)
    )


def login_failure_recorder(journal: Journal, trail: Trail) -> RecordFailure:
    """A function that records refused log-ins, for the front ends."""

    def record(failed: LoginFailed) -> None:
        about = {
            "front_end": failed.front_end,
            "address": failed.address,
            "claimed": failed.claimed,
            "code": failed.code,
        }
        act = ActRecord(RecordKind.LOGIN_REFUSED, "nobody", about)
        journal.commit(lambda draft: trail.append(draft, act))

    return record
