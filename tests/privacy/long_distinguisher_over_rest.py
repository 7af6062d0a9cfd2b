"""The distinguisher over REST, on everything: `python -m privacy.long_distinguisher_over_rest ANSWERS`, from `tests`.

Every kind of question, on DuckDB and on PostgreSQL, in both currencies, so many answers of two real gateways each.
It fails when a loss above what the answers claim is shown, or when a planted bug is not found; bugs are asked for
as often as `trials` says, or more often. 1e-9 is the chance of a false accusation for each line it prints, below
1e-6 with all of its 180 lines.
"""

import sys
from collections.abc import Iterator
from contextlib import ExitStack, closing, contextmanager

from fix_state import StateServer, scratch_server
from fix_twin import a_twin_home
from privacy.over_rest import Asked, Found, found_loss
from privacy.planted import Broken, planted
from privacy.rest_sides import (
    DATASETS,
    RestSides,
    Sources,
    a_home,
    in_threads,
    neighbouring_sources,
    processes,
)
from privacy.shapes import HANGING, SHAPES
from privacy.trials import LONG_TRIALS, TRIALS

from gateway.postgres_server import open_server
from gateway.state.open import embedded_urls, upgrade_state
from gateway.twin import open_twin

_PRICES = {"laplace": 1.5, "gaussian": 1.0}  # at which half the noise is found soonest


def main(answers: int, names: list[str]) -> int:
    """0 when everything is as it should be."""
    wrong = 0
    with ExitStack() as stack:
        server, sources = stack.enter_context(_ground())
        with processes(server, sources) as sides:
            for dataset in DATASETS:
                wrong += sum(_accused(sides, dataset, answers, names))
        twin = stack.enter_context(open_twin(stack.enter_context(a_twin_home()), limit_s=20))
        with in_threads(server, sources, twin) as sides:
            wrong += sum(_missed(sides, answers))
    print(f"{wrong} wrong")  # noqa: T201 - this is what it is for
    return min(wrong, 1)


def _accused(sides: RestSides, dataset: str, answers: int, names: list[str]) -> Iterator[bool]:
    price = _PRICES[dataset.rpartition("-")[2]]
    for shape in (*SHAPES, HANGING):
        if not names or shape.name in names:
            asked = Asked(shape, dataset, price)
            found = found_loss(sides, asked, pilot=answers // 5, test=answers - answers // 5)
            _tell(asked, found, None)
            yield found.loss.accused


def _missed(sides: RestSides, answers: int) -> Iterator[bool]:
    """Each bug on every dataset."""
    for trial in (*TRIALS, *LONG_TRIALS):
        for dataset in DATASETS:
            asked = Asked(trial.shape, dataset, _PRICES[dataset.rpartition("-")[2]])
            with planted(trial.bug):
                found = found_loss(sides, asked, pilot=100, test=max(answers, 700))
            _tell(asked, found, trial.bug)
            yield not found.loss.accused


def _tell(asked: Asked, found: Found, bug: Broken | None) -> None:
    told = (asked.dataset, asked.shape.name, str(found), bug or "")
    print(*told, sep=" | ", flush=True)  # noqa: T201 - see above


@contextmanager
def _ground() -> Iterator[tuple[StateServer, Sources]]:
    """Servers for the state and for the sources, gone afterwards."""
    with a_home() as home, ExitStack() as stack:
        (home / "state").mkdir(mode=0o711)
        lease = stack.enter_context(scratch_server(home / "state"))
        urls = embedded_urls(lease, home / "state")
        upgrade_state(urls)
        source = stack.enter_context(open_server(home / "source"))
        server = stack.enter_context(closing(StateServer(lease, urls)))
        yield server, stack.enter_context(neighbouring_sources(source))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else 500, sys.argv[2:]))
