"""`gateway demo`: data, policies and keys of the demo, and the real gateway on them."""

import fcntl
import json
import os
import shutil
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, closing, contextmanager, suppress
from dataclasses import dataclass
from datetime import datetime
from http.client import HTTPException
from pathlib import Path
from socket import socket

from gateway.admin.check_policies import reload_on_change
from gateway.admin.instance import Foundation, open_foundation, operator_name
from gateway.admin.key_actions import create_key
from gateway.app import (
    gateway_api,
    open_policies,
    open_query_service,
    open_twin_of,
    query_api,
    serve_wire,
    wait_ender,
)
from gateway.auth.key_store import KeyOrder
from gateway.config import Settings, SettingsConflict, load_settings
from gateway.demo.tour import walk_tour
from gateway.errors import Code, GatewayError, OperatorError
from gateway.events import Emit, Event, Level
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.listen import StopSignal, bind_socket, serve_until
from gateway.policy.in_force import CurrentPolicies
from gateway.policy.subjects import Subject, load_subjects
from gateway.postgres_server import discard_home
from gateway.sample import Clinic, load_into_duckdb
from gateway.telemetry.logs import log_events
from gateway.telemetry.metrics import Metrics, log_and_count
from gateway.trail.record import utc_now


@dataclass(frozen=True)
class DemoPaths:
    """The files of the demo, which git ignores."""

    directory: Path

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def clinic(self) -> Path:
        return self.directory / "clinic.duckdb"

    @property
    def url(self) -> str:
        """The clinic as a policy names it."""
        return f"duckdb:///{self.clinic}"

    @property
    def notes(self) -> Path:
        return self.directory / "demo.json"


@contextmanager
def lock_directory(places: DemoPaths) -> Iterator[None]:
    """Create the directory and keep other demos out of it; the kernel releases the lock if the process is
    killed.
    """
    try:
        mode = 0o711 if os.geteuid() == 0 else 0o700
        places.directory.mkdir(mode=mode, exist_ok=True)
        # a link would lead `clear_demo` to files that are not ours
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        held = os.open(places.directory, flags)
    except OSError as error:
        raise _unusable(places, error) from None
    try:
        _lock(held, places)
        yield
    finally:
        os.close(held)


def clear_demo(places: DemoPaths, programs_bin: Path | None) -> None:
    """Remove the last demo."""
    discard_home(places.home, programs_bin)
    try:
        for left in places.directory.iterdir():
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()
    except OSError as error:
        raise _unusable(places, error) from None


def load_clinic(places: DemoPaths) -> Clinic:
    """Write the sample clinic as a DuckDB file."""
    clinic = Clinic()
    load_into_duckdb(clinic, places.clinic)
    return clinic


def policies_of(foundation: Foundation, places: DemoPaths, emit: Emit) -> CurrentPolicies:
    """The policies in force, with the clinic as their source; their accounts are open."""
    return open_policies(foundation, emit, {**os.environ, "CLINIC_URL": places.url})


def make_keys(foundation: Foundation, now: datetime) -> dict[str, str]:
    """A key for every subject of the policies."""
    subjects: Mapping[str, Subject] = load_subjects(foundation.settings.policies)
    keys = {}
    for name in subjects:
        order = KeyOrder(name, operator_name(), now)
        create_key(foundation.journal, foundation.trail, order, subjects.__contains__)
        keys[name] = order.key.reveal()
    return keys


def write_notes(
    places: DemoPaths, url: str, wire: str, keys: Mapping[str, str], settings: Settings
) -> None:
    """Write URLs and keys for people and scripts; readable by the owner alone."""
    home = str(settings.home)
    notes = {"rest_url": url, "pg_url": wire, "home": home, "keys": dict(keys)}
    file = os.open(places.notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w") as handle:
        json.dump(notes, handle, indent=2)
        handle.write("\n")


def _lock(held: int, places: DemoPaths) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OperatorError(
            Code.HOME_UNUSABLE, f"another demo is running in `{places.directory}`", "stop it first"
        ) from None


def _unusable(places: DemoPaths, error: OSError) -> OperatorError:
    return OperatorError(
        Code.HOME_UNUSABLE,
        f"`{places.directory}`: {error.strerror or error}",
        "run the demo in a directory that you may write to",
    )


_PORTS_TRIED = 50
_REST_PORT = 8080
_PG_PORT = 5433
_BODY = '{"sql": "SELECT region, COUNT(*) FROM patients GROUP BY region"}'


@dataclass(frozen=True)
class DemoOptions:
    """Options of the command line; None means the default."""

    serve: bool
    rest_port: int | None
    pg_port: int | None


@dataclass(frozen=True)
class _Stage:
    """The directories, ports and keys of this demo."""

    places: DemoPaths
    settings: Settings
    listener: socket
    wire: socket
    url: str

    def wire_url(self, name: str = "") -> str:
        """The URL for PostgreSQL clients, with a subject's key."""
        return f"postgresql://{name}@127.0.0.1:{self.settings.pg_port}/clinic"


def run_demo(wishes: DemoOptions, stop: StopSignal) -> int:
    """The whole demo; 0 when the tour went as it should."""
    places = DemoPaths(Path(".demo").absolute())
    given = load_settings()
    with (
        lock_directory(places),
        _listener(wishes.rest_port, _REST_PORT, "--rest-port") as listener,
        _listener(wishes.pg_port, _PG_PORT, "--pg-port") as wire,
    ):
        clear_demo(places, given.postgres_bin)
        host, port = listener.getsockname()[:2]
        settings = SettingsConflict(
            home=places.home,
            policies=given.policies,
            postgres_bin=given.postgres_bin,
            rest_port=port,
            pg_port=wire.getsockname()[1],
        )
        stage = _Stage(places, settings, listener, wire, f"http://{host}:{port}")
        return _play(stage, wishes, stop)


def _play(stage: _Stage, wishes: DemoOptions, stop: StopSignal) -> int:
    clinic = load_clinic(stage.places)
    _say(f"loaded the sample clinic: {clinic.patients:,} patients, {clinic.visits:,} visits")
    metrics = Metrics()
    emit = log_and_count(_problems_alone(log_events(stage.settings.log_format)), metrics.count)
    with ExitStack() as opened:
        twin = opened.enter_context(open_twin_of(stage.settings, emit))
        foundation = opened.enter_context(open_foundation(stage.settings, emit))
        now = utc_now()
        policies = policies_of(foundation, stage.places, emit)
        # a terminal that closes sends SIGHUP, and has to end the demo
        opened.enter_context(reload_on_change(policies, stage.settings.policies, on_signal=False))
        twin.wait_until_started()
        asking = opened.enter_context(
            closing(open_query_service(foundation, policies, twin, "rest", emit))
        )
        opened.enter_context(closing(foundation.workers))
        wire = opened.enter_context(serve_wire(foundation, policies, asking, stage.wire, emit))
        questions = query_api(asking)
        keys = make_keys(foundation, now)
        write_notes(stage.places, stage.url, stage.wire_url("alice"), keys, stage.settings)
        app = create_app(
            gateway_api(foundation, metrics, emit, policies, twin=twin, questions=questions)
        )
        guide = _Guide(wishes, stop, stage, keys)
        guide.start()
        serve_until(
            stop,
            app,
            stage.listener,
            stage.settings,
            wait_ender(foundation, asking),
            also=wire.stop,
        )
        stage.listener.close()  # whoever still waits for us, the guide too, hears so at once
        guide.join()
    return guide.code


class _Guide(threading.Thread):
    """Makes the tour while the gateway serves."""

    def __init__(
        self, wishes: DemoOptions, stop: StopSignal, stage: _Stage, keys: dict[str, str]
    ) -> None:
        super().__init__(name="tour")
        self._wishes = wishes
        self._stop_serving = stop
        self._url = stage.url
        self._wire = stage.wire_url("alice")
        self._keys = keys
        self.code = 1

    def run(self) -> None:
        try:
            walk_tour(self._url, self._wire, self._keys, _say)
            self._leave_notes()
            self.code = 0
        except (GatewayError, OSError, HTTPException, ValueError, KeyError) as error:
            if not self._stop_serving.asked:
                print(f"the tour ended early: {error}", file=sys.stderr)
        finally:
            if self.code or not self._wishes.serve:
                self._stop_serving.ask()

    def _leave_notes(self) -> None:
        _say(f"\nREST      {self._url}   (documentation: {self._url}/docs)")
        _say(f"SQL       {self._wire}   (the password is the key)")
        _say("keys      .demo/demo.json, or here:")
        for name, key in self._keys.items():
            _say(f"  {name:8}{key}")
        _say(f"try       curl -H 'Authorization: Bearer {self._keys['alice']}' \\")
        _say(f"            {self._url}/v1/query -d '{_BODY}'")
        _say(f"or        PGPASSWORD={self._keys['alice']} \\")
        _say(f"            psql {self._wire}")
        if self._wishes.serve:
            _say("\nserving until Ctrl-C")


def _listener(port: int | None, usual: int, option: str) -> socket:
    """The requested port, or the first free one from the usual port on."""
    if port is not None:
        return bind_socket("127.0.0.1", port, option)
    for candidate in range(usual, usual + _PORTS_TRIED):
        with suppress(OperatorError):
            return bind_socket("127.0.0.1", candidate, option)
    return bind_socket("127.0.0.1", 0, option)


def _problems_alone(log: Emit) -> Emit:
    """Log problems alone: the tour causes refusals on purpose and prints them itself."""

    def emit(event: Event) -> None:
        if event.level is Level.ERROR:
            log(event)

    return emit


def _say(line: str) -> None:
    print(line, flush=True)


def wants_to_stay(*, serve: bool, leave: bool) -> bool:
    """True if the demo keeps serving: by option, otherwise if the terminal is interactive."""
    return serve or (not leave and os.isatty(0))
