"""A gateway in this process, and one that serves REST, on a source that is given."""

import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field
from functools import wraps
from pathlib import Path
from typing import Any

import httpx
from answers_data import write_policies
from sqlalchemy import URL

from gateway import pipeline
from gateway.admin.instance import open_foundation
from gateway.app import open_policies, open_query_service, open_twin_of
from gateway.cancellation import CancelEvent
from gateway.config import SettingsConflict
from gateway.policy.subjects import Subject
from gateway.query_service import QueryService
from gateway.requests.request import Answer, Request
from gateway.stages import charge, prepare, quote
from gateway.stages import execute as executing

_LIMIT_S = 600.0
# the stages of an answer, by where the pipeline finds them
_STAGES = {
    "bind": (pipeline, "bind_query"),
    "analyze": (pipeline, "analyze_query"),
    "quote": (pipeline, "quote_query"),
    "rehearse": (quote, "rehearse"),
    "charge": (charge, "charge_query"),
    "prepare": (prepare.SourceAccess, "prepare"),
    "source": (prepare.SourceAccess, "run"),
    "noise": (executing, "add_noise"),
    "histograms": (prepare.SourceAccess, "count"),
    "choices": (executing, "add_choices"),
    "release as text": (executing, "release_constant"),
    "finish": (pipeline, "finish_query"),
}


@dataclass
class Answering:
    asking: QueryService
    subject: Subject
    spent: dict[str, float] = field(default_factory=dict)

    def ask(self, sql: str) -> Answer:
        return self.asking.answer(self.subject, Request(sql), CancelEvent())

    def raw(self, sql: str) -> None:
        (one,) = self.asking.served.all().values()
        there: Any = one.source.database
        with there.connections.engine.connect() as connection:
            connection.exec_driver_sql(sql).fetchall()


@contextmanager
def answering(url: URL, policy: str) -> Iterator[Answering]:
    """Everything that an answer goes through but the wire."""
    with _home(url, policy) as home:
        settings = SettingsConflict(
            home=home / "home", policies=home / "policies", statement_timeout=_LIMIT_S
        )
        with open_foundation(settings) as foundation, open_twin_of(settings) as twin:
            policies = open_policies(foundation)
            twin.wait_until_started()
            with closing(open_query_service(foundation, policies, twin, "rest")) as asking:
                yield Answering(asking, policies.value.subjects["alice"])


@contextmanager
def stages(answering: Answering) -> Iterator[None]:
    """What every stage takes is added up in `spent`, in milliseconds."""
    before = {name: getattr(*where) for name, where in _STAGES.items()}

    def timed(name: str, work: Callable[..., object]) -> Callable[..., object]:
        @wraps(work)
        def run(*given: object, **named: object) -> object:
            began = time.perf_counter()
            try:
                return work(*given, **named)
            finally:
                took = (time.perf_counter() - began) * 1000
                answering.spent[name] = answering.spent.get(name, 0) + took

        return run

    try:
        for name, (owner, attribute) in _STAGES.items():
            setattr(owner, attribute, timed(name, before[name]))
        yield
    finally:
        for name, (owner, attribute) in _STAGES.items():
            setattr(owner, attribute, before[name])


@contextmanager
def serving_rest(url: URL, policy: str) -> Iterator[Callable[[str], None]]:
    """`gateway serve` in a process of its own, asked over one connection."""
    with _home(url, policy) as home:
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        given = {
            "GATEWAY_HOME": str(home / "home"),
            "GATEWAY_POLICIES": str(home / "policies"),
            "GATEWAY_REST_PORT": str(port),
            "GATEWAY_PG_PORT": "0",
        }
        environment, gateway = {**os.environ, **given}, [sys.executable, "-m", "gateway"]
        key = subprocess.run(
            [*gateway, "key", "create", "alice"],
            env=environment,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
        server = subprocess.Popen(
            [*gateway, "serve"],
            env=environment,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{port}",
                headers={"Authorization": f"Bearer {key}"},
                timeout=60,
            ) as client:

                def ask(sql: str) -> None:
                    client.post("/v1/query", json={"sql": sql}).raise_for_status()

                _wait_until_ready(client, server)
                yield ask
        finally:
            server.terminate()
            server.wait(30)


def _wait_until_ready(client: httpx.Client, server: "subprocess.Popen[bytes]") -> None:
    for _ in range(300):
        if server.poll() is not None:
            raise httpx.ConnectError("the gateway ended")
        try:
            if client.get("/readyz").status_code == httpx.codes.OK:
                return
        except httpx.ConnectError:
            pass
        time.sleep(0.1)
    raise httpx.ConnectError("the gateway does not answer")


@contextmanager
def _home(url: URL, policy: str) -> Iterator[Path]:
    home = Path(tempfile.mkdtemp(prefix="bench-answers-"))
    home.chmod(0o711)
    os.environ["SOURCE_URL"] = url.render_as_string(hide_password=False)
    try:
        write_policies(home / "policies", policy)
        yield home
    finally:
        shutil.rmtree(home)
