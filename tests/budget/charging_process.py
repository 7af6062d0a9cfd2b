"""Gateways whose threads charge as fast as they can; run as a program by `test_races.py`.

Each is a process of its own. It reads its orders as one line of JSON, says `ready`, waits for a line, charges, and says
what came of it as one line of JSON.
"""

import json
import sys
import threading
from fractions import Fraction
from pathlib import Path

from charges import charge_question
from fix_ledger import NOON, asked, question

from gateway.config import Settings
from gateway.errors import BudgetExhausted
from gateway.events import Committed, Event
from gateway.state.open import State, open_state
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail

made: list[str] = []
attempts: list[int] = []
steps: list[int] = []


def hear(event: Event) -> None:
    if isinstance(event, Committed):
        attempts.append(event.attempts)
        steps.append(event.steps)


def charge(state: State, trail: Trail, order: dict[str, str], thread: int) -> None:
    """Ask until refused, or as often as was ordered, whatever is refused."""
    accounts = order["accounts"].split(",")
    account = accounts[thread % len(accounts)]
    times = int(order["times"]) if "times" in order else None
    number = 0
    while times is None or number < times:
        number += 1
        query_id = f"{order['name']}-{thread}-{number}"
        request = question(Fraction(order["price"]), account, query_id=query_id)
        try:
            charge_question(state.journal, trail, asked(request), request, NOON)
        except BudgetExhausted:
            if times is None:
                return
        else:
            made.append(query_id)


def serve() -> None:
    order = json.loads(sys.stdin.readline())
    secret = order["secret"].encode()
    settings = Settings(home=Path(order["home"]), state_url=order["state_url"])
    with open_state(settings, secret, hear) as state:
        trail = Trail(ChainKey(secret))
        threads = [
            threading.Thread(target=charge, args=(state, trail, order, thread))
            for thread in range(int(order["threads"]))
        ]
        sys.stdout.write("ready\n")
        sys.stdout.flush()
        sys.stdin.readline()
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    sys.stdout.write(json.dumps({"made": made, "attempts": attempts, "steps": steps}) + "\n")


if __name__ == "__main__":
    serve()
