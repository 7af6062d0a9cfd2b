"""Intervals by simulation: how often they hold the value, and which cells get one."""

import threading
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial
from typing import Final

import pytest
from binding.clinic import CLINIC
from noise.streams import Stream
from privacy.interval_coverage import narrower
from samples import Samples
from scipy.stats import binom

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, ResultColumn
from gateway.columnar.intervals import IntervalRows
from gateway.columnar.texts import Row
from gateway.errors import SourceStopped
from gateway.exact import ExactTable
from gateway.noise.add_noise import NoisyTable, add_noise
from gateway.noise.allocation import Distribution, price_noise
from gateway.results.constants import ConstantTable, release_constant, run_finishing
from gateway.results.rollup import NoisyRelease, PricedRelease, roll_up
from gateway.results.simulation import (
    TIMES,
    Rerun,
    SimulatedIntervals,
    Simulation,
    add_simulated_intervals,
    columns_to_simulate,
)
from gateway.sensitivity.analysis import EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.grouping_sets import analyze_grouping_sets
from gateway.twin import Twin, TwinSession, visible_tables

RUNS: Final = 3 if Samples.full else 2
MISSED: Final = 0.06  # as in tests/privacy/test_interval_coverage.py: at most
ALPHA: Final = 1e-8  # for each of some twenty forms
_A = """WITH a AS (SELECT birth_year AS y, COUNT(*) AS n, COUNT(*) FILTER (WHERE smoker) AS m
FROM patients GROUP BY birth_year), b AS (SELECT *, y / 5 AS g FROM a) """
# a hundred rows at once, and windows and groups of five: each is a repetition of its own
ROWS = (
    _A
    + """SELECT y, LN(GREATEST(n, 1)) AS logged, CASE WHEN n > 400 THEN n - 400 ELSE 0 END AS cased,
GREATEST(n, m) AS greatest, FLOOR(100.0 * n / NULLIF(ABS(m), 0)) AS rounded, ABS(n - 500) AS apart,
SQRT(ABS(n)) * 2 AS rooted FROM b ORDER BY y"""
)
WINDOWS = (
    _A
    + """SELECT y, SUM(n) OVER w AS running, 100.0 * n / SUM(n) OVER (PARTITION BY g) AS share,
n - LAG(n) OVER w AS difference, AVG(n) OVER (w ROWS 2 PRECEDING) AS moving,
SUM(m) OVER w * 1.0 / SUM(n) OVER w AS ratio FROM b WINDOW w AS (PARTITION BY g ORDER BY y)"""
)
GROUPS = (
    _A
    + """SELECT g, SUM(n) AS together, AVG(m) AS mean, MAX(n) AS most, MIN(n) AS least,
1.0 * SUM(m) / (SELECT SUM(n) FROM a) AS part, STDDEV(n) AS spread FROM b GROUP BY g"""
)


@dataclass(frozen=True)
class Known:
    """A release of which the exact integers are known: `exact` are those of its parts."""

    cut: Cut
    priced: PricedRelease
    exact: tuple[ExactTable, ...]

    def noisy(self, stream: Stream) -> NoisyRelease:
        pairs = zip(self.exact, self.priced.parts, strict=True)
        return roll_up(self.priced, [add_noise(one, part, stream) for one, part in pairs])

    def true(self) -> NoisyRelease:
        pairs = zip(self.exact, self.priced.parts, strict=True)
        return roll_up(
            self.priced, [NoisyTable(one.keys, one.measured, part.noises) for one, part in pairs]
        )

    def rows(self, release: NoisyRelease, twin: TwinSession, *, clamp: bool) -> tuple[Row, ...]:
        constant = release_constant(self.cut.releases[0], release, clamp=clamp)
        return tuple(self.run(twin)({self.cut.releases[0].name: constant}))

    def run(self, twin: TwinSession) -> Rerun:
        traced = self.cut.traced
        sql = self.cut.finishing if traced is None else traced.finishing
        return lambda constants: tuple(run_finishing(sql, constants, twin, 10_000))

    def simulation(
        self,
        release: NoisyRelease,
        run: Rerun,
        stream: Stream,
        cancelled: threading.Event,
        limit_s: float,
    ) -> Simulation:
        step = self.cut.releases[0]
        return Simulation(
            {step.name: release_constant(step, release)},
            {step.name: release},
            {step.name: frozenset()},
            run,
            stream,
            cancelled,
            limit_s,
        )


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(CLINIC)) as session:
        yield session


def _known(
    sql: str,
    twin: TwinSession,
    noise: Distribution,
    counts: Callable[[int, int], int] | None = None,
) -> Known:
    """Groups of 300 to 800 people, beside noise of a standard deviation of about 55."""

    def describe(text: str) -> Sequence[ResultColumn]:
        return [
            ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
            for one in twin.describe(text).columns
        ]

    cut = bind(sql, CLINIC, describe=describe)
    assert isinstance(cut, Cut)
    one_set = partial(
        analyze_release, pairs=noise is Distribution.LAPLACE, enumerated_groups=10_000, min_units=10
    )
    made = analyze_grouping_sets(cut.releases[0].plan, one_set)
    price = Fraction(1, 20) if noise is Distribution.LAPLACE else Fraction(1, 3_000)
    release = PricedRelease(made, price_noise(made.parts, noise, price, Fraction(1, 10**9)))
    tables = []
    for part in release.parts:
        assert isinstance(part.analysis.groups, EnumeratedGroups)
        keys = part.analysis.groups.keys
        tell = counts or (lambda row, at: 300 + 100 * (row % 5) + 60 * at)
        columns = tuple(
            tuple(tell(row, at) for row in range(len(keys))) for at in range(len(part.noises))
        )
        tables.append(ExactTable(keys, columns))
    return Known(cut, release, tuple(tables))


def _simulated(
    known: Known,
    release: NoisyRelease,
    twin: TwinSession,
    stream: Stream,
    cancelled: threading.Event | None = None,
) -> tuple[tuple[Row, ...], SimulatedIntervals]:
    rows = known.rows(release, twin, clamp=True)
    nothing = IntervalRows((None,) * len(known.cut.result or ()), len(rows))
    simulating = known.simulation(
        release, known.run(twin), stream, cancelled or threading.Event(), 30.0
    )
    return rows, add_simulated_intervals(known.cut, rows, nothing, simulating)


def _missed(
    known: Known, twin: TwinSession, seed: str, runs: int = RUNS, *, claimed: int = 1
) -> dict[str, tuple[int, int]]:
    """For each column how many intervals there were, and how many do not hold the value without noise.

    `claimed` is how many times less noise is simulated than there is: 1 is the truth.
    """
    exact = {row[0]: row for row in known.rows(known.true(), twin, clamp=False)}
    names = [one.name for one in known.cut.result or ()]
    formed: Counter[str] = Counter()
    missed: Counter[str] = Counter()
    for run in range(runs):
        stream = Stream(f"{seed} {run}")
        release = known.noisy(stream)
        parts = [
            replace(one, noises=tuple(narrower(each, claimed) for each in one.drawn))
            for one in release.priced.parts
        ]
        told = replace(release, priced=replace(release.priced, parts=tuple(parts)))
        rows, found = _simulated(known, told, twin, stream)
        for row, intervals in zip(rows, found.intervals, strict=True):
            for name, text, ends in zip(names, exact[row[0]], intervals, strict=False):
                if ends is not None and text is not None:
                    formed[name] += 1
                    slack = 1e-9 * abs(float(text))
                    missed[name] += not ends[0] - slack <= float(text) <= ends[1] + slack
    return {name: (formed[name], missed[name]) for name in names[1:]}


def _most(formed: int) -> int:
    """More intervals than this miss with a chance below ALPHA, if they miss as seldom as is promised."""
    return int(binom.isf(ALPHA, formed, MISSED))


@pytest.mark.parametrize("noise", list(Distribution))
@pytest.mark.parametrize(
    ("sql", "least"), [(ROWS, 100), (WINDOWS, 80), (GROUPS, 20)], ids=["rows", "windows", "groups"]
)
def test_intervals_hold_the_value_without_noise_in_95_of_100_answers(
    session: TwinSession, noise: Distribution, sql: str, least: int
) -> None:
    """Each form for itself: a false alarm has a chance below 1e-6, cells of a window are told apart by five."""
    known = _known(sql, session, noise)
    for name, (formed, missed) in _missed(known, session, f"held {noise}").items():
        assert formed >= least * RUNS, name
        # cells of one window move together: as many of them count as there are windows
        alike = 5 if sql is WINDOWS else 1
        assert missed <= alike * _most(formed // alike), (name, formed, missed)


def test_intervals_of_half_the_noise_are_found_out(session: TwinSession) -> None:
    """The test above can fail: what is simulated with half of the noise misses more often."""
    known = _known(ROWS, session, Distribution.GAUSSIAN)
    found = _missed(known, session, "half", claimed=2)
    for name in ("logged", "greatest", "rounded", "rooted"):
        formed, missed = found[name]
        assert missed > _most(formed), (name, formed, missed)


def test_largest_of_equal_groups_is_missed_more_often(session: TwinSession) -> None:
    """What docs/sql.md says of it: of five groups that are the same in truth, the greatest is in 9 of 10 intervals."""
    known = _known(GROUPS, session, Distribution.GAUSSIAN, lambda _row, _at: 500)
    formed, missed = _missed(known, session, "equal", 6)["most"]
    assert 0.80 < 1 - missed / formed < 0.97


NOT_WANTED = [
    "SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year",
    "SELECT birth_year, COUNT(*)::text || '!' FROM patients GROUP BY birth_year",
    "SELECT birth_year, COUNT(*) > 5 FROM patients GROUP BY birth_year",
    "SELECT birth_year, DP_INTERVAL_LOW(COUNT(*)) FROM patients GROUP BY birth_year",
    "SELECT birth_year, LN(GREATEST(MEDIAN(income), 1)) FROM patients GROUP BY birth_year",
    "SELECT SUM(n) FROM (SELECT birth_year, COUNT(*) AS n, MEDIAN(income) AS m FROM patients GROUP BY birth_year) t WHERE m > 9",
]  # fmt: skip


@pytest.mark.parametrize("sql", NOT_WANTED)
def test_nothing_is_simulated_where_there_is_a_formula_no_number_or_a_choice(
    session: TwinSession, sql: str
) -> None:
    """Most answers cost nothing more; and what is chosen does not tell how it might have been chosen otherwise."""
    known = _known(sql, session, Distribution.LAPLACE)
    release = known.true()
    if not any(part.choices for part in known.priced.parts):
        rows, found = _simulated(known, known.noisy(Stream("none")), session, Stream("none"))
        assert rows
        assert found.notices == ()
        assert all(one is None for one in found.intervals.columns)
    assert columns_to_simulate(known.cut, {known.cut.releases[0].name: release}) == []


def test_column_beside_a_choice_is_simulated(session: TwinSession) -> None:
    """What the choice does not touch moves as ever."""
    sql = "SELECT birth_year, MEDIAN(income) AS m, SUM(COUNT(*)) OVER () AS s FROM patients GROUP BY birth_year"
    known = _known(sql, session, Distribution.LAPLACE)
    assert columns_to_simulate(known.cut, {known.cut.releases[0].name: known.true()}) == [2]


def test_what_is_reported_in_ranges_is_not_simulated(session: TwinSession) -> None:
    """An interval from the number behind a range would tell where in the range it is."""
    known = _known(GROUPS, session, Distribution.LAPLACE)
    ranged = replace(
        known, priced=replace(known.priced, rolled=replace(known.priced.rolled, ranges=(None, Fraction(50))))
    )  # fmt: skip
    name = known.cut.releases[0].name
    assert columns_to_simulate(known.cut, {name: known.true()}) == [1, 2, 3, 4, 5, 6]
    assert columns_to_simulate(known.cut, {name: ranged.true()}) == [1, 3, 4, 6]


@pytest.mark.parametrize(
    ("sql", "formed"),
    [
        # told apart by nothing: there are several rows like each other
        (_A + "SELECT GREATEST(n, m) FROM b WHERE y < 0 UNION SELECT GREATEST(n, m) FROM b", 0),
        (_A + "SELECT y, LN(n) FROM b", 102),
        (_A + "SELECT MAX(n) FROM b", 1),
        (_A + "SELECT g, MAX(n) FROM b GROUP BY g", 22),
        # a logarithm of what may well be below 0 fails in most runs; of what is never there, too
        (_A + "SELECT SUM(LN(n - 380)) FROM b WHERE n > 380", 1),
        (_A + "SELECT y, n * random() FROM b", 0),
        (_A + "SELECT y, SUM(n) OVER (ORDER BY y) FROM b WHERE n > 10000", 0),
        (_A + "SELECT y, NULLIF(SUM(n) OVER (ORDER BY y), 0) FROM b WHERE y = 1950", 1),
        (_A + "SELECT y, CASE WHEN n > 0 THEN NULL::integer ELSE n END FROM b", 0),
    ],
)
def test_cells_are_found_again_by_what_has_no_noise_in_it(
    session: TwinSession, sql: str, formed: int
) -> None:
    """Where several rows are alike, or where most runs do not have the cell, it has no interval."""
    known = _known(sql, session, Distribution.LAPLACE)
    stream = Stream("again")
    rows, found = _simulated(known, known.noisy(stream), session, stream)
    there = [one for row in found.intervals for one in row if one is not None]
    assert len(there) == formed
    assert len(found.intervals) == len(rows)
    assert all(low <= high for low, high in there)


def test_too_much_work_is_left_and_said(session: TwinSession) -> None:
    """How much is too much is told by rows alone, 102 beside each other, twice, are; the answer comes all the same."""
    sql = _A + "SELECT x.y, GREATEST(x.n, z.n) AS larger FROM b x, b z WHERE z.y = 1950"
    known = _known(sql, session, Distribution.LAPLACE)
    stream = Stream("much")
    rows, found = _simulated(known, known.noisy(stream), session, stream)
    assert len(rows) == 102
    assert found.notices == (
        "intervals are not given for `larger`: it takes too many rows to simulate them",
    )
    assert all(one is None for one in found.intervals.columns)


def test_simulation_ends_when_the_question_is_taken_back(session: TwinSession) -> None:
    """Between two runs somebody looks whether the answer is still wanted."""
    known = _known(GROUPS, session, Distribution.LAPLACE)
    release, cancelled, runs = known.noisy(Stream("cancel")), threading.Event(), []
    run = known.run(session)

    def some(constants: Mapping[str, ConstantTable]) -> Sequence[Row]:
        runs.append(1)
        if len(runs) == 7:
            cancelled.set()
        return run(constants)

    rows = known.rows(release, session, clamp=True)
    simulating = known.simulation(release, some, Stream("cancel"), cancelled, 30.0)
    nothing = IntervalRows((None,) * 7, len(rows))
    with pytest.raises(SourceStopped):
        add_simulated_intervals(known.cut, rows, nothing, simulating)
    assert len(runs) == 7 < TIMES


@pytest.mark.parametrize(
    "sql", [GROUPS, _A + "SELECT SUM(1 / (n - n)) FROM b"], ids=["late", "never"]
)
def test_answer_comes_without_intervals_when_running_it_again_fails(
    session: TwinSession, sql: str
) -> None:
    """Where time is over that is said; where PostgreSQL refuses every run, there is nothing to tell."""
    known = _known(sql, session, Distribution.LAPLACE)
    release, width = known.noisy(Stream("fails")), len(known.cut.result or ())
    rows: tuple[Row, ...] = ((None,) * width,)
    simulating = known.simulation(
        release,
        known.run(session),
        Stream("fails"),
        threading.Event(),
        0.0 if sql is GROUPS else 30.0,
    )
    nothing = IntervalRows((None,) * width, len(rows))
    found = add_simulated_intervals(known.cut, rows, nothing, simulating)
    assert all(one is None for row in found.intervals for one in row)
    assert [one.endswith("it takes too long to simulate them") for one in found.notices] == (
        [True] if sql is GROUPS else []
    )
