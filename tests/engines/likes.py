"""Random patterns and texts, and where the bounded form of LIKE differs from PostgreSQL's own.

cd tests && ../.venv/bin/python -m engines.long_likes 100000
"""

import random
from collections.abc import Sequence
from typing import Final

from engines.extremes import Databases
from sqlalchemy import Connection, column, select, text

from gateway.engines.sql.partial_select import Dialect
from gateway.engines.sql.pieces import binary
from gateway.engines.sql.text import is_like
from gateway.plan.like_pattern import read_pattern

_LETTERS: Final = "aaab"
_OTHERS: Final = "AÄ日😀.^$*+?()[]{}|-'\"/ \n\t0"
_TOGETHER: Final = 250
_ROWS: Final = text(
    "SELECT unnest(CAST(:texts AS VARCHAR[])) AS t,"
    " generate_subscripts(CAST(:texts AS VARCHAR[]), 1) AS n"
)

Pair = tuple[str, str | None]


def pairs(chance: random.Random, many: int) -> list[Pair]:
    """Patterns that have a bounded form, each with texts: some made from it, so that many match."""
    made: list[Pair] = []
    while len(made) < many:
        pattern = _pattern(chance)
        if not read_pattern(pattern).is_bounded:
            continue
        texts = [None, "", *(_matching(chance, pattern) for _ in range(10))]
        texts += [_letters(chance, chance.randint(0, 12)) for _ in range(6)]
        made += [(pattern, one) for one in texts]
    return made[:many]


def _letters(chance: random.Random, many: int) -> str:
    return "".join(
        chance.choice(_LETTERS) if chance.random() < 0.8 else chance.choice(_OTHERS)
        for _ in range(many)
    )


def _pattern(chance: random.Random) -> str:
    signs = []
    for _ in range(chance.randint(0, 9)):
        kind = chance.random()
        if kind < 0.28:
            signs.append("%")
        elif kind < 0.45:
            signs.append("_")
        elif kind < 0.53:
            signs.append("\\" + chance.choice("%_\\aÄ日."))
        else:
            signs.append(_letters(chance, chance.randint(1, 3)))
    return "".join(signs)


def _matching(chance: random.Random, pattern: str) -> str:
    """A text that the pattern matches, often with one character changed."""
    letters: list[str] = []
    signs = iter(pattern)
    for sign in signs:
        if sign == "%":
            letters += _letters(chance, chance.randint(0, 4))
        elif sign == "_":
            letters += _letters(chance, 1)
        else:
            letters.append(next(signs) if sign == "\\" else sign)
    if letters and chance.random() < 0.5:
        place = chance.randrange(len(letters))
        letters[place : place + 1] = _letters(chance, chance.randint(0, 2))
    return "".join(letters)


def differing(
    databases: Databases, chosen: Sequence[Pair]
) -> list[tuple[str, str | None, Dialect]]:
    """The pairs for which an engine says otherwise than PostgreSQL's LIKE."""
    by_pattern: dict[str, list[str | None]] = {}
    for pattern, one in chosen:
        by_pattern.setdefault(pattern, []).append(one)
    found = []
    patterns = list(by_pattern)
    for place in range(0, len(patterns), _TOGETHER):
        some = {one: by_pattern[one] for one in patterns[place : place + _TOGETHER]}
        plain = _plain(databases.postgresql, some)
        engines: tuple[tuple[Dialect, Connection], ...] = (
            ("postgresql", databases.postgresql),
            ("duckdb", databases.duckdb),
        )
        for dialect, connection in engines:
            rendered = _rendered(dialect, connection, some)
            found += [
                (pattern, one, dialect)
                for pattern, texts in some.items()
                for one, said, expected in zip(
                    texts, rendered[pattern], plain[pattern], strict=True
                )
                if said != expected
            ]
    return found


def _plain(connection: Connection, some: dict[str, list[str | None]]) -> dict[str, list[object]]:
    query = text(
        'SELECT t COLLATE "C" LIKE CAST(:pattern AS text) FROM'
        " unnest(CAST(:texts AS text[])) WITH ORDINALITY AS u(t, n) ORDER BY n"
    )
    return {
        pattern: [row[0] for row in connection.execute(query, {"pattern": pattern, "texts": texts})]
        for pattern, texts in some.items()
    }


def _rendered(
    dialect: Dialect, connection: Connection, some: dict[str, list[str | None]]
) -> dict[str, list[object]]:
    said: dict[str, list[object]] = {}
    for pattern, texts in some.items():
        of = _ROWS.columns(column("t"), column("n")).subquery("u")
        query = select(is_like(dialect, binary(of.c.t), pattern)).order_by(of.c.n)
        said[pattern] = [row[0] for row in connection.execute(query, {"texts": texts})]
    return said
