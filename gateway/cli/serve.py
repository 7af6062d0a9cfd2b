"""`gateway serve`: start everything in order, stop everything in order."""

import argparse
from contextlib import closing

from gateway import __version__
from gateway.admin.instance import open_ground
from gateway.admin.reload_policies import kept_current
from gateway.app import (
    giving_up,
    open_asking,
    open_policies,
    open_twin_of,
    question_door,
    read_ahead,
    rest_doors,
    serving_wire,
)
from gateway.cli.arguments import settings_from
from gateway.config import Settings
from gateway.events import Started, Stopping
from gateway.frontends.rest.app import create_app
from gateway.frontends.rest.listen import Stop, address_of, bind, serve_until, wire_address
from gateway.frontends.tls import tls_context
from gateway.telemetry.logs import log_events
from gateway.telemetry.metrics import Metrics, both


def run(arguments: argparse.Namespace) -> int:
    stop = Stop()
    stop.listen()
    serve(settings_from(arguments), stop)
    return 0


def serve(settings: Settings, stop: Stop) -> None:
    """Serve until `stop` is asked."""
    tls_context(settings)  # unusable settings are reported before anything starts
    metrics = Metrics()
    emit = both(log_events(settings.log_format), metrics.count)
    with (
        bind(settings.rest_host, settings.rest_port, "GATEWAY_REST_PORT") as listener,
        bind(settings.pg_host, settings.pg_port, "GATEWAY_PG_PORT") as wire,
        open_twin_of(settings, emit) as twin,  # it starts while the state is opened
        open_ground(settings, emit) as ground,
    ):
        ground.require_ledger_kept()
        policies = open_policies(ground, emit)
        twin.wait_until_started()
        with (
            kept_current(policies, settings.policies),
            closing(open_asking(ground, policies, twin, "rest", emit)) as asking,
            closing(ground.workers),
            serving_wire(ground, policies, asking, wire, emit) as server,
        ):
            read_ahead(asking, policies.value.policies)
            questions = question_door(asking)
            emit(Started(__version__, address_of(listener, settings), wire_address(wire)))
            app = create_app(
                rest_doors(
                    ground,
                    metrics,
                    emit,
                    policies,
                    twin=twin,
                    questions=questions,
                )
            )
            serve_until(stop, app, listener, settings, giving_up(ground, asking), also=server.stop)
        emit(Stopping("a signal" if stop.asked else "the server ended"))
