"""`gateway demo`: a sample clinic, the real gateway, a tour."""

import argparse

from gateway.demo.run import Wishes, run_demo, wants_to_stay
from gateway.frontends.rest.listen import Stop


def run(arguments: argparse.Namespace) -> int:
    stop = Stop()
    stop.listen()
    stay = wants_to_stay(serve=arguments.serve, leave=arguments.exit)
    return run_demo(Wishes(stay, arguments.rest_port, arguments.pg_port), stop)
