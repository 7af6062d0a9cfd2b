"""What a histogram of norms measures, and what makes two of them one."""

from dataclasses import replace

import pytest
from fix_permissions import EVERY_LEVEL
from laws import for_each
from sensitivity.analyses import analysed, plan_of

from gateway.budget.account import Currency
from gateway.plan.aggregates import Aggregate
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Scan
from gateway.plan.rewrite import rewrite_plan, without_conditions
from gateway.policy.generalization import generalize
from gateway.regions.scope import scope_of
from gateway.release_cache.fingerprints import adds_up, bounding_of, slot_digest
from gateway.sensitivity.analysis import Analysis
from gateway.sensitivity.measurement import UnboundedSum
from gateway.sensitivity.norm_buckets import BUCKETS, DELTA1, DELTA2_SQUARED, UNIT
from gateway.sensitivity.norm_release import (
    analyze_norms,
    can_count_norms,
    counts_norms,
    needs_norms,
)

_BY = "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis"
_EXISTS = "EXISTS (SELECT 1 FROM patients p WHERE p.patient_id = visits.patient_id AND p.smoker)"


def norms(sql: str, *, pairs: bool = False) -> Analysis:
    return of_plan(plan_of(sql), pairs=pairs)


def of_plan(plan: Aggregate, *, pairs: bool = False) -> Analysis:
    rows = without_conditions(plan)
    return analyze_norms(rows, tuple(key for _, key in rows.keys), pairs=pairs)


def named(analysis: Analysis) -> tuple[str, str, str]:
    """All that says whether one release is another: the rows, what is measured, and how it is bounded."""
    [slot] = analysis.slots
    scope = scope_of(analysis.plan, None, {})
    bounding = bounding_of(analysis, Currency.ZCDP, "")
    return repr(scope), slot_digest(analysis, slot, {}), bounding


@for_each("pairs", [False, True])
def test_histogram_is_one_slot_over_all_rows(*, pairs: bool) -> None:
    """One vector with one price: no keys, and every bucket a measurement."""
    analysis = norms(_BY, pairs=pairs)
    [slot] = analysis.slots
    assert analysis.plan.keys == ()
    assert len(slot.measurements) == (BUCKETS if pairs else 2 * BUCKETS)
    assert counts_norms(analysis)
    assert not needs_norms(analysis)
    assert not adds_up(slot)
    if pairs:
        assert slot.delta1(1) == DELTA1
        return
    assert slot.delta2_squared(1) == DELTA2_SQUARED
    assert max(one.most for one in slot.measurements) == UNIT
    with pytest.raises(UnboundedSum):
        slot.delta1(1)


@for_each(
    ("sql", "needed"),
    [
        (_BY, True),
        ("SELECT SUM(cost) FROM visits", True),
        ("SELECT COUNT(DISTINCT patient_id) FROM visits", False),
        ("SELECT COUNT(DISTINCT diagnosis) FROM visits", False),
        ("SELECT region, COUNT(*) FROM patients GROUP BY region", False),
    ],
)
def test_norms_are_needed_where_rows_are_weighted(sql: str, *, needed: bool) -> None:
    """Counts of units, different values and tables of one row of each unit have no norm of rows."""
    assert needs_norms(analysed(sql, pairs=False)) is needed


@for_each(
    ("one", "other"),
    [
        (_BY, "SELECT diagnosis, SUM(cost) FROM visits WHERE cost > 5 GROUP BY diagnosis"),
        (_BY, "SELECT d, COUNT(*) FROM (SELECT diagnosis AS d FROM visits v) AS x GROUP BY d"),
        (
            _BY,
            f"SELECT diagnosis, COUNT(*) FROM visits WHERE {_EXISTS} GROUP BY diagnosis",
        ),
    ],
)
def test_statements_that_differ_in_measures_and_conditions_have_one_histogram(
    one: str, other: str
) -> None:
    """Of the same rows and keys."""
    assert named(norms(one)) == named(norms(other))


@for_each(
    "other",
    [
        "SELECT visit_date, COUNT(*) FROM visits GROUP BY visit_date",
        "SELECT COUNT(*) FROM visits",
        "SELECT diagnosis, visit_date, COUNT(*) FROM visits GROUP BY 1, 2",
        "SELECT v.diagnosis, COUNT(*) FROM visits v JOIN patients p USING (patient_id) GROUP BY 1",
        "SELECT diagnosis, COUNT(*) FROM (SELECT * FROM visits UNION ALL SELECT * FROM visits) v GROUP BY 1",
    ],
)
def test_other_keys_and_joins_have_another_histogram(other: str) -> None:
    """The negative control."""
    assert named(norms(_BY)) != named(norms(other))


def ruled(plan: Aggregate, condition: str) -> Aggregate:
    """Over the rows that a rule permits: a filter of the table itself."""
    rule = plan_of(f"SELECT COUNT(*) FROM patients p WHERE {condition}").child
    assert isinstance(rule, Filter)

    def permitted(node: Node) -> Node:
        is_ruled = isinstance(node, Scan) and node.table.name == "patients"
        return Filter(node, rule.condition) if is_ruled else node

    made = rewrite_plan(plan, permitted)
    assert isinstance(made, Aggregate)
    return made


def test_row_rules_are_a_part_of_what_a_histogram_is_of() -> None:
    """Rows of another region, and all rows, are other rows. A digest that leaves the rule out finds one for all."""
    whole = without_conditions(
        plan_of("SELECT COUNT(*) FROM visits v JOIN patients p USING (patient_id) WHERE p.smoker")
    )
    all_rows, north, south, again = (
        named(of_plan(plan))
        for plan in (
            whole,
            ruled(whole, "p.region = 'north'"),
            ruled(whole, "p.region = 'south'"),
            ruled(whole, "p.region = 'north'"),
        )
    )
    assert north == again
    assert len({all_rows, north, south}) == 3
    # the negative control: what is measured and how it is bounded are the same, so the rows alone tell them apart
    assert all_rows[1:] == north[1:] == south[1:]


def test_levels_are_a_part_of_what_a_histogram_is_of() -> None:
    """Who may group by a coarser level has norms over the coarser groups."""
    fine = without_conditions(
        plan_of("SELECT visit_date, COUNT(*) FROM visits GROUP BY visit_date")
    )
    coarse = generalize(fine, EVERY_LEVEL)
    assert named(of_plan(coarse)) != named(of_plan(fine))
    assert named(of_plan(coarse)) == named(of_plan(generalize(fine, EVERY_LEVEL)))


def test_norms_of_rows_that_depend_on_constants_are_not_counted() -> None:
    """A released or written constant among the rows is no table: its histogram would serve nobody else."""
    written = "SELECT COUNT(*) FROM visits v JOIN (VALUES ('flu')) AS w(d) ON v.diagnosis = w.d"
    assert not can_count_norms(without_conditions(plan_of(written)))
    assert can_count_norms(without_conditions(plan_of(_BY)))


_MEAN = "(SELECT AVG(cost) FROM visits)"


@for_each(
    "sql",
    [
        f"SELECT COUNT(*) FROM (SELECT * FROM visits WHERE cost > {_MEAN}) q",
        f"SELECT COUNT(*) FROM (SELECT *, {_MEAN} AS mean FROM visits) q",
        "SELECT COUNT(*) FROM (SELECT diagnosis IN (SELECT code FROM codes) AS known, cost FROM visits) q",
        f"SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) FILTER (WHERE cost > {_MEAN}) FROM visits GROUP BY 1) q",
        f"SELECT COUNT(*) FROM (SELECT cost FROM visits WHERE cost > {_MEAN} UNION ALL SELECT cost FROM visits) q",
        f"SELECT CASE WHEN cost > {_MEAN} THEN 1 END, COUNT(*) FROM visits GROUP BY 1",
    ],
)
def test_norms_of_rows_that_read_a_staged_value_are_not_counted(sql: str) -> None:
    """Wherever it is read: in conditions below the keys, in columns that nobody reads, in aggregates of persons, in keys."""
    assert not can_count_norms(without_conditions(plan_of(sql)))
    # the negative control: the same rows by a number
    plain = sql.replace(_MEAN, "700").replace("(SELECT code FROM codes)", "('flu')")
    assert can_count_norms(without_conditions(plan_of(plain)))


def test_conditions_of_the_statement_are_none_of_the_rows() -> None:
    """All rows follow from the tables, though the selected ones depend on a constant."""
    plan = plan_of(f"SELECT COUNT(*) FROM visits WHERE cost > {_MEAN}")
    assert can_count_norms(without_conditions(plan))
    assert not can_count_norms(plan)


def test_measures_of_the_statement_are_not_in_the_rows() -> None:
    """Nothing but keys is read beside the rows."""
    plan = plan_of("SELECT diagnosis, SUM(cost) FROM visits WHERE cost > 5 GROUP BY diagnosis")
    rows = without_conditions(plan)
    assert (rows.measures, rows.sets) == ((), plan.sets)
    assert isinstance(rows.child, Scan)
    assert without_conditions(rows) == replace(rows)
