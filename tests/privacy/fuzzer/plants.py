"""Bugs that the fuzzer has to find, planted from outside: nothing in the gateway knows how to be wrong.

Each is a break that was there once: a licence that was read from spellings, a domain that was narrowed on a declared
step, a licence that outlives its constraint; and groups that are finer than a right permits.
"""

import re
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from itertools import count, islice
from typing import Any, Final

import pytest
from privacy.fuzzer.catalogs import Catalog
from privacy.fuzzer.statements import Sentence, is_alike, sentence
from privacy.fuzzer.swaps import problems_of_a_swap
from privacy.fuzzer.trial import Outcome, bench, complete
from privacy.fuzzer.worlds import Server
from sqlglot import exp

from gateway.binding import free_select as free
from gateway.bounding import licences
from gateway.datasets import view
from gateway.engines import postgresql_preparation
from gateway.engines.preparation import Chunks
from gateway.plan import narrowed_domains
from gateway.plan.aggregates import Aggregate
from gateway.plan.joins import Join
from gateway.plan.relations import Constant, below_filters
from gateway.plan.scalars import column_ids
from gateway.policy.generalization import generalize
from gateway.policy.levels import ReadLevels
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
def steps() -> Iterator[None]:
    """An end of a domain is moved onto the next declared step inwards."""
    within: Callable[..., Any] = narrowed_domains._within

    def rounded(*given: Any, exact: bool) -> Any:  # noqa: ANN401 - as given
        del exact
        return within(*given, exact=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrowed_domains, "_within", rounded)
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
        there = {one.id for one in made.child.fields}
        keys = tuple(
            old if column_ids(old[1]) <= there else new
            for old, new in zip(plan.keys, made.keys, strict=True)
        )
        return replace(made, keys=keys)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(view, "generalize", with_stored_keys)
        yield


def _one_table(said: Sentence) -> bool:
    return "VALUES of one number" in said.features and "events" not in said.sql


def _one_column(said: Sentence) -> bool:
    """The different values of a whole column that is held between two ends."""
    return (
        re.search(r"COUNT\(DISTINCT (q\d+\.[xy])\) FROM events q\d+ WHERE \(\1 >=? ", said.sql)
        is not None
    )


def _is_keyed(made: Catalog) -> bool:
    return bool(made.tables[0].keys) and not is_alike(made)


def _is_coarse(made: Catalog) -> bool:
    events = made.tables[1]
    steps = [one.domain for one in events.columns if one.name in {"x", "y"} and one.domain]
    coarse = any("step: 10" in one or "step: 20" in one for one in steps)
    return events.rows > 1 and coarse and not is_alike(made)


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
    "steps": Plant(steps, _is_coarse, _one_column),
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
