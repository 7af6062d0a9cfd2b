"""Rows followed back to the rows of a release: nothing else changes, and the numbers are the right ones."""

import random
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from fractions import Fraction

import pytest
from binding.cases import Case, accepted, bind_case
from binding.clinic import CLINIC
from binding.random_rows import Row, made_up, of_release
from laws import for_each

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, ResultColumn
from gateway.binding.provenance.origin import Origin
from gateway.plan.formulas import AggregateRef, Form, NumberForm, Over, Plus, Times
from gateway.twin import Twin, TwinSession, visible_tables

_N = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region"
_TWO = (
    "SELECT region, smoker, COUNT(*) AS n, SUM(income) AS s FROM patients GROUP BY region, smoker"
)

# statements, and which of their columns have an interval
FOLLOWED = [
    (_N, "-x"),
    (f"SELECT * FROM ({_N}) t", "-x"),
    (f"SELECT * FROM ({_N})", "-x"),
    (f"SELECT t.*, n * 2 AS twice FROM ({_N}) t", "-xx"),
    (f"SELECT c, r FROM ({_N}) t(r, c)", "x-"),
    (f"SELECT m + 1 AS k FROM (SELECT n AS m FROM (SELECT * FROM ({_N}) a) b) c", "x"),
    (f"WITH a AS ({_N}) SELECT n, n * 2 FROM a WHERE n > 10 ORDER BY n DESC, region LIMIT 5", "xx"),
    (f"WITH a(r, c) AS ({_N}) SELECT * FROM a", "-x"),
    (f"WITH a AS ({_N}), b AS (SELECT region AS r, n FROM a) SELECT * FROM b ORDER BY 1", "-x"),
    (f"WITH a AS ({_N}) SELECT * FROM a WHERE n >= (SELECT AVG(n) FROM a)", "-x"),
    (f"WITH a AS ({_N}) SELECT *, (SELECT MAX(n) FROM a) AS most FROM a", "-x-"),
    (f"WITH a AS ({_N}) SELECT x.*, y.n FROM a x JOIN a y ON x.n <= y.n", "-xx"),
    (f"{_N} UNION ALL SELECT 'total', COUNT(*) FROM patients", "-x"),
    (f"({_N}) UNION ALL (SELECT 'x', 1 UNION ALL SELECT 'y', SUM(income) FROM patients)", "-x"),
    (f"SELECT * FROM ({_N} UNION ALL SELECT 'x', COUNT(*) FROM visits) t ORDER BY n LIMIT 9", "-x"),
    (f"WITH a AS ({_N} UNION ALL SELECT 'x', 1) SELECT n, n * 2 AS d FROM a", "x-"),
    ("SELECT p.n, v.n FROM (SELECT COUNT(*) AS n FROM patients) p, (SELECT COUNT(*) AS n FROM visits) v", "xx"),
    (f"WITH a AS ({_N}) SELECT x.region, x.n - y.n AS d FROM a x CROSS JOIN a y", "--"),
    (f"WITH a AS MATERIALIZED ({_N}) (SELECT * FROM a) ORDER BY n, region OFFSET 1", "-x"),
    (f"SELECT * FROM (WITH a AS ({_N}) SELECT n FROM a) t", "x"),
    (f"SELECT r.capital, t.n FROM regions r JOIN ({_N}) t ON t.region = r.region", "-x"),
    (f"SELECT r.*, t.* FROM regions r LEFT JOIN ({_N}) t USING (region)", "----x"),
    (f"SELECT * FROM regions r FULL JOIN ({_N}) t ON t.region = r.region", "----x"),
    (f"SELECT * FROM regions r LEFT JOIN ({_N}) t USING (region)", "---x"),
    (f"SELECT * FROM ({_N}) t JOIN regions USING (region) JOIN codes ON chapter = region", "-x----"),
    (f"SELECT COALESCE(t.n, 0) AS n FROM regions r LEFT JOIN ({_N}) t USING (region)", "x"),
    (f"SELECT t.region, g FROM ({_N}) t, generate_series(1, 3) g", "--"),
    (f"SELECT t.n, g FROM ({_N}) t, generate_series(1, 3) g", "x-"),
    (f"SELECT t.n, generate_series(1, 2) FROM ({_N}) t", "x-"),
    (f"SELECT t.n, l.x FROM ({_N}) t, LATERAL (SELECT t.n + 1 AS x) l", "x-"),
    (f"SELECT DISTINCT region, n FROM ({_N}) t", "-x"),
    (f"SELECT DISTINCT n, region FROM ({_N}) t ORDER BY n", "x-"),
    (f"SELECT n FROM (SELECT DISTINCT * FROM ({_N}) t) u", "x"),
    (f"SELECT DISTINCT ON (n) n, region FROM ({_N}) t ORDER BY n, region", "x-"),
    (f"SELECT DISTINCT region, smoker, s / n AS mean FROM ({_TWO}) t", "--x"),
    (f"SELECT region, n, RANK() OVER (ORDER BY n) AS r, SUM(n) OVER () AS s FROM ({_N}) t", "-x--"),
    (f"SELECT n, 100.0 * n / SUM(n) OVER () AS share FROM ({_N}) t", "x-"),
    (f"SELECT s / n, s + n, -n, (s - 2 * n) / 4 FROM ({_TWO}) t WHERE n <> 0", "xxxx"),
    (f"SELECT n / 7, n / 7.0, n / 7e0, n / CAST(7 AS numeric), n * 1.0 / 7, n / CAST(7.5 AS int) FROM ({_N}) t", "-xxxx-"),
    ("SELECT x / 2, y / 2 FROM (SELECT CAST(AVG(income) AS int) AS x, AVG(income) AS y FROM patients) t", "-x"),
    (f"SELECT x / 2, y / 2 FROM (SELECT n + 1 AS x, n + 1.5 AS y FROM ({_N}) s) t", "-x"),
    (f"SELECT round(n) / 7, coalesce(n, 0) / 7, coalesce(1.0 * n, 0) / 7 FROM ({_N}) t", "x-x"),
    ("SELECT region, smoker, COUNT(*) AS n FROM patients GROUP BY ROLLUP (region, smoker)", "--x"),
    ("SELECT a.n, b.m FROM (SELECT COUNT(*) AS n FROM patients) a, (SELECT COUNT(*) AS m FROM visits) b", "xx"),
    ("SELECT COUNT(*), COUNT(*) AS b, AVG(income) FROM patients HAVING COUNT(*) > 1", "xxx"),
    ("SELECT DISTINCT COUNT(*), AVG(income) FROM patients", "xx"),
]  # fmt: skip

# statements whose rows come from several rows, from no release, or cannot be wider without being others
NOT_FOLLOWED = [
    f"SELECT DISTINCT n FROM ({_N}) t",
    f"SELECT DISTINCT region, n FROM ({_TWO}) t",
    f"SELECT n FROM (SELECT DISTINCT n FROM ({_N}) t) u",
    f"SELECT DISTINCT t.region, t.n FROM regions r LEFT JOIN ({_N}) t USING (region)",
    "SELECT DISTINCT region, smoker, COUNT(*) FROM patients GROUP BY ROLLUP (region, smoker)",
    f"SELECT SUM(n) FROM ({_N}) t",
    f"SELECT region, MAX(n) FROM ({_TWO}) t GROUP BY region",
    f"SELECT string_agg(region, ',') FROM ({_N}) t",
    f"SELECT t FROM ({_N}) t",
    f"SELECT to_json(t) FROM ({_N}) t",
    f"SELECT to_json(t.*), n FROM ({_N}) t",
    f"SELECT (t).n FROM ({_N}) t",
    f"SELECT x FROM ({_N}) t, LATERAL to_json(t) x",
    f"SELECT * FROM ({_N}) t NATURAL JOIN regions",
    f"SELECT * FROM ({_N} UNION SELECT 'x', 1) t",
    "SELECT * FROM (SELECT COUNT(*), COUNT(*) FROM patients) t",
    "SELECT capital FROM regions r WHERE EXISTS (SELECT COUNT(*) FROM patients)",
    """WITH RECURSIVE a(i, n) AS (SELECT 1, COUNT(*) FROM patients UNION ALL SELECT i + 1, n FROM a WHERE i < 3)
    SELECT * FROM a""",
    f"SELECT * FROM regions x JOIN ({_N}) t USING (region) CROSS JOIN regions y",
]
ACCEPTED = accepted()
_LIMITED = ("limit", "offset", "fetch", "array_agg", "string_agg")


@pytest.fixture(scope="module")
def session(twin: Twin) -> Iterator[TwinSession]:
    with twin.session("alice", visible_tables(CLINIC)) as session:
        yield session


def _describe(session: TwinSession) -> Callable[[str], Sequence[ResultColumn]]:
    return lambda sql: [
        ResultColumn(one.name, one.type_oid, one.type_modifier, one.type_name)
        for one in session.describe(sql).columns
    ]


def _cut(sql: str, session: TwinSession) -> Cut:
    bound = bind(sql, CLINIC, describe=_describe(session))
    assert isinstance(bound, Cut)
    return bound


def _value(form: Form, measures: Row) -> Fraction | None:
    """The form, of the aggregates of one row."""
    if isinstance(form, NumberForm):
        return form.value
    if isinstance(form, AggregateRef):
        text = measures[form.place]
        return None if text is None else Fraction(text)
    assert isinstance(form, Plus | Times | Over)  # binding makes no others
    pair = (form.above, form.below) if isinstance(form, Over) else (form.left, form.right)
    one, other = (_value(part, measures) for part in pair)
    if one is None or other is None:
        return None
    if isinstance(form, Over):
        return one / other
    return one + other if isinstance(form, Plus) else one * other


def _different(cut: Cut, session: TwinSession, seed: int) -> list[str]:
    """What following changed, and the cells that are not what their forms say."""
    assert cut.traced is not None
    constants, released = made_up(cut, seed)
    plain = session.run(cut.finishing.text(constants))
    followed = session.run(cut.traced.finishing.text(constants))
    found = []
    readings = cut.traced.readings
    many = len(readings)
    if Counter(plain) != Counter(row[:-many] for row in followed):
        found.append(f"rows: {plain} and {followed}")
    for place, cells in enumerate(readings):
        for row in followed:
            measures = of_release(released, cut, cells.name, row[place - many])
            for form, cell in zip(cells.forms, row[:-many], strict=True):
                if form is None or measures is None or cell is None:
                    continue
                value = _value(form, measures)
                if value is not None and abs(float(value) - float(cell)) > 1e-9 * abs(float(value)):
                    found.append(f"{form} of {measures} is not {cell}")
    return found


@for_each(("sql", "intervals"), FOLLOWED)
def test_cells_are_those_of_a_row_of_the_release_when_rows_are_followed(
    sql: str, intervals: str, session: TwinSession
) -> None:
    """Behind every row stands the number of the row from which its cells follow, and the rows are the same."""
    cut = _cut(sql, session)
    readings = () if cut.traced is None else cut.traced.readings
    forms = zip(*(one.forms for one in readings), strict=True)
    assert "".join("x" if any(each) else "-" for each in forms) == intervals
    for seed in range(5):
        assert _different(cut, session, seed) == []


@for_each("sql", NOT_FOLLOWED)
def test_rows_are_not_followed_when_that_would_change_the_result(
    sql: str, session: TwinSession
) -> None:
    """Where a row stands for several, or a column more would be seen, no cell has an interval."""
    assert _cut(sql, session).traced is None


@for_each("case", ACCEPTED)
def test_rows_are_the_same_when_they_are_followed(case: Case, session: TwinSession) -> None:
    """For every accepted case the finishing with numbers gives the rows of the one without."""
    bound = bind(case.sql, CLINIC, describe=_describe(session))
    if not isinstance(bound, Cut) or bound.traced is None:
        return
    constants, _ = made_up(bound, 1)
    plain = session.run(bound.finishing.text(constants))
    many = len(bound.traced.readings)
    followed = [row[:-many] for row in session.run(bound.traced.finishing.text(constants))]
    if any(word in case.sql.lower() for word in _LIMITED):  # which rows come first may be left open
        assert len(plain) == len(followed)
    else:
        assert Counter(plain) == Counter(followed)


def test_most_accepted_cases_are_followed() -> None:
    """The comparison above is about more than a hundred statements."""
    bound = [bind_case(case) for case in ACCEPTED]
    assert sum(isinstance(one, Cut) and one.traced is not None for one in bound) > 100


def test_comparison_finds_rows_too_many_when_distinct_rows_are_followed(
    session: TwinSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Followed through a DISTINCT without all keys, rows would become more, and that is noticed."""
    monkeypatch.setattr(Origin, "told_apart_by", lambda *_: True)
    cut = _cut(f"SELECT DISTINCT n FROM ({_N}) t", session)
    assert any(_different(cut, session, seed) for seed in range(5))


def _wrapped(chance: random.Random) -> str:
    """A release in a few wrappers, each with columns `region` and `n`, and with rows in any order."""
    sql = _N
    for level in range(chance.randrange(1, 5)):
        t = f"t{level}"
        sql = chance.choice(
            (
                f"SELECT * FROM ({sql}) {t}",
                f"SELECT * FROM ({sql})",
                f"SELECT {t}.region, n FROM ({sql}) {t} WHERE n <> 20",
                f"SELECT y AS n, x AS region FROM (SELECT region, n FROM ({sql}) q) {t}(x, y)",
                f"SELECT DISTINCT * FROM ({sql}) {t}",
                f"SELECT DISTINCT n, MIN(region) OVER () AS region FROM ({sql}) {t}",
                f"SELECT DISTINCT ON (region, n) * FROM ({sql}) {t}",
                f"SELECT {t}.* FROM ({sql}) {t} JOIN regions USING (region)",
                f"SELECT region, n FROM regions LEFT JOIN ({sql}) {t} USING (region)",
                f"SELECT {t}.region, n FROM ({sql}) {t} FULL JOIN regions r ON r.region = {t}.region",
                f"SELECT region, n * 2 AS n FROM ({sql}) {t} NATURAL JOIN regions",
                f"SELECT region, n - RANK() OVER (ORDER BY n) AS n FROM ({sql}) {t}",
                f"SELECT region, n + 0.5 AS n FROM ({sql}) {t}, generate_series(1, 2) g",
                f"WITH {t} AS ({sql}) SELECT * FROM {t}",
                f"WITH {t} AS ({sql}) SELECT a.* FROM {t} a JOIN {t} b ON a.n <= b.n",
                f"WITH {t} AS ({sql}) SELECT * FROM {t} WHERE n > (SELECT MIN(n) FROM {t})",
                f"SELECT region, SUM(n) AS n FROM ({sql}) {t} GROUP BY region",
                f"SELECT region, n FROM ({sql}) {t} UNION ALL SELECT 'x', 1",
                f"SELECT region, n FROM ({sql}) {t} ORDER BY n DESC, region",
            )
        )
    return sql


def test_rows_are_the_same_when_random_wrappers_are_followed(session: TwinSession) -> None:
    """Wrappers in wrappers, as they come: rows are the same, and cells are those of the row behind them."""
    followed = 0
    for seed in range(300):
        cut = _cut(_wrapped(random.Random(seed)), session)  # noqa: S311 - repeatable
        if cut.traced is not None:
            followed += any(cut.traced.cells.forms)
            assert _different(cut, session, seed) == [], cut.statement.text
    assert followed > 100


def test_hidden_columns_cannot_be_written_by_the_analyst() -> None:
    """A name in the text that looks like a hidden column's makes the hidden one another."""
    sql = "SELECT _t1, n FROM (SELECT region AS _t1, COUNT(*) AS n FROM patients GROUP BY 1) t"
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    assert bound.traced is not None
    assert '"__t1"' in bound.traced.finishing.text()
    assert '"_t1" AS "_t' not in bound.traced.finishing.text()


@pytest.mark.parametrize(
    ("sql", "noisy"),
    [
        (f"SELECT region, n, n > 5, 1, RANK() OVER (ORDER BY n) FROM ({_N}) t", "-xx-x"),
        (f"SELECT r.capital, (SELECT MAX(n) FROM ({_N}) u), t.n FROM ({_N}) t, regions r", "-xx"),
        (f"WITH a AS ({_N}) SELECT region, (SELECT COUNT(*) FROM a), n FROM a", "-xx"),
        (f"SELECT region, DP_INTERVAL_LOW(n) AS lo, n FROM ({_N}) t", "-xx"),
    ],
)
def test_column_is_noisy_when_something_measured_is_in_it(sql: str, noisy: str) -> None:
    """What is computed from a measure is noisy, also through a subquery or a window; keys are not."""
    bound = bind(sql, CLINIC)
    assert isinstance(bound, Cut)
    assert bound.traced is not None
    assert "".join("x" if one else "-" for one in bound.traced.cells.noisy) == noisy


def test_work_of_following_does_not_double_with_each_query_that_reads_another_twice() -> None:
    """A row of 2^40 rows of releases is followed to none of them, and its columns stay noisy."""
    made = ["c0 AS (SELECT COUNT(*) AS n FROM patients)"]
    made += [
        f"c{at} AS (SELECT a.n + b.n AS n FROM c{at - 1} a, c{at - 1} b)" for at in range(1, 41)
    ]
    bound = bind(f"WITH {', '.join(made)} SELECT n FROM c40", CLINIC)
    assert isinstance(bound, Cut)
    assert bound.traced is None
    assert bound.again is None or all(bound.again.reads)
