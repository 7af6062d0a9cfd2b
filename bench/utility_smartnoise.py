"""smartnoise-sql on the tables of `bench/utility.py` in PostgreSQL; runs in an environment of its own.

Its noise is Laplace, its default. Of every person `total` rows are sampled. An average is the middle of the domain plus
the average distance from it. Keys that are public are not censored, so that every cell comes back.
"""

from contextlib import closing
from functools import partial
from typing import Final

import psycopg2
import psycopg2.extensions
from snsql import Privacy, from_connection  # type: ignore[import-not-found]
from utility_peer import Answers, Json, answer_all, read_order

_ASKED: Final = {"count": "COUNT(*)", "sum": "SUM(amount)", "avg": "AVG(centred)"}


def main() -> None:
    order = read_order()
    with closing(psycopg2.connect(order["url"])) as connection:
        connection.autocommit = True
        answer_all("smartnoise-sql", partial(_ask, connection), order)


def _ask(connection: psycopg2.extensions.connection, order: Json, question: Json) -> Answers:
    """Answers with noise of their own; each costs `epsilon` for every mechanism in it."""
    key, measure = f"by_{question['key']}", question["measure"]
    middle, upper = question["middle"], question["upper"]
    table = {
        "max_ids": question["total"],
        "sample_max_ids": True,
        "censor_dims": not question["keys"],
        "clamp_counts": True,
        "person_id": {"type": "int", "private_id": True},
        key: {"type": "string"},
        "amount": {"type": "int", "lower": 0, "upper": upper},
        "centred": {"type": "int", "lower": -middle, "upper": upper - middle},
    }
    reader = from_connection(
        connection,
        engine="postgres",
        privacy=Privacy(epsilon=question["epsilon"], delta=question["delta"]),
        metadata={"": {"public": {question["table"]: table}}},
    )
    sql = f"SELECT {key}, {_ASKED[measure]} AS found FROM public.{question['table']} GROUP BY {key}"
    answers = (reader.execute(sql)[1:] for _ in range(order["repetitions"]))
    return [{str(cell): _value(found, question) for cell, found in answer} for answer in answers]


def _value(found: float | None, question: Json) -> float:
    return float(found or 0) + (question["middle"] if question["measure"] == "avg" else 0)


if __name__ == "__main__":
    main()
