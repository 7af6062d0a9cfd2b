"""The steps of a statement, one after the other: exact answers get their noise before anything else sees them."""

import threading
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TypeAlias

from gateway.binding.bound import Cut, Empty, Fetch, Release, Stage
from gateway.constants import free_stages
from gateway.counted import Counts, sizes
from gateway.engines.staged import StagedRows
from gateway.errands import ErrandRelease, put_together
from gateway.errors import BackendUnavailable, Code
from gateway.finishing import Constant, fetched, released, run_finishing, staged
from gateway.house import House
from gateway.noise.noisy import NOT_ASKED, NoisyTable, add_noise, with_choices
from gateway.noise.pricing import Priced
from gateway.noise.rolling import NoisyRelease, rolled_up
from gateway.overlap.ground import Ground
from gateway.overlap.immutable import touched
from gateway.paid import Paid
from gateway.releases.sheets import Content
from gateway.sensitivity.analysis import Enumerated
from gateway.serving import Serving
from gateway.suppressing import blanked
from gateway.understanding import Question, Understood

AuditAgain: TypeAlias = Callable[[int, Mapping[str, StagedRows]], None]
Keep: TypeAlias = Callable[[str, Content, Counts | None], None]


@dataclass(frozen=True)
class Confined:
    """The cells of the immutable partition that what is bought is confined to, and the grounds it was told by."""

    cells: tuple[str, ...] | None = None
    grounds: tuple[Ground, ...] = ()

    def require_still(self, serving: Serving) -> None:
        """INVARIANT: what rests on a constraint is thrown away, before it has noise, where that was not proven while it
        was computed: the cells beside those that were charged would have given for it, too.
        """
        if self.cells is None:
            return
        if touched(self.grounds, serving.policy.dataset, serving.proofs.now()) != self.cells:
            raise BackendUnavailable(Code.SOURCE_UNAVAILABLE, hint="try again")


@dataclass(frozen=True)
class Bill:
    """What a question took, its releases on their way, and what is taken from earlier ones.

    `audit_again` holds a release against earlier answers with the constants that are there by now, or refuses it.
    """

    paid: Paid
    releases: tuple[ErrandRelease, ...]
    contents: Mapping[str, Content] = field(default_factory=dict, repr=False)
    confined: Confined = field(default_factory=Confined)
    audit_again: AuditAgain = field(default=lambda _place, _there: None, repr=False)


@dataclass(frozen=True)
class Executed:
    """Constants for the twin, and the noisy tables among them by the names of their releases.

    `small` has the rows of each release whose aggregates are blank.
    """

    constants: Mapping[str, Constant]
    noisy: Mapping[str, NoisyRelease]
    small: Mapping[str, frozenset[int]]


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
            found[step.name] = staged(step, run_finishing(step.sql, {}, twin, most))
    return found


def executed(  # noqa: PLR0913, PLR0917 - a statement and where it runs
    house: House,
    question: Question,
    serving: Serving,
    understood: Understood,
    bill: Bill,
    keep: Keep,
    cancelled: threading.Event,
) -> Executed:
    """Every step, in order; what was bought is handed to `keep` as soon as it has its noise."""
    cut = understood.bound
    constants: dict[str, Constant] = {}
    there: dict[str, StagedRows] = {}
    noisy: dict[str, NoisyRelease] = {}
    small: dict[str, frozenset[int]] = {}
    waiting = enumerate(bill.releases)
    for step in cut.steps if isinstance(cut, Cut) else ():
        match step:
            case Release():
                place, on_way = next(waiting)
                if there:
                    # before its statement reaches the source; the charge is written, and stays
                    bill.audit_again(place, there)
                tables = []
                for errand in on_way.errands:
                    drawn = None
                    if errand.purchase is not None:
                        drawn = _noisy(
                            house,
                            question,
                            serving,
                            errand.purchase,
                            bill.confined,
                            there,
                            cancelled,
                        )
                    table, content = put_together(errand, drawn, bill.contents)
                    if errand.sheet is not None and content is not None:
                        keep(errand.sheet.release, content, sizes(errand, content))
                    tables.append(table)
                release = noisy[step.name] = rolled_up(on_way.priced, tables)
                small[step.name] = release.small
                shown = released(step, release, clamp=serving.policy.results.clamp)
                constants[step.name] = blanked(shown, step.plan, small[step.name])
            case Fetch():
                rows = serving.fetch(step, lambda name: house.own(question.subject, name))
                constants[step.name] = fetched(step, rows)
            case Empty():
                constants[step.name] = fetched(step, None)
            case Stage():
                most = serving.policy.sizes.result_rows
                with house.twin.borrowed(question.subject.name, understood.view.shown) as twin:
                    found = run_finishing(step.sql, constants, twin, most)
                there[step.name] = staged(step, found)
    return Executed(constants, noisy, small)


def _noisy(  # noqa: PLR0913, PLR0917 - see above
    house: House,
    question: Question,
    serving: Serving,
    release: Priced,
    confined: Confined,
    there: Mapping[str, StagedRows],
    cancelled: threading.Event,
) -> NoisyTable:
    """Counts first: whose groups they show is released then, and histograms are asked for of those alone."""
    analysis = release.analysis
    exact = NOT_ASKED
    # groups that the policy lists, and nothing about them: the source is not asked
    if release.noises or not isinstance(analysis.groups, Enumerated):
        exact = serving.run(
            analysis, there, now=question.asked_at, limit_s=house.limit_s, cancelled=cancelled
        )
        confined.require_still(serving)
    counted = add_noise(exact, release, house.entropy)
    if not release.choices:
        return counted
    histograms = serving.count(
        analysis,
        counted.keys,
        there,
        now=question.asked_at,
        limit_s=house.limit_s,
        cancelled=cancelled,
    )
    confined.require_still(serving)
    return with_choices(counted, release, histograms, house.entropy)
