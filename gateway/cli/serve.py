"""`gateway serve`: start everything in order, stop everything in order."""

import argparse
from contextlib import closing

from gateway import __version__
from gateway.admin.check_policies import reload_on_change
from gateway.admin.instance import open_foundation
from gateway.app import (
    gateway_api,
    open_policies,
    open_query_service,
    open_twin_of,
    preload_history,
    query_api,
    serve_wire,
    wait_ender,
)
from gateway.cli.arguments import settings_from
from gateway.config import Settings
from gateway.events import Started, Stopping
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.listen import (
    StopSignal,
    address_of,
    bind_socket,
    serve_until,
    wire_address,
)
from gateway.frontends.tls import tls_context
from gateway.telemetry.logs import log_events
from gateway.telemetry.metrics import Metrics, log_and_count


def run(arguments: argparse.Namespace) -> int:
    stop = StopSignal()
    stop.listen()
    serve(settings_from(arguments), stop)
    return 0


def serve(settings: Settings, stop: StopSignal) -> None:
    """Serve until `stop` is asked."""
    tls_context(settings)  # unusable settings are reported before anything starts
    metrics = Metrics()
    emit = log_and_count(log_events(settings.log_format), metrics.count)
    with (
        bind_socket(settings.rest_host, settings.rest_port, "GATEWAY_REST_PORT") as listener,
        bind_socket(settings.pg_host, settings.pg_port, "GATEWAY_PG_PORT") as wire,
        open_twin_of(settings, emit) as twin,  # it starts while the state is opened
        open_foundation(settings, emit) as foundation,
    ):
        foundation.require_ledger_kept()
        policies = open_policies(foundation, emit)
        twin.wait_until_started()
        with (
            reload_on_change(policies, settings.policies),
            closing(open_query_service(foundation, policies, twin, "rest", emit)) as asking,
            closing(foundation.workers),
            serve_wire(foundation, policies, asking, wire, emit) as server,
        ):
            preload_history(asking, policies.value.policies)
            questions = query_api(asking)
            emit(Started(__version__, address_of(listener, settings), wire_address(wire)))
            app = create_app(
                gateway_api(
                    foundation,
                    metrics,
                    emit,
                    policies,
                    twin=twin,
                    questions=questions,
                )
            )
            serve_until(
                stop, app, listener, settings, wait_ender(foundation, asking), also=server.stop
            )
        emit(Stopping("a signal" if stop.asked else "the server ended"))
