"""A stream of questions as a gateway gets them: dashboards, drilling down, repeats, attacks, nonsense; by several subjects.

What comes is drawn by a seed, and hangs on what came before, never on an answer.
"""

import random
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Final

WHO: Final = ("alice", "alice", "alice", "bob", "carol", "dave")
DATASETS: Final = ("pure", "zcdp")
_REGIONS: Final = ("north", "east", "south", "west")
_MEASURES: Final = (
    "COUNT(*)",
    "COUNT(*), SUM(income)",
    "AVG(income)",
    "COUNT(*), AVG(birth_year), SUM(income)",
    "COUNT(DISTINCT patient_id)",
    "percentile_disc(0.5) WITHIN GROUP (ORDER BY income)",
    "MIN(birth_year), COUNT(*)",
    "STDDEV(income)",
)
_KEYS: Final = ("region", "smoker", "region, smoker", "birth_year / 10", "birth_year")
_VISITS: Final = (
    "SELECT diagnosis, COUNT(*), SUM(cost) FROM visits GROUP BY diagnosis",
    "SELECT EXTRACT(year FROM visit_date), COUNT(*), SUM(cost) FROM visits GROUP BY 1",
    "SELECT date_trunc('month', visit_date), COUNT(*) FROM visits GROUP BY 1",
    "SELECT COUNT(DISTINCT patient_id) FROM visits",
    "SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01'",
    "SELECT COUNT(*) FROM visits WHERE visit_date > DATE '2024-01-01'",
    "SELECT region, SUM(cost) FROM visits JOIN patients USING (patient_id) GROUP BY region",
    "SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits)",
    """SELECT SUM(cost) FROM visits WHERE diagnosis IN
    (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 30)""",
    "SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t",
)
_NONSENSE: Final = (
    "SELECT * FROM patients",
    "SELECT COUNT(*) FROM patients WHERE name LIKE 'Z%'",
    "SELECT COUNT(*) FROM patients WHERE birth_year > income",
    "SELECT COUNT(*) FROM nobody",
    "SELECT 1 / (COUNT(*) - COUNT(*)) FROM patients",
    "SELECT region FROM patients GROUP BY region",
    "SELECT COUNT(*) FROM regions",
)


@dataclass(frozen=True)
class Cut:
    """A question about patients: what is measured, of whom, in which groups."""

    measures: str
    where: tuple[str, ...] = ()
    keys: str = ""

    @property
    def sql(self) -> str:
        where = f" WHERE {' AND '.join(self.where)}" if self.where else ""
        if not self.keys:
            return f"SELECT {self.measures} FROM patients{where}"
        return f"SELECT {self.keys}, {self.measures} FROM patients{where} GROUP BY {self.keys}"


@dataclass(frozen=True)
class Asked:
    """A question, by whom, of which dataset, and how long after the one before."""

    sql: str
    who: str
    dataset: str
    minutes: int
    epsilon: str | None = None
    fresh: bool = False


def stream(many: int, seed: int) -> Iterator[Asked]:
    """The same one for the same seed."""
    chosen = random.Random(seed)  # noqa: S311 - the same questions in every run
    past: list[str] = []
    cuts: list[Cut] = []
    for _ in range(many):
        kind = chosen.random()
        if past and kind < 0.25:
            sql = chosen.choice(past)
        elif kind < 0.38:
            sql = chosen.choice(_VISITS)
        elif kind < 0.44:
            sql = chosen.choice(_NONSENSE)
        else:
            cut = _next(chosen, cuts, kind)
            cuts.append(cut)
            sql = cut.sql
        past.append(sql)
        yield Asked(
            sql,
            chosen.choice(WHO),
            chosen.choice(DATASETS),
            chosen.randint(0, 90),
            chosen.choice(("0.5", "2", "4")) if chosen.random() < 0.2 else None,
            chosen.random() < 0.05,
        )


def _next(chosen: random.Random, cuts: list[Cut], kind: float) -> Cut:
    if cuts and kind < 0.70:
        return _after(chosen, chosen.choice(cuts[-30:]))
    where = (_condition(chosen),) if chosen.random() < 0.5 else ()
    keys = chosen.choice(_KEYS) if chosen.random() < 0.5 else ""
    return Cut(chosen.choice(_MEASURES), where, keys)


def _after(chosen: random.Random, cut: Cut) -> Cut:
    """What people, and others, ask next: a part of it, less of its keys, its rest, all of it but one year."""
    kind = chosen.randrange(6)
    if kind == 0:
        return replace(cut, keys=cut.keys.rpartition(", ")[0])
    if kind == 1:
        return replace(cut, where=(*cut.where, f"region = '{chosen.choice(_REGIONS)}'"))
    if kind == 2:
        return replace(cut, where=(*cut.where, f"birth_year <> {chosen.randint(1920, 2020)}"))
    if kind == 3 and cut.where:
        return replace(cut, where=(*cut.where[:-1], f"NOT ({cut.where[-1]})"))
    if kind == 4:
        return replace(cut, measures="COUNT(*)")
    return replace(cut, where=cut.where[:-1])


def _condition(chosen: random.Random) -> str:
    low = chosen.randint(1920, 2000)
    income = chosen.randrange(0, 200_000, 5_000)
    return chosen.choice(
        (
            f"region = '{chosen.choice(_REGIONS)}'",
            f"region IN ('{chosen.choice(_REGIONS)}', '{chosen.choice(_REGIONS)}')",
            f"birth_year BETWEEN {low} AND {low + chosen.choice((0, 1, 9, 10, 20, 40))}",
            f"birth_year >= {low}",
            f"2026 - birth_year < {2026 - low}",
            f"income BETWEEN {income} AND {income + chosen.choice((1, 1_000, 50_000))}",
            f"income > {income}",
            f"birth_year % {chosen.randint(2, 9)} = 1",
            "smoker",
            "smoker IS NULL",
            "income > (SELECT AVG(income) FROM patients)",
        )
    )
