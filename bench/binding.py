"""How long it takes to bind and decide a typical statement of a BI tool, the twin's Describe included.

Goals: <= 3 ms fresh, <= 0.1 ms when the same text was bound before under the same policy and attributes.
"""

import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

# instead of this directory, whose `binding` is this file
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from binding.clinic import CLINIC
from fix_permissions import EVERYTHING, question

from gateway.binding.bind import bind
from gateway.datasets.view import Borrow, Question, Views
from gateway.twin import open_twin

_ROUNDS = 300
STATEMENTS = {
    "count": "SELECT COUNT(*) FROM patients",
    "Superset": """SELECT DATE_TRUNC('month', visit_date) AS visit_date, region AS region,
        COUNT(*) AS count, AVG(cost) AS "AVG(cost)"
        FROM (SELECT v.visit_date, v.cost, p.region FROM visits v
              JOIN patients p ON p.patient_id = v.patient_id) AS virtual_table
        WHERE visit_date >= '2024-01-01' AND visit_date < '2025-01-01' AND region IN ('north', 'east')
        GROUP BY DATE_TRUNC('month', visit_date), region ORDER BY count DESC LIMIT 1000""",
    "Metabase": """SELECT "source"."region" AS "region", COUNT(*) AS "count", SUM("source"."income") AS "sum"
        FROM (SELECT "public"."patients"."region" AS "region", "public"."patients"."income" AS "income",
              "public"."patients"."birth_year" AS "birth_year" FROM "public"."patients") AS "source"
        WHERE "source"."birth_year" > 1980 GROUP BY "source"."region" ORDER BY "source"."region" ASC""",
    "top groups": """SELECT p.region, COUNT(*) FROM patients p
        JOIN (SELECT region AS region__, COUNT(*) AS mme_inner__ FROM patients GROUP BY region
              ORDER BY mme_inner__ DESC LIMIT 2) AS anon_1 ON p.region = anon_1.region__
        GROUP BY p.region""",
}


def main() -> None:
    columns = ("statement", "bind ms", "fresh ms", "95 %", "remembered ms")
    print("{:12} {:>9} {:>9} {:>8} {:>14}".format(*columns))
    with tempfile.TemporaryDirectory() as place:
        home = Path(place)
        home.chmod(0o711)  # the server's OS user has to pass through
        with open_twin(home) as twin:
            for name, sql in STATEMENTS.items():
                asked, known = question(sql), Views(EVERYTHING)
                bare = _times(partial(bind, sql, CLINIC))
                took = _times(partial(_fresh, asked, twin.borrowed))
                again = _times(partial(known.bind, asked, twin.borrowed))
                high = statistics.quantiles(took, n=20)[-1]
                print(
                    f"{name:12} {statistics.median(bare):9.2f} {statistics.median(took):9.2f}"
                    f" {high:8.2f} {statistics.median(again):14.4f}"
                )


def _fresh(asked: Question, borrow: Borrow) -> None:
    Views(EVERYTHING).bind(asked, borrow)


def _times(work: Callable[[], object]) -> list[float]:
    work()
    took = []
    for _ in range(_ROUNDS):
        before = time.perf_counter()
        work()
        took.append((time.perf_counter() - before) * 1_000)
    return took


if __name__ == "__main__":
    main()
