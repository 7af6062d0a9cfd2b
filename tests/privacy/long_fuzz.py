"""Random SQL texts through the whole line: `python -m privacy.long_fuzz SECONDS [SEED] [PROCESSES]`, from `tests`.

Each statement is asked over a world and over that world without each of its persons, in both databases, without noise. It
prints every problem with the seed that shows it (`python -m privacy.fuzzer.again SEED`), then how often each feature
of the language was answered. It fails when there is a problem, when a feature is never answered, and when a statement
does not come back.
"""

import multiprocessing
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from multiprocessing.queues import Queue
from multiprocessing.sharedctypes import SynchronizedString
from queue import Empty
from time import monotonic
from typing import Final, TypeAlias, cast

from privacy.fuzzer.databases import own_ground
from privacy.fuzzer.plants import PLANTS, found_with, swap_found
from privacy.fuzzer.statements import sentence
from privacy.fuzzer.swaps import problems_of_a_swap
from privacy.fuzzer.tally import Tally
from privacy.fuzzer.trial import bench, shown, trials
from privacy.fuzzer.worlds import Server

from gateway.stages.services import Services

STATEMENTS: Final = 60
"""Of one catalog."""
_SILENCE_S: Final = 180.0
_SWAPPED: Final = 4
"""In one of so many catalogs tables are swapped."""
_FEW: Final = 4_000
"""With fewer statements than that a feature may be missed by chance."""

Told: TypeAlias = tuple[str, Tally | None]


@dataclass(frozen=True)
class Post:
    """What a process is told: which catalogs are its own, and where it says what it found and which statement it is at."""

    number: int
    processes: int
    first: int
    seconds: float
    told: "Queue[Told]"
    at: "SynchronizedString"

    def work(self) -> None:
        """Catalog after catalog."""
        with own_ground(f"w{self.number}") as (server, line):
            services = line.asking.services
            if self.number == 0:
                self._controls(server, services)
            until, seed = monotonic() + self.seconds, self.first + self.number
            self.told.put(("", Tally()))
            while monotonic() < until:
                self.told.put((f"catalog {seed}", self._catalog(server, services, seed, until)))
                seed += self.processes
        self.told.put(("done", None))

    def _controls(self, server: Server, services: Services) -> None:
        """Bugs that have to be found."""
        for name in PLANTS:
            if found_with(server, services, name, catalogs=60, planted=True) is None:
                self.told.put((f"the planted bug is not found: {name}", Tally(problems=1)))
        if not swap_found(server, services, catalogs=20, planted=True):
            self.told.put(("the planted bug is not found: a swapped table", Tally(problems=1)))

    def _catalog(self, server: Server, services: Services, seed: int, until: float) -> Tally:
        tally = Tally()
        self.at.value = f"{seed}/0".encode()
        for place, (made, outcome) in enumerate(trials(server, services, str(seed), STATEMENTS), 1):
            self.at.value = f"{seed}/{place}".encode()
            tally.note(outcome)
            tally.longest_s = max(tally.longest_s, *(one.longest_s for one in made.every))
            if outcome.found.problems:
                self.told.put((shown(made.catalog, outcome), None))
            if monotonic() > until:
                return tally
        if seed % _SWAPPED == 0:
            self._swaps(server, services, seed, tally)
        return tally

    def _swaps(self, server: Server, services: Services, seed: int, tally: Tally) -> None:
        with bench(server, services, str(seed)) as made:
            for number in range(STATEMENTS // 4):
                said = sentence(made.catalog, f"{seed}/{number}")
                problems = problems_of_a_swap(made, server.writer, said)
                tally.swaps += problems is not None
                if problems:
                    tally.problems += 1
                    self.told.put((f"seed {seed}/{number}: {said.sql}: {problems}", None))


def main(seconds: float, first: int, processes: int) -> int:
    """0 when nothing was found."""
    context = multiprocessing.get_context("spawn")
    told: Queue[Told] = context.Queue()
    places = [cast("SynchronizedString", context.Array("c", 64)) for _ in range(processes)]
    workers = [
        context.Process(target=Post(one, processes, first, seconds, told, places[one]).work)
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
            text, tally = told.get(timeout=_SILENCE_S)
        except Empty:
            return whole, began, True
        if tally is not None:
            whole.add(tally)
            if tally.problems and not tally.statements:
                print(text, flush=True)  # noqa: T201 - this is what it is for
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
        f"{whole.statements} statements, {whole.compared} answered: {dict(whole.engines)}",
        f"{whole.runs} neighbours compared, {whole.swaps} statements over a table that was swapped",
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
