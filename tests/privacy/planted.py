"""Three bugs that would break the promise, for controls: a distinguisher that does not find them is worth nothing.

They are planted from outside into the gateway of the process that runs the tests: nothing in the gateway knows
how to be wrong.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

import pytest
from privacy.interval_coverage import narrower

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.exact import ExactHistogram, ExactTable
from gateway.noise.add_noise import NoisyTable, add_choices, add_noise
from gateway.noise.allocation import ReleaseNoise
from gateway.noise.entropy import Entropy
from gateway.sensitivity.choices import Histogram

ALL_ROWS = 10**4


@dataclass(frozen=True)
class Broken:
    """A bug that is planted."""

    noise: int = 1  # how many times less noise than was paid for
    rows: int | None = None  # R in what the engine renders: rows are bounded, persons are not
    threshold: bool = True

    def of_release(self, release: ReleaseNoise) -> ReleaseNoise:
        noises = tuple(narrower(one, self.noise) for one in release.drawn)
        choices = tuple(
            replace(one, selection=replace(one.selection, scale=one.selection.scale / self.noise))
            for one in release.choices
        )
        dropped = release.shown_from is not None and not self.threshold
        shown_from = -(10**9) if dropped else release.shown_from
        return replace(release, noises=noises, choices=choices, shown_from=shown_from)

    def of_bounds(self, release: BoundedRelease) -> BoundedRelease:
        if self.rows is None:
            return release
        clips = release.clips
        if clips is not None:
            clips = replace(clips, rows=replace(clips.rows, square=self.rows**2))
        return replace(release, rows_per_unit=self.rows, clips=clips)


HALF_THE_NOISE = Broken(noise=2)
ROWS_INSTEAD_OF_PERSONS = Broken(rows=ALL_ROWS)
NO_THRESHOLD = Broken(threshold=False)


@contextmanager
def planted(bug: Broken) -> Iterator[None]:
    """While this is open, every gateway of this process has the bug."""

    def too_little(exact: ExactTable, release: ReleaseNoise, entropy: Entropy) -> NoisyTable:
        table = add_noise(exact, bug.of_release(release), entropy)
        return replace(table, noises=release.noises)  # intervals as if nothing were wrong

    def too_sure(
        counted: NoisyTable,
        release: ReleaseNoise,
        histograms: Mapping[Histogram, ExactHistogram],
        entropy: Entropy,
    ) -> NoisyTable:
        wrong = bug.of_release(release)
        table = add_choices(replace(counted, noises=wrong.noises), wrong, histograms, entropy)
        return replace(table, noises=release.noises)

    def too_much(*given: object, **named: object) -> BoundedRelease:
        return bug.of_bounds(bound_release(*given, **named))  # type: ignore[arg-type]  # as given

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("gateway.stages.execute.add_noise", too_little)
        patch.setattr("gateway.stages.execute.add_choices", too_sure)
        patch.setattr("gateway.datasets.dataset.bound_release", too_much)
        yield
