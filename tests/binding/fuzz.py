"""Fuzzing the way in: pieces of SQL thrown together, and texts of golden cases broken up.

`python -m binding.fuzz SECONDS [SEED]` from `tests/`. Anything but a bound statement or a refusal, or a
text that takes longer than a second, is printed with the text, and the exit code is 1.
"""

import random
import sys
import time
import traceback

from binding.cases import every
from binding.clinic import CLINIC

from gateway.binding.bind import bind
from gateway.errors import Refusal

PIECES = [
    "SELECT",
    "FROM",
    "WHERE",
    "GROUP",
    "BY",
    "ORDER",
    "BY",
    "HAVING",
    "LIMIT",
    "OFFSET",
    "WITH",
    "RECURSIVE",
    "AS",
    "(",
    ")",
    "[",
    "]",
    "{",
    "}",
    ",",
    ";",
    ".",
    "*",
    "::",
    "=",
    "<>",
    "<",
    ">",
    "+",
    "-",
    "/",
    "%",
    "^",
    "||",
    "->",
    "->>",
    "~",
    "!",
    "@",
    "#",
    "$1",
    "$",
    ":",
    "?",
    "AND",
    "OR",
    "NOT",
    "IN",
    "EXISTS",
    "BETWEEN",
    "LIKE",
    "ILIKE",
    "IS",
    "NULL",
    "TRUE",
    "FALSE",
    "CASE",
    "WHEN",
    "THEN",
    "ELSE",
    "END",
    "CAST",
    "DISTINCT",
    "ON",
    "USING",
    "JOIN",
    "LEFT",
    "RIGHT",
    "FULL",
    "CROSS",
    "NATURAL",
    "LATERAL",
    "UNION",
    "ALL",
    "EXCEPT",
    "INTERSECT",
    "VALUES",
    "ROW",
    "ARRAY",
    "INTERVAL",
    "DATE",
    "TIMESTAMP",
    "EXTRACT",
    "SUBSTRING",
    "TRIM",
    "POSITION",
    "OVERLAY",
    "OVER",
    "PARTITION",
    "WINDOW",
    "FILTER",
    "WITHIN",
    "ROLLUP",
    "CUBE",
    "GROUPING",
    "SETS",
    "FETCH",
    "FIRST",
    "ROWS",
    "ONLY",
    "TABLESAMPLE",
    "FOR",
    "UPDATE",
    "INTO",
    "COUNT",
    "SUM",
    "AVG",
    "MIN",
    "MAX",
    "MODE",
    "PERCENTILE_CONT",
    "date_trunc",
    "date_bin",
    "to_char",
    "coalesce",
    "greatest",
    "patients",
    "visits",
    "regions",
    "p",
    "v",
    "t",
    "patient_id",
    "region",
    "income",
    "cost",
    "visit_date",
    "diagnosis",
    "smoker",
    "1",
    "0",
    "2.5",
    "1e9",
    "'x'",
    "'north'",
    "'2024-01-01'",
    '"q"',
    "year",
    "month",
    "int",
    "text",
    "numeric",
    "date",
    "bigint",
    "int[]",
    "struct",
    "map",
    "generate_series",
    "unnest",
    "table",
    "only",
    "TABLE",
    "EXPLAIN",
    "DECLARE",
    "CURSOR",
    "COPY",
    "TO",
    "STDOUT",
    "SHOW",
    "SET",
]
_SLOW = 1.0


def text_of(rng: random.Random, seeds: list[str]) -> str:
    """A text: pieces alone, or a case with pieces cut out, doubled and put in."""
    if rng.random() < 0.3:
        return " ".join(rng.choices(PIECES, k=rng.randint(1, 40)))
    words = rng.choice(seeds).split()
    for _ in range(rng.randint(1, 6)):
        place = rng.randrange(len(words) + 1)
        match rng.randrange(5):
            case 0:
                words.insert(place, rng.choice(PIECES))
            case 1 if words:
                words.pop(place % len(words))
            case 2:
                other = rng.choice(seeds).split()
                cut = rng.randrange(len(other))
                words[place:place] = other[cut : cut + rng.randint(1, 8)]
            case 3:
                piece = rng.choice(PIECES)
                words[place:place] = [piece, "("] * rng.randint(1, 70)
            case _ if words:
                words[place % len(words)] = rng.choice(PIECES)
            case _:
                pass
    return " ".join(words) or ";"


def failure(sql: str) -> str | None:
    """What went wrong with the text, if anything."""
    before = time.perf_counter()
    try:
        bind(sql, CLINIC)
    except Refusal:
        pass
    except BaseException:  # noqa: BLE001 - a fuzzer wants them all
        return traceback.format_exc()
    took = time.perf_counter() - before
    return f"{took:.1f} s" if took > _SLOW else None


def main(seconds: float, seed: int) -> int:
    rng = random.Random(seed)  # noqa: S311 - a fuzzer is repeatable
    seeds = [case.sql for case in every() if case.sql.split()]
    end, tried, failed = time.monotonic() + seconds, 0, 0
    while time.monotonic() < end:
        sql = text_of(rng, seeds)
        tried += 1
        wrong = failure(sql)
        if wrong is not None:
            failed += 1
            sys.stdout.write(f"---\n{sql}\n{wrong}\n")
    sys.stdout.write(f"{tried} texts, {failed} failures, seed {seed}\n")
    return int(failed > 0)


if __name__ == "__main__":
    arguments = sys.argv[1:]
    sys.exit(main(float(arguments[0]), int(arguments[1]) if len(arguments) > 1 else 0))
