"""Request and answer: the values between front ends and the pipeline."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from fractions import Fraction
from typing import Final, Self

from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import TextRows
from gateway.units import Delta, Epsilon, UnitError, exact_decimal, format_decimal

CONFIDENCES: Final = (Fraction(1, 2), Fraction(9999, 10_000))


class CacheUse(StrEnum):
    """How an answer was made from earlier answers, if no part of it was measured anew."""

    SAME = "same"
    FILTER = "filter"
    ROLLUP = "rollup"


class UnsupportedItems(StrEnum):
    """What becomes of an item of the outermost SELECT list that cannot be answered."""

    REFUSE = "refuse"
    NULL = "null"


class NoticeDetail(StrEnum):
    """How much a connection is told beside the rows: see `gateway.stages.notices`."""

    OFF = "off"
    BRIEF = "brief"
    FULL = "full"


@dataclass(frozen=True, slots=True)
class Notice:
    """A message beside an answer, in PostgreSQL's fields: one line, lines of details, and lines that advise."""

    message: str
    detail: tuple[str, ...] = ()
    hint: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NullItem:
    """An item that is NULL in the answer, by its name in the result, and the refusal that it has by itself."""

    column: str
    code: str
    text: str

    def __str__(self) -> str:
        return f"column `{self.column}` is NULL, since it cannot be answered: {self.text}"


@dataclass(frozen=True, slots=True)
class Accuracy:
    """A wanted accuracy: the largest distance of every noisy cell from its value without noise, at a
    confidence.

    Within `margin`; or within `relative` of a value that is `floor` at least. `rows` is the least number of
    rows per group, for means.
    """

    margin: Fraction | None = None
    relative: Fraction | None = None
    confidence: Fraction = Fraction(95, 100)
    floor: Fraction | None = None
    rows: int | None = None

    def __post_init__(self) -> None:
        if (self.margin is None) == (self.relative is None):
            raise UnitError("give either `margin` or `relative`")
        if self.relative is not None and self.floor is None:
            raise UnitError("`relative` needs `floor`, the least value that it applies to")
        if self.relative is None and self.floor is not None:
            raise UnitError("`floor` can only be given with `relative`")
        given = {"margin": self.margin, "relative": self.relative, "floor": self.floor}
        for name, value in given.items():
            if value is not None and value <= 0:
                raise UnitError(f"`{name}` must be more than 0")
        low, high = CONFIDENCES
        if not low <= self.confidence <= high:
            raise UnitError(f"`confidence` must be from {float(low)} to {float(high)}")
        if self.rows is not None and self.rows < 1:
            raise UnitError("`rows` must be at least 1")

    @property
    def target(self) -> Fraction:
        """The largest allowed distance of a cell."""
        if self.margin is not None:
            return self.margin
        return (self.relative or Fraction(0)) * (self.floor or Fraction(0))

    def __str__(self) -> str:
        """For display: `a margin of 30 at a confidence of 0.95`."""
        what = f"a margin of {format_decimal(self.target)}"
        if self.relative is not None and self.floor is not None:
            relative, floor = format_decimal(self.relative), format_decimal(self.floor)
            what = f"a relative error of {relative} for values of at least {floor}"
        rows = "" if self.rows is None else f" for groups of {self.rows} rows"
        return f"{what} at a confidence of {format_decimal(self.confidence)}{rows}"

    @classmethod
    def parse(cls, said: Mapping[str, str]) -> Self:
        """Read from decimals, exactly, by their names."""
        values = {name: exact_decimal(text, f"`{name}`") for name, text in said.items()}
        rows = values.pop("rows", None)
        if rows is not None and rows.denominator != 1:
            raise UnitError("`rows` must be a whole number")
        return cls(**values, rows=None if rows is None else int(rows))


@dataclass(frozen=True, slots=True)
class Request:
    """A client's request, before any check.

    `parameters` are texts as PostgreSQL reads them, `types` the types that the client gives them, as
    PostgreSQL's type numbers; `idempotency` is the client's key and a digest of its request; `zone` is the
    session's time zone, `search_path` its search path, or None for the dataset's. `fresh`: no earlier answer may be
    reused. `unsupported` says whether items that cannot be answered refuse the statement, `notices` how much a
    connection is told. `address` is the peer of the connection, and `tls` says whether the connection is encrypted; a
    proxy in front of the gateway is the peer.
    """

    sql: str
    dataset: str | None = None
    purpose: str | None = None
    epsilon: Epsilon | None = None
    parameters: tuple[str | None, ...] = ()
    types: tuple[int, ...] = ()
    idempotency: tuple[str, str] | None = None
    address: str = ""
    accuracy: Accuracy | None = None
    zone: str | None = None
    fresh: bool = False
    tls: bool = False
    search_path: str | None = None
    unsupported: UnsupportedItems = UnsupportedItems.REFUSE
    notices: NoticeDetail = NoticeDetail.FULL


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column by PostgreSQL's name and type. `scale` is that of the noise in the column's own unit.

    For a choice, `rank_error` is the largest distance, in rows, of 95 of 100 values from the wanted one.
    """

    name: str
    type: str
    noisy: bool
    mechanism: str | None = None
    scale: float | None = None
    rank_error: int | None = None


@dataclass(frozen=True, slots=True)
class ClippedScope:
    """Rows and groups over which a unit has a norm, and the norm up to which it counts in full.

    Of the units and of the rows these shares count with less weight, or not: estimates of what a histogram shows, None where
    they are not known, and where it shows nothing above the limit. `units_at_most` is how large the share of units may be, as far as its noise leaves it open.
    """

    over: str
    unit: str
    limit: float
    units: float | None = None
    rows: float | None = None
    units_at_most: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows as PostgreSQL writes them, with an interval or None for every cell; all values are released."""

    query_id: str
    columns: tuple[AnswerColumn, ...]
    rows: TextRows
    intervals: IntervalRows
    price: Epsilon
    charged: Epsilon
    rho: Fraction | None
    delta: Delta
    notices: tuple[str, ...] = ()
    reused: CacheUse | None = None
    clipped: tuple[ClippedScope, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedColumn:
    """A column of an estimate; the margin is that of a typical cell, if it can be computed in advance.

    Margins are those of the noise. `expected_loss` is the share of its rows that a count or a sum loses to weights, where a
    histogram tells it: the other part of the error, which noise does not contain. `promised_margin` is present if an accuracy was asked for: the margin at its confidence, at this price.
    `before_histogram`: the margin is that under the clip without a histogram of norms, and the query would buy one first.
    """

    name: str
    expected_margin_95: float | None
    promised_margin: float | None = None
    expected_rank_error_95: int | None = None
    expected_loss: float | None = None
    before_histogram: bool = False


@dataclass(frozen=True, slots=True)
class Estimate:
    """The price of a query and the width of its noise; nothing was run or charged."""

    price: Epsilon
    delta: Delta
    columns: tuple[ExpectedColumn, ...]
    notices: tuple[str, ...] = ()
    reused: CacheUse | None = None


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """An earlier query of the subject, from the trail.

    `clipped` are the scopes of its weights, each with the square of the norm up to which a unit counts in full.
    """

    query_id: str
    at: datetime
    sql: str
    outcome: str
    reason: str | None
    charged: Epsilon = field(default_factory=Epsilon.zero)
    clipped: tuple[tuple[str, int], ...] = ()
