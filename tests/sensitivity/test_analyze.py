"""The whole way from a plan to an analysis, over everything the binder accepts."""

from dataclasses import replace
from functools import partial

import pytest
from binding.cases import Case, accepted, bind_case
from laws import for_each
from sensitivity.analyses import analysed, dataset

from gateway.binding.bound import Cut
from gateway.errors import Code, Refusal
from gateway.plan.aggregates import Aggregate
from gateway.ranges.expressions import bounds_of
from gateway.ranges.relations import inner_columns
from gateway.sensitivity.analysis import Analysis, EnumeratedGroups
from gateway.sensitivity.analyze import analyze_release
from gateway.sensitivity.choices import Chosen
from gateway.sensitivity.formulas import Formula
from gateway.sensitivity.grouping_sets import AnalyzedRelease, GroupingSet, analyze_grouping_sets

_ACCEPTED = accepted()
_T = dataset(3, {"free": ("numeric", None), "other": ("numeric", None), "day": ("date", None)})


def _code(sql: str) -> Code | None:
    try:
        analysed(sql, of=_T)
    except Refusal as refusal:
        return refusal.code
    return None


@for_each(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE free + 1 > 2",
        "SELECT COUNT(*) FROM t WHERE free > 2 AND ABS(free) < 5",
        "SELECT COUNT(*) FROM t WHERE free BETWEEN 0 AND 9 AND free * free < 5",
        "SELECT COUNT(*) FILTER (WHERE SQRT(free) > 1) FROM t",
        "SELECT FLOOR(free / 10), COUNT(*) FROM t GROUP BY 1",
        "SELECT COUNT(*) FROM t WHERE CASE WHEN free > 0 THEN free * 2 ELSE 0 END > 1",
        "SELECT COUNT(*) FROM t JOIN t AS s ON t.u = s.u AND t.free > s.other + 1",
        "SELECT COUNT(*) FROM t WHERE EXISTS (SELECT 1 FROM t AS s WHERE s.u = t.u AND s.free % 2 = 0)",
        "SELECT COUNT(*) FROM t WHERE day + 1 > DATE '2024-01-01'",
        "SELECT COUNT(*) FROM t WHERE day + INTERVAL '1 day' > DATE '2024-01-01'",
        "SELECT AVG(n) FROM (SELECT u, SUM(free * 2) AS n FROM t GROUP BY u) AS s",
        "SELECT AVG(n) FROM (SELECT u, LAG(free) OVER (PARTITION BY u ORDER BY free + 1) AS n FROM t) AS s",
    ],
)
def test_statement_is_refused_when_it_computes_with_what_nothing_bounds(sql: str) -> None:
    """Wherever arithmetic stands, its operands have a range before any filter is asked."""
    assert _code(sql) is Code.NO_BOUND


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT COUNT(*) FROM t WHERE free > 2 AND free IN (1, 2) OR free IS NULL",
        "SELECT free, COUNT(*) FROM t GROUP BY free",
        "SELECT COUNT(*) FROM t WHERE free > other AND COALESCE(free, 0) = 1",
        "SELECT COUNT(*) FROM t WHERE GREATEST(LEAST(free, 9), 0) * 2 > 5",
        "SELECT COUNT(*) FROM t WHERE CAST(free AS integer) * 2 > 5",
        "SELECT EXTRACT(month FROM day), COUNT(*) FROM t GROUP BY 1",
        "SELECT COUNT(*) FROM t WHERE day < DATE '2024-01-01'",
    ],
)
def test_statement_is_answered_when_it_only_compares_what_nothing_bounds(sql: str) -> None:
    """Comparing needs no bound, and what is clamped or cast first has one."""
    assert _code(sql) is None


@pytest.mark.parametrize(
    ("measured", "reach"),
    [
        ("length(short)", 40),
        ("length(short) * 2", 80),
        ("position('x' in short)", 41),
        ("length(free)", None),
        ("length(short || free)", None),
        ("length(padded)", None),
    ],
)
def test_length_of_a_text_is_bounded_when_max_length_is_declared(
    measured: str, reach: int | None
) -> None:
    """The scan cuts the text there; of any other text the refusal names what to declare."""
    declared = dataset(
        1,
        {
            "short": ("text", None),
            "free": ("text", None),
            "padded": ("character(50)", None),
        },
    )
    table = declared.tables[0]
    columns = tuple(
        replace(one, max_length=40) if one.name in {"short", "padded"} else one
        for one in table.columns
    )
    of = replace(declared, tables=(replace(table, columns=columns),))
    sql = f"SELECT SUM({measured}) FROM (SELECT * FROM t WHERE u > 5) t"
    if reach is None:
        with pytest.raises(Refusal) as refused:
            analysed(sql, of=of)
        assert refused.value.code is Code.NO_BOUND
        assert "`max_length`" in str(refused.value.hint)
        return
    plan = analysed(sql, of=of).plan
    [measure] = [one for _, one in plan.measures]
    found = bounds_of(measure.arguments[0], inner_columns(plan, narrowed=False)).range
    assert found is not None
    assert (int(found.low), int(found.high)) == (0, reach)


@pytest.mark.parametrize("pairs", [True, False], ids=["laplace", "gaussian"])
@for_each("case", _ACCEPTED)
def test_analysis_fits_its_plan_for_every_statement_the_binder_accepts(
    case: Case,
    pairs: bool,  # noqa: FBT001 - parametrized
) -> None:
    """One formula for each aggregate over places that are there, sorted groups, positive moves; or a refusal of ours."""
    bound = bind_case(case)
    for release in bound.releases if isinstance(bound, Cut) else ():
        found = _found(release.plan, pairs=pairs)
        if isinstance(found, Code):
            assert found in {Code.NO_BOUND, Code.NOT_ANSWERED_YET}
            continue
        assert [set(one.keys) for one in found.levels] == [set(one) for one in release.plan.sets]
        for level in found.levels:
            chosen = len(found.parts[level.drawn[-1].part].choices)
            _fits(level.formulas, len(release.plan.measures), _measured(found, level), chosen)
        for part in found.parts:
            _is_sound(part)


def _is_sound(part: Analysis) -> None:
    measured = len(part.measurements)
    _fits(part.formulas, len(part.plan.measures), measured, len(part.choices))
    assert all(slot.most > 0 for slot in part.slots)
    if isinstance(part.groups, EnumeratedGroups):
        assert len(set(part.groups.keys)) == len(part.groups.keys) <= 500
        ordered = [tuple((v is None, v or 0) for v in key) for key in part.groups.keys]
        assert all(len(key) == len(part.plan.keys) for key in part.groups.keys)
        assert ordered == sorted(ordered)
    else:
        assert 0 <= part.groups.units < measured


def _fits(formulas: tuple[Formula, ...], measures: int, measured: int, chosen: int) -> None:
    assert len(formulas) == measures
    for formula in formulas:
        if isinstance(formula, Chosen):
            assert 0 <= formula.place < chosen
        else:
            formula.value([0] * measured)  # every place it reads is there


def _measured(found: AnalyzedRelease, level: GroupingSet) -> int:
    return sum(len(found.parts[one.part].measurements) for one in level.drawn)


def _found(plan: Aggregate, *, pairs: bool) -> AnalyzedRelease | Code:
    try:
        return analyze_grouping_sets(
            plan, partial(analyze_release, pairs=pairs, enumerated_groups=500, min_units=10)
        )
    except Refusal as refusal:
        return refusal.code
