"""`gateway serve` comes up whole and goes down whole, whenever and however it is told to."""

import os
import signal
import socket
import threading
import time
from collections.abc import Callable
from pathlib import Path

import httpx
import pytest
from fix_gateway import (
    POLICY_SUBJECTS,
    Installation,
    Serving,
    environment,
    gateway,
    no_gateway,
    superuser_engine,
)
from fix_postgres_server import ends, gone, twin_server
from sqlalchemy import text

Begin = Callable[..., Serving]
STOPS = [signal.SIGTERM, signal.SIGINT]


def embedded(home: Path) -> dict[str, str]:
    """A gateway that keeps a server of its own."""
    policies = home.parent / "policies"
    policies.mkdir(exist_ok=True)
    (policies / "subjects.yaml").write_text(POLICY_SUBJECTS)
    return {**no_gateway(), "GATEWAY_HOME": str(home), "GATEWAY_POLICIES": str(policies)}


def state_server(home: Path) -> int:
    """The pid of the server of an embedded state."""
    location = home / "state" / "location"
    place = Path(location.read_text().strip()) if location.exists() else home / "state" / "postgres"
    return int((place / "data" / "postmaster.pid").read_text().split()[0])


@pytest.mark.parametrize("stop", STOPS)
def test_gateway_ends_with_0_when_it_is_told_to_stop(
    installation: Installation, serve: Begin, stop: signal.Signals
) -> None:
    """A service manager's signal and Ctrl-C end an idle gateway and its twin at once, and it says so."""
    serving = serve(env=environment(installation))
    assert httpx.get(f"{serving.url()}/readyz").status_code == 200
    assert "twin.started" in [line["event"] for line in serving.log]
    twin = twin_server(serving.process.pid)
    serving.tell(stop)
    assert serving.ended() == 0
    assert ends(twin)
    assert "twin.lost" not in [line["event"] for line in serving.log]
    assert serving.log[-1]["event"] == "gateway.stopping"
    assert serving.log[-1]["because"] == "a signal"


def test_gateway_ends_with_0_when_it_is_told_to_stop_twice(
    installation: Installation, serve: Begin
) -> None:
    """An impatient second signal does not cut the end short."""
    serving = serve(env=environment(installation))
    serving.url()
    for stop in (*STOPS, *STOPS):
        serving.tell(stop)
    assert serving.ended() == 0


def test_gateway_replaces_its_twin_when_it_dies(installation: Installation, serve: Begin) -> None:
    """A twin that is killed is told of and replaced, and the gateway is ready again."""
    serving = serve(env=environment(installation))
    url = serving.url()
    twin = twin_server(serving.process.pid)
    os.kill(twin, signal.SIGKILL)
    assert serving.wait_for("twin.lost")["level"] == "warning"
    deadline = time.monotonic() + 30  # a bound on waiting for ever
    while (answer := httpx.get(f"{url}/readyz")).status_code != 200:
        assert answer.json()["code"] == "GW608"
        assert time.monotonic() < deadline
        time.sleep(0.05)
    again = twin_server(serving.process.pid)
    assert again != twin
    serving.process.kill()
    serving.process.wait(timeout=30)
    while not gone(again):  # a gateway that is killed takes its twin along
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_gateway_does_not_start_when_its_twin_cannot(
    installation: Installation, tmp_path: Path
) -> None:
    """One line says that the programs to embed are of no use, also when the state is elsewhere."""
    done = gateway("serve", "--postgres-bin", str(tmp_path), env=environment(installation))
    assert done.code == 1
    assert done.err.splitlines()[0].startswith("gateway: GW804: ")
    assert str(tmp_path) in done.err


def test_gateway_ends_when_a_connection_stays_open(
    installation: Installation, serve: Begin
) -> None:
    """A client that keeps its connection, or half a request, does not keep the gateway."""
    serving = serve(env=environment(installation))
    url = httpx.URL(serving.url())
    with (
        httpx.Client(base_url=url) as kept,
        socket.create_connection((url.host, url.port or 0)) as half,
    ):
        assert kept.get("/healthz").status_code == 200
        half.sendall(b"GET /healthz HTTP/1.1\r\nHost: x\r\n")
        serving.tell(signal.SIGTERM)
        assert serving.ended() == 0


@pytest.mark.parametrize("blocked", ["api_keys", "trail_records"])
def test_gateway_ends_when_a_request_is_slow(
    installation: Installation, serve: Begin, blocked: str
) -> None:
    """A request that waits for the state is given a moment and then given up, not waited for.

    `api_keys` blocks a reader, `trail_records` the journal, in the middle of its commit.
    """
    with installation.open() as clerk:
        clerk.open_books()
        key = clerk.key("alice").key.reveal()
    env = environment(installation)
    serving = serve(env=env)
    url = serving.url()
    engine = superuser_engine(installation.server, str(installation.urls.application.database))
    answers: list[int] = []

    def ask() -> None:
        with httpx.Client(timeout=60) as client:
            try:
                credential = key if blocked == "api_keys" else "wrong"
                headers = {"Authorization": f"Bearer {credential}"}
                answers.append(client.get(f"{url}/v1/budget", headers=headers).status_code)
            except httpx.HTTPError:
                answers.append(0)

    with engine.begin() as connection:
        connection.execute(text(f"LOCK TABLE {blocked} IN ACCESS EXCLUSIVE MODE"))
        asking = [threading.Thread(target=ask) for _ in range(3)]
        for one in asking:
            one.start()
        _wait_for_blocked(installation, blocked)
        assert not answers  # the control: they are under way
        serving.tell(signal.SIGTERM)
        assert serving.ended(within=30) == 0
        for one in asking:
            one.join()
    engine.dispose()
    # told, or cut off when the machine is too busy to tell everybody in time; never answered
    assert set(answers) <= ({0, 503} if blocked == "api_keys" else {0, 401, 503})
    assert len(answers) == 3
    assert installation.verdict().intact


def test_gateway_ends_with_2_when_the_port_is_taken(installation: Installation) -> None:
    """One line says which port and which setting, before the state is opened."""
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = gateway("serve", "--rest-port", str(port), env=environment(installation))
    assert done.code == 2
    assert done.err.splitlines()[0].startswith("gateway: GW802: ")
    assert f"127.0.0.1:{port}: Address already in use" in done.err
    assert "GATEWAY_REST_PORT" in done.err
    assert len(done.err.splitlines()) == 2


def test_gateway_listens_on_ipv6_when_it_is_told_to(
    installation: Installation, serve: Begin
) -> None:
    """The address it tells is one that a client can use."""
    serving = serve("--rest-host", "::1", env=environment(installation))
    url = serving.url()
    assert url.startswith("http://[::1]:")
    assert httpx.get(f"{url}/healthz").status_code == 200


def test_gateway_speaks_tls_when_it_has_a_certificate(
    installation: Installation, serve: Begin
) -> None:
    """With certificate and key the port speaks TLS, and TLS alone."""
    certificates = Path(__file__).with_name("certificates")
    serving = serve(
        *("--tls-cert", str(certificates / "cert.pem"), "--tls-key", str(certificates / "key.pem")),
        env=environment(installation),
    )
    url = serving.url()
    assert url.startswith("https://")
    assert httpx.get(f"{url}/healthz", verify=False).status_code == 200  # noqa: S501  # a test's own
    with pytest.raises(httpx.HTTPError):
        httpx.get(f"{url.replace('https', 'http')}/healthz")


def test_gateway_takes_no_command_line_secret(installation: Installation, serve: Begin) -> None:
    """Neither the process list nor the log shows a password or a key."""
    env = environment(installation)
    serving = serve(env=env)
    url = serving.url()
    httpx.get(f"{url}/v1/budget", headers={"Authorization": f"Bearer gwk_{'a' * 12}_{'B' * 43}"})
    shown = Path(f"/proc/{serving.process.pid}/cmdline").read_bytes().decode()
    serving.tell(signal.SIGTERM)
    assert serving.ended() == 0
    password = installation.urls.application.password
    assert password
    for text_ in (shown, str(serving.log)):
        assert str(password) not in text_
        assert env["GATEWAY_AUDIT_KEY"] not in text_
        assert "BBBB" not in text_


# ---- with a server of its own ----


def test_gateway_takes_its_state_down_with_it_when_it_is_the_last(
    used_home: Path, serve: Begin
) -> None:
    """The first of two gateways leaves the state up for the other, the last takes it down."""
    first, second = (serve(env=embedded(used_home)) for _ in range(2))
    urls = [first.url(), second.url()]
    server = state_server(used_home)
    first.tell(signal.SIGTERM)
    assert first.ended() == 0
    assert not gone(server)
    assert httpx.get(f"{urls[1]}/readyz").status_code == 200
    second.tell(signal.SIGINT)
    assert second.ended() == 0
    assert ends(server)


def test_gateway_starts_again_when_it_was_killed(used_home: Path, serve: Begin) -> None:
    """After kill -9 the next start finds everything as it was, and ends with nothing left."""
    env = embedded(used_home)
    done = gateway("key", "create", "carol", env=env)
    assert (done.code, done.err) == (0, "")
    first = serve(env=env)
    first.url()
    first.process.kill()
    first.process.wait(timeout=30)
    second = serve(env=env)
    headers = {"Authorization": f"Bearer {done.out.strip()}"}
    answer = httpx.get(f"{second.url()}/v1/audit/verify", headers=headers)
    assert answer.json()["intact"] is True
    servers = [state_server(used_home), twin_server(second.process.pid)]
    second.tell(signal.SIGTERM)
    assert second.ended() == 0
    assert [ends(server) for server in servers] == [True, True]
    assert {left.name for left in (used_home / "twin").iterdir()} <= {"start.lock"}


@pytest.mark.parametrize(
    ("stop", "moment"),
    [
        (signal.SIGTERM, "state"),
        (signal.SIGINT, "state/superuser"),
        (signal.SIGTERM, "anchor.lock"),
    ],
)
def test_gateway_ends_with_0_when_it_is_told_to_stop_while_it_starts(
    home: Path, serve: Begin, stop: signal.Signals, moment: str
) -> None:
    """A stop that comes amid the first start is not lost, and leaves no server behind."""
    env = embedded(home)
    serving = serve(env=env)
    deadline = time.monotonic() + 30
    while not (home / moment).exists():
        assert time.monotonic() < deadline
        assert serving.process.poll() is None
        time.sleep(0.002)
    serving.tell(stop)
    assert serving.ended(within=15) == 0
    place = home / "state" / "location"
    server_lock = Path(place.read_text().strip()) if place.exists() else home / "state/postgres"
    assert not (server_lock / "data" / "postmaster.pid").exists()
    assert {left.name for left in (home / "twin").iterdir()} <= {"start.lock"}
    again = serve(env=env)
    assert httpx.get(f"{again.url()}/readyz").status_code == 200


def _wait_for_blocked(installation: Installation, table: str) -> None:
    """Until somebody waits for this table."""
    deadline = time.monotonic() + 20
    while not installation.rows(
        "SELECT FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
    ):
        assert time.monotonic() < deadline, table
        time.sleep(0.05)
