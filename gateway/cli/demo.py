"""`gateway demo`: a sample clinic, the real gateway, a tour."""

import argparse

from gateway.demo.run import DemoOptions, run_demo, wants_to_stay
from gateway.frontends.rest.listen import StopSignal


def run(arguments: argparse.Namespace) -> int:
    stop = StopSignal()
    stop.listen()
    stay = wants_to_stay(serve=arguments.serve, leave=arguments.exit)
    return run_demo(DemoOptions(stay, arguments.rest_port, arguments.pg_port), stop)
