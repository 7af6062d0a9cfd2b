"""The mechanisms of a release whose groups are measured without their total."""

from gateway.noise.allocation import ReleaseNoise
from gateway.noise.least_squares import FittedNoise
from gateway.noise.mechanism import Mechanism


def mechanisms(release: ReleaseNoise) -> tuple[Mechanism, ...]:
    found = tuple(one for one in release.drawn if not isinstance(one, FittedNoise))
    assert len(found) == len(release.drawn)
    return found
