"""Bugs that the fuzzer has to find, planted from outside: nothing in the gateway knows how to be wrong.

Each is a break that was there once, or the absence of a bound: a licence that was read from spellings, weights that are left
out, a licence that outlives its constraint; and groups that are finer than a right permits.
"""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Final

import pytest
from privacy.fuzzer.catalogs import Catalog
from privacy.fuzzer.statements import Sentence, is_alike, sentence
from privacy.fuzzer.swaps import problems_of_a_swap
from privacy.fuzzer.trial import Outcome, bench, complete
from privacy.fuzzer.worlds import Server
from sqlglot import exp

from gateway.binding import free_select as free
from gateway.bounding import licences
from gateway.catalog.tables import ColumnRef
from gateway.datasets import view
from gateway.engines import postgresql_preparation
from gateway.engines.preparation import Chunks
from gateway.engines.sql import clip_weights
from gateway.engines.sql.partial_select import Sql
from gateway.engines.sql.per_unit import own_integer
from gateway.plan.aggregates import Aggregate
from gateway.plan.joins import Join
from gateway.plan.relations import Constant, below_filters
from gateway.plan.scalars import Ref, Scalar, walk_scalar
from gateway.policy.generalization import generalize
from gateway.policy.levels import ReadLevels
from gateway.sensitivity.clip import Clip
from gateway.stages.services import Services


@contextmanager
def spellings() -> Iterator[None]:
    """Texts that are not alike are taken for values that are not, and what was written licenses a join."""

    def written(node: exp.Expression) -> tuple[bool, str | int] | None:
        return (node.is_string, str(node.this)) if isinstance(node, exp.Literal) else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free, "_written_value", written)
        patch.setattr(licences.Licences, "meets_one", _meets_one)
        yield


_STATEMENTS: Final = 400
_SWAPPED: Final = 40
_MEETS_ONE: Final = licences.Licences.meets_one


def _meets_one(self: licences.Licences, node: Join) -> bool:
    """As it was: what the statement says of its own rows is believed."""
    for other, mine in ((node.left, node.right), (node.right, node.left)):
        equal = licences.equal_columns(node.condition, other, mine)
        if isinstance(below_filters(other), Constant) and any(one <= equal for one in other.claims):
            return True
    return _MEETS_ONE(self, node)


@contextmanager
def weights() -> Iterator[None]:
    """Whoever has many rows counts in full: the guess is not tested, and nothing is divided."""

    def whole(clip: Clip, *_: Sql) -> Sql:
        return own_integer(clip.whole)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(clip_weights, "proven_weight", whole)
        patch.setattr(clip_weights, "divided_weight", lambda _, clip, added: whole(clip, added))
        yield


@contextmanager
def kept() -> Iterator[None]:
    """What a source's catalog said when it was connected to is believed for as long as the connection lasts."""

    def own(chunks: Chunks) -> Chunks:
        for rows in chunks:
            if rows[0][-postgresql_preparation._ADDED] is None:
                return
            yield list(map(postgresql_preparation._OWN, rows))

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(postgresql_preparation, "_says", lambda *_: True)
        patch.setattr(postgresql_preparation, "_own", own)
        yield


@contextmanager
def levels() -> Iterator[None]:
    """Groups are formed by what is stored, where the plan still has it, and no coarser."""

    def with_stored_keys(plan: Aggregate, read: ReadLevels) -> Aggregate:
        made = generalize(plan, read)
        there = {(one.id, one.origins) for one in made.child.fields}
        keys = tuple(
            old if _read(old[1]) <= there else new
            for old, new in zip(plan.keys, made.keys, strict=True)
        )
        return replace(made, keys=keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "generalize", with_stored_keys)
        yield


def _read(key: Scalar) -> set[tuple[str, frozenset[ColumnRef]]]:
    """The columns that a key reads, and what they tell of."""
    refs = (one.field for one in walk_scalar(key) if isinstance(one, Ref))
    return {(one.id, one.origins) for one in refs}


def _one_table(said: Sentence) -> bool:
    return "VALUES of one number" in said.features and "events" not in said.sql


def _counts_events(said: Sentence) -> bool:
    return "COUNT(*)" in said.sql and " FROM events" in said.sql


def _is_keyed(made: Catalog) -> bool:
    return bool(made.tables[0].keys) and not is_alike(made)


def _has_several_rows(made: Catalog) -> bool:
    return made.tables[1].rows > 1 and not is_alike(made)


def _has_levels(made: Catalog) -> bool:
    return made.blurs and not is_alike(made)


def _has_key_of_level(said: Sentence) -> bool:
    return " GROUP BY " in said.sql and any(one.startswith("level of") for one in said.features)


@dataclass(frozen=True)
class Plant:
    """A bug, and which catalogs and statements may show it: the others need not be asked."""

    plant: Callable[[], AbstractContextManager[None]]
    may_hold: Callable[[Catalog], bool]
    may_show: Callable[[Sentence], bool]


PLANTS: Final = {
    "spellings": Plant(spellings, _is_keyed, _one_table),
    "weights": Plant(weights, _has_several_rows, _counts_events),
    "levels": Plant(levels, _has_levels, _has_key_of_level),
}


def found_with(
    server: Server, services: Services, name: str, *, catalogs: int, planted: bool
) -> Outcome | None:
    """The first statement that shows the bug; None where none of so many catalogs has one."""
    one = PLANTS[name]
    fitting = (str(seed) for seed in count(1) if one.may_hold(complete(str(seed))))
    for seed in islice(fitting, catalogs):
        with one.plant() if planted else nullcontext(), bench(server, services, seed) as made:
            for number in range(_STATEMENTS):
                said = sentence(made.catalog, f"{seed}/{number}")
                if one.may_show(said):
                    outcome = made.try_sentence(f"{seed}/{number}", said)
                    if outcome.found.problems:
                        return outcome
    return None


def swap_found(server: Server, services: Services, *, catalogs: int, planted: bool) -> list[str]:
    """What is wrong after a table was swapped on a kept connection, in the first catalog in which anything is."""
    fitting = (str(seed) for seed in count(1) if _is_keyed(complete(str(seed))))
    for seed in islice(fitting, catalogs):
        with kept() if planted else nullcontext(), bench(server, services, seed) as made:
            said = [sentence(made.catalog, f"{seed}/{number}") for number in range(_SWAPPED)]
            for one in said:
                if " people " in one.sql:
                    found = problems_of_a_swap(made, server.writer, one)
                    if found:
                        return [one.sql, *found]
    return []
