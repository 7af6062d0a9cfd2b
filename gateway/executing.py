"""The steps of a statement, one after the other: exact answers get their noise before anything else sees them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.binding.bound import Cut, Empty, Fetch, Release, Stage
from gateway.catalog.own import is_own
from gateway.engines.staged import StagedRows
from gateway.errands import Counts, ErrandRelease, put_together, sizes
from gateway.finishing import Constant, fetched, finish, released, staged
from gateway.house import House
from gateway.noise.noisy import NOT_ASKED, NoisyTable, add_noise, with_choices
from gateway.noise.pricing import Priced
from gateway.noise.rolling import NoisyRelease, rolled_up
from gateway.paid import Paid
from gateway.releases.sheets import Content
from gateway.sensitivity.analysis import Enumerated
from gateway.serving import Serving
from gateway.source_access import SourceAccess
from gateway.suppressing import blanked
from gateway.understanding import Question, Understood

Keep: TypeAlias = Callable[[str, Content, Counts | None], None]


@dataclass(frozen=True)
class Bill:
    """What a question took, its releases on their way, and what is taken from earlier ones."""

    paid: Paid
    releases: tuple[ErrandRelease, ...]
    contents: Mapping[str, Content] = field(default_factory=dict, repr=False)


@dataclass(frozen=True)
class Executed:
    """Constants for the twin, and the noisy tables among them by the names of their releases.

    `small` has the rows of each release whose aggregates are blank. `undefined`: NULL was staged where there is no value.
    """

    constants: Mapping[str, Constant]
    noisy: Mapping[str, NoisyRelease]
    small: Mapping[str, frozenset[int]]
    undefined: bool = False


def executed(  # noqa: PLR0913, PLR0917 - a statement and where it runs
    house: House,
    question: Question,
    serving: Serving,
    understood: Understood,
    bill: Bill,
    access: SourceAccess,
    keep: Keep,
) -> Executed:
    """Every step, in order; what was bought is handed to `keep` as soon as it has its noise."""
    cut = understood.bound
    constants: dict[str, Constant] = {}
    there: dict[str, StagedRows] = {}
    noisy: dict[str, NoisyRelease] = {}
    small: dict[str, frozenset[int]] = {}
    waiting = iter(bill.releases)
    undefined = False
    for step in cut.steps if isinstance(cut, Cut) else ():
        match step:
            case Release():
                on_way = next(waiting)
                tables = []
                for errand in on_way.errands:
                    drawn = None
                    if errand.purchase is not None:
                        drawn = _noisy(house, access, errand.purchase, there)
                    table, content = put_together(errand, drawn, bill.contents)
                    if errand.sheet is not None and content is not None:
                        keep(errand.sheet.release, content, sizes(errand, content))
                    tables.append(table)
                release = noisy[step.name] = rolled_up(on_way.priced, tables)
                small[step.name] = release.small
                shown = released(step, release, clamp=serving.policy.results.clamp)
                constants[step.name] = blanked(shown, step.plan, small[step.name])
            case Fetch():
                own = is_own(step.table)
                rows = house.own(question.subject, step.table.name) if own else access.fetch(step)
                constants[step.name] = fetched(step, rows)
            case Empty():
                constants[step.name] = fetched(step, None)
            case Stage():
                most = serving.policy.sizes.result_rows
                with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
                    found = finish(step.sql, constants, twin, most)
                undefined |= found.undefined
                there[step.name] = staged(step, found.rows)
    return Executed(constants, noisy, small, undefined=undefined)


def _noisy(
    house: House, access: SourceAccess, release: Priced, there: Mapping[str, StagedRows]
) -> NoisyTable:
    """Counts first: whose groups they show is released then, and histograms are asked for of those alone."""
    analysis = release.analysis
    exact = NOT_ASKED
    if release.noises or not isinstance(analysis.groups, Enumerated):
        exact = access.run(analysis, there)
    counted = add_noise(exact, release, house.entropy)
    if not release.choices:
        return counted
    histograms = access.count(analysis, counted.keys, there)
    return with_choices(counted, release, histograms, house.entropy)
