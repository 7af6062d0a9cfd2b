"""smartnoise-sql on the same PostgreSQL; runs in an environment of its own, reads JSON, writes medians as JSON."""

import json
import statistics
import sys
import time

import psycopg2
from snsql import Privacy, from_connection  # type: ignore[import-not-found]


def main() -> None:
    order = json.load(sys.stdin)
    connection = psycopg2.connect(order["url"])
    columns = {
        "patient_id": {"type": "int", "private_id": True},
        "g10": {"type": "int"},
        "g2000": {"type": "int"},
    }
    tables = {
        name: {
            "max_ids": one["max_ids"],
            **columns,
            "x": {"type": "int", "lower": 0, "upper": one["upper"]},
        }
        for name, one in order["tables"].items()
    }
    reader = from_connection(
        connection,
        engine="postgres",
        privacy=Privacy(epsilon=1.0, delta=1e-6),
        metadata={"": {"public": tables}},
    )
    found = []
    for sql in order["statements"]:
        reader.execute(sql)
        took = []
        for _ in range(order["rounds"]):
            began = time.perf_counter()
            reader.execute(sql)
            took.append((time.perf_counter() - began) * 1000)
        found.append(statistics.median(took))
    json.dump(found, sys.stdout)


if __name__ == "__main__":
    main()
