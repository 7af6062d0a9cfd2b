"""The CPU time that histograms of norms take: of an estimate, of a query that buys one, and of a repeat.

An estimate is free, so what it computes must be little. The same new statements are estimated by a gateway that sells
histograms and by one that sells none. Each statement has a key of its own, so each needs a histogram of its own.
"""

import argparse
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import median
from typing import Final

from answers_gateway import Answering, answering
from utility_data import TABLES, write
from utility_questions import policy

from gateway.requests.request import Request

_SCALE: Final = 0.05  # of the tables: the source's time is not measured here
_GOAL_MS: Final = 50.0
_SOLD: Final = "reuse: {max_age: 30d}"
_UNSOLD: Final = f"{_SOLD}\nclip: {{price: 0}}"
_KEY: Final = (
    "SELECT CASE WHEN category > 'kind {0}' THEN 1 ELSE 2 END, COUNT(*) FROM visits GROUP BY 1"
)
_CUBE: Final = (
    "SELECT COUNT(*) FROM visits GROUP BY CUBE (category, extract(year FROM day),"
    " CASE WHEN category > 'kind {0}' THEN 1 ELSE 2 END)"
)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--statements", type=int, default=15)
    many: int = parser.parse_args().statements
    with tempfile.TemporaryDirectory(prefix="bench-histograms-") as folder:
        top = Path(folder)
        top.chmod(0o711)
        url, text = write(top, _SCALE)["visits"], policy(TABLES[0], "")
        print("CPU ms, medians" + "".join(f"{name:>26}" for name in ("with histograms", "without")))
        columns = []
        for reuse in (_SOLD, _UNSOLD):
            with answering(url, text.replace("reuse: {max_age: 0d}", reuse)) as gateway:
                columns.append(_measured(gateway, many))
    for name in columns[0]:
        sold, unsold = (each[name] for each in columns)
        met = "met" if sold - unsold < _GOAL_MS else "missed"
        print(
            f"{name:<40}{sold:8.1f}{unsold:12.1f}  more: {sold - unsold:.1f} (goal {_GOAL_MS:g}: {met})"
        )


def _measured(gateway: Answering, many: int) -> dict[str, float]:
    def estimate(sql: str) -> None:
        gateway.asking.estimate(gateway.subject, Request(sql))

    def ask(sql: str) -> None:
        gateway.ask(sql)

    ask("SELECT COUNT(*) FROM visits")
    keys, cubes = ([sql.format(place) for place in range(many)] for sql in (_KEY, _CUBE))
    return {
        "an estimate, new key": _time(estimate, keys),
        "the same again": _time(estimate, keys),
        "an estimate, CUBE of three keys": _time(estimate, cubes),
        "a query, new key": _time(ask, keys),
        "its first repeat": _time(ask, keys),
        "a later repeat": _time(ask, keys),
    }


def _time(run: Callable[[str], None], statements: Sequence[str]) -> float:
    found = []
    for sql in statements:
        began = time.process_time()
        run(sql)
        found.append((time.process_time() - began) * 1_000)
    return median(found)


if __name__ == "__main__":
    main()
