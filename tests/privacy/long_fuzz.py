"""Random SQL texts through the whole line: `python -m privacy.long_fuzz SECONDS [SEED] [PROCESSES]`, from `tests`.

Each statement is asked over a world and over that world without each of its persons, in both databases, without noise. It
prints every problem with the seed that shows it (`python -m privacy.fuzzer.again SEED`), then how often each feature
of the language was answered. It fails when there is a problem, when a feature is never answered, and when a statement
does not come back.
"""

import multiprocessing
import sys
from collections.abc import Sequence
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import SynchronizedString
from queue import Empty
from time import monotonic
from typing import Final, TypeAlias

from privacy.fuzzer.ground import own_ground
from privacy.fuzzer.tally import Tally
from privacy.fuzzer.trial import shown, trials

STATEMENTS: Final = 60
"""Of one catalog."""
_SILENCE_S: Final = 180.0
_FEW: Final = 4_000
"""With fewer statements than that a feature may be missed by chance."""

Told: TypeAlias = tuple[int, str, Tally | None]
At: TypeAlias = "SynchronizedString"


def work(
    number: int, processes: int, first: int, seconds: float, told: "Queue[Told]", at: "At"
) -> None:
    """One process: catalog after catalog. `at` says which statement it is at."""
    with own_ground(f"w{number}") as (server, line):
        until, seed = monotonic() + seconds, first + number
        told.put((number, "", Tally()))
        while monotonic() < until:
            tally = Tally()
            at.value = f"{seed}/0".encode()
            asked = trials(server, line.asking.house, str(seed), STATEMENTS)
            for place, (made, outcome) in enumerate(asked, 1):
                at.value = f"{seed}/{place}".encode()
                tally.note(outcome)
                tally.longest_s = max(tally.longest_s, *(one.longest_s for one in made.every))
                if outcome.found.problems:
                    told.put((number, shown(made.catalog, outcome), None))
                if monotonic() > until:
                    break
            told.put((number, f"catalog {seed}", tally))
            seed += processes
    told.put((number, "done", None))


def main(seconds: float, first: int, processes: int) -> int:
    """0 when nothing was found."""
    context = multiprocessing.get_context("spawn")
    told: Queue[Told] = context.Queue()
    places = [context.Array("c", 64) for _ in range(processes)]
    workers = [
        context.Process(target=work, args=(one, processes, first, seconds, told, places[one]))
        for one in range(processes)
    ]
    for one in workers:
        one.start()
    whole, began, hung = _heard(told, processes)
    for one, at in zip(workers, places, strict=True):
        if hung and one.is_alive():
            print(f"does not come back: {at.value.decode()}")  # noqa: T201 - this is what it is for
            one.kill()
        one.join()
    return _told(whole, monotonic() - began, hung)


def _heard(told: "Queue[Told]", processes: int) -> tuple[Tally, float, bool]:
    """Everything that the processes say, until all are done or all are silent."""
    whole, began, left = Tally(), monotonic(), processes
    ready = 0
    while left:
        try:
            _, text, tally = told.get(timeout=_SILENCE_S)
        except Empty:
            return whole, began, True
        if tally is not None:
            whole.add(tally)
            ready += not text
            if not text and ready == processes:
                began = monotonic()
        elif text == "done":
            left -= 1
        else:
            print(text, flush=True)  # noqa: T201 - this is what it is for
    return whole, began, False


def _told(whole: Tally, took: float, hung: bool) -> int:  # noqa: FBT001 - what came of it
    lines: Sequence[str] = (
        *whole.table(),
        f"{whole.statements} statements, {whole.compared} answered, of which {dict(whole.engines)};"
        f" {whole.runs} neighbours compared",
        f"{60 * whole.compared / took:.0f} answered a minute; the longest run took {whole.longest_s:.2f} s",
        f"{whole.problems} with problems",
    )
    print(*lines, sep="\n")  # noqa: T201 - see above
    never = sorted(whole.never) if whole.compared >= _FEW else []
    if never:
        print(f"never answered: {', '.join(never)}")  # noqa: T201 - see above
    return int(bool(whole.problems or never or hung))


if __name__ == "__main__":
    given = [float(one) for one in sys.argv[1:]]
    sys.exit(
        main(
            given[0], int(given[1]) if len(given) > 1 else 1, int(given[2]) if len(given) > 2 else 2
        )
    )
