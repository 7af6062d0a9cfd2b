"""A door with keys: subjects, a clock to turn, an authenticator on a state, and what was recorded."""

from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from gateway.admin.key_actions import create_key, login_failure_recorder, revoke_key
from gateway.auth.authenticator import KeyAuthenticator
from gateway.auth.key_store import KeyOrder
from gateway.auth.login_throttle import FailureLimits, LoginThrottle
from gateway.events import Event
from gateway.state.open import State
from gateway.trail.record import Trail
from gateway.trail.search import all_records

START = datetime(2026, 3, 1, 12, tzinfo=UTC)


@dataclass
class Clock:
    """Both clocks at once: the wall's and the one that only goes forward."""

    now: datetime = START

    def wall(self) -> datetime:
        return self.now

    def steady(self) -> float:
        return (self.now - START).total_seconds()

    def forward(self, **span: float) -> None:
        self.now += timedelta(**span)


@dataclass
class Door:
    """What the tests do at the door."""

    state: State
    trail: Trail
    clock: Clock
    subjects: dict[str, str] = field(default_factory=lambda: {"alice": "ALICE", "bob": "BOB"})
    told: list[Event] = field(default_factory=list)

    def order(self, subject: str, lasts: timedelta | None = None) -> KeyOrder:
        return KeyOrder(
            subject, "os:op", self.clock.now, None if lasts is None else self.clock.now + lasts
        )

    def create(self, subject: str = "alice", lasts: timedelta | None = None) -> KeyOrder:
        order = self.order(subject, lasts)
        create_key(self.state.journal, self.trail, order, self.subjects.__contains__)
        return order

    def revoke(self, key_id: str) -> None:
        revoke_key(self.state.journal, self.trail, key_id, actor="os:op", now=self.clock.now)

    def authenticator(self, limits: FailureLimits = FailureLimits()) -> KeyAuthenticator[str]:  # noqa: B008
        turning_away = LoginThrottle(
            login_failure_recorder(self.state.journal, self.trail),
            self.told.append,
            limits,
            self.clock.steady,
        )
        return KeyAuthenticator(
            self.state.engine,
            self.subjects.get,
            turning_away,
            emit=self.told.append,
            now=self.clock.wall,
        )

    def recorded(self, kind: str | None = None) -> list[Any]:
        with self.state.engine.connect() as connection:
            return [one for one in all_records(connection) if kind in (None, one["kind"])]


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def door(state: State, trail: Trail, clock: Clock) -> Door:
    return Door(state, trail, clock)
