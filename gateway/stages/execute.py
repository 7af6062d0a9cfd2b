"""Execution: the steps of a query in order. Exact answers get their noise before anything else sees them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Final, TypeAlias

from gateway.binding.bound import Empty, Fetch, Release, Stage
from gateway.catalog.tables import is_system_table
from gateway.lru_cache import LruCache
from gateway.noise.add_noise import NOT_ASKED, NoisyTable, add_choices, add_noise
from gateway.noise.allocation import ReleaseNoise
from gateway.noise.entropy import Entropy
from gateway.plan.relations import StagedRows
from gateway.policy.subjects import Subject
from gateway.release_cache.assemble import PlannedMeasurement, assemble_table
from gateway.release_cache.cache import ReleaseCache
from gateway.release_cache.group_sizes import stored_sizes
from gateway.requests.request import Answer
from gateway.results.constants import (
    ConstantTable,
    blank_rows,
    release_constant,
    run_with_guards,
    staged_rows,
    table_constant,
)
from gateway.results.rollup import NoisyRelease, roll_up
from gateway.results.simulation import columns_to_simulate
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.stages.analyze import AnalyzedQuery
from gateway.stages.charge import Bill
from gateway.stages.prepare import SourceAccess
from gateway.stages.quote import audit_release
from gateway.stages.record import QueryRecord

_MOST_CELLS: Final = 1_000_000  # of all kept tables together, and of all kept answers
SystemRows: TypeAlias = Callable[[Subject, str], StagedRows]


@dataclass(frozen=True)
class Released:
    """A query whose numbers are released: what is left is PostgreSQL's own work over them.

    `constants` are relations for the twin, `noisy` the noisy tables among them by the names of their releases, and
    `small` the rows of each release whose aggregates are blank. `undefined`: NULL was staged for a missing value.
    """

    query: AnalyzedQuery
    bill: Bill
    constants: Mapping[str, ConstantTable]
    noisy: Mapping[str, NoisyRelease]
    small: Mapping[str, frozenset[int]]
    undefined: bool = False


class ResultCache:
    """What repeats computed from cached integers: their released tables, and their answers. Safe among threads.

    INVARIANT: a result is given for the very quote and the very contents that it was computed from, and it follows from
    them. So it is kept only of a repeat whose steps are all releases: nothing is drawn, fetched or staged for it. An answer
    is kept only if its finishing has nothing but columns of these releases in it, and no interval of it was simulated.
    """

    def __init__(self) -> None:
        self._released: LruCache[int, Released] = LruCache(_MOST_CELLS, lambda _, one: _cells(one))
        self._answers: LruCache[int, tuple[Released, Answer]] = LruCache(
            _MOST_CELLS, lambda _, one: 1 + len(one[1].rows) * len(one[1].columns)
        )

    def released(self, bill: Bill) -> Released | None:
        """The released tables of this quote over these contents; `query` is that of an earlier repeat."""
        known = self._released.find(id(bill.quote))
        if known is None or known.bill.contents.keys() != bill.contents.keys():
            return None
        there = known.bill.contents
        return known if all(there[name] is one for name, one in bill.contents.items()) else None

    def keep_released(self, done: Released) -> None:
        """Keep them if they are a repeat's."""
        steps = done.query.cut.steps
        if done.bill.quote.is_repeat and all(isinstance(one, Release) for one in steps):
            self._released.put(id(done.bill.quote), done)

    def answer(self, done: Released) -> Answer | None:
        """The answer that was computed from these tables, under the number of the query that it was computed for."""
        known = self._answers.find(id(done))
        return None if known is None else known[1]

    def keep_answer(self, done: Released, answer: Answer) -> None:
        """Keep it if the same tables give the same answer, whenever it is computed."""
        cut = done.query.cut
        sql = cut.finishing if cut.traced is None else cut.traced.finishing
        reads_releases_alone = cut.again is not None and cut.again.effort is not None
        if (
            self._released.peek(id(done.bill.quote)) is done
            and reads_releases_alone
            and not sql.can_raise
            and not columns_to_simulate(cut, done.noisy)
        ):
            self._answers.put(id(done), (done, answer))


def _cells(done: Released) -> int:
    return 1 + sum(len(texts) for one in done.constants.values() for texts in one.texts)


def execute_query(  # noqa: PLR0913 - a bill, and all that its steps read and write
    query: AnalyzedQuery,
    bill: Bill,
    source: SourceAccess,
    book: ReleaseCache,
    *,
    record: QueryRecord,
    system_rows: SystemRows,
    entropy: Entropy,
    results: ResultCache,
) -> Released:
    """Run every step in order; `record` gets what was measured as soon as it has its noise."""
    known = results.released(bill)
    if known is not None:
        return known
    constants: dict[str, ConstantTable] = {}
    stages: dict[str, StagedRows] = {}
    noisy: dict[str, NoisyRelease] = {}
    small: dict[str, frozenset[int]] = {}
    waiting = enumerate(bill.quote.releases)
    undefined = False
    with record.measuring(bill.quote.measured):
        for step in query.cut.steps:
            match step:
                case Release():
                    place, quoted = next(waiting)
                    if stages:
                        # before its statement reaches the source; the charge is durable, and stays
                        audit_release(query, bill.quote, place, stages, book)
                    tables = [
                        _measure(one, bill, source, stages, record, entropy)
                        for one in quoted.errands
                    ]
                    release = noisy[step.name] = roll_up(quoted.priced, tables)
                    small[step.name] = release.small
                    shown = release_constant(step, release, clamp=query.policy.results.clamp)
                    constants[step.name] = blank_rows(shown, step.plan, small[step.name])
                case Fetch():
                    own = is_system_table(step.table)
                    rows = (
                        system_rows(query.subject, step.table.name) if own else source.fetch(step)
                    )
                    constants[step.name] = table_constant(step, rows)
                case Empty():
                    constants[step.name] = table_constant(step, None)
                case Stage():
                    with query.session() as twin:
                        found = run_with_guards(step.sql, constants, twin, query.most_rows)
                    undefined |= found.undefined
                    stages[step.name] = staged_rows(step, found.rows)
    done = Released(query, bill, constants, noisy, small, undefined=undefined)
    results.keep_released(done)
    return done


def _measure(  # noqa: PLR0917 - a part, and what it is made from
    part: PlannedMeasurement,
    bill: Bill,
    source: SourceAccess,
    stages: Mapping[str, StagedRows],
    record: QueryRecord,
    entropy: Entropy,
) -> NoisyTable:
    """The noisy table of one part: measured now, taken from the cache, or both put together."""
    drawn = None
    if part.purchase is not None and part.copied is not None:
        drawn = part.copied.drawn(bill.contents[part.copied.sheet.release], part.purchase)
    elif part.purchase is not None:
        drawn = _ask(source, part.purchase, stages, entropy)
    table, content = assemble_table(part, drawn, bill.contents)
    if part.sheet is not None and content is not None:
        record.keep(content, stored_sizes(part.sheet.release, part, content))
    return table


def _ask(
    source: SourceAccess, release: ReleaseNoise, stages: Mapping[str, StagedRows], entropy: Entropy
) -> NoisyTable:
    """Counts first: they release whose groups are shown, and histograms are asked for of those alone."""
    analysis = release.analysis
    exact = NOT_ASKED
    if release.noises or not isinstance(analysis.groups, EnumeratedGroups):
        exact = source.run(analysis, stages)
    counted = add_noise(exact, release, entropy)
    if not release.choices:
        return counted
    histograms = source.count(analysis, counted.keys, stages)
    return add_choices(counted, release, histograms, entropy)
