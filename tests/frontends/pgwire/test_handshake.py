"""Who proves to have a key comes in, and all others are told the same: nobody learns who exists."""

import base64
import struct
from collections.abc import Callable, Mapping
from datetime import timedelta
from itertools import pairwise

import pytest
from fix_auth import Door
from frontends.pgwire.entrance import HERE, Wire, logins_of, turning_away_of, wire
from frontends.pgwire.packets import (
    SSL_REQUEST,
    V32,
    Scram,
    error_of,
    initial,
    message,
    startup,
    told,
)
from sqlalchemy import event, select

from gateway.auth.authenticator import KeyAuthenticator
from gateway.auth.keys import Verifiers, new_key
from gateway.auth.login_throttle import FailureLimits
from gateway.auth.scram import Challenge, ClientProof, Logins
from gateway.errors import BackendUnavailable, Code
from gateway.frontends.pgwire.handshake import LoggedInClient, log_in
from gateway.policy.subjects import Subject
from gateway.state.connections import engine_for
from gateway.state.tables import key_uses

PROVED = "a proof of the server's and that we are in"


def come(logins: Logins[Subject], name: str, password: str, gs2: str = "n,,") -> tuple[Wire, bytes]:
    """Log in as a client does; the last that the server said."""
    client, scram = wire(logins), Scram(password, gs2)
    client.give(startup(user=name))
    answer = client.give(scram.final(client.give(scram.first())))
    if client.outcome is not None:
        proof, done = told(answer)
        assert proof[0] == done[0] == "R"
        assert done[1] == b"\0\0\0\0"
    return client, answer


def test_proof_of_a_key_lets_its_subject_in(door: Door) -> None:
    """Every key of a subject does; who came in, with which key, to what and how is handed over."""
    keys = [door.create("alice").key, door.create("alice").key]
    for key in keys:
        client, scram = wire(logins_of(door)), Scram(key.reveal())
        asked = {"user": "alice", "database": "clinic", "options": "-c gateway.purpose=care"}
        client.give(startup(V32, **asked))
        client.give(scram.final(client.give(scram.first())))
        assert client.outcome == LoggedInClient(
            "alice", Subject("alice"), key.id, "clinic", {"gateway.purpose": "care"}, 2, False
        )
    assert door.recorded("login_refused") == []


def test_server_proves_itself_too(door: Door) -> None:
    """The last message carries the signature that only who knows the verifier can make."""
    key = door.create().key
    client, scram = wire(logins_of(door)), Scram(key.reveal())
    client.give(startup(user="alice"))
    answer = client.give(scram.final(client.give(scram.first())))
    signed = b"\0\0\0\x0cv=" + base64.b64encode(scram.signature)
    assert told(answer) == [("R", signed), ("R", b"\0\0\0\0")]


@pytest.mark.parametrize("gs2", ["n,,", "y,,"])
def test_client_that_knows_channel_binding_comes_in_too(door: Door, gs2: str) -> None:
    """`y` says that the client could bind channels if we could; we said that we cannot."""
    client, _ = come(logins_of(door), "alice", door.create().key.reveal(), gs2)
    assert isinstance(client.outcome, LoggedInClient)


def test_database_is_the_user_when_it_is_not_named(door: Door) -> None:
    """As PostgreSQL has it; an empty name is no name."""
    key = door.create().key.reveal()
    for more in ({}, {"database": ""}):
        client, scram = wire(logins_of(door)), Scram(key)
        client.give(startup(user="alice", **more))
        client.give(scram.final(client.give(scram.first())))
        assert isinstance(client.outcome, LoggedInClient)
        assert client.outcome.database == "alice"


def test_what_came_early_is_handed_over_unread(door: Door) -> None:
    """Messages behind the last one of the log-in belong to whoever goes on."""
    client, scram = wire(logins_of(door)), Scram(door.create().key.reveal())
    client.give(startup(user="alice"))
    client.give(scram.final(client.give(scram.first())) + message("X"))
    assert isinstance(client.outcome, LoggedInClient)
    assert client.outcome.rest == message("X")
    assert client.outcome.secure is False


# who is refused: each gives a name, and what is tried for a password
Tried = Callable[[Door], tuple[str, str]]


def _wrong(door: Door) -> tuple[str, str]:
    door.create("alice")
    return "alice", new_key().reveal()


def _empty(door: Door) -> tuple[str, str]:
    door.create("alice")
    return "alice", ""


def _keyless(door: Door) -> tuple[str, str]:
    return "alice", new_key().reveal()


def _unknown(door: Door) -> tuple[str, str]:
    del door.subjects["alice"]
    return "alice", new_key().reveal()


def _revoked(door: Door) -> tuple[str, str]:
    key = door.create("alice").key
    door.revoke(key.id)
    return "alice", key.reveal()


def _expired(door: Door) -> tuple[str, str]:
    key = door.create("alice", timedelta(minutes=1)).key
    door.clock.forward(minutes=1)
    return "alice", key.reveal()


def _lost(door: Door) -> tuple[str, str]:
    key = door.create("alice").key
    del door.subjects["alice"]
    return "alice", key.reveal()


def _of_another(door: Door) -> tuple[str, str]:
    door.create("alice")
    return "alice", door.create("bob").key.reveal()


REFUSED: Mapping[str, Tried] = {
    "wrong": _wrong,
    "empty": _empty,
    "keyless": _keyless,
    "unknown": _unknown,
    "revoked": _revoked,
    "expired": _expired,
    "lost": _lost,
    "of another": _of_another,
}


def conversation(door: Door, logins: Logins[Subject], tried: Tried) -> tuple[list[bytes], int]:
    """All that a client who is refused hears, but for salt and nonce; and how often the state was asked."""
    name, password = tried(door)
    client, scram = wire(logins), Scram(password)
    heard = [client.give(startup(user=name))]
    challenge = client.give(scram.first())
    heard.append(client.give(scram.final(challenge)))
    salt, nonce = scram.challenge["s"], scram.challenge["r"]
    heard.append(challenge.replace(salt.encode(), b"S").replace(nonce.encode(), b"N"))
    heard.append(struct.pack("!II", len(salt), len(nonce)))
    assert (client.over, client.outcome) == (True, None)
    return heard, client.looked


@pytest.mark.parametrize("which", REFUSED)
def test_all_who_are_refused_hear_the_same(door: Door, which: str) -> None:
    """Whatever is wrong, byte for byte: the offer, the challenge, and the error."""
    heard, looked = conversation(door, logins_of(door), REFUSED[which])
    fields = error_of(heard[1])
    assert fields == {
        "S": "FATAL",
        "V": "FATAL",
        "C": "28P01",
        "M": 'password authentication failed for user "alice"',
        "D": "GW702: the API key is not valid",
        "H": "ask the operator for a key: `gateway key create`",
    }
    assert told(heard[0]) == [("R", b"\0\0\0\x0aSCRAM-SHA-256\0\0")]
    assert heard[2:] == [
        message("R", b"\0\0\0\x0br=N,s=S,i=4096")[:1] + heard[2][1:5] + b"\0\0\0\x0br=N,s=S,i=4096",
        struct.pack("!II", 24, 44),
    ]
    assert looked == 2
    records = door.recorded("login_refused")
    assert [one["about"] for one in records] == [
        {"front_end": "pgwire", "address": HERE, "claimed": "alice", "code": "GW702"}
    ]


def test_difference_would_be_seen(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    """A door that gives unknown names a shorter salt, or another word, is found out by the same comparison."""
    logins = logins_of(door)
    known, _ = conversation(door, logins, _wrong)
    begin = logins.scram.begin

    def short(name: str) -> Verifiers:
        found = begin(name)
        return Verifiers(type(found.salt)(found.salt.salt[:8], 4096), ())

    monkeypatch.setattr(logins.scram, "begin", short)
    assert conversation(door, logins, _unknown)[0] != known
    monkeypatch.undo()
    door.subjects["alice"] = "ALICE"

    def blunt(*_: object) -> None:
        raise turning_away_of(door).without_credential(address=HERE, front_end="pgwire")

    monkeypatch.setattr(logins.scram, "finish", blunt)
    assert conversation(door, logins, _wrong)[0] != known


def test_salt_of_a_name_stays_and_differs_from_others(door: Door) -> None:
    """Known or unknown, a name has one salt, after a restart too, and in every process of the state."""
    door.create("alice")
    salts: dict[str, set[bytes]] = {}
    for name in ("alice", "bob", "mallory", "x" * 500, "süß"):
        for _ in range(3):
            verifiers = logins_of(door).scram.begin(name)
            salts.setdefault(name, set()).add(verifiers.salt.salt)
    assert {len(one) for one in salts.values()} == {1}
    assert len(set.union(*salts.values())) == 5
    assert {len(salt) for one in salts.values() for salt in one} == {16}


def test_names_cost_the_same_reads_and_the_same_work(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the messages the state is asked the same number of questions, and one proof is checked."""
    door.create("alice")
    asked: list[str] = []
    event.listen(door.state.engine, "before_cursor_execute", lambda *all_: asked.append(all_[2]))
    verify = Challenge.verify

    def counted(challenge: Challenge, last: bytes) -> ClientProof:
        asked.append("verify")
        return verify(challenge, last)

    monkeypatch.setattr(Challenge, "verify", counted)
    costs = []
    for name in ("alice", "bob", "mallory"):
        before = len(asked)
        come(logins_of(door), name, new_key().reveal())
        costs.append(asked[before:])
    assert costs[0] == costs[1] == costs[2]
    assert sum("scram_salts" in one for one in costs[0]) == 1
    assert costs[0].count("verify") == 1


def test_failures_of_all_doors_count_together(door: Door) -> None:
    """REST and the wire share one count: what one saw, the other throttles."""
    away = turning_away_of(door, FailureLimits(address=4, name=100, together=100))
    rest = KeyAuthenticator(door.state.engine, door.subjects.get, away, now=door.clock.wall)
    logins = logins_of(door, away)
    good = door.create("alice").key.reveal()
    codes = []
    for _ in range(3):
        with pytest.raises(Exception) as refused:  # noqa: PT011  # its code is looked at
            rest.authenticate(new_key().reveal(), address=HERE, front_end="rest")
        codes.append(refused.value.args[0])
        codes.append(error_of(come(logins, "alice", "guess")[1])["D"][:5])
    assert codes == ["GW702"] * 4 + ["GW703"] * 2
    last = error_of(come(logins, "alice", "guess")[1])
    assert (last["C"], last["M"]) == ("53300", "too many failed log-ins")
    assert isinstance(come(logins, "alice", good)[0].outcome, LoggedInClient)
    assert [one["about"]["front_end"] for one in door.recorded("login_refused")] == [
        *("rest", "pgwire") * 2,
        "rest",
    ]


def test_claimed_name_is_kept_in_part(door: Door) -> None:
    """A name of thousands of letters is refused like any other, and does not fill the trail."""
    _, answer = come(logins_of(door), "m" * 5000, "guess")
    assert error_of(answer)["C"] == "28P01"
    (record,) = door.recorded("login_refused")
    assert record["about"]["claimed"] == "m" * 128


def test_use_of_a_key_is_noted(door: Door) -> None:
    """A key that let somebody in was used, one that did not was not."""
    good, other = door.create("alice").key, door.create("bob").key
    come(logins_of(door), "alice", good.reveal())
    come(logins_of(door), "alice", other.reveal())
    with door.state.engine.connect() as connection:
        assert [row.id for row in connection.execute(select(key_uses))] == [good.id]


def test_key_that_is_revoked_between_the_messages_lets_nobody_in(door: Door) -> None:
    """The proof is good, the key is not any more: it is read again."""
    key = door.create().key
    client, scram = wire(logins_of(door)), Scram(key.reveal())
    client.give(startup(user="alice"))
    challenge = client.give(scram.first())
    door.revoke(key.id)
    assert error_of(client.give(scram.final(challenge)))["C"] == "28P01"
    assert client.outcome is None


def test_state_that_is_gone_is_nobodys_wrong_password(door: Door) -> None:
    """Nobody comes in, and nobody is told that a key is wrong."""
    nowhere = engine_for("postgresql://nobody@127.0.0.1:1/none")
    client = wire(logins_of(door, engine=nowhere))
    client.give(startup(user="alice"))
    fields = error_of(client.give(Scram("x").first()))
    assert (fields["S"], fields["C"], fields["D"][:5]) == ("FATAL", "58000", "GW601")
    nowhere.dispose()


# what a client may try in place of its first and its last message
FIRST_TRIES: Mapping[str, bytes] = {
    "a query": message("Q", b"SELECT 1\0"),
    "a parse": message("P", b"\0SELECT 1\0\0\0"),
    "a sync": message("S"),
    "a password as it is": message("p", b"secret\0"),
    "no mechanism": message("p", b""),
    "an empty mechanism": initial(b"", b"n,,n=,r=x"),
    "the binding mechanism": initial(b"SCRAM-SHA-256-PLUS", b"p=tls-server-end-point,,n=,r=x"),
    "another mechanism": initial(b"PLAIN", b"\0alice\0secret"),
    "the mechanism alone": initial(b"SCRAM-SHA-256", None),
    "an empty first message": initial(b"SCRAM-SHA-256", b""),
    "a binding that was not offered": initial(b"SCRAM-SHA-256", b"p=tls-unique,,n=,r=x"),
    "another name": initial(b"SCRAM-SHA-256", b"n,a=bob,n=,r=x"),
    "no nonce": initial(b"SCRAM-SHA-256", b"n,,n=,r="),
    "a mandatory extension": initial(b"SCRAM-SHA-256", b"n,,m=x,n=,r=x"),
    "not UTF-8": initial(b"SCRAM-SHA-256", b"n,,n=\xff,r=x"),
    "the last message at once": message("p", b"c=biws,r=x,p=" + b"A" * 43 + b"="),
    "a length beyond its end": message("p", b"SCRAM-SHA-256\0\x7f\xff\xff\xffn,,"),
    "a length below nothing": message("p", b"SCRAM-SHA-256\0\xff\xff\xff\xfen,,"),
    "a message of a gigabyte": b"p" + struct.pack("!I", 1 << 30),
    "a message of no length": b"p" + struct.pack("!I", 3),
    "the wish for TLS": SSL_REQUEST,
}


@pytest.mark.parametrize("which", FIRST_TRIES)
@pytest.mark.parametrize("name", ["alice", "mallory"])
def test_nothing_but_the_first_message_is_taken_for_it(door: Door, which: str, name: str) -> None:
    """Whatever else comes ends the connection, for known and unknown names alike."""
    door.create("alice")
    client = wire(logins_of(door))
    client.give(startup(user=name))
    fields = error_of(client.give(FIRST_TRIES[which]))
    assert (fields["S"], fields["C"]) == ("FATAL", "08P01")
    assert (client.over, client.outcome) == (True, None)
    assert "secret" not in repr(fields)


LAST_TRIES: Mapping[str, Callable[[bytes], bytes]] = {
    "a query": lambda _: message("Q", b"SELECT 1\0"),
    "nothing in it": lambda _: message("p"),
    "the first message again": lambda _: Scram("x").first(),
    "no proof": lambda good: good[: good.index(b",p=")],
    "an empty proof": lambda good: good[: good.index(b",p=")] + b",p=",
    "a short proof": lambda good: good[: good.index(b",p=")] + b",p=AAAA",
    "another nonce": lambda good: good.replace(b"r=rOpr", b"r=rOpx"),
    "the client's nonce alone": lambda good: (
        good[: good.index(b"r=")] + b"r=rOprNGfwEbeRWgbNEkqO" + good[good.index(b",p=") :]
    ),
    "another binding": lambda good: good.replace(b"c=biws", b"c=eSws"),
    "a message of a gigabyte": lambda _: b"p" + struct.pack("!I", 1 << 30),
}


def _relabelled(sent: bytes) -> bytes:
    """A message whose body was changed, with its length set right."""
    return sent if sent[:1] != b"p" or len(sent) == 5 else message("p", sent[5:])


@pytest.mark.parametrize("which", LAST_TRIES)
def test_nothing_but_a_proof_is_taken_for_it(door: Door, which: str) -> None:
    """With a good key, a last message of another form does not let in."""
    client, scram = wire(logins_of(door)), Scram(door.create().key.reveal())
    client.give(startup(user="alice"))
    good = scram.final(client.give(scram.first()))
    fields = error_of(client.give(_relabelled(LAST_TRIES[which](good))))
    assert (fields["S"], fields["C"]) == ("FATAL", "08P01")
    assert (client.over, client.outcome) == (True, None)


def test_proof_of_an_earlier_log_in_proves_nothing(door: Door) -> None:
    """Who heard a log-in and says the same again meets another nonce."""
    key = door.create().key.reveal()
    overheard, scram = wire(logins_of(door)), Scram(key)
    overheard.give(startup(user="alice"))
    last = scram.final(overheard.give(scram.first()))
    overheard.give(last)
    assert isinstance(overheard.outcome, LoggedInClient)
    again = wire(logins_of(door))
    again.give(startup(user="alice"))
    again.give(scram.first())
    assert error_of(again.give(last))["C"] == "08P01"
    assert again.outcome is None
    changed = wire(logins_of(door))
    changed.give(startup(user="alice"))
    nonce = told(changed.give(scram.first()))[0][1][4:].split(b",")[0]
    place = last.index(b"r=")
    renamed = last[5:place] + nonce + last[last.index(b",p=") :]
    assert error_of(changed.give(message("p", renamed)))["C"] == "28P01"
    assert changed.outcome is None


def test_nonces_are_never_the_same(door: Door) -> None:
    """The server's part is new for each log-in, for one client and for all."""
    nonces = []
    for _ in range(20):
        client, scram = wire(logins_of(door)), Scram("guess")
        client.give(startup(user="alice"))
        scram.final(client.give(scram.first()))
        nonces.append(scram.challenge["r"])
    assert all(a != b for a, b in pairwise(sorted(nonces)))


def test_log_in_sent_blindly_does_not_let_in(door: Door) -> None:
    """All messages at once, as if the server had said yes each time, end at the first that is wrong."""
    client = wire(logins_of(door))
    blind = Scram("x").first() + message("p", b"c=biws,r=x,p=" + b"A" * 43 + b"=")
    answer = client.give(startup(user="alice") + blind + message("Q", b"SELECT 1\0"))
    assert error_of(answer)["C"] == "08P01"
    assert client.outcome is None


TOKEN = {"user": "alice", "options": "-c gateway.login=token"}


def test_token_is_asked_for_inside_tls_alone(door: Door) -> None:
    """In the clear the password is not even asked for, and the hint says what to do."""
    client = wire(logins_of(door), tls=True)
    fields = error_of(client.give(startup(**TOKEN)))
    assert (fields["S"], fields["C"], client.outcome) == ("FATAL", "28000", None)
    assert "sslmode=require" in fields["H"]
    assert fields["D"].startswith("GW701: ")


@pytest.mark.parametrize("begun", [False, True])
def test_key_as_it_is_lets_in_inside_tls(door: Door, *, begun: bool) -> None:
    """The seam takes what a log-in takes; today that is an API key of the subject's own."""
    key = door.create("alice").key
    client = wire(logins_of(door), tls=True, secure=begun)
    if not begun:
        assert client.give(SSL_REQUEST) == b"S"
    assert told(client.give(startup(**TOKEN))) == [("R", b"\0\0\0\x03")]
    assert told(client.give(message("p", key.reveal().encode() + b"\0"))) == [("R", b"\0\0\0\0")]
    assert client.outcome == LoggedInClient("alice", Subject("alice"), key.id, "alice", {}, 0, True)


@pytest.mark.parametrize("which", REFUSED)
def test_all_whose_password_is_refused_hear_the_same(door: Door, which: str) -> None:
    """Inside TLS, too, nothing is said of why."""
    name, password = REFUSED[which](door)
    client = wire(logins_of(door), secure=True)
    client.give(startup(**{**TOKEN, "user": name}))
    fields = error_of(client.give(message("p", password.encode() + b"\0")))
    assert (fields["C"], fields["D"]) == ("28P01", "GW702: the API key is not valid")
    assert fields["M"] == 'password authentication failed for user "alice"'
    assert (client.over, client.outcome) == (True, None)


@pytest.mark.parametrize(
    "body", [b"", b"no end", b"two\0parts\0", b"\xff\0", b"SCRAM-SHA-256\0\0\0\0\0"]
)
def test_password_of_another_form_is_refused(door: Door, body: bytes) -> None:
    """One string and its end, and nothing else."""
    client = wire(logins_of(door), secure=True)
    client.give(startup(**TOKEN))
    assert error_of(client.give(message("p", body)))["C"] == "08P01"
    assert client.outcome is None


def test_refusals_of_the_state_reach_the_client(door: Door) -> None:
    """What a look-up raises is thrown into the conversation, and said."""
    logins = logins_of(door)
    steps = log_in(logins, address=HERE, tls=False)
    assert next(steps) is not None
    steps.send(startup(user="alice"))
    next(steps)
    steps.send(Scram("x").first())
    said = steps.throw(BackendUnavailable(Code.STATE_UNAVAILABLE))
    assert error_of(said.data)["C"] == "58000"  # type: ignore[union-attr]  # it is what is sent
