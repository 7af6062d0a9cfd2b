"""Histograms counted on real databases are what the definition says, and one unit moves them by no more."""

import random
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, date, datetime, timedelta
from fractions import Fraction
from functools import partial
from hashlib import md5
from pathlib import Path
from typing import Any, TypeAlias

import psycopg
import pytest
from engines.sources import connections_of, insert_in_duckdb, quick_preparation
from engines.sql.test_release import when_free
from fix_sample import plain
from samples import draws
from sqlalchemy import URL

from gateway.bounding.bounded_release import BoundedRelease, bound_release
from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.catalog.values import Value
from gateway.engines.source import SourceDatabase
from gateway.engines.sql.expressions import TotalScalarSql
from gateway.engines.sql.group_limits import shown_parameters
from gateway.exact import ExactHistogram
from gateway.plan.aggregates import Aggregate, Measure
from gateway.plan.fields import BIGINT, BOOLEAN
from gateway.plan.relations import Filter, Scan
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.ranges.lattice import Lattice
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.choices import (
    BinnedRows,
    Buckets,
    Choice,
    End,
    Frequent,
    Histogram,
    ListedRows,
    QuantileLevel,
)

Row: TypeAlias = tuple[int | None, int | None, int | None, date | None, datetime | None, str | None]
Found: TypeAlias = Mapping[int | None, Mapping[int, int]]
NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
SALT = "clinic"
R, G = 3, 2
DAY = date(2026, 1, 1)
DAYS = (DAY - date(1970, 1, 1)).days
MOMENT = datetime(2026, 1, 1)  # noqa: DTZ001 - of a column without zone
MINUTE = 60_000_000
VISITS = Table(
    "visits",
    (
        Column("p", parse_type("bigint")),
        Column("k", parse_type("bigint")),
        Column("x", parse_type("bigint"), Interval(-7, 20, Fraction(1))),
        Column("d", parse_type("date"), Interval(DAY, DAY + timedelta(days=9), Fraction(1))),
        Column(
            "t",
            parse_type("timestamp"),
            Interval(MOMENT, MOMENT + timedelta(minutes=9), Fraction(60)),
        ),
        Column("s", parse_type("text"), Values(("a", "b", "ä"))),
    ),
    Protection("p", R, G),
)
SCAN = Scan(VISITS, "v", "patient")
_, K, X, D, T, S = (Ref(one) for one in SCAN.fields)
ABOVE = Call(">", (X, Literal(0, BIGINT)), BOOLEAN)
NUMBERS = Lattice(Fraction(1), -7, 20)
FINE = BinnedRows(X, Buckets(NUMBERS, 1))
COARSE = BinnedRows(X, Buckets(NUMBERS, 5), ABOVE)
BY_DAY = BinnedRows(D, Buckets(Lattice(Fraction(1), DAYS, DAYS + 9), 2))
_FIRST = DAYS * 24 * 60
BY_MINUTE = BinnedRows(T, Buckets(Lattice(Fraction(MINUTE), _FIRST, _FIRST + 9), 1))
WORDS = ListedRows(S, ("a", "b", "ä"), ABOVE)
HISTOGRAMS = (FINE, COARSE, BY_DAY, BY_MINUTE, WORDS)


def release(*histograms: Histogram, keys: Sequence[Scalar] = (K,)) -> BoundedRelease:
    named = tuple((f"k{place + 1}", one) for place, one in enumerate(keys))
    plan = Aggregate(
        SCAN, named, (("m1", Measure("count", (), BIGINT)),), (tuple(range(len(keys))),)
    )
    groups = EnumeratedGroups(tuple((k,) for k in range(9))) if keys else EnumeratedGroups(((),))
    choices = tuple(Choice(one, QuantileLevel(Fraction(1, 2)), R) for one in histograms)
    analysis = Analysis(plan, R, G, (), (), groups, choices=choices)
    return bound_release(analysis, now=NOON, proven={})


def _bucket_of(histogram: Histogram, row: Row) -> int | None:
    _, _, x, day, moment, word = row
    number = None if x is None else min(max(x, -7), 20)
    if histogram in (COARSE, WORDS) and (number is None or number <= 0):
        return None
    if histogram in (FINE, COARSE):
        return None if number is None else (number + 7) // (5 if histogram == COARSE else 1)
    if histogram == BY_DAY:
        return None if day is None else min(max((day - DAY).days, 0), 9) // 2
    if histogram == BY_MINUTE:
        return None if moment is None else min(max((moment - MOMENT) // timedelta(minutes=1), 0), 9)
    return {"a": 0, "b": 1, "ä": 2}.get(word or "")


def reference(histogram: Histogram, rows: Sequence[Row]) -> dict[int | None, dict[int, int]]:
    """The whole definition, one unit after the other."""
    units: dict[int, dict[int | None, dict[int, int]]] = defaultdict(
        lambda: defaultdict(lambda: defaultdict(int))
    )
    for row in rows:
        bucket = _bucket_of(histogram, row)
        if row[0] is not None and bucket is not None:
            units[row[0]][row[1]][bucket] += 1
    found: dict[int | None, dict[int, int]] = defaultdict(lambda: defaultdict(int))
    for unit, groups in units.items():
        for key in sorted(groups, key=partial(_rank, unit))[:G]:
            upto, total = 0, sum(groups[key].values())
            for bucket in sorted(groups[key]):
                before, upto = upto, upto + groups[key][bucket]
                cut = upto * R // total - before * R // total
                found[key][bucket] += groups[key][bucket] if total <= R else cut
    return _without_zeros(found)


def _rank(unit: int, key: int | None) -> tuple[str, bool, int]:
    written = "~" if key is None else str(key)
    return md5(f"{SALT}|{unit}|{written}".encode()).hexdigest(), key is None, key or 0  # noqa: S324


def _without_zeros(found: Found) -> dict[int | None, dict[int, int]]:
    kept = {key: {place: n for place, n in one.items() if n} for key, one in found.items()}
    return {key: one for key, one in kept.items() if one}


class Database:
    """Rows of visits in one of the two databases, written in an order that is drawn."""

    def __init__(self, url: URL) -> None:
        self.url = url
        self._kept: SourceDatabase | None = None
        self.write(
            ["CREATE TABLE visits (p bigint, k bigint, x bigint, d date, t timestamp, s text)"],
            [],
        )

    def holds(self, rows: Sequence[Row], seed: int) -> None:
        shuffled = list(rows)
        random.Random(seed).shuffle(shuffled)  # noqa: S311 - an order of rows
        self.write(["DELETE FROM visits"], shuffled)

    def write(self, before: Sequence[str], rows: Sequence[Row]) -> None:
        insert = b"INSERT INTO visits VALUES (%s, %s, %s, %s, %s, %s)"
        if self.url.get_backend_name() == "duckdb":
            with when_free(str(self.url.database)) as here:
                for one in before:
                    here.execute(one)
                insert_in_duckdb(here, "visits", rows)
            return
        with psycopg.connect(plain(self.url)) as there, there.cursor() as cursor:
            for one in before:
                cursor.execute(one.encode())
            cursor.executemany(insert, rows)

    def counts(
        self,
        wanted: BoundedRelease,
        shown: Sequence[int | None] | None = None,
        parts: int = 1,
    ) -> list[dict[int | None, dict[int, int]]]:
        # what was rendered and compiled serves again
        source = self._kept = self._kept or SourceDatabase.open(
            self.url, TotalScalarSql(), salt=SALT
        )
        keys = None if shown is None else [(one,) for one in shown]
        quick = quick_preparation(source, self.url)
        exact = source.count(wanted, keys, {}, limit_s=20, parts=parts, on=quick)
        if self.url.get_backend_name() == "duckdb":
            source.close()  # a process that has the file open keeps others from writing
        found = []
        for histogram in exact:
            groups: dict[int | None, dict[int, int]] = {}
            for key, (places, rows) in histogram.counts.items():
                assert len(set(places)) == len(places)
                groups[_number(key)] = dict(zip(places, rows, strict=True))
            found.append(_without_zeros(groups))
        return found

    def forget(self) -> None:
        """Nothing is rendered, and nothing is open."""
        if self._kept is not None:
            self._kept.close()
        self._kept = None


def _number(key: tuple[Value | None, ...]) -> int | None:
    one = key[0] if key else None
    assert one is None or isinstance(one, int)
    return one


@pytest.fixture(params=["duckdb", "postgresql"])
def database(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Database]:
    url = URL.create("duckdb", database=str(tmp_path / "clinic.duckdb"))
    if request.param == "postgresql":
        url = request.getfixturevalue("sample_database")
    made = Database(url)
    yield made
    made.forget()


def a_row(draw: random.Random, unit: int | None) -> Row:
    return (
        unit,
        draw.choice([None, 1, 2, 3, 4]),
        draw.choice([None, -50, -7, 0, 3, 11, 19, 20, 90]),
        draw.choice([None, *(DAY + timedelta(days=one) for one in (-400, 0, 1, 5, 9, 700))]),
        draw.choice(
            [None, *(MOMENT + timedelta(seconds=one) for one in (-(9**6), 0, 180, 540, 9**6))]
        ),
        draw.choice([None, "a", "b", "ä", "nothing"]),
    )


def some_rows(seed: int) -> list[Row]:
    draw = random.Random(seed)  # noqa: S311 - a table of a test
    many = [(unit, draw.choice([0, 1, 2, 4, 12, 40])) for unit in range(draw.randint(0, 6))]
    rows = [a_row(draw, unit) for unit, count in many for _ in range(count)]
    return [*rows, *(a_row(draw, None) for _ in range(3))]


def test_histograms_are_what_the_definition_says_on_random_tables(database: Database) -> None:
    """NULL counts nowhere, filters are respected, values beyond a domain count at its end, units are cut to R and G."""
    for seed in range(draws(10, fewest=4)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        found = database.counts(release(*HISTOGRAMS))
        assert found == [reference(one, rows) for one in HISTOGRAMS]


def moves(
    database: Database,
    wanted: BoundedRelease,
    seed: int,
    shown: Sequence[int | None] | None = None,
) -> bool:
    """Whether one unit more moves a histogram further than by R in each of G groups, or makes a count smaller."""
    rows, draw = some_rows(seed), random.Random(seed)  # noqa: S311 - a table of a test
    more = [a_row(draw, 99) for _ in range(draw.choice([1, 5, 40]))]
    database.holds(rows, seed)
    before = database.counts(wanted, shown)
    database.holds([*rows, *more], seed + 1)
    after = database.counts(wanted, shown)
    for old, new in zip(before, after, strict=True):
        changed = 0
        for key in {*old, *new}:
            was, now = old.get(key, {}), new.get(key, {})
            changes = [now.get(one, 0) - was.get(one, 0) for one in {*was, *now}]
            if min(changes, default=0) < 0 or sum(changes) > R:
                return True
            changed += any(changes)
        if changed > G:
            return True
    return False


def test_one_unit_moves_a_histogram_by_no_more_than_declared(database: Database) -> None:
    """Whole numbers that are not negative, in sum at most R in a group, in at most G groups."""
    assert not any(
        moves(database, release(*HISTOGRAMS), seed) for seed in range(draws(10, fewest=6))
    )


@pytest.mark.parametrize(
    "broken", [{"rows_per_unit": 40}, {"groups_per_unit": None}, {"by_unit": False}]
)
def test_one_unit_moves_a_histogram_too_far_when_a_cut_is_left_out(
    database: Database, broken: Mapping[str, Any]
) -> None:
    """The test above notices a histogram without its cut to R rows, or to G groups."""
    wanted = replace(release(*HISTOGRAMS), **broken)
    assert any(moves(database, wanted, seed) for seed in range(draws(10, fewest=6)))


def test_unit_with_ten_thousand_rows_counts_as_declared(database: Database) -> None:
    """They come to R rows in each of G groups, spread over the values they have."""
    rows: list[Row] = [(1, place % 5, place % 28 - 7, None, None, None) for place in range(10_000)]
    database.holds(rows, 1)
    [found] = database.counts(release(FINE))
    assert found == reference(FINE, rows)
    assert len(found) == G
    assert all(sum(one.values()) == R and len(one) == R for one in found.values())


def test_histogram_without_rows_is_answered(database: Database) -> None:
    """No rows, no counts, no error; with keys and without."""
    database.holds([], 1)
    assert database.counts(release(*HISTOGRAMS)) == [{}] * len(HISTOGRAMS)
    assert database.counts(release(FINE, keys=())) == [{}]


def test_histogram_without_keys_is_of_all_rows(database: Database) -> None:
    """A unit is cut to R rows over all of them."""
    rows: list[Row] = [
        (unit, unit, place, None, None, None) for unit in (1, 2) for place in range(9)
    ]
    database.holds(rows, 1)
    [found] = database.counts(release(FINE, keys=()))
    assert found == reference(FINE, [(p, None, *rest) for p, _, *rest in rows])  # type: ignore[misc]


def test_histogram_without_cut_is_the_same_where_a_unit_has_one_row(database: Database) -> None:
    """Leaving the grouping by units out changes nothing when there is nothing to cut."""
    draw = random.Random(5)  # noqa: S311 - a table of a test
    rows = [a_row(draw, unit) for unit in range(40)]
    database.holds(rows, 1)
    direct = replace(release(*HISTOGRAMS), by_unit=False, groups_per_unit=None, rows_per_unit=1)
    assert database.counts(direct) == [reference(one, rows) for one in HISTOGRAMS]


def test_statement_of_a_histogram_is_rendered_once(database: Database) -> None:
    """The same release twice is the same statement; another histogram is another."""
    source = SourceDatabase.open(database.url, TotalScalarSql(), salt=SALT)
    wanted = release(FINE, COARSE)
    first: Callable[[Histogram], Any] = lambda one: source.counting(wanted, one, {})  # noqa: E731
    one, other = wanted.histograms
    assert first(one) is first(one)
    assert str(first(one)) != str(first(other))
    source.close()


def test_answers_of_buckets_are_values_of_their_column() -> None:
    """A number, a day, a moment, a word: the middle of what the bucket holds."""
    assert COARSE.answer(1) == 0
    assert FINE.answer(27) == 20
    assert BY_DAY.answer(1) == DAY + timedelta(days=2)
    assert BY_MINUTE.answer(9) == MOMENT + timedelta(minutes=9)
    assert WORDS.answer(2) == "ä"
    assert Choice(WORDS, Frequent(), R).spread == R
    assert Choice(FINE, QuantileLevel(Fraction(9, 10)), R).spread == 2 * R * 9
    assert Choice(FINE, End.LOWEST, R).spread == Choice(FINE, End.HIGHEST, R).spread == 4 * R


SHOWN: Sequence[Sequence[int | None]] = ((1,), (None,), (2, None, 77), (1, 2, 3, 4, None), ())


def test_histogram_of_shown_groups_is_the_whole_one_without_the_others(database: Database) -> None:
    """NULL is a key like others, keys that nobody has are in nobody's way, and parts of persons add up."""
    parts = (1,) if database.url.get_backend_name() == "duckdb" else (1, 2)
    for seed in range(draws(5, fewest=2)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        whole = [reference(one, rows) for one in HISTOGRAMS]
        for shown in SHOWN:
            wanted = [{key: one[key] for key in shown if key in one} for one in whole]
            for many in parts:
                assert database.counts(release(*HISTOGRAMS), shown, many) == wanted
        for many in parts:
            assert database.counts(release(*HISTOGRAMS), parts=many) == whole


def test_one_unit_moves_a_histogram_of_shown_groups_by_no_more_than_declared(
    database: Database,
) -> None:
    """The keys are released: the same for both neighbours."""
    wanted = release(*HISTOGRAMS)
    assert not any(
        moves(database, wanted, seed, (1, 2, None)) for seed in range(draws(6, fewest=3))
    )
    uncut = replace(wanted, groups_per_unit=None)
    assert any(moves(database, uncut, seed, (1, 2, 3, None)) for seed in range(draws(10, fewest=3)))


def test_groups_that_are_left_out_before_the_cut_are_noticed(database: Database) -> None:
    """Negative control: others of a unit's groups move up, so it counts where the release did not count it."""
    shown, differ = (1, 2), 0
    among = Filter(SCAN, Call("<=", (K, Literal(2, BIGINT)), BOOLEAN))
    for seed in range(draws(10, fewest=4)):
        rows = some_rows(seed)
        database.holds(rows, seed)
        early = database.counts(replace(release(FINE), rows=among), shown)
        late = database.counts(release(FINE), shown)
        [whole] = [reference(FINE, rows)]
        assert late == [{key: whole[key] for key in shown if key in whole}]
        differ += early != late
    assert differ


KINDS: Sequence[tuple[str, Sequence[str]]] = (
    ("smallint", ("-7", "0", "32767")),
    ("numeric(12,2)", ("1.10", "-3.25", "100", "0")),
    ("numeric(30,15)", ("0.000000000000001", "-12345.678901234567890", "100", "7")),
    ("numeric(38,0)", ("100", "12345678901234567890123456789012345678")),
    ("real", ("0.1", "-0", "3e38")),
    ("double precision", ("0.1", "-0", "1e308", "2.2250738585072014e-308", "123456789.123456789")),
    ("text", ("", "~", "ä b", "it's", "NULL", "{a,b}", 'quote "', "A", "a")),
    ("varchar(9)", ("x", "x ")),
    ("boolean", ("true", "false")),
    ("date", ("0001-01-01", "2024-02-29", "9999-12-31")),
    ("timestamp", ("2024-02-29 12:00:00.000001", "1969-12-31 23:59:59")),
    ("timestamp with time zone", ("2024-02-29 12:00:00.5+00", "1999-01-01 00:00:00+02")),
    ("uuid", ("00000000-0000-0000-0000-000000000000", "12345678-1234-1234-1234-1234567890ab")),
)


@pytest.mark.parametrize(("kind", "values"), KINDS, ids=[kind for kind, _ in KINDS])
def test_key_of_every_type_finds_its_group_again(
    database: Database, kind: str, values: Sequence[str]
) -> None:
    """As it came back from the source, so it is given to it again: each group by itself, and NULL."""
    rows = [(place, value, place % 28 - 7) for place, value in enumerate([*values, None])]
    database.write(
        [
            "DROP TABLE visits",
            f"CREATE TABLE visits (p bigint, k {kind}, x bigint)",
            *(f"INSERT INTO visits VALUES ({p}, {_quoted(k)}, {x})" for p, k, x in rows),
        ],
        [],
    )
    p, _, x, *_ = VISITS.columns
    table = Table("visits", (p, Column("k", parse_type(kind)), x), Protection("p", R, G))
    scan = Scan(table, "w", "patient")
    _, key, value = (Ref(one) for one in scan.fields)
    histogram = BinnedRows(value, Buckets(NUMBERS, 1))
    wanted = replace(release(histogram), rows=scan, keys=(key,), histograms=(histogram,))
    source = SourceDatabase.open(database.url, TotalScalarSql(), salt=SALT)
    try:
        [whole] = source.count(wanted, None, {}, limit_s=20)
        assert len(whole.counts) == len(rows)
        for one, cells in whole.counts.items():
            assert source.count(wanted, [one], {}, limit_s=20) == (ExactHistogram({one: cells}),)
    finally:
        source.close()


def _quoted(value: str | None) -> str:
    return "NULL" if value is None else "'" + value.replace("'", "''") + "'"


def test_histogram_is_read_of_the_shown_groups_alone_when_there_are_many(
    database: Database,
) -> None:
    """Of 20,000 groups of one person each and one of many persons, one row comes, however many groups there are."""
    if database.url.get_backend_name() == "duckdb":
        pytest.skip("there is no connection on which to count what comes")
    insert = (
        (
            "INSERT INTO visits SELECT i, 1000 + i, i % 28 - 7, NULL, NULL, NULL"
            " FROM generate_series(1, 20000) s(i)"
        ),
        "INSERT INTO visits SELECT i, 1, i % 28 - 7, NULL, NULL, NULL FROM generate_series(1, 300) s(i)",
    )
    database.write(insert, [])
    wanted = release(FINE)
    source = SourceDatabase.open(database.url, TotalScalarSql(), salt=SALT)
    try:
        with connections_of(source).engine.connect() as connection:
            few = connection.execute(
                source.counting(wanted, FINE, {}), shown_parameters(wanted.keys, [(1,), (5,)])
            ).all()
            many = connection.execute(source.counting(wanted, FINE, {}, among=False)).all()
        [found] = source.count(wanted, [(1,), (5,)], {}, limit_s=20)
        shown = [(key,) for key in range(1001, 21_001)]
        [all_] = source.count(wanted, shown, {}, limit_s=20)
    finally:
        source.close()
    assert len(few) == 1
    assert len(many) == 20_001
    assert sum(len(places) for places, _ in found.counts.values()) <= 2 * FINE.candidates
    assert all_.counts.keys() == set(shown)
