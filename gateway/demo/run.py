"""Demo run: prepare the data, start the gateway, make the tour, and keep serving or end."""

import os
import sys
import threading
from contextlib import ExitStack, closing, suppress
from dataclasses import dataclass
from http.client import HTTPException
from pathlib import Path
from socket import socket

from gateway.admin.instance import open_foundation
from gateway.admin.reload_policies import reload_on_change
from gateway.app import (
    gateway_api,
    open_query_service,
    open_twin_of,
    query_api,
    serve_wire,
    wait_ender,
)
from gateway.config import Settings, SettingsConflict, load_settings
from gateway.demo.setup import (
    DemoPaths,
    clear_demo,
    load_clinic,
    lock_directory,
    make_keys,
    policies_of,
    write_notes,
)
from gateway.demo.tour import walk_tour
from gateway.errors import GatewayError, OperatorError
from gateway.events import Emit, Event, Level
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.listen import StopSignal, bind_socket, serve_until
from gateway.telemetry.logs import log_events
from gateway.telemetry.metrics import Metrics, log_and_count
from gateway.trail.append import utc_now

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
        ground = opened.enter_context(open_foundation(stage.settings, emit))
        now = utc_now()
        policies = policies_of(ground, stage.places, emit)
        # a terminal that closes sends SIGHUP, and has to end the demo
        opened.enter_context(reload_on_change(policies, stage.settings.policies, on_signal=False))
        twin.wait_until_started()
        asking = opened.enter_context(
            closing(open_query_service(ground, policies, twin, "rest", emit))
        )
        opened.enter_context(closing(ground.workers))
        wire = opened.enter_context(serve_wire(ground, policies, asking, stage.wire, emit))
        questions = query_api(asking)
        keys = make_keys(ground, now)
        write_notes(stage.places, stage.url, stage.wire_url("alice"), keys, stage.settings)
        app = create_app(
            gateway_api(ground, metrics, emit, policies, twin=twin, questions=questions)
        )
        guide = _Guide(wishes, stop, stage, keys)
        guide.start()
        serve_until(
            stop,
            app,
            stage.listener,
            stage.settings,
            wait_ender(ground, asking),
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
