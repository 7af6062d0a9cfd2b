"""How many draws a statistical test takes: a fifth in `make test`, all of them in `make privacy`.

A test asks for its sample by `draws(full)`. What is allowed to deviate is computed for the sample that is drawn, so
the stated rate of false alarms holds for both; streams are reproducible, so neither fails by chance.
A negative control takes as many draws as the check that it is the control of, or says why it takes more.
"""

from typing import Final

_PART: Final = 5


class Samples:
    """Whether this run takes all draws: set by `--full-samples`."""

    full = False


def draws(full: int, *, fewest: int = 1) -> int:
    """The size of a sample, of `full` draws at most; `fewest` is where a test stops being able to fail."""
    return full if Samples.full else min(full, max(full // _PART, fewest))
