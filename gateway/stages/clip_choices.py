"""The choices of clips: what the clip of each part of a query follows from, and which held clips are near enough to it.

Takes the histograms of norms that a query has, and how many groups earlier releases showed. Gives for each part its
`ClipChoice`: the best clip at the noise that the query buys, and those that would be best at other noise.

INVARIANT: a choice follows from released histograms, the query and the policy, and from the number of groups in a release
that the subject holds. docs/proofs/clip_choice.md.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from math import sqrt
from typing import Final

from gateway.budget.account import Currency
from gateway.clipping.choose_clip import CellNoise, choose_clip
from gateway.clipping.measure_noise import measure_noises
from gateway.clipping.norm_histogram import NormHistogram
from gateway.clipping.served_histogram import PartKey
from gateway.noise.allocation import slots_of
from gateway.pricing.price import AnalyzedQuery, accounts_on_path, price_of
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.stages.analyze import ChosenClips
from gateway.stages.clips import ClippedPart, WantedHistogram
from gateway.state.journal import Journal

AS_EXACT: Final = sqrt(2)
"""A held clip has an error of at most so many times that of the best clip, by the estimates of both."""
AS_WELL: Final = 4.0
"""The same where no price was named, and the answer costs nothing: as of a filter and a roll-up in `decision.py`."""
Served = Iterable[tuple[WantedHistogram, NormHistogram]]


@dataclass(frozen=True, slots=True)
class ClipChoice:
    """What the clip of a part is chosen from: its histogram, its cells, their total if it is asked, and the largest clip."""

    histogram: NormHistogram
    cells: CellNoise
    total: CellNoise | None
    largest: int

    def square(self, scale: float = 1.0) -> int | None:
        """c² of the best clip if the noise were `scale` times as wide; None where the histogram shows nothing."""
        cells = replace(self.cells, std=self.cells.std * scale)
        total = None if self.total is None else replace(self.total, std=self.total.std * scale)
        return choose_clip(self.histogram, cells, self.largest, total)

    def is_near(self, square: int, scale: float, tolerance: float) -> bool:
        """Whether noise `scale` times as wide under this clip has an error of at most `tolerance` times the best one.

        The best clip is the smaller, the wider the noise is. So all clips are near that lie between the best ones of noise
        that is `tolerance` times as wide as bought and as narrow as held. docs/proofs/clip_choice.md#held-clips
        """
        if scale > tolerance:
            return False
        least, most = self.square(tolerance), self.square(scale / tolerance)
        return least is not None and most is not None and least <= square <= most


def find_choices(
    query: AnalyzedQuery, served: Served, journal: Journal, shown: Mapping[PartKey, int]
) -> Mapping[PartKey, ClipChoice]:
    """The choice of each part that has a histogram. `shown`: how many groups an earlier release of its rows and keys had."""
    policy = query.policy
    ledger = accounts_on_path(journal, query)[0].ledger
    share = float(ledger.cost(price_of(query)) / slots_of(query.analyses))
    std = sqrt(2) / share if query.currency is Currency.PURE else 1 / sqrt(2 * share)
    found = {}
    for wanted, histogram in served:
        for part in wanted.parts:
            expected = shown.get(part.key, policy.sizes.expected_groups)
            cells = _cell_noise(part.analysis, std, max(1, expected))
            total = _total_noise(part.analysis, cells) if _adds_up(query, part) else None
            found[part.key] = ClipChoice(histogram, cells, total, policy.clipping.largest)
    return found


def clips_of(squares: Mapping[PartKey, int]) -> ChosenClips:
    """The clips as the analysis takes them: by the places of releases."""
    found: dict[int, list[tuple[tuple[str, ...], int]]] = {}
    for (place, names), square in squares.items():
        found.setdefault(place, []).append((names, square))
    return {place: tuple(sorted(several)) for place, several in found.items()}


def _adds_up(query: AnalyzedQuery, part: ClippedPart) -> bool:
    """Whether fewer of its keys are asked for, too."""
    sets = query.releases[part.place].plan.sets
    return any(len(set(one)) < len(part.analysis.plan.keys) for one in sets)


def _cell_noise(part: Analysis, std: float, expected: int) -> CellNoise:
    """The cells of a part, and their noise; `expected` cells where they are found in the data."""
    groups = part.groups
    if isinstance(groups, EnumeratedGroups):
        return CellNoise(max(1, len(groups.keys)), std, measure_noises(part))
    return CellNoise(expected, std, measure_noises(part), found=True)


def _total_noise(part: Analysis, cells: CellNoise) -> CellNoise:
    """The total that is added up from these cells, or measured with them."""
    many = cells.cells
    variance = many * part.total / (many + part.total) if part.total else many
    return replace(cells, cells=1, std=cells.std * sqrt(variance))
