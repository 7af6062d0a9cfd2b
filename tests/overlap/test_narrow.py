"""What narrow means: by released counts, by cells, by the share of a count."""

from dataclasses import replace
from fractions import Fraction
from random import Random

import pytest
from laws import for_each
from overlap.invented import (
    DAY,
    NAME,
    RULES,
    SIDE,
    YEAR,
    by,
    by_tens,
    named,
    names,
    past,
    ranges,
    refusal,
    scope,
    steps,
    where,
)
from samples import draws

from gateway.errors import Code
from gateway.overlap import group_cuts
from gateway.overlap.auditor import History
from gateway.overlap.group_cuts import grouping_of
from gateway.overlap.known_sizes import KnownSize, total_of
from gateway.policy.policy import Auditing, UnreadableConditions
from gateway.regions.axis import FIRST, LAST
from gateway.regions.cells import NameCells, StepCells, clip_cells, merge_ranges
from gateway.regions.chosen_bounds import has_chosen_bounds
from gateway.regions.region import EVERYTHING, NOTHING, Region

ALL_BUT = where((DAY, StepCells(((0, 99), (101, 29_999)))))
SURE = Fraction(1)  # of the noise of a count
ONE_YEAR_LESS = where((YEAR, ranges((1900, 1998))))


def test_residual_of_one_cell_is_narrow_when_nothing_is_known_of_sizes() -> None:
    """Cells alone decide, in both orders of asking."""
    for first, second in ((EVERYTHING, ALL_BUT), (ALL_BUT, EVERYTHING)):
        found = refusal(second, [past(1, first)])
        assert found is not None
        assert found.code is Code.DIFFERENCING
        assert "`q1`" in found.detail
        assert "`t.day`" in found.hint


@pytest.mark.parametrize("coarse", ["north", "south"])
def test_residual_stays_narrow_when_a_coarse_condition_is_added_to_it(coarse: str) -> None:
    """Whoever adds a region to a day makes the difference smaller, not wider."""
    both = where((DAY, ranges((100, 100))), (SIDE, names(coarse)))
    assert refusal(EVERYTHING.without(both), [past(1, EVERYTHING)]) is not None


def test_residual_along_coarse_axes_alone_is_not_narrow() -> None:
    """A region of four less is no person."""
    rest = where((SIDE, names("north", "east", "south")))
    assert refusal(rest, [past(1, EVERYTHING)]) is None
    assert refusal(EVERYTHING, [past(1, rest)]) is None


def test_residual_of_a_name_that_nobody_listed_is_narrow_when_the_column_is_quasi() -> None:
    """Names without a declared domain are fine axes."""
    rest = where((NAME, NameCells(frozenset({"x"}), rest=True)))
    assert refusal(rest, [past(1, EVERYTHING)]) is not None
    plain = replace(NAME, quasi=False)
    assert (
        refusal(where((plain, NameCells(frozenset({"x"}), rest=True))), [past(1, EVERYTHING)])
        is None
    )


def test_residual_of_null_alone_is_not_narrow() -> None:
    """Whether something is known of people is asked all the time, and picks nobody."""
    known = where((YEAR, ranges((1900, 1999))))
    assert refusal(known, [past(1, EVERYTHING)]) is None
    assert refusal(EVERYTHING, [past(1, known)]) is None


def test_residual_is_judged_by_its_count_when_it_was_released() -> None:
    """A counted difference is narrow when it is small, and is not when it is surely large."""
    one = where((DAY, ranges((100, 100))))
    assert refusal(ALL_BUT, [past(1, EVERYTHING), past(2, one, counts=[200])]) is None
    assert refusal(ALL_BUT, [past(1, EVERYTHING), past(2, one, counts=[4])]) is not None


def test_residual_is_judged_by_the_other_rules_when_its_count_is_mostly_noise() -> None:
    """Noise that happens to be large opens no way to a single cell."""
    one = where((DAY, ranges((100, 100))))
    assert refusal(ALL_BUT, [past(1, EVERYTHING), past(2, one, counts=[40])]) is not None
    exact = [past(1, EVERYTHING), past(2, one, counts=[40], spread=Fraction(1))]
    assert refusal(ALL_BUT, exact) is None


def test_residual_is_judged_by_groups_that_make_it_up() -> None:
    """A year is counted by a table of all years."""
    years = by_tens(YEAR, 1900, 1999, 1)
    large = past(1, EVERYTHING, years, counts=[200] * 100)
    small = past(1, EVERYTHING, years, counts=[*[200] * 99, 2])
    assert refusal(ONE_YEAR_LESS, [large, past(2, EVERYTHING)]) is None
    assert refusal(ONE_YEAR_LESS, [small, past(2, EVERYTHING)]) is not None


def test_residual_is_judged_by_the_difference_of_two_counts() -> None:
    """What one counted region has more than another is known."""
    told = [
        past(1, where((YEAR, ranges((1950, 1999)))), counts=[5000]),
        past(2, where((YEAR, ranges((1950, 1998)))), counts=[4000]),
        past(3, EVERYTHING, counts=[20_000]),
    ]
    assert refusal(ONE_YEAR_LESS, told) is None
    assert refusal(ONE_YEAR_LESS, told[1:]) is not None


def test_residual_is_narrow_when_its_share_of_the_count_is_small() -> None:
    """Twenty days of thirty thousand are few of a thousand people, and many of a million."""
    rest = where((DAY, StepCells(((0, 99), (120, 29_999)))))
    assert refusal(rest, [past(1, EVERYTHING, counts=[1000])]) is not None
    assert refusal(rest, [past(1, EVERYTHING, counts=[1_000_000])]) is None
    assert refusal(rest, [past(1, EVERYTHING)]) is None


def test_residual_is_judged_by_the_tightest_count_around_it() -> None:
    """That the whole has a million says nothing of where nobody is."""
    rest = where((DAY, StepCells(((0, 99), (120, 29_999)))))
    sparse = where((DAY, ranges((0, 999))))
    told = [past(1, EVERYTHING, counts=[1_000_000]), past(2, sparse, counts=[50])]
    assert refusal(rest, told) is not None
    assert refusal(rest, told[:1]) is None


def test_region_that_was_counted_and_is_small_is_not_asked_about_again() -> None:
    """By itself, or as groups of a table."""
    few = where((YEAR, ranges((1990, 1999))))
    found = refusal(few, [past(1, few, counts=[3], variance=SURE)])
    assert found is not None
    assert found.code is Code.SMALL_GROUP
    decades = by_tens(YEAR, 1900, 1999)
    table = past(1, EVERYTHING, decades, counts=[*[1000] * 9, 3], variance=SURE)
    assert refusal(few, [table]) is not None
    assert refusal(few, [past(1, few, counts=[300])]) is None


@pytest.mark.parametrize("count", [-(10**15), -(2**40), 3, 10**15, 2**63, -(2**70)])
def test_count_that_is_mostly_noise_says_nothing_of_a_region(count: int) -> None:
    """Neither small nor large: what was bought for next to nothing bricks nothing, and opens nothing."""
    year = where((YEAR, ranges((1999, 1999))))
    far = past(1, year, counts=[count], variance=Fraction(10**30))
    assert refusal(year, [far]) is None
    assert refusal(ONE_YEAR_LESS, [far, past(2, EVERYTHING)]) is not None


def test_size_is_small_only_where_its_noise_cannot_make_it_so() -> None:
    """The count and twice its deviation are below `min_units`; one more, and nothing is said."""
    few = where((YEAR, ranges((1990, 1999))))
    assert refusal(few, [past(1, few, counts=[3], variance=Fraction(9))]) is not None
    assert refusal(few, [past(1, few, counts=[4], variance=Fraction(9))]) is None


@pytest.mark.parametrize("count", [-40_000, -300, -91, 0])
def test_noisy_count_makes_no_region_small(count: int) -> None:
    """Thousands of people may be there: a count below 0 is noise alone, and a cheap query draws as often as it likes."""
    region = where((YEAR, ranges((1950, 1979))))
    assert refusal(region, [past(1, region, counts=[count], spread=Fraction(2_500))]) is None
    exact = past(1, region, counts=[min(count, 0) % 2], spread=Fraction(4))
    assert refusal(region, [exact]) is not None  # the negative control


def test_lucky_draw_makes_no_region_large() -> None:
    """A draw of three deviations comes once in a hundred queries, and queries at the least price cost nothing."""
    for times, found in ((3, False), (7, True)):
        size = KnownSize(10 + times * 1_500.0, 1_500.0, whole=True, query_id="q1")
        assert size.is_large(10) is found


def test_draws_until_the_noise_is_large_end_with_their_mean() -> None:
    """Draws of a region without anybody: whichever is last, their mean stays near to 0."""
    chance, region = Random(7), where((YEAR, ranges((1950, 1959))))  # noqa: S311 - a seed, no secret
    history = History()
    for number in range(400):
        draw = round(chance.gauss(0, 1_500))
        history.add(past(number, region, counts=[draw], spread=Fraction(1_500**2)))
        [entry] = list(history)
        size = total_of(entry)
        assert size is not None
        assert not size.is_large(10)
        assert not size.is_small(10)
    assert next(iter(history)).deviation == pytest.approx(75)


def test_size_from_below_is_never_small() -> None:
    """Rows of which a person may have several, or groups that they are in several of, say only that there are many."""
    few = where((YEAR, ranges((1990, 1999))))
    assert refusal(few, [past(1, few, counts=[3], variance=SURE, whole=False)]) is None
    one = where((DAY, ranges((100, 100))))
    many = past(2, one, counts=[40], variance=SURE, whole=False)
    assert refusal(ALL_BUT, [past(1, EVERYTHING), many]) is None


def test_count_whose_noise_nobody_knows_tells_nothing() -> None:
    """What was kept before sizes had their noise is unknown."""
    few = where((YEAR, ranges((1990, 1999))))
    old = replace(past(1, few, counts=[3]), variance=None)
    assert refusal(few, [old]) is None


@pytest.mark.parametrize("region", [NOTHING, where((YEAR, ranges((2050, 2060))))])
def test_region_without_rows_is_asked_about_as_any_other(region: Region) -> None:
    """At once, again, and before every other question: an answer about nobody is noise alone."""
    told = [past(1, region, counts=[2], variance=SURE), past(2, EVERYTHING, counts=[20_000])]
    assert refusal(region, []) is None
    assert refusal(region, told) is None
    assert refusal(where((YEAR, ranges((1950, 1959)))), told) is None
    assert refusal(ALL_BUT, told) is not None


def test_pair_passes_when_only_one_of_its_residuals_is_narrow() -> None:
    """What one has more less what the other has more is about the wide one."""
    quarter, month = where((DAY, ranges((0, 89)))), where((DAY, ranges((61, 90))))
    assert refusal(month, [past(1, quarter)]) is None
    assert refusal(where((DAY, ranges((1, 90)))), [past(1, quarter)]) is not None


def test_groups_are_summed_up_to_what_comes_nearest() -> None:
    """Tables answer every sum of their groups, also one that is moved at both ends."""
    decades = by_tens(YEAR, 1900, 1999)
    table = past(1, EVERYTHING, decades)
    for first, last in ((1950, 1968), (1951, 1970), (1951, 1969)):
        assert refusal(where((YEAR, ranges((first, last)))), [table]) is not None
    for first, last in ((1950, 1969), (1950, 1967), (1955, 1964)):
        assert refusal(where((YEAR, ranges((first, last)))), [table]) is None


def test_groups_of_both_are_compared_one_by_one() -> None:
    """A new group at the end is no difference; a day more in a group is one."""
    months = by_tens(DAY, 0, 29_999, 30)
    before = past(1, where((DAY, ranges((0, 299)))), months)
    assert refusal(scope(where((DAY, ranges((0, 329)))), months), [before]) is None
    assert refusal(scope(where((DAY, ranges((0, 298)))), months), [before]) is not None


def test_groups_that_are_moved_are_judged_by_their_sizes() -> None:
    """Weeks beside months pass where a day is many people, and do not where it is few."""
    tens = by_tens(DAY, 0, 29_999, 10, text="date_trunc('month', t.day)")
    moved = by(
        DAY,
        StepCells(((FIRST, 8),)),
        *(StepCells(((one - 1, one + 8),)) for one in range(10, 29_990, 10)),
        StepCells(((29_989, LAST),)),
        text="date_trunc('week', t.day)",
    )
    new = scope(EVERYTHING, moved)
    assert refusal(new, [past(1, EVERYTHING, tens, counts=[10] * 3000)]) is not None
    assert refusal(new, [past(1, EVERYTHING, tens, counts=[10_000] * 3000)]) is None
    assert refusal(new, [past(1, EVERYTHING, tens)]) is not None
    chosen = scope(EVERYTHING, replace(moved, text="((t.day + 1) / 10)"))
    assert refusal(chosen, [past(1, EVERYTHING, tens, counts=[10_000] * 3000)]) is not None


def test_small_group_of_a_chosen_key_is_a_small_region() -> None:
    """`GROUP BY year = 1922` asks about the people born then; a table of all years has small groups that nobody chose."""
    few = past(1, where((YEAR, ranges((1922, 1922)))), counts=[6], spread=Fraction(1))
    cells = (ranges((1922, 1922)), StepCells(((FIRST, 1921), (1923, LAST))))
    asked = scope(EVERYTHING, by(YEAR, *cells, text="(t.year = 1922)"))
    assert refusal(asked, [few]) is not None
    beside = scope(
        EVERYTHING,
        by(YEAR, *cells, text="(t.year = 1922)"),
        by(SIDE, names("north"), names("east")),
    )
    assert refusal(
        beside,
        [
            past(
                2,
                where((YEAR, ranges((1922, 1922))), (SIDE, names("east"))),
                counts=[6],
                spread=Fraction(1),
            )
        ],
    )
    nobody = past(3, where((YEAR, StepCells((), null=True))), counts=[0], spread=Fraction(1))
    with_null = by(YEAR, *cells, StepCells((), null=True), text="(t.year = 1922)")
    assert refusal(scope(EVERYTHING, with_null), [nobody]) is None
    every = [ranges((one, one)) for one in range(1900, 2000)]
    assert refusal(scope(EVERYTHING, by(YEAR, *every, text="t.year")), [few]) is None


@for_each("text", ["t.day", '"T"."o ""x"', "date_trunc('week', t.at)", "extract(year from cast(t.at as date))", "(t.year / 10)",
    "((t.year / 25) * 25)", "(floor((t.cost / cast(100 as numeric))) * 100)", "left(cast(t.year as text), 3)", "round((t.income / 10000))",
    "(date_trunc('week', (t.d + interval '0 months 1 days 0 microseconds')) - interval '0 months 1 days 0 microseconds')",
    "date_bin('0 days 900000000 microseconds', t.at, cast('1970-01-01 00:00:00' as timestamp without time zone))",
    "date_bin('7 days 0 microseconds', t.at, cast('1970-01-05 00:00:00+00:00' as timestamp with time zone))",
    "date_bin('1 days 0 microseconds', cast(t.d as timestamp without time zone), cast('1970-01-01 00:00:00' as timestamp without time zone))",
    "date_part('month', t.d)", "coalesce(cast(extract(year from t.d) as text), 'unknown')", "make_date(t.year, 1, 1)",
    "(floor((cast(t.year as double precision) / cast(10 as double precision))) * cast(10 as double precision))",
    "substring(cast(t.year as text), 1, 3)", "(cast(extract(year from t.d) as integer) % 2)", "(2026 - t.year)",
    "cast(timezone('UTC', t.at) as date)", "cast((t.at + interval '0 months -1 days 0 microseconds') as date)",
    "(cast(date_trunc('month', t.at) as date) + 14)", "cast((2026 - t.year) as text)",
    "cast((date_trunc('week', (t.at + interval '0 months 1 days 0 microseconds')) + interval '0 months -1 days 0 microseconds') as date)",
    "cast(((floor((t.cost / 10)) * 10) + 5) as integer)", "cast((extract(year from t.d) - 1) as integer)"])  # fmt: skip
def test_calendar_and_round_numbers_are_no_chosen_bounds(text: str) -> None:
    """Nobody chooses where a month or a decade begins."""
    assert not has_chosen_bounds(text)


@for_each("text", ["(t.year >= 1923)", "(t.year / 1923)", "((t.year + 7) / 10)", "date_trunc('week', (t.at - 3))",
    "date_bin('0 days 900000000 microseconds', t.at, cast('1970-01-01 00:07:00' as timestamp without time zone))",
    "date_bin('30 days 0 microseconds', t.at, cast('1970-01-05 00:00:00' as timestamp without time zone))",
    "date_bin('7 days 0 microseconds', t.at, cast('1970-01-05 03:00:00' as timestamp without time zone))",
    "date_bin('0 days 420000000 microseconds', t.at, cast('1970-01-01 00:00:00' as timestamp without time zone))",
    "case when (t.year >= 1923) then 'a' end", "width_bucket(t.year, 1923, 2000, 1)", "(t.year / 30)",
    "date_trunc('year', (t.d + interval '0 months 5 days 0 microseconds'))", "((2026 - t.year) / 10)", "(t.year % 1923)",
    *(around.format(cut) for cut in (
        "cast(((t.year - 1881.5) * 0.01) as integer)", "cast((t.year * 0.013) as bigint)", "cast((3 - t.cost) as smallint)",
        "cast((t.at + interval '0 months 0 days 11223000000 microseconds') as date)",
        "cast((cast(t.d as timestamp without time zone) + interval '0 months 1 days 5 microseconds') as date)",
        "cast((round(t.cost, 1) - 193) as integer)", "cast((extract(second from t.at) + 0.5) as integer)",
        "cast(((t.year / 10) - 193) as integer)", "cast(((t.cost * 1.5) + 7) as numeric)", "cast((t.cost + 3) as real)")
      for around in ("{}", "({} + 1)", "cast({} as text)", "(- {})", "cast({} as timestamp without time zone)")),
    "(cast((t.at + interval '0 months 0 days 3 microseconds') as date) + interval '0 months 1 days 0 microseconds')"])  # fmt: skip
def test_constants_of_the_query_are_chosen_bounds(text: str) -> None:
    """A boundary beside one person is a condition, wherever it is written."""
    assert has_chosen_bounds(text)


FEW = past(1, where((YEAR, ranges((1922, 1922)))), counts=[3], spread=Fraction(1))


@for_each("beside", [
    where((NAME, names("nobody"))),
    where((NAME, names("nobody"))).join(where((DAY, ranges((7, 7))))),
    where((DAY, ranges((7, 7))), (SIDE, names("north"))),
    NOTHING,
])  # fmt: skip
def test_small_region_is_refused_again_beside_narrow_parts(beside: Region) -> None:
    """Whoever adds what nobody has asks about the same few people; and a part of few people is few people."""
    asked = where((YEAR, ranges((1922, 1922))))
    for region in (asked, asked.meet(where((SIDE, names("north", "east"))))):
        found = refusal(region.join(beside), [FEW])
        assert found is not None
        assert found.code is Code.SMALL_GROUP


def test_small_region_passes_beside_a_wide_one() -> None:
    """Many more people hide the few; and a region that is not surely small is asked about as any other."""
    asked, wide = where((YEAR, ranges((1922, 1922)))), where((SIDE, names("north", "east")))
    assert refusal(asked.join(wide), [FEW]) is None
    part = asked.meet(wide)
    assert refusal(part, [replace(FEW, counts=(300,))]) is None
    assert refusal(part, [replace(FEW, variance=Fraction(800))]) is None
    assert refusal(part, [replace(FEW, whole=False)]) is None


def test_part_of_a_small_group_of_a_table_is_refused() -> None:
    """The groups of a table that contain the region are few people as well."""
    table = past(1, EVERYTHING, by_tens(YEAR, 1900, 1999), counts=[500, 3, *[500] * 8], spread=SURE)
    nobody = where((NAME, names("nobody")))
    for year, small in ((1912, True), (1922, False)):
        asked = where((YEAR, ranges((year, year + 5)))).meet(where((SIDE, names("north", "east"))))
        for region in (asked, asked.join(nobody)):
            found = refusal(region, [table])
            assert (found is not None and found.code is Code.SMALL_GROUP) is small


def test_toggled_filter_passes_when_groups_are_small() -> None:
    """Small groups of a table do not make a filter over all of them narrow."""
    decades = by_tens(YEAR, 1900, 1999)
    told = past(1, EVERYTHING, decades, counts=[0, 3, 12, *[1000] * 7])
    assert refusal(scope(where((SIDE, names("north"))), decades), [told]) is None
    assert refusal(scope(where((SIDE, names("north", "east", "south"))), decades), [told]) is None


def test_unreadable_condition_is_treated_as_the_policy_says() -> None:
    """Refused and named; compared by sizes alone; or left out of comparisons."""
    odd = named("name like 'x%'", "true", "false", readable=False)
    half = scope(where((odd, names("true"))), unreadable=("name like 'x%'",))
    told = [past(1, EVERYTHING, counts=[1000])]
    found = refusal(half, told)
    assert found is not None
    assert found.code is Code.UNREADABLE_CONDITION
    assert "`name like 'x%'`" in found.detail
    unknown = replace(RULES, opaque=UnreadableConditions.COUNT_AS_UNKNOWN)
    assert refusal(half, told, unknown) is None
    small = [replace(past(1, EVERYTHING, variance=SURE), scope=half, counts=(3,))]
    assert refusal(half, small, unknown) is not None
    assert refusal(half, small, replace(RULES, opaque=UnreadableConditions.ALLOW)) is None


def test_nothing_is_refused_when_every_rule_is_switched_off() -> None:
    """`min_units: 1`, `narrow_cells: 0` and `allow` leave the ledger alone to protect."""
    off = Auditing(1, 0, (), UnreadableConditions.ALLOW)
    one = where((DAY, ranges((100, 100))))
    told = [past(1, EVERYTHING, counts=[1]), past(2, one, counts=[0])]
    for region in (ALL_BUT, one, EVERYTHING):
        assert refusal(region, told, off) is None


def test_refusal_tells_no_sizes() -> None:
    """Released or not: what is said are names, ids and the policy's own numbers."""
    one = where((DAY, ranges((100, 100))))
    for size in (3, 7):
        told = [past(1, EVERYTHING, counts=[20_017]), past(2, one, counts=[size], variance=SURE)]
        for region in (ALL_BUT, one):
            found = refusal(region, told)
            assert found is not None
            assert "20017" not in f"{found} {found.hint}"
            assert f" {size} " not in f"{found.detail} {found.hint} "


def test_nearest_groups_of_many_are_those_found_one_by_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """All at once for ranges by the thousand, with gaps, NULL and a stride; as the slow way finds them."""
    draw = Random(20_261_120)  # noqa: S311 - cells of a test

    def cells(many: int) -> StepCells:
        ends = sorted(draw.sample(range(1_000), 2 * many))
        made = ((ends[place], ends[place + 1]) for place in range(0, 2 * many, 2))
        found = clip_cells(StepCells(merge_ranges(made), draw.random() < 0.5), axis)
        assert isinstance(found, StepCells)
        return found

    for _ in range(draws(60, fewest=20)):
        axis = replace(steps("many", 0, 999), stride=draw.choice([1, 1, 7]))
        some = [StepCells((one,)) for one in cells(draw.choice([6, 40])).ranges]
        key = grouping_of(by(axis, *some, StepCells((), null=True)))
        assert key is not None
        there, wanted = cells(draw.choice([1, 30])), cells(draw.choice([6, 50]))
        found = key.nearest(there, wanted)
        with monkeypatch.context() as slow:
            slow.setattr(group_cuts, "is_bounded", lambda _: False)
            assert key.nearest(there, wanted) == found
