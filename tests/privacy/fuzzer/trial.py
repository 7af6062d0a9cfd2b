"""One statement through the whole line, in all worlds at once: what becomes of it, and everything that is wrong."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from fractions import Fraction
from hashlib import sha256
from typing import Final

from fix_policy import people
from noise.streams import Stream
from privacy.fuzzer.catalogs import SUBJECTS, Catalog, catalog
from privacy.fuzzer.children import with_children
from privacy.fuzzer.everywhere import Broken, Everywhere, Found
from privacy.fuzzer.identities import Identities, variant, wanted_by
from privacy.fuzzer.ladders import with_ladders
from privacy.fuzzer.statements import Sentence, sentence
from privacy.fuzzer.worlds import Server, Worlds, worlds_in
from queries import analyzed, executed

from gateway.budget.account import Currency
from gateway.cancellation import CancelEvent
from gateway.datasets.dataset import Proofs, ServedDataset
from gateway.datasets.view import Views
from gateway.errors import Code, Refusal
from gateway.noise.allocation import CostShares
from gateway.noise.mechanism import DiscreteLaplace
from gateway.policy.policy import Mechanism
from gateway.policy.subjects import Subject
from gateway.pricing.price import noise_for_price
from gateway.release_cache.assemble import PlannedMeasurement, PlannedRelease
from gateway.requests.request import Request
from gateway.results.constants import run_with_guards
from gateway.results.rollup import PricedRelease
from gateway.stages.finish import finish_query
from gateway.stages.repeat_cache import RepeatCache
from gateway.stages.services import Services

NOON: Final = datetime(2026, 3, 2, 12, tzinfo=UTC)
_NONE: Final = DiscreteLaplace(Fraction(1, 4096))
"""Noise of which all draws are 0: another one has a chance of e^-4096."""
PRICE: Final = Fraction(64)
_NOBODY: Final = 3  # one of so many is asked without the rows of nobody, too
_ZONES: Final = ("UTC", "Europe/Berlin", "America/Sao_Paulo", "Australia/Lord_Howe")
_VARIANTS: Final = {"likeness": 5, "chain of persons": 1, "UNION ALL": 1}
"""How often an answered statement with this feature is asked again with one thing changed; others half of the time."""
VARIANT: Final = "+"
_SIMULATED: Final = (
    40  # one of so many statements is finished with its intervals, which runs it 199 times
)


@dataclass
class Outcome:
    """What became of a statement: `code` is that of its refusal, None where it was answered."""

    seed: str
    sentence: Sentence
    code: Code | None
    said: str = ""
    found: Found = field(default_factory=Found)

    @property
    def compared(self) -> bool:
        return self.found.compared > 0


@dataclass(frozen=True)
class Bench:
    """A catalog in all its worlds, and the services that answers about it."""

    catalog: Catalog
    services: Services
    views: Views
    every: tuple[Worlds, Worlds]
    subjects: Mapping[str, Subject]
    identities: Identities = field(default_factory=Identities)

    def serving(self) -> ServedDataset:
        """The dataset; its source is one of what is public."""
        pure = self.catalog.policy.privacy.mechanism is Mechanism.LAPLACE
        worlds, dataset = self.every[-1], self.catalog.policy.dataset
        return ServedDataset(
            self.catalog.policy,
            self.views,
            worlds.source,
            Proofs(dataset, worlds.source.described),
            Currency.PURE if pure else Currency.ZCDP,
        )

    def try_sentence(self, seed: str, said: Sentence) -> Outcome:
        """Everything from the text to the last row."""
        outcome = Outcome(seed, said, None)
        try:
            self._answered(outcome)
        except Broken:
            pass  # it is among the problems
        except Refusal as refusal:
            outcome.code, outcome.said = refusal.code, str(refusal)
            if refusal.code is Code.INTERNAL:
                outcome.found.problems.append(
                    f"a refusal that is a bug: {refusal}: {refusal.__context__!r}"[:600]
                )
        except Exception as error:  # noqa: BLE001 - whatever it is, it would end in GW901
            outcome.found.problems.append(f"crashed: {type(error).__name__}: {error}")
        return outcome

    def _answered(self, outcome: Outcome) -> None:
        said, serving = outcome.sentence, self.serving()
        number = int.from_bytes(sha256(outcome.seed.encode()).digest()[:4])
        subject = self.subjects[said.subject]
        request = Request(said.sql, parameters=said.values, zone=_ZONES[number % len(_ZONES)])
        query = analyzed(self.services, subject, request, NOON, serving)
        cut = query.cut
        price = PRICE if query.measures else None
        releases = tuple(map(_silent, noise_for_price(query, price)))
        never = CancelEvent()
        with Everywhere(
            serving,
            query,
            self.services.limit_s,
            never,
            every=self.every,
            units=self.catalog.units,
            found=outcome.found,
            nobody=number % _NOBODY == 0,
            sql=said.sql,
            wanted=wanted_by(serving, query, outcome.seed) if self.catalog.holds else {},
            identities=self.identities,
        ) as access:
            access.prepare(part for one in releases for part in one.priced.parts)
            done = executed(self.services, query, releases, access, Stream(outcome.seed))
        if number % _SIMULATED == 0:
            finish_query(
                done,
                "q",
                entropy=Stream(outcome.seed),
                cancelled=never,
                limit_s=self.services.limit_s,
                repeats=RepeatCache(),
            )
            return
        with query.session() as twin:
            run_with_guards(cut.finishing, done.constants, twin, query.most_rows)


def _silent(release: PricedRelease) -> PlannedRelease:
    """Nothing of it is there yet, and what is drawn has no noise: groups are shown that the source shows."""
    measurements = []
    for one in release.parts:
        part = replace(one, noises=tuple(_NONE for _ in one.noises))
        if part.shown_from is not None:
            part = replace(part, shown_from=0)
        slots, choices = len(part.analysis.slots), len(part.analysis.choices)
        costs = CostShares((Fraction(1),) * slots, (Fraction(1),) * choices)
        measurements.append(
            PlannedMeasurement("r", part, part, costs, (None,) * slots, (None,) * choices, None)
        )
    return PlannedRelease(
        replace(release, parts=tuple(one.whole for one in measurements)), tuple(measurements)
    )


@contextmanager
def bench(server: Server, services: Services, seed: str) -> Iterator[Bench]:
    """The catalog of this seed, ready to be asked."""
    with bench_of(server, services, complete(seed)) as made:
        yield made


def complete(seed: str) -> Catalog:
    """The catalog of this seed with everything on top of it."""
    return with_ladders(with_children(catalog(seed)))


@contextmanager
def bench_of(server: Server, services: Services, made: Catalog) -> Iterator[Bench]:
    """A catalog, ready to be asked."""
    with worlds_in(server, made) as every:
        views = Views(made.policy)
        try:
            yield Bench(made, services, views, every, people(SUBJECTS))
        finally:
            for shown in views.shown:
                services.twin.forget(shown)


def trials(
    server: Server, services: Services, seed: str, statements: int
) -> Iterator[tuple[Bench, Outcome]]:
    """So many statements of one catalog."""
    with bench(server, services, seed) as made:
        for number in range(statements):
            name = f"{seed}/{number}"
            said = sentence(made.catalog, name)
            outcome = made.try_sentence(name, said)
            yield made, outcome
            many = next((many for one, many in _VARIANTS.items() if one in said.features), 0)
            for place in range(1, (many or number % 2) * outcome.compared + 1):
                another = name + VARIANT * place
                yield made, made.try_sentence(another, variant(said, another))


def shown(catalog: Catalog, outcome: Outcome) -> str:
    """Everything that is needed to see a problem again."""
    refused = [] if outcome.code is None else [f"refused: {outcome.said}"]
    lines = [f"seed {outcome.seed}", *refused, *dict.fromkeys(outcome.found.problems)]
    lines += [
        outcome.sentence.sql,
        f"parameters {outcome.sentence.values}, asked by {outcome.sentence.subject}",
    ]
    lines += [catalog.text, *(f"{one.name} {one.keys}" for one in catalog.tables)]
    lines += [f"{name}: {row}" for name, rows in catalog.rows.items() for row in rows]
    return "\n    ".join(lines)
