"""Fingerprints of measurements, of contribution bounds and of staged inputs: equal for equal things, and for no others."""

from collections.abc import Mapping
from dataclasses import replace
from fractions import Fraction
from itertools import combinations

import pytest
from binding.clinic import CLINIC
from release_cache.visits import MEASURES, SMOKERS, Question, dataset, one_of
from sensitivity.analyses import plan_of

from gateway.binding.bind import bind
from gateway.binding.bound import Cut, Fetch, Release, Sql, Stage
from gateway.binding.text.classify import classify
from gateway.budget.account import Currency
from gateway.catalog.domains import Interval
from gateway.catalog.tables import OWN_TABLES, Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import NUMERIC, Field
from gateway.plan.relations import Scan
from gateway.plan.scalars import StagedValue, walk_scalar
from gateway.regions.declarations import declarations
from gateway.release_cache.fingerprints import (
    Constants,
    bounding_of,
    choice_digest,
    is_additive,
    is_plain,
    slot_digest,
)
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.clip import DECLARED_CLIP, ClipRule
from gateway.sensitivity.measurement import Total

_NONE: Mapping[str, str] = {}
_FOUR = ClipRule(16)  # whatever groups a statement has


def _analysis(
    sql: str,
    groups: int = 24,
    *,
    pairs: bool = True,
    most: int = 10_000,
    clip: ClipRule = _FOUR,
) -> Analysis:
    plan = plan_of(sql, dataset(groups))
    return analyze_release(plan, pairs=pairs, enumerated_groups=most, min_units=2, clip=clip)


def _slots(sql: str, groups: int = 24, *, pairs: bool = True, clip: ClipRule = _FOUR) -> list[str]:
    analysis = _analysis(sql, groups, pairs=pairs, clip=clip)
    return [slot_digest(analysis, one, _NONE) for one in analysis.slots]


def _bounding(sql: str, groups: int = 24, *, most: int = 10_000) -> str:
    return bounding_of(_analysis(sql, groups, most=most), Currency.PURE, "")


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("select count(*) from visits", "select count(*) as n from visits as x"),
        ("select sum(cost) from visits", "select avg(x.cost) from visits x where x.kind = 'home'"),
        ("select count(*), kind from visits group by kind", "select count(*) from visits"),
        (
            "select count(*) filter (where kind = 'home') from visits",
            "select count(*) filter (where x.kind = 'home') from visits x group by x.kind",
        ),
        (
            "select sum(v.cost) from visits v join patients p on v.pid = p.pid",
            "select sum(a.cost) from patients b join visits a on a.pid = b.pid where b.smoker",
        ),
        ("select count(distinct pid) from visits", "select count(distinct x.pid) from visits x"),
        (
            "select sum(cost) from visits",
            "select sum(c) from (select cost as c, kind from visits) as x",
        ),
    ],
)
def test_slots_are_equal_whatever_names_and_groups_a_statement_has(one: str, other: str) -> None:
    """Aliases, groups and regions are not in what is measured."""
    assert _slots(one) == _slots(other)


def test_slots_have_the_clip_of_the_groups_that_are_declared() -> None:
    """Groups that are constant per unit change no clip; more rows in more groups are other sums, never combined."""
    alone = _slots("select count(*) from visits", clip=DECLARED_CLIP)
    joined = "select count(*) from visits v join patients p on v.pid = p.pid group by p.region"
    by_kind = "select count(*) from visits group by kind"
    assert alone == _slots("select count(*) as n from visits x", clip=DECLARED_CLIP)
    assert alone == _slots(joined, clip=DECLARED_CLIP)
    assert alone == _slots(by_kind, 1, clip=DECLARED_CLIP)
    assert alone != _slots(by_kind, 2, clip=DECLARED_CLIP)


def test_slots_differ_where_anything_else_is_measured() -> None:
    """Counts, sums, conditions, lattices, both currencies' ways to measure: no two are equal."""
    measured = [
        *MEASURES,
        "count(distinct v.cost)",
        "sum(v.cost + 1)",
        "sum(v.cost * 2)",
        "sum(v.cost) filter (where v.kind = 'call')",
        "count(*) filter (where not p.smoker)",
        "count(distinct v.pid) filter (where p.smoker)",
        "var_pop(v.cost)",
        "corr(v.cost, p.born)",
    ]
    for pairs in (True, False):
        questions = [Question((), (), (one,), pairs=pairs) for one in measured if "avg" not in one]
        found = [frozenset(one.wanted.slots) for one in questions]
        for (mine, a), (own, b) in combinations(zip(found, questions, strict=True), 2):
            assert mine != own, (a.sql, b.sql)


def test_choices_differ_by_what_is_sought_and_where() -> None:
    """A median, a decile, both ends, what is frequent: each of each column."""
    asked = [
        f"{what} within group (order by v.{of})"
        for what in ("percentile_disc(0.5)", "percentile_disc(0.1)", "mode()")
        for of in ("cost", "day")
    ]
    asked += [
        "min(v.cost)",
        "max(v.cost)",
        "dp_top(v.kind, 1)",
        "max(v.cost) filter (where p.smoker)",
    ]
    found = [choice for one in asked for choice in Question((), (), (one,)).wanted.choices]
    assert len(set(found)) == len(found) == len(asked)
    analysis = _analysis("select percentile_disc(0.5) within group (order by x.cost) from visits x")
    assert [choice_digest(analysis, one, _NONE) for one in analysis.choices] == [found[0]]


def test_constants_are_told_by_their_content() -> None:
    """What was released before and is compared with is part of what is measured."""
    sql = "select count(*) filter (where cost > (select avg(cost) from visits)) from visits"
    analysis = _analysis(sql)
    [where] = {slot.measurements[0].quantity.where for slot in analysis.slots}
    assert where is not None
    [name] = {one.constant for one in walk_scalar(where) if isinstance(one, StagedValue)}
    first, again, other = (
        [slot_digest(analysis, one, {name: of}) for one in analysis.slots] for of in ("a", "a", "b")
    )
    assert first == again
    assert first != other


def test_boundings_are_equal_where_nothing_is_cut() -> None:
    """How many groups there are does not matter where a unit is in one of them; its weight follows from all others."""
    alone = _bounding("select count(*) from visits")
    assert alone == _bounding("select count(*) from visits where kind = 'home'", 9999)
    joined = "select count(*) from visits v join patients p on v.pid = p.pid group by p."
    assert alone == _bounding(f"{joined}region") == _bounding(f"{joined}smoker", 1)
    assert alone != _bounding("select count(*) from visits group by kind")


def test_boundings_differ_by_clip() -> None:
    """Two limits of a unit's rows are two sums, which are never combined."""
    plan = plan_of("select count(*) from visits", dataset(24))
    found = {
        bounding_of(
            analyze_release(plan, pairs=True, enumerated_groups=9, min_units=2, clip=clip),
            Currency.PURE,
            "",
        )
        for clip in (ClipRule(1), ClipRule(2), ClipRule(16), DECLARED_CLIP)
    }
    assert len(found) == 4


def test_boundings_differ_by_currency_rows_declarations_and_thresholds() -> None:
    """A row of a person, three, or groups that are found in the data, in one currency or the other."""
    one, persons = (
        _analysis("select count(*) from visits"),
        _analysis("select count(*) from patients"),
    )
    hidden = _analysis("select count(*) from visits group by pid % 7, kind", most=1)
    also = _analysis("select count(*), count(distinct pid) from visits group by kind", most=1)
    found = {
        bounding_of(one, Currency.PURE, ""),
        bounding_of(one, Currency.ZCDP, ""),
        bounding_of(one, Currency.PURE, "x"),
        bounding_of(persons, Currency.PURE, ""),
        bounding_of(hidden, Currency.PURE, ""),
        bounding_of(replace(hidden, groups_per_unit=9), Currency.PURE, ""),
    }
    assert len(found) == 6
    assert not isinstance(hidden.groups, EnumeratedGroups)
    assert bounding_of(also, Currency.PURE, "") == bounding_of(hidden, Currency.PURE, "")


def test_plain_is_what_no_group_of_a_unit_is_cut_of() -> None:
    """Listed groups of which a unit is in one; a cut join, weights over several groups and many groups are not."""
    by_kind = "select count(*) from visits group by kind"
    joined = "select count(*) from visits v join patients p on v.pid = p.pid group by p.region"
    twice = "select count(*) from visits v join visits w on v.pid = w.pid"
    assert not is_plain(_analysis(by_kind))
    assert not is_additive(_analysis(by_kind))
    assert not is_plain(_analysis("select count(distinct kind) from visits group by cost", 2))
    assert is_additive(_analysis(joined, 1))
    assert is_additive(_analysis("select count(*) from visits", 1))
    assert is_additive(_analysis("select count(*) from patients group by region, smoker", 1))
    assert not is_plain(_analysis(twice))
    hidden = _analysis("select count(*) from patients group by region", most=1)
    assert is_plain(hidden)
    assert not is_additive(hidden)


def test_a_cut_join_is_told_by_all_that_it_reads() -> None:
    """Which rows of a person are kept there hangs on the columns that are read: other columns, another bounding."""
    join = "from visits v join visits w on v.pid = w.pid"
    assert _bounding(f"select count(*) {join}") == _bounding(f"select count(*) as n {join}")
    assert _bounding(f"select count(*) {join}") != _bounding(f"select sum(v.cost) {join}")
    assert _bounding(f"select count(*) {join}") != _bounding(
        f"select count(*) {join} where v.cost > 1"
    )


def test_windows_are_told_by_all_that_they_read() -> None:
    """Ties of a window are broken by the columns that are read."""
    numbered = "(select *, row_number() over (partition by pid order by day) as n from visits) as x"
    first = f"from {numbered} where n = 1"
    assert _bounding(f"select count(*) {first}") == _bounding(f"select count(*) {first}")
    assert _bounding(f"select count(*) {first}") != _bounding(f"select sum(cost) {first}")


def test_order_and_expressions_do_not_matter_where_the_columns_that_are_read_are_the_same() -> None:
    """Rows that tie, and samples of joins, depend on the columns: not on the order of keys and measures."""
    numbered = "(select *, row_number() over (partition by pid order by day) as n from visits) as x"
    joined = "visits v join visits w on v.pid = w.pid"
    for measure, key, rows in (("{}", "{}", f"{numbered} where n = 1"), ("v.{}", "v.{}", joined)):
        cost, kind, day = measure.format("cost"), key.format("kind"), key.format("day")
        one = _bounding(f"select count(*), sum({cost}) from {rows} group by {kind}, {day}")
        other = _bounding(f"select sum({cost}), count(*) from {rows} group by {day}, {kind}")
        assert one == other
        assert one != _bounding(f"select sum({cost}), count(*) from {rows} group by {day}")


def test_the_digest_of_a_slot_knows_how_far_a_unit_moves_it() -> None:
    """In parts of a whole, or from other ends, the same quantity is another number."""
    analysis = Question(("kind",), (one_of("region", "north"), SMOKERS), ("sum(v.cost)",)).analysis
    [slot] = analysis.slots
    heavier = replace(slot, most=slot.most * 2)
    assert slot_digest(analysis, slot, _NONE) != slot_digest(analysis, heavier, _NONE)
    [first, *_] = slot.measurements
    assert isinstance(first.quantity, Total)
    lattice = replace(first.quantity.lattice, step=Fraction(1, 2))
    finer = replace(first, quantity=replace(first.quantity, lattice=lattice))
    assert slot_digest(analysis, slot, _NONE) != slot_digest(
        analysis, replace(slot, measurements=(finer, *slot.measurements[1:])), _NONE
    )


def test_stored_digests_stay_what_they_are() -> None:
    """Golden: states hold them. With others no earlier answer is found, and the auditor takes old queries for strangers."""
    bound = bind("SELECT COUNT(*) FILTER (WHERE region = 'north') FROM patients", CLINIC)
    assert isinstance(bound, Cut)
    [release] = bound.releases
    analysis = analyze_release(release.plan, pairs=True, enumerated_groups=100, min_units=10)
    [slot] = analysis.slots
    declared = declarations(analysis.plan, CLINIC)
    assert declared.startswith("753bca10c5e8ee16")
    assert slot_digest(analysis, slot, _NONE).startswith("10699d2d4afb1242")
    assert bounding_of(analysis, Currency.PURE, declared).startswith("be0d0560b916f295")


def _of_sampled() -> list[str]:
    """What is in the name of how groups or values are chosen: of a release, its values, and its choice."""
    hidden = _analysis("select count(*) from visits group by pid % 7, kind", most=1)
    values = _analysis("select count(distinct day) from visits")
    chosen = _analysis(
        "select count(*), mode() within group (order by day) from visits group by kind", 2
    )
    return [
        bounding_of(hidden, Currency.PURE, ""),
        *(slot_digest(values, one, _NONE) for one in values.slots),
        *(choice_digest(chosen, one, _NONE) for one in chosen.choices),
    ]


def test_digests_of_another_choice_of_groups_are_not_found() -> None:
    """Golden: releases made when groups were chosen by the key alone have the first names, and are not combined."""
    before = ["74e27deab10b6409", "28ce1454127762d5", "b44676e3a3ab9974"]
    before += ["84628b775f9a49da"]  # when rows were cut to R
    before += ["89632efac469783c"]  # when histograms were
    now = ["3f3bdfcc85478145", "05f5ef0e91c30043", "7ab9e7f0e791ce8a"]
    assert [one[:16] for one in _of_sampled()] == now
    assert not set(before) & set(now)


_VISITS = Table(
    "visits",
    (
        Column("pid", parse_type("bigint"), nullable=False),
        Column("cost", parse_type("integer"), Interval(0, 10, Fraction(1))),
    ),
    Protection("pid", 3, 1),
)
_PUBLIC = Table("regions", (Column("region", parse_type("text")),))
_PLAN = Aggregate(Scan(_VISITS, "visits", "person"), (), (), ((),))
_FIELD = (Field("value", NUMERIC),)


def _cut(*steps: Release | Fetch | Stage) -> Cut:
    return Cut(classify("SELECT 1"), steps, Sql("", ""), frozenset(), frozenset(), None)


def _staged(body: str, query_id: str, tells: str) -> str:
    """The name of what is made of a release, when a second release is looked at."""
    cut = _cut(Release("_r1", _PLAN), Stage("_s1", Sql("", body), _FIELD), Release("_r2", _PLAN))
    constants = Constants(cut, query_id)
    assert constants.before(0) == {}
    constants.set_content(0, tells)
    return constants.before(1)["_s1"]


def test_name_is_the_same_when_it_is_made_of_the_same() -> None:
    """In two questions: what is computed steadily from a release that is taken from the same entries."""
    body = "SELECT AVG(m1) AS value FROM _r1"
    assert _staged(body, "q1", "entry 1") == _staged(body, "q2", "entry 1")


def test_name_is_another_when_anything_of_it_is() -> None:
    """Another entry, another text, chance."""
    body = "SELECT AVG(m1) AS value FROM _r1"
    names = [
        _staged(body, "q1", "entry 1"),
        _staged(body, "q1", "entry 2"),
        _staged("SELECT MAX(m1) AS value FROM _r1", "q1", "entry 1"),
        _staged("SELECT random() AS value FROM _r1", "q1", "entry 1"),
        _staged("SELECT random() AS value FROM _r1", "q2", "entry 1"),
    ]
    assert len(set(names)) == len(names)


def test_own_tables_are_never_the_same_again() -> None:
    """What somebody spent so far is another thing with each question; a public table is the same table."""

    def name(table: Table, query_id: str) -> str:
        constants = Constants(_cut(Fetch("_p1", table), Release("_r1", _PLAN)), query_id)
        return constants.before(0)["_p1"]

    assert name(OWN_TABLES["budget"], "q1") != name(OWN_TABLES["budget"], "q2")
    assert name(_PUBLIC, "q1") == name(_PUBLIC, "q2")
