"""The steps of a statement, one after the other: exact answers get their noise before anything else sees them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.binding.bound import Cut, Empty, Fetch, Release, Stage
from gateway.catalog.system_tables import is_own
from gateway.datasets.bind_question import Question, Understood
from gateway.datasets.dataset import Serving
from gateway.engines.staged_rows import StagedRows
from gateway.noise.add_noise import NOT_ASKED, NoisyTable, add_noise, with_choices
from gateway.noise.allocation import Priced
from gateway.release_cache.assemble import Errand, ErrandRelease, put_together
from gateway.release_cache.entry import Content
from gateway.release_cache.group_sizes import Counts, sizes
from gateway.release_cache.input_ids import free_stages
from gateway.results.constants import Constant, fetched, finish, released, staged
from gateway.results.rollup import NoisyRelease, rolled_up
from gateway.results.suppression import blanked
from gateway.sensitivity.analysis import Enumerated
from gateway.stages.cost import Paid
from gateway.stages.services import House
from gateway.stages.source_access import SourceAccess

AuditAgain: TypeAlias = Callable[[int, Mapping[str, StagedRows]], None]
Keep: TypeAlias = Callable[[str, Content, Counts | None], None]


@dataclass(frozen=True)
class Bill:
    """What a question took, its releases on their way, and what is taken from earlier ones.

    `audit_again` holds a release against earlier answers with the constants that are there by now, or refuses it.
    """

    paid: Paid
    releases: tuple[ErrandRelease, ...]
    contents: Mapping[str, Content] = field(default_factory=dict, repr=False)
    audit_again: AuditAgain = field(default=lambda _place, _there: None, repr=False)


@dataclass(frozen=True)
class Executed:
    """Constants for the twin, and the noisy tables among them by the names of their releases.

    `small` has the rows of each release whose aggregates are blank. `undefined`: NULL was staged where there is no value.
    """

    constants: Mapping[str, Constant]
    noisy: Mapping[str, NoisyRelease]
    small: Mapping[str, frozenset[int]]
    undefined: bool = False


def known_beforehand(
    house: House, question: Question, understood: Understood, most: int
) -> Mapping[str, StagedRows]:
    """What stages give that need nothing but the text of the statement: computed on the twin before anything is charged.

    With these the auditor reads conditions on them as conditions on constants.
    """
    cut = understood.bound
    found: dict[str, StagedRows] = {}
    for step in free_stages(cut) if isinstance(cut, Cut) else ():
        with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
            found[step.name] = staged(step, finish(step.sql, {}, twin, most).rows)
    return found


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
    waiting = enumerate(bill.releases)
    undefined = False
    for step in cut.steps if isinstance(cut, Cut) else ():
        match step:
            case Release():
                place, on_way = next(waiting)
                if there:
                    # before its statement reaches the source; the charge is written, and stays
                    bill.audit_again(place, there)
                tables = []
                for errand in on_way.errands:
                    drawn = _drawn(house, access, errand, bill, there)
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


def _drawn(
    house: House,
    access: SourceAccess,
    errand: Errand,
    bill: Bill,
    there: Mapping[str, StagedRows],
) -> NoisyTable | None:
    """The noisy table of what is bought: drawn now, or by somebody else before; None where nothing is bought."""
    if errand.purchase is None:
        return None
    if errand.copied is not None:
        return errand.copied.drawn(bill.contents[errand.copied.sheet.release], errand.purchase)
    return _noisy(house, access, errand.purchase, there)


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
