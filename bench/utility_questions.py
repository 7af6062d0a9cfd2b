"""Questions that utility is measured by, and what one costs each of those who answer: equal (epsilon, delta) in all.

A ledger of EPSILON and DELTA holds QUESTIONS questions. Under zCDP each gets the same part of rho, whoever answers.
smartnoise-sql has Laplace noise and composes by Kairouz, Oh and Viswanath, so each of its mechanisms gets the
epsilon by which all of its questions fit. Half of delta pays for the composition, and half for thresholds.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import e, exp, log, sqrt
from typing import Final

from utility_clips import Limits, Noise, Parts, Truth, best_limits
from utility_data import NONE, TABLES, Table

from gateway.budget.zcdp import rho_star
from gateway.units import Delta, Epsilon

EPSILON: Final = 5
DELTA: Final = 1e-6
QUESTIONS: Final = 100
TOP: Final = 20
MEASURES: Final = {"count": "COUNT(*)", "sum": "SUM(amount)", "avg": "AVG(amount)"}
_HALF: Final = Delta(Fraction(1, 2_000_000))
_CAP: Final = 100_000  # of the ledger that the bench spends from: it repeats its questions
_KEYS: Final = {
    "month": "date_trunc('month', day)",
    "year": "extract(year FROM day)",
    "category": "category",
    "top": "category",
    "day": "day",
}
_POLICY: Final = """
gateway: 1
dataset: utility
source: ${SOURCE_URL}
privacy:
  unit: person
  budget: {epsilon: @CAP@, delta: 1e-6}
  per_query: {default: @PRICE@, min: 1e-9, max: 10}
  mechanism: gaussian
tables:
  @TABLE@:
    unit_key: person_id
    @BOUNDS@
    columns:
      person_id: {type: bigint, class: identifier}
      day: {type: date, class: quasi, domain: {between: [@FIRST@, @LAST@]}}
      category: {type: text, class: sensitive@LISTED@}
      amount: {type: integer, class: sensitive, domain: {between: [0, @UPPER@]}}
access:
  - id: everything
    effect: permit
    when: subject.role == "researcher"
    tables: [@TABLE@]
    use: {aggregate: ["*"], group_by: ["*"], filter: ["*"]}
    budget: {epsilon: @CAP@}
audit: {min_units: 1, narrow_cells: 0, opaque_predicates: allow}
reuse: {max_age: 0d}
"""


@dataclass(frozen=True)
class Question:
    """One measure by one key of a table; `top` is the 20 largest categories by the measure."""

    table: Table
    key: str
    measure: str

    @property
    def name(self) -> str:
        return f"{self.table.name}/{self.key}/{self.measure}"

    @property
    def column(self) -> str:
        return "category" if self.key == "top" else self.key

    @property
    def sql(self) -> str:
        asked = f"SELECT {_KEYS[self.key]} AS cell, {MEASURES[self.measure]} AS found"
        ending = f" ORDER BY found DESC LIMIT {TOP}" if self.key == "top" else ""
        return f"{asked} FROM {self.table.name} GROUP BY 1{ending}"

    def cells(self, truth: Truth) -> list[str]:
        """The cells that the error is measured over: all that are not empty, or the largest."""
        there = [cell for cell, true in truth.items() if true > 0 and cell != NONE]
        if self.key != "top":
            return there
        return sorted(there, key=lambda cell: -truth[cell])[:TOP]

    def shown(self, answer: dict[str, float]) -> dict[str, float]:
        """A peer's answer within the measure's domain, and of `top` the largest cells alone."""
        most = {"count": float("inf"), "sum": float("inf"), "avg": self.table.upper}[self.measure]
        least = float("-inf") if self.measure == "sum" else 0
        found = {cell: min(max(value, least), most) for cell, value in answer.items()}
        if self.key != "top":
            return found
        largest = sorted((cell for cell in found if cell != NONE), key=lambda cell: -found[cell])
        return {cell: found[cell] for cell in largest[:TOP]}

    def order(
        self, peer: str, parts: Parts, cells: Sequence[str]
    ) -> tuple[dict[str, object], Limits]:
        """For a peer, with the limits whose simulated error is the least."""
        limits = best_limits(
            parts, self.measure, _noise(self, peer), cells, groups=peer == "tumult"
        )
        public = self.table.keys(self.column)
        if peer == "tumult" and not public:
            public = list(parts.names)
        return {
            "table": self.table.name,
            "key": self.column,
            "measure": self.measure,
            "keys": public,
            "upper": self.table.upper,
            "middle": self.table.middle,
            "total": limits.total,
            "rows": limits.rows,
            "groups": limits.groups,
            "rho": rho(),
            "epsilon": laplace_epsilon(_mechanisms(self)),
            "delta": DELTA / 2 / QUESTIONS,
        }, limits


def questions() -> list[Question]:
    """All of them, the dearest last. The average of the largest averages says nothing, so `top` has none."""
    return [
        Question(table, key, measure)
        for key in _KEYS
        for table in TABLES
        for measure in MEASURES
        if (key, measure) != ("top", "avg")
    ]


def policy(table: Table, bounds: str) -> str:
    """Of a gateway whose default price buys `rho()`; `bounds` stands for the table's own lines."""
    rate = rho_star(Epsilon(Fraction(_CAP)), _HALF).value / _CAP
    listed = f", domain: {{in: [{', '.join(table.listed)}]}}" if table.listed else ""
    said = {
        "CAP": str(_CAP),
        "PRICE": str(round(Decimal(rho() / float(rate)), 15)),
        "TABLE": table.name,
        "BOUNDS": bounds or table.bounds,
        "FIRST": table.first.isoformat(),
        "LAST": table.last.isoformat(),
        "LISTED": listed,
        "UPPER": str(table.upper),
    }
    text = _POLICY
    for word, value in said.items():
        text = text.replace(f"@{word}@", value)
    return text


def rho() -> float:
    return float(rho_star(Epsilon(Fraction(EPSILON)), _HALF).value) / QUESTIONS


def laplace_epsilon(mechanisms: int) -> float:
    """The most for each mechanism, of as many in each question (Kairouz, Oh and Viswanath, theorem 3.5)."""
    low, high, many = 0.0, float(EPSILON), QUESTIONS * mechanisms
    for _ in range(60):
        middle = (low + high) / 2
        drift = many * middle * (exp(middle) - 1) / (exp(middle) + 1)
        spread = 2 * many * middle**2
        composed = min(
            many * middle,
            drift + sqrt(spread * log(2 / DELTA)),
            drift + sqrt(spread * log(e + 2 * middle * sqrt(many) / DELTA)),
        )
        low, high = (middle, high) if composed <= EPSILON else (low, middle)
    return low


def _mechanisms(question: Question) -> int:
    """How many smartnoise-sql needs: an average is a sum and a count, and keys that are not public need people."""
    own = 2 if question.measure == "avg" else 1
    return own if question.table.keys(question.column) else own + 1


def _noise(question: Question, peer: str) -> Noise:
    """Of one row; a question with thresholds shares its price in OpenDP between the measure and the rows."""
    if peer == "smartnoise":
        scale = 1 / laplace_epsilon(_mechanisms(question))
        return Noise(scale, scale, laplace=True)
    shared = (
        peer == "opendp" and question.measure == "sum" and not question.table.keys(question.column)
    )
    return Noise(1 / sqrt((1 if shared else 2) * rho()), 1 / sqrt(rho()))
