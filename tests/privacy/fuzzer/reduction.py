"""Fewer rows that show the same problem: what is left is what it takes."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace

from privacy.fuzzer.catalogs import Catalog
from privacy.fuzzer.statements import Sentence
from privacy.fuzzer.trial import Bench, Outcome, bench_of
from privacy.fuzzer.worlds import Server
from property.small_worlds import Row

from gateway.stages.services import Services

Rows = Mapping[str, Sequence[Row]]


def reduced(
    server: Server, services: Services, made: Bench, said: Sentence, seed: str
) -> tuple[Catalog, Outcome]:
    """The catalog with as few rows as still show a problem, and the problem."""
    catalog, outcome = made.catalog, _tried(server, services, made.catalog, said, seed)
    smaller = True
    while smaller:
        smaller = False
        for rows in _smaller(catalog.rows):
            one = replace(catalog, rows=rows)
            found = _tried(server, services, one, said, seed)
            if found.found.problems:
                catalog, outcome, smaller = one, found, True
                break
    return catalog, outcome


def _tried(
    server: Server, services: Services, catalog: Catalog, said: Sentence, seed: str
) -> Outcome:
    with bench_of(server, services, catalog) as made:
        return made.try_sentence(seed, said)


def _smaller(rows: Rows) -> Iterator[Rows]:
    """Half of a table first, then row by row."""
    for name, there in rows.items():
        if len(there) > 3:
            middle = len(there) // 2
            yield {**rows, name: there[:middle]}
            yield {**rows, name: there[middle:]}
    for name, there in rows.items():
        for place in range(len(there)):
            yield {**rows, name: [*there[:place], *there[place + 1 :]]}
