"""Digits of noisy numbers and intervals: as many as the margin leaves them, and no more.

Below a hundredth of its margin a noisy number has digits that come from division, and not from the data. Which digits go
depends on who reads.

- **Values keep all digits** wherever a program reads them: on the wire, in JSON, CSV and Arrow. A column has its SQL type,
  sums of cells are the cells' total, and an answer that is reused or rolled up is the stored integers' own.
- **Ends of intervals**, wherever they are given, lose the decimals below a thousandth of the margin: `round_outward`. So an
  interval is hardly wider than the margin that an accuracy promises. Whole ends stay as they are, so the interval of a
  count lies evenly around it.
- **For people** (a table of the command line, a notice, EXPLAIN) a margin has three digits, an end as many as the margin
  leaves it, and a value no decimals below that. Whole numbers keep their digits: zeros in their place would look exact.

All of this is post-processing of released values, and depends on nothing else.

INVARIANT: a rounded interval contains the interval that it was made from, and each end moves by at most a
thousandth of the margin. A rounded margin is not below the margin, up to errors of floats.
"""

from decimal import ROUND_CEILING, ROUND_FLOOR, Context, Decimal
from math import floor, isfinite, log10
from typing import Final

import numpy as np

from gateway.columnar.intervals import IntervalEnds

_PLACES: Final = 2  # digits of a margin behind its first, for people
_KEPT: Final = 3  # of ends, for programs
_MOST: Final = 15  # decimals: beyond these a double has no digits to round
_WHOLE: Final = 2.0**53  # from here on, doubles have no decimals
_LEAST_SHARE: Final = 0.001
_MARGIN: Final = Context(prec=_PLACES + 1, rounding=ROUND_CEILING)


def round_outward(column: IntervalEnds) -> IntervalEnds:
    """The intervals without the decimals that are below a thousandth of their margins."""
    low, high = column.low, column.high
    with np.errstate(
        all="ignore"
    ):  # rows without an interval, and those of no width, stay as they are
        first = np.floor(np.log10((high - low) / 2))
        known = np.isfinite(first)
        places = np.maximum(_KEPT - np.where(known, first, 0), 0)
        powers = 10.0**places
        downward, upward = np.floor(low * powers), np.ceil(high * powers)
        known &= places <= _MOST
        known &= (np.abs(downward) < _WHOLE) & (np.abs(upward) < _WHOLE)
        # a quotient is the double nearest to a decimal number, which may lie inside by half of a last bit
        lower = np.where(known, np.minimum(downward / powers, low), low)
        upper = np.where(known, np.maximum(upward / powers, high), high)
    return IntervalEnds(lower, upper, column.there)


def margin_text(margin: float) -> str:
    """The margin with three digits, rounded up; float errors do not count."""
    known = Decimal(f"{margin:.12g}")
    return format(_MARGIN.plus(known).normalize(_MARGIN), "f")


def share_text(share: float) -> str:
    """An estimated share, with two digits."""
    return f"about {Decimal(f'{100 * share:.2g}'):f} %"


def most_text(share: float) -> str:
    """A share that a noisy number leaves open, at most, with two digits."""
    return "less than 0.1 %" if share < _LEAST_SHARE else f"at most {share_text(share)}"


def value_text(value: float, margin: float) -> str:
    """A noisy number without the decimals that are below a hundredth of its margin."""
    if isinstance(value, int):
        return str(value)
    first = _first_place(margin)
    shown = value if first is None else round(value, max(_PLACES - first, 0))
    return f"{shown + 0.0:.15g}"  # no negative zero


def end_texts(low: float, high: float) -> tuple[str, str]:
    """Both ends of an interval, with as many digits as its margin leaves them, rounded outward."""
    first = _first_place((high - low) / 2)
    if first is None:
        return f"{low:.15g}", f"{high:.15g}"
    step = Decimal((0, (1,), first - _PLACES))
    down, up = (
        Decimal(repr(end)).quantize(step, rounding, Context(prec=400))
        for end, rounding in ((low, ROUND_FLOOR), (high, ROUND_CEILING))
    )
    return _plain(down), _plain(up)


def _first_place(margin: float) -> int | None:
    """The place of a margin's first digit, as a power of ten; None if it leaves all digits to a number."""
    return floor(log10(margin)) if isfinite(margin) and margin > 0 else None


def _plain(number: Decimal) -> str:
    text = format(number, "f")
    text = text.rstrip("0").rstrip(".") if "." in text else text
    return "0" if text == "-0" else text
