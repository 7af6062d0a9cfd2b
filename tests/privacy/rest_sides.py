"""Gateways over two clinics that differ in one person, each listening on a port of its own.

Each serves four datasets: on DuckDB and on PostgreSQL, with a ledger in each currency. `processes` are gateways as
an operator starts them; those of `in_threads` listen in the process of the tests, so that a bug can be planted.
"""

import json
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path

from engines.sources import in_duckdb, in_postgresql
from fix_gateway import no_gateway
from fix_state import AUDIT_SECRET, StateServer, settings_on
from privacy.neighbour_clinics import SUBJECTS, policy, statements
from property.schemas import a_database
from pydantic import SecretStr
from sqlalchemy import URL
from warm_python import forks

from gateway.admin.instance import Foundation, open_foundation
from gateway.admin.key_actions import create_key
from gateway.app import gateway_api, open_policies, open_query_api
from gateway.auth.key_store import KeyOrder
from gateway.config import Settings
from gateway.events import Crashed, Event, SourceFailed
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.listen import StopSignal, bind_socket, serve_until
from gateway.postgres_server import Lease
from gateway.telemetry.metrics import Metrics
from gateway.twin import Twin

ENGINES = ("duckdb", "postgresql")
MECHANISMS = ("laplace", "gaussian")
DATASETS = tuple(f"{engine}-{mechanism}" for engine in ENGINES for mechanism in MECHANISMS)
_START_S = 60
_NAMES = ("alice", "carol")


@dataclass(frozen=True)
class Served:
    """A gateway that listens."""

    port: int
    keys: Mapping[str, str] = field(repr=False)


@dataclass(frozen=True)
class RestSides:
    """Two gateways that differ in one person's data."""

    without: Served
    with_person: Served

    @property
    def both(self) -> tuple[Served, Served]:
        return self.without, self.with_person


@dataclass(frozen=True)
class Place:
    """What a gateway of one side stands on."""

    settings: Settings
    environment: Mapping[str, str] = field(repr=False)
    keys: Mapping[str, str] = field(repr=False)


Sources = tuple[Mapping[str, URL], Mapping[str, URL]]


@contextmanager
def neighbouring_sources(server: Lease) -> Iterator[Sources]:
    """For each side a database for each dataset: a source belongs to one ledger."""
    with a_home() as home, ExitStack() as stack:
        made: list[Mapping[str, URL]] = []
        for name, with_person in (("without", False), ("with", True)):
            text, urls = statements(with_person=with_person), {}
            for dataset in DATASETS:
                if dataset.startswith("duckdb"):
                    place = home / name / dataset
                    place.mkdir(parents=True)
                    urls[dataset] = in_duckdb(place, text)
                else:
                    url = stack.enter_context(a_database(server))
                    urls[dataset] = in_postgresql(url, text)
            made.append(urls)
        yield made[0], made[1]


@contextmanager
def processes(server: StateServer, sources: Sources) -> Iterator[RestSides]:
    """`gateway serve`, twice."""
    with ExitStack() as stack:
        places = [stack.enter_context(_a_place(server, urls)) for urls in sources]
        ports = [stack.enter_context(_a_process(place)) for place in places]
        one, other = (
            Served(_port_of(*port), place.keys) for port, place in zip(ports, places, strict=True)
        )
        yield RestSides(one, other)


@contextmanager
def in_threads(server: StateServer, sources: Sources, twin: Twin) -> Iterator[RestSides]:
    """The same gateways, listening in this process."""
    with ExitStack() as stack:
        places = [stack.enter_context(_a_place(server, urls)) for urls in sources]
        one, other = (
            Served(stack.enter_context(_a_thread(place, twin)), place.keys) for place in places
        )
        yield RestSides(one, other)


@contextmanager
def a_home() -> Iterator[Path]:
    """A directory that servers of another OS user can pass through."""
    home = Path(tempfile.mkdtemp(prefix="gw-test-"))
    home.chmod(0o711)
    try:
        yield home
    finally:
        shutil.rmtree(home)


@contextmanager
def _a_place(server: StateServer, urls: Mapping[str, URL]) -> Iterator[Place]:
    with a_home() as home, server.database() as state:
        policies = home / "policies"
        policies.mkdir()
        (policies / "subjects.yaml").write_text(SUBJECTS)
        environment = {}
        for number, (dataset, url) in enumerate(urls.items()):
            variable = f"SOURCE_{number}"
            environment[variable] = url.render_as_string(hide_password=False)
            text = policy(dataset.split("-")[1], dataset=dataset, source=variable)
            (policies / f"{dataset}.yaml").write_text(text)
        secret = SecretStr(AUDIT_SECRET.decode())
        settings = settings_on(state, home / "home", policies=policies, audit_key=secret)
        with open_foundation(settings) as foundation:
            keys = {name: _key(foundation, name) for name in _NAMES}
        yield Place(settings, environment, keys)


def _key(foundation: Foundation, subject: str) -> str:
    order = KeyOrder(subject, "os:op", datetime.now(UTC))
    create_key(foundation.journal, foundation.trail, order, lambda _: True)
    return order.key.reveal()


@contextmanager
def _a_process(place: Place) -> Iterator[tuple[Path, "subprocess.Popen[bytes]"]]:
    """A gateway, and its log; what it could not do is seen there at the end."""
    settings = place.settings
    assert settings.state_url is not None
    environment = {
        **no_gateway(),
        **place.environment,
        "GATEWAY_HOME": str(settings.home),
        "GATEWAY_POLICIES": str(settings.policies),
        "GATEWAY_STATE_URL": settings.state_url.get_secret_value(),
        "GATEWAY_AUDIT_KEY": AUDIT_SECRET.decode(),
        "GATEWAY_REST_PORT": "0",
        "GATEWAY_PG_PORT": "0",
        "GATEWAY_LOG_FORMAT": "json",
    }
    # a file, because nobody reads a pipe while questions are asked
    log = settings.home / "log"
    with log.open("wb") as told, forks():
        process = subprocess.Popen(
            [sys.executable, "-m", "gateway", "serve"],
            env=environment,
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=told,
        )
    try:
        yield log, process
        assert not [one for one in _events(log) if one["event"] in _WRONG], log.read_text()
    finally:
        process.terminate()
        try:
            process.wait(30)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


_WRONG = frozenset({"gateway.crashed", "source.failed"})


def _port_of(log: Path, process: "subprocess.Popen[bytes]") -> int:
    until = time.monotonic() + _START_S
    while time.monotonic() < until and process.poll() is None:
        for event in _events(log):
            if event["event"] == "gateway.started":
                return int(str(event["rest"]).rpartition(":")[2])
        time.sleep(0.05)
    raise AssertionError(f"it does not start: {log.read_text()}")


def _events(log: Path) -> list[Mapping[str, object]]:
    """Whole lines: the last may be under way."""
    lines = log.read_text().split("\n")[:-1]
    return [json.loads(line) for line in lines]


@contextmanager
def _a_thread(place: Place, twin: Twin) -> Iterator[int]:
    told: list[Event] = []
    with (
        open_foundation(place.settings, told.append) as foundation,
        bind_socket("127.0.0.1", 0, "GATEWAY_REST_PORT") as listener,
    ):
        policies = open_policies(foundation, told.append, place.environment)
        with open_query_api(foundation, policies, twin, "rest", told.append) as questions:
            doors = gateway_api(
                foundation, Metrics(), told.append, policies, twin=twin, questions=questions
            )
            stop, app = StopSignal(), create_app(doors)
            given = (stop, app, listener, place.settings, foundation.lines.cut)
            thread = threading.Thread(target=serve_until, args=given)
            thread.start()
            try:
                yield int(listener.getsockname()[1])
            finally:
                stop.ask()
                thread.join()
        assert not [one for one in told if isinstance(one, (Crashed, SourceFailed))], told
