"""What a question has of its source, from both databases and all worlds at once: whatever is measured is compared.

It stands where a question reaches one source, so that everything around it is the gateway's own: stages, noise, the
finishing. What it hands on is what the world with everybody says.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import ParamSpec, TypeVar

from privacy.fuzzer.identities import Identities
from privacy.fuzzer.worlds import Raised, Worlds
from property.bounded_releases import undropped
from property.histogram_moves import counts_of, too_far
from property.moves import Groups, excesses, groups_of
from property.neighbour_check import is_comparable

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.datasets.dataset import stage_placeholders
from gateway.engines.sql.group_limits import Key
from gateway.errors import UnsupportedSql
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.allocation import ReleaseNoise
from gateway.plan.relations import StagedRows
from gateway.release_cache.matching import MeasurementRequest
from gateway.sensitivity.analysis import Analysis, ThresholdGroups
from gateway.sensitivity.choices import Histogram
from gateway.stages.prepare import SourceAccess, asks

P = ParamSpec("P")
T = TypeVar("T")


class Broken(Exception):
    """Nothing can follow: a source raised an error."""


@dataclass
class Found:
    """What is wrong with a statement, and how much of it was compared."""

    problems: list[str] = field(default_factory=list)
    compared: int = 0
    engines: set[str] = field(default_factory=set)
    reached: int = 0


@dataclass
class Everywhere(SourceAccess):
    """`every` has the worlds in each database, `able` those that can compute the statement; `found` is what is wrong.

    With `nobody` the rows of nobody are left out, too. `wanted` tells the parts of the statement from those of others.
    """

    every: tuple[Worlds, ...] = ()
    units: tuple[str, ...] = ()
    found: Found = field(default_factory=Found)
    able: list[Worlds] = field(default_factory=list)
    nobody: bool = True
    sql: str = ""
    wanted: Mapping[int, MeasurementRequest] = field(default_factory=dict)
    identities: Identities = field(default_factory=Identities)

    def prepare(self, bought: Iterable[ReleaseNoise]) -> None:
        """Which databases can compute it; a refusal where none can."""
        nothing, refusals = stage_placeholders(self.query.cut), []
        for worlds in self.every:
            try:
                for one in bought:
                    if asks(one):
                        self._render(worlds, one.analysis, nothing)
            except UnsupportedSql as refusal:
                refusals.append(refusal)
            else:
                self.able.append(worlds)
                self.found.engines.add(worlds.name)
        if not self.able:
            raise refusals[0]

    def run(self, analysis: Analysis, staged: Mapping[str, StagedRows]) -> ExactTable:
        """The exact answer over everybody; the others are held against it."""
        answers: list[list[Groups]] = []
        first: ExactTable | None = None
        alike = True
        for worlds in self.able:
            release = self._bounded(worlds, analysis)
            alike = alike and is_comparable(release)
            places = worlds.places if self.nobody else worlds.places[:-1]
            tables = self._ask(worlds.run, undropped(release), staged, places)
            groups = [self._groups(worlds, one) for one in tables]
            dropped = tables[0]
            if release.least_units is not None:
                [dropped] = self._ask(worlds.run, release, staged, places[:1])
            self._note(worlds, _wrong(groups, self._groups(worlds, dropped), analysis, self.units))
            if worlds.blurred is not None:
                [blurred] = self._ask(worlds.run, undropped(release), staged, (worlds.blurred,))
                if (alike_there := self._groups(worlds, blurred)) != groups[0]:
                    told = _difference(alike_there, groups[0])
                    self._note(worlds, [f"values of one level are told apart: {told}"])
            one = self.wanted.get(id(analysis))
            if one is not None:
                self._note(worlds, self.identities.note(worlds.name, self.sql, one, groups[0]))
            answers.append(groups)
            first = first or dropped
            self.found.compared += len(groups) - 1
        if alike and len(answers) > 1:
            self.found.problems += [
                f"the databases differ in world {place}: {_difference(one, other)}"
                for place, (one, other) in enumerate(zip(*answers, strict=True))
                if one != other
            ]
        assert first is not None
        return first

    def count(
        self, analysis: Analysis, shown: Sequence[Key], staged: Mapping[str, StagedRows]
    ) -> Mapping[Histogram, ExactHistogram]:
        """The same for histograms."""
        if not shown:
            return {one: ExactHistogram({}) for one in analysis.histograms}
        first: tuple[ExactHistogram, ...] | None = None
        for worlds in self.able:
            release = replace(self._bounded(worlds, analysis), measurements=())
            found = self._ask(worlds.count, release, staged, shown)
            counts = [[counts_of(one) for one in each] for each in found]
            for unit, one in zip(self.units, counts[1:-1], strict=True):
                problems = too_far(one, counts[0], analysis)
                self._note(worlds, (f"without {unit!r}: {what}" for what in problems))
            if counts[-1] != counts[0]:
                self._note(worlds, ["rows of nobody count in a histogram"])
            first = first or found[0]
            self.found.compared += len(counts) - 1
        assert first is not None
        return dict(zip(analysis.histograms, first, strict=True))

    def _bounded(self, worlds: Worlds, analysis: Analysis) -> BoundedRelease:
        return bound_release(analysis, now=self.query.question.asked_at, proven=worlds.proven)

    def _render(self, worlds: Worlds, analysis: Analysis, staged: Mapping[str, StagedRows]) -> None:
        release = self._bounded(worlds, analysis)
        if release.measurements or not release.histograms:
            # what `run` sends first: it is remembered
            worlds.source.statement(undropped(release), staged)
        for histogram in release.histograms:
            worlds.source.counting(release, histogram, staged)

    def _ask(self, ask: Callable[P, list[T]], *given: P.args, **named: P.kwargs) -> list[T]:
        try:
            return ask(*given, **named)
        except Raised as raised:
            self.found.problems.append(f"raised: {raised}")
            raise Broken from None

    def _groups(self, worlds: Worlds, table: ExactTable) -> Groups:
        if len(set(table.keys)) != len(table.keys):
            self.found.problems.append(f"{worlds.name}: one key came back twice: {table.keys}")
            raise Broken
        return groups_of(table)

    def _note(self, worlds: Worlds, problems: Iterable[str]) -> None:
        self.found.problems += [f"{worlds.name}: {one}" for one in problems]


def _wrong(
    groups: Sequence[Groups], dropped: Groups, analysis: Analysis, units: Sequence[str]
) -> Iterator[str]:
    """`groups` are those of everybody, those without each unit, and by chance those without the rows of nobody."""
    everybody, others, without_nobody = groups[0], groups[1 : len(units) + 1], groups[-1]
    for unit, one in zip(units, others, strict=True):
        for what in excesses(one, everybody, analysis):
            yield f"without {unit!r}: {what}"
        yield from (f"without {unit!r}: {what}" for what in _presence(one, everybody, analysis))
    if len(groups) > len(units) + 1 and without_nobody != everybody:
        yield f"rows of nobody count: {_difference(without_nobody, everybody)}"
    of = analysis.groups
    if isinstance(of, ThresholdGroups):
        lowered = analysis.clips is not None and analysis.clips.units is not None
        least = analysis.least_count  # where units weigh less, that does not tell how many they are
        kept = {key: one for key, one in everybody.items() if lowered or one[of.units] >= least}
        if (not dropped.items() <= kept.items()) if lowered else kept != dropped:
            yield f"other groups are dropped than those of fewer than {of.least} units"
    elif dropped != everybody:
        yield "a listed group was dropped"


def _presence(before: Groups, after: Groups, analysis: Analysis) -> Iterator[str]:
    """A group that one unit brings has one unit, and the unit takes none away."""
    of = analysis.groups
    if not isinstance(of, ThresholdGroups):
        return
    for key in after.keys() - before.keys():
        lowered = analysis.clips is not None and analysis.clips.units is not None
        units = Fraction(after[key][of.units], analysis.measurements[of.units].whole)
        if not 0 <= units <= 1 or (units != 1 and not lowered):
            yield f"the unit brings the group {key} of {units} units"
    for key in before.keys() - after.keys():
        yield f"the unit takes the group {key} away"


def _difference(one: Groups, other: Groups) -> str:
    keys = [key for key in {*one, *other} if one.get(key) != other.get(key)][:3]
    return "; ".join(f"{key}: {one.get(key)} and {other.get(key)}" for key in keys)
