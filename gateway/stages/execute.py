"""Execution: the steps of a query in order. Exact answers get their noise before anything else sees them."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from gateway.binding.bound import Empty, Fetch, Release, Stage
from gateway.catalog.tables import is_system_table
from gateway.datasets.view import Question
from gateway.noise.add_noise import NOT_ASKED, NoisyTable, add_choices, add_noise
from gateway.noise.allocation import ReleaseNoise
from gateway.noise.entropy import Entropy
from gateway.plan.relations import StagedRows
from gateway.pricing.noise_notices import noise_notices
from gateway.pricing.price import AnalyzedQuery
from gateway.release_cache.assemble import PlannedMeasurement, assemble_table
from gateway.release_cache.group_sizes import stored_sizes
from gateway.results.constants import (
    ConstantTable,
    blank_rows,
    release_constant,
    run_with_guards,
    staged_rows,
    table_constant,
)
from gateway.results.rollup import NoisyRelease, roll_up
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.stages.prepare import SourceAccess
from gateway.stages.purchase import Bill, Released
from gateway.stages.quote import audit_release
from gateway.stages.record import QueryRecord
from gateway.stages.repeat_cache import RepeatCache

SystemRows: TypeAlias = Callable[[Question, str], StagedRows]


def execute_query(  # noqa: PLR0913 - a bill, and all that its steps read and write
    query: AnalyzedQuery,
    bill: Bill,
    source: SourceAccess,
    *,
    record: QueryRecord,
    system_rows: SystemRows,
    entropy: Entropy,
    repeats: RepeatCache,
) -> Released:
    """Run every step in order; `record` gets what was measured as soon as it has its noise."""
    known = repeats.find_released(bill)
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
                        audit_release(query, bill.quote, place, stages)
                    tables = [
                        _measure(one, bill, source, stages, record, entropy)
                        for one in quoted.measurements
                    ]
                    release = noisy[step.name] = roll_up(quoted.priced, tables)
                    small[step.name] = release.small
                    shown = release_constant(step, release, clamp=query.policy.results.clamp)
                    constants[step.name] = blank_rows(shown, step.plan, small[step.name])
                case Fetch():
                    own = is_system_table(step.table)
                    rows = (
                        system_rows(query.question, step.table.name) if own else source.fetch(step)
                    )
                    constants[step.name] = table_constant(step, rows)
                case Empty():
                    constants[step.name] = table_constant(step, None)
                case Stage():
                    with query.session() as twin:
                        found = run_with_guards(step.sql, constants, twin, query.most_rows)
                    undefined |= found.undefined
                    stages[step.name] = staged_rows(step, found.rows)
    plan = bill.quote.plan
    accounts = () if plan is None else plan.context.basis.accounts
    notices = noise_notices(query, accounts, noisy, small) if accounts else ()
    done = Released(query, bill, constants, noisy, small, undefined=undefined, notices=notices)
    repeats.keep_released(done)
    return done


def measure_histogram(
    bill: Bill, source: SourceAccess, record: QueryRecord, entropy: Entropy
) -> NoisyTable:
    """The noisy table of a query whose only release has no groups: a histogram of norms."""
    [release] = bill.quote.releases
    [part] = release.measurements
    with record.measuring(bill.quote.measured):
        return _measure(part, bill, source, {}, record, entropy)


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
        drawn = part.copied.drawn(bill.contents[part.copied.entry.release], part.purchase)
    elif part.purchase is not None:
        drawn = _ask(source, part.purchase, stages, entropy)
    table, content = assemble_table(part, drawn, bill.contents)
    if part.entry is not None and content is not None:
        record.keep(content, stored_sizes(part.entry.release, part, content))
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
