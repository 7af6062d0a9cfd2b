"""A table that is swapped for one without its key between two questions on one kept connection of PostgreSQL.

What was proven before does not hold of the rows that are counted then: they are those of a world in which persons have
several rows where they had one, and it is held against that world without each person.
"""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import psycopg
from privacy.fuzzer.statements import Sentence
from privacy.fuzzer.trial import NOON, PRICE, Bench
from property.moves import Groups, excesses, groups_of
from queries import analyzed

from gateway.binding.bound import Release, Stage
from gateway.cancellation import CancelEvent
from gateway.datasets.dataset import ServedDataset
from gateway.errors import Code, Refusal
from gateway.noise.allocation import ReleaseNoise
from gateway.pricing.price import AnalyzedQuery, noise_for_price
from gateway.requests.request import Request
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.stages.prepare import SourceAccess

_PROTECTED = ("people", "events")
_KEYLESS = """
CREATE TABLE keyless AS SELECT * FROM people;
INSERT INTO keyless SELECT people.* FROM people CROSS JOIN generate_series(1, 3);
BEGIN; ALTER TABLE people RENAME TO keyed; ALTER TABLE keyless RENAME TO people; COMMIT;
"""
_KEYED = "BEGIN; DROP TABLE people; ALTER TABLE keyed RENAME TO people; COMMIT"


def problems_of_a_swap(made: Bench, writer: psycopg.Connection, said: Sentence) -> list[str] | None:
    """What is wrong after the swap; None where the statement is refused, or is not one that can be compared so."""
    try:
        asked = _Asked.of(made, said)
        if asked is None:
            return None
        asked.answers()
        writer.execute(f"SET search_path = {made.every[-1].places[0]}".encode())
        writer.execute(_KEYLESS.encode())
        try:
            return list(_compared(made, writer, asked))
        finally:
            writer.execute(_KEYED.encode())
    except Refusal as refusal:
        return [f"a refusal that is a bug: {refusal}"] if refusal.code is Code.INTERNAL else None


def _compared(made: Bench, writer: psycopg.Connection, asked: "_Asked") -> Iterator[str]:
    whole = asked.answers()
    for unit in made.catalog.units:
        with _without(writer, unit):
            few = asked.answers()
        for before, after, part in zip(few, whole, asked.parts, strict=True):
            yield from (
                f"after a swap, without {unit!r}: {one}"
                for one in excesses(before, after, part.analysis)
            )


@contextmanager
def _without(writer: psycopg.Connection, unit: str) -> Iterator[None]:
    """While this is open the person has no rows."""
    for name in _PROTECTED:
        writer.execute(
            f"CREATE TABLE {name}_left AS SELECT * FROM {name} WHERE u = %s".encode(), (unit,)
        )
        writer.execute(f"DELETE FROM {name} WHERE u = %s".encode(), (unit,))
    try:
        yield
    finally:
        for name in _PROTECTED:
            writer.execute(f"INSERT INTO {name} SELECT * FROM {name}_left".encode())
            writer.execute(f"DROP TABLE {name}_left".encode())


class _Asked:
    """A statement without stages, whose groups are listed: what the gateway asks of its source for it."""

    def __init__(
        self,
        serving: ServedDataset,
        query: AnalyzedQuery,
        parts: Sequence[ReleaseNoise],
        limit_s: float,
    ) -> None:
        self.parts = parts
        self._access: tuple[Any, ...] = (serving, query, limit_s, CancelEvent())

    @classmethod
    def of(cls, made: Bench, said: Sentence) -> "_Asked | None":
        serving = made.serving()
        request = Request(said.sql, parameters=said.values)
        query = analyzed(made.services, made.subjects["alice"], request, NOON, serving)
        cut = query.cut
        if any(isinstance(one, Stage) for one in cut.steps) or not query.measures:
            return None
        parts = [part for one in noise_for_price(query, PRICE) for part in one.parts]
        alike = all(isinstance(one.analysis.groups, EnumeratedGroups) for one in parts)
        measured = all(one.analysis.measurements for one in parts)
        if not (alike and measured and any(isinstance(one, Release) for one in cut.steps)):
            return None
        return cls(serving, query, parts, made.services.limit_s)

    def answers(self) -> list[Groups]:
        """As the source answers now, on the connection that was kept."""
        with SourceAccess(*self._access) as access:
            access.prepare(self.parts)
            return [groups_of(access.run(one.analysis, {})) for one in self.parts]
