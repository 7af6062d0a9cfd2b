"""An entrance on a state with keys, and clients at it: without a network, or over one."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime

from fix_auth import Door
from fix_state import AUDIT_SECRET
from sqlalchemy import Engine, create_engine

from gateway.admin.key_actions import login_failure_recorder
from gateway.auth.keys import mock_secret
from gateway.auth.login_throttle import FailureLimits, LoginThrottle
from gateway.auth.scram import Logins, scram_logins
from gateway.frontends.pgwire.handshake import (
    Conversation,
    LoggedInClient,
    Look,
    Read,
    Send,
    StartTls,
    Step,
    log_in,
)
from gateway.frontends.pgwire.startup import CancelRequest
from gateway.policy.subjects import Subject

HERE = "192.0.2.7"


def turning_away_of(door: Door, limits: FailureLimits = FailureLimits()) -> LoginThrottle:  # noqa: B008
    record = login_failure_recorder(door.state.journal, door.trail)
    return LoginThrottle(record, door.told.append, limits, door.clock.steady)


def logins_of(
    door: Door, turning_away: LoginThrottle | None = None, engine: Engine | None = None
) -> Logins[Subject]:
    """Log-ins for the door's subjects, whoever they are at the moment."""

    def find(name: str) -> Subject | None:
        return Subject(name) if name in door.subjects else None

    return scram_logins(
        engine or door.state.engine,
        find,
        turning_away or turning_away_of(door),
        mock_secret(AUDIT_SECRET),
        emit=door.told.append,
        now=door.clock.wall,
    )


def unasked_logins() -> Logins[Subject]:
    """Log-ins without a state, for conversations that end before anybody is looked up."""

    def record(_: object) -> None:
        raise AssertionError("a login was refused")

    return scram_logins(
        create_engine("postgresql+psycopg://nobody@127.0.0.1:9/nothing"),
        lambda _: None,
        LoginThrottle(record, lambda _: None, FailureLimits(), lambda: 0.0),
        mock_secret(AUDIT_SECRET),
        emit=lambda _: None,
        now=lambda: datetime(2026, 3, 2, tzinfo=UTC),
    )


@dataclass
class Wire:
    """A conversation, driven step by step with bytes that a client is said to have sent."""

    conversation: Conversation[LoggedInClient | CancelRequest | None]
    alpn: str | None = None
    over: bool = False
    outcome: LoggedInClient | CancelRequest | None = None
    handshakes: list[StartTls] = field(default_factory=list)
    looked: int = 0
    _out: bytearray = field(default_factory=bytearray)

    def __post_init__(self) -> None:
        self._until_read(lambda: next(self.conversation))

    def give(self, data: bytes) -> bytes:
        """What the server says to these bytes."""
        assert not self.over
        self._until_read(lambda: self.conversation.send(data))
        return self.heard()

    def heard(self) -> bytes:
        heard = bytes(self._out)
        self._out.clear()
        return heard

    def gone(self) -> bytes:
        """What the server says to nobody any more."""
        return self.give(b"")

    def _until_read(self, go: Callable[[], Step]) -> None:
        try:
            step = go()
            while not isinstance(step, Read):
                step = self._do(step)
        except StopIteration as stop:
            self.over, self.outcome = True, stop.value

    def _do(self, step: Step) -> Step:
        match step:
            case Send(data):
                self._out += data
                return next(self.conversation)
            case StartTls(answer):
                self._out += answer
                self.handshakes.append(step)
                return self.conversation.send(self.alpn)
            case Look(call):
                self.looked += 1
                try:
                    call()
                except Exception as error:  # noqa: BLE001  # whatever it is, it goes back
                    return self.conversation.throw(error)
                return next(self.conversation)
            case Read():
                raise AssertionError("a read is not done here")


def wire(
    logins: Logins[Subject], *, tls: bool = False, secure: bool = False, alpn: str | None = None
) -> Wire:
    return Wire(log_in(logins, address=HERE, tls=tls, secure=secure), alpn)
