"""Releases that the gateway takes for the same have the same exact answer: else one would be given in the other's place.

What tells releases apart is read from plans and is never run, so nothing else of the gateway would notice. Statements of
one catalog are held against each other, and against variants of themselves that differ in one constant, one kind of
join, or the order of two constants.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final

from privacy.fuzzer.chance import Chance
from privacy.fuzzer.statements import Sentence
from property.moves import Groups

from gateway.datasets.dataset import ServedDataset
from gateway.pricing.price import AnalyzedQuery
from gateway.regions.declarations import declarations
from gateway.regions.scope import scope_of
from gateway.release_cache.fingerprints import Constants
from gateway.release_cache.matching import MeasurementRequest, measurement_request
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups

_CONSTANT: Final = re.compile(r"(?<![\w.$])\d+(?:\.\d+)?(?![\w.])|'[^']*'")


@dataclass
class Identities:
    """Exact answers of one catalog, by what tells the releases apart that they belong to."""

    _answers: dict[tuple[Any, ...], tuple[str, dict[Any, tuple[int, ...]]]] = field(
        default_factory=dict
    )

    def note(
        self, engine: str, sql: str, wanted: MeasurementRequest, groups: Groups
    ) -> Iterator[str]:
        """Remember the answer of each slot; what is wrong where another one is known."""
        place = 0
        for slot, digest in zip(wanted.analysis.slots, wanted.slots, strict=True):
            until = place + len(slot.measurements)
            mine = {key: row[place:until] for key, row in groups.items()}
            place = until
            name = (engine, wanted.scope, wanted.bounding, wanted.listed, digest)
            before, there = self._answers.setdefault(name, (sql, mine))
            if there != mine:
                yield f"{engine}: taken for the same release as that of {before}"


def wanted_by(
    serving: ServedDataset, query: AnalyzedQuery, query_id: str
) -> Mapping[int, MeasurementRequest]:
    """What tells the parts of a statement apart from those of others, by the ids of their analyses."""
    constants = Constants(query.cut, query_id)
    found = {}
    for place, release in enumerate(query.releases):
        content = constants.before(place)
        for analysis in release.parts:
            found[id(analysis)] = _wanted(serving, analysis, content)
        constants.set_content(place, f"{query_id} {place}")
    return found


def _wanted(
    serving: ServedDataset, analysis: Analysis, content: Mapping[str, str]
) -> MeasurementRequest:
    groups = analysis.groups
    listed = groups if isinstance(groups, EnumeratedGroups) else None
    return measurement_request(
        analysis,
        scope_of(analysis.plan, listed, content),
        currency=serving.currency,
        declarations=declarations(analysis.plan, serving.policy.dataset),
        constants=content,
    )


def variant(said: Sentence, seed: str) -> Sentence:
    """The statement with one thing changed."""
    chance = Chance(f"variant {seed}")
    constants = [one.span() for one in _CONSTANT.finditer(said.sql)]
    texts = [said.sql[begin:end] for begin, end in constants]
    joins = "LEFT JOIN" in said.sql
    if joins and (not constants or chance.happens(0.2)):
        return replace(said, sql=said.sql.replace("LEFT JOIN", "JOIN", 1))
    if not constants:
        return said
    place = chance.between(0, len(constants) - 1)
    fit = [one for one in range(len(texts)) if _kind(texts[one]) == _kind(texts[place])]
    other = chance.one_of(fit)
    if texts[other] != texts[place] and chance.happens(0.5):
        texts[place], texts[other] = texts[other], texts[place]
    else:
        texts[place] = _another(chance, texts[place])
    made, end = [], 0
    for (begin, stop), text in zip(constants, texts, strict=True):
        made += [said.sql[end:begin], text]
        end = stop
    return replace(said, sql="".join([*made, said.sql[end:]]))


def _kind(text: str) -> bool:
    return text.startswith("'")


def _another(chance: Chance, text: str) -> str:
    if _kind(text):
        return chance.one_of(("'a'", "'30'", "'flu'", "'2024-02-29'", "''"))
    return chance.one_of(("0", "1", "2", "7", "30", "31", "39"))
