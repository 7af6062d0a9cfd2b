"""A gateway that buys one entry and answers it; run as a program by `test_processes.py`.

It reads its orders as one line of JSON and says `ready`. With the next line it buys, and says whether it was charged; with
the one after that the content comes, and it says `answered`.
"""

import json
import sys
from pathlib import Path

from fix_ledger import Bank
from release_cache.log_entries import Desk, entry

from gateway.config import Settings
from gateway.state.open import open_state
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail


def say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def main() -> None:
    order = json.loads(sys.stdin.readline())
    secret = order["secret"].encode()
    settings = Settings(home=Path(order["home"]), state_url=order["state_url"])
    with open_state(settings, secret) as state:
        desk = Desk(Bank(state.journal, Trail(ChainKey(secret)), state.engine))
        bought = entry(order["number"])
        seen = desk.cache().refresh().ordinal
        say("ready")
        sys.stdin.readline()
        charged = desk.buy(seen, bought)
        say(json.dumps(charged))
        if sys.stdin.readline() and charged:
            desk.answer(bought, order["number"])
            say("answered")


if __name__ == "__main__":
    main()
