"""What enters and what leaves: a request as a front end hands it in, and the answer it gets back."""

from dataclasses import dataclass, field
from datetime import datetime
from fractions import Fraction

from gateway.units import Delta, Epsilon


@dataclass(frozen=True, slots=True)
class Request:
    """What somebody wants to know, before anybody looked at it.

    `parameters` are texts as PostgreSQL reads them; `idempotency` is the client's key and what it asked.
    """

    sql: str
    dataset: str | None = None
    purpose: str | None = None
    epsilon: Epsilon | None = None
    parameters: tuple[str | None, ...] = ()
    idempotency: tuple[str, str] | None = None
    address: str = ""


@dataclass(frozen=True, slots=True)
class AnswerColumn:
    """A column by PostgreSQL's name and type. `scale` is that of the noise in the column's own unit."""

    name: str
    type: str
    noisy: bool
    mechanism: str | None = None
    scale: float | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """Rows as PostgreSQL writes them, with an interval or None for every cell; all of it is released."""

    query_id: str
    columns: tuple[AnswerColumn, ...]
    rows: tuple[tuple[str | None, ...], ...]
    intervals: tuple[tuple[tuple[float, float] | None, ...], ...]
    price: Epsilon
    charged: Epsilon
    rho: Fraction | None
    delta: Delta
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class ExpectedColumn:
    """A column of an estimate; the margin is that of a typical cell, where it can be told beforehand."""

    name: str
    expected_margin_95: float | None


@dataclass(frozen=True, slots=True)
class Estimate:
    """What a question would cost and how wide its noise would be; nothing was run or charged."""

    price: Epsilon
    delta: Delta
    columns: tuple[ExpectedColumn, ...]
    notices: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class PastQuestion:
    """A question of one's own, from the trail."""

    query_id: str
    at: datetime
    sql: str
    outcome: str
    reason: str | None
    charged: Epsilon = field(default_factory=Epsilon.zero)
