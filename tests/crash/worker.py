"""A gateway that charges until it is killed; run as a program by the tests beside it.

It imports everything once and forks for each life, so that a life costs little. Orders come as lines
of JSON on standard input; what happens is said on standard output, each line in one write:
`started PID`, `ready`, `answered QUERY_ID`, `no CODE`, `ended STATUS`.

A life may be told to end at a certain step: then the function of that step is wrapped, here and not
in the gateway, and kills the process as `kill -9` would.
"""

import json
import os
import resource
import signal
import sys
import threading
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from charges import charge_question
from fix_ledger import ALICE, NOON, asked, question

from gateway.config import Settings
from gateway.errors import Refusal
from gateway.state import anchor, journal
from gateway.state.open import State, open_state
from gateway.trail.chain import ChainKey
from gateway.trail.record import Trail

Order = dict[str, Any]
Function = Callable[..., object]


def say(text: str) -> None:
    os.write(1, f"{text}\n".encode())


def die() -> None:
    os.kill(os.getpid(), signal.SIGKILL)


def before(real: Function) -> Function:
    def instead(*args: object) -> object:
        die()
        return real(*args)

    return instead


def after(real: Function) -> Function:
    def instead(*args: object) -> None:
        real(*args)
        die()

    return instead


def with_the_first_half(write: Function) -> Function:
    """Only the beginning of what is written reaches the disk."""

    def instead(file: int, data: bytes, offset: int = 0) -> None:
        write(file, data[: len(data) // 2], offset)
        die()

    return instead


def with_the_second_half(write: Function) -> Function:
    """Only the end of what is written reaches the disk: pages need not be written in order."""

    def instead(file: int, data: bytes, offset: int = 0) -> None:
        write(file, data[len(data) // 2 :], offset + len(data) // 2)
        die()

    return instead


# the step at which a life ends: where the function stands, its name, and what to put in its place
STEPS: dict[str, tuple[object, str, Callable[[Function], Function]]] = {
    "before the rows are written": (journal, "write_rows", before),
    "after the rows are written": (journal, "write_rows", after),
    "before the anchor": (anchor.Anchor, "advance", before),
    "after the anchor": (anchor.Anchor, "advance", after),
    "before the anchor's line": (anchor, "_write_all", before),
    "within the anchor's line": (anchor, "_write_all", with_the_first_half),
    "within the anchor's line, end first": (anchor, "_write_all", with_the_second_half),
    "between the anchor's write and its sync": (os, "fdatasync", before),
    "after the anchor's sync": (os, "fdatasync", after),
    "before the new anchor is synced": (os, "fsync", before),
    "before the new anchor takes its place": (Path, "rename", before),
    "after the new anchor took its place": (anchor, "_sync_directory", before),
    "after the commit, before it is told": (journal.Journal, "commit", after),
}


def end_at(step: str, times: int) -> None:
    """Let the step pass `times` times, then end there."""
    owner, name, wrap = STEPS[step]
    real = getattr(owner, name)
    fatal, passed = wrap(real), [0]

    def instead(*args: object) -> object:
        passed[0] += 1
        return (fatal if passed[0] > times else real)(*args)

    setattr(owner, name, instead)


def live(order: Order) -> None:
    if "capacity" in order:
        anchor._CAPACITY = order["capacity"]
    secret = order["secret"].encode()
    settings = Settings(home=Path(order["home"]), state_url=order["state_url"])
    with open_state(settings, secret) as state:
        if order.get("under_the_lock"):
            state.journal._polite = 1_000_000
        say("ready")
        if order.get("careless"):
            state.anchor.advance = lambda *_: None  # type: ignore[method-assign]  # a control
        if "step" in order:
            end_at(order["step"], order["times"])
        if "largest_file" in order:
            _, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (order["largest_file"], hard))
        threads = [
            threading.Thread(target=charge, args=(state, Trail(ChainKey(secret)), order, name))
            for name in range(order["threads"])
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()


def charge(state: State, trail: Trail, order: Order, thread: int) -> None:
    for number in range(order["charges"]):
        request = question("1/1000", ALICE, query_id=f"{order['life']}-{thread}-{number}")
        if "cells" in order:  # two neighbours at a time, in turn
            cells = (*order["cells"], *order["cells"])
            first = number % len(order["cells"])
            request = replace(request, touched=cells[first : first + 2])
        try:
            charge_question(state.journal, trail, asked(request), request, NOON)
        except Refusal as refusal:
            say(f"no {refusal.code}")
        else:
            say(f"answered {request.query_id}")


def main() -> None:
    for line in sys.stdin:
        child = os.fork()
        if child == 0:
            status = 1
            try:
                live(json.loads(line))
                status = 0
            finally:
                sys.stderr.flush()
                os._exit(status)
        say(f"started {child}")
        _, status = os.waitpid(child, 0)
        say(f"ended {os.waitstatus_to_exitcode(status)}")


if __name__ == "__main__":
    main()
