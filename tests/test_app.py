"""One state, one count of failed log-ins: a gateway's doors share it."""

import pytest
from fix_gateway import Front
from frontends.pgwire.entrance import HERE, Wire
from frontends.pgwire.packets import Scram, startup

from gateway.app import key_authenticator, wire_logins
from gateway.auth.key_store import Claim
from gateway.errors import Refusal
from gateway.frontends.pgwire.handshake import LoggedInClient, log_in


def test_wired_gateway_lets_its_subjects_in(front: Front) -> None:
    """A key that REST takes is a password here, and leads to the subject with its attributes."""
    client = Wire(log_in(wire_logins(front.foundation), address=HERE, tls=False))
    scram = Scram(front.keys["alice"].reveal())
    client.give(startup(user="alice", database="clinic"))
    client.give(scram.final(client.give(scram.first())))
    entered = client.outcome
    assert isinstance(entered, LoggedInClient)
    assert (entered.subject.role, entered.subject.team) == ("researcher", "oncology")
    assert entered.key_id == front.keys["alice"].id


def test_doors_of_a_gateway_count_failures_together(front: Front) -> None:
    """Thirty failures from an address are all that a window has, whichever door they come to."""
    wire, rest = wire_logins(front.foundation), key_authenticator(front.foundation)
    codes: list[str] = []
    tries = (
        lambda: rest.authenticate("guess", address=HERE, front_end="rest"),
        lambda: wire.password.log_in(Claim("guess", HERE, "pgwire"), "guess"),
    )
    for count in range(36):
        with pytest.raises(Refusal) as refused:
            tries[count % 4 == 1]()
        codes.append(refused.value.code.value)
    assert codes == ["GW702"] * 30 + ["GW703"] * 6
