"""Joins with public tables whose keys are not proven: which are marked, what they need, and what they keep."""

import pytest
from binding.clinic import CLINIC
from laws import for_each
from property.bounded_releases import statement

from gateway.bounding.bound_joins import bound_joins
from gateway.bounding.fan_out import (
    gather_conditions,
    mark_fan_out,
    multiplied_tables,
    pairs_of,
    row_share,
)
from gateway.bounding.licences import Licences
from gateway.bounding.row_samples import kept_of_person
from gateway.bounding.work_bound import check_work
from gateway.catalog.tables import ColumnRef, Table
from gateway.engines.catalog.proofs import TableProof
from gateway.errors import Code, Refusal, Unbounded
from gateway.plan.aggregates import Aggregate
from gateway.plan.fields import Protected
from gateway.plan.joins import Join
from gateway.plan.node import BrokenPlan, Node, walk_nodes
from gateway.plan.print import explain_plan
from gateway.plan.relations import Filter, Scan
from gateway.policy.generalization import generalize
from gateway.policy.levels import PrefixLevel, ReadLevel

_MET = "JOIN codes c ON c.chapter = v.diagnosis"
_KEYED = Licences(
    {
        name: TableProof(frozenset({frozenset({key})}))
        for name, key in (("codes", "code"), ("regions", "region"), ("patients", "patient_id"))
    }
)


def marked(sql: str) -> Aggregate:
    plan = mark_fan_out(statement(sql).plan, _KEYED.meets_one)
    assert isinstance(plan, Aggregate)
    return plan


def limits(rows: Node) -> list[int]:
    """How many rows the samples keep, from the top."""
    found = (kept_of_person(one) for one in walk_nodes(rows) if isinstance(one, Filter))
    return [one for one in found if one is not None]


@for_each(
    ("sql", "tables"),
    [
        (f"SELECT COUNT(*) FROM visits v {_MET}", ("codes",)),
        (f"SELECT COUNT(*) FROM visits v LEFT {_MET} AND c.code > 'a'", ("codes",)),
        ("SELECT COUNT(*) FROM visits v JOIN codes c ON c.code = v.diagnosis", ()),
        ("SELECT COUNT(*) FROM visits v JOIN codes c ON c.code = v.diagnosis AND c.chapter = v.diagnosis", ()),
        (
            f"SELECT COUNT(*) FROM visits v {_MET} JOIN patients p USING (patient_id) JOIN regions r ON r.capital = p.name",
            ("regions", "codes"),
        ),
        ("SELECT COUNT(*) FROM visits v JOIN (VALUES ('a'), ('b')) c(x) ON c.x = v.diagnosis", ()),
    ],
)  # fmt: skip
def test_join_is_marked_where_no_key_is_proven(sql: str, tables: tuple[str, ...]) -> None:
    """Keys of the source alone leave a join as it is; the plan is then the same object."""
    plan = statement(sql).plan
    made = mark_fan_out(plan, _KEYED.meets_one)
    assert multiplied_tables(made) == tables
    assert (made is plan) is (not tables)


def test_marked_join_bounds_no_rows_and_expects_those_of_the_table() -> None:
    """The clip is by default that of the declared rows; pairs are expected as the product of both."""
    label = marked(f"SELECT COUNT(*) FROM visits v {_MET}").child.label
    assert label == Protected("patient", None, 4, 10, expected=10)
    pairs = f"SELECT COUNT(*) FROM visits v {_MET} JOIN visits w ON w.patient_id = v.patient_id"
    assert marked(pairs).child.label == Protected("patient", None, 4, 10, expected=100)
    both = f"""SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v {_MET} UNION ALL SELECT patient_id FROM patients) t"""
    assert marked(both).child.label == Protected("patient", None, 5, 20, expected=11)
    one = f"SELECT COUNT(*) FROM (SELECT v.patient_id, MIN(v.cost) AS m FROM visits v {_MET} GROUP BY v.patient_id) t"
    assert marked(one).child.label == Protected("patient", 1, 1, 1)


def test_no_join_of_persons_alone_multiplies_public_rows() -> None:
    """The mark is about a public table."""
    plan = statement("SELECT COUNT(*) FROM visits v JOIN patients p USING (patient_id)").plan
    [join] = [one for one in walk_nodes(plan) if isinstance(one, Join)]
    with pytest.raises(BrokenPlan):
        Join(join.left, join.right, join.condition, several=True)


@for_each(
    "sql",
    [
        f"SELECT MEDIAN(v.cost) FROM visits v {_MET}",
        f"SELECT MIN(v.cost), COUNT(*) FROM visits v {_MET}",
        f"SELECT DP_TOP(v.diagnosis, 2) FROM visits v {_MET}",
        f"SELECT AVG(n) FROM (SELECT COUNT(*) AS n FROM visits v {_MET} GROUP BY v.patient_id) t",
        f"SELECT AVG(n) FROM (SELECT SUM(v.cost) AS n FROM visits v {_MET} GROUP BY v.patient_id) t",
        f"""SELECT SUM(x) FROM (SELECT LAG(v.cost) OVER (PARTITION BY v.patient_id ORDER BY v.visit_date) AS x
            FROM visits v {_MET}) t""",
    ],
)
def test_what_needs_the_number_of_rows_is_refused(sql: str) -> None:
    """Its range, or how many rows count, would follow from a bound that there is none of."""
    with pytest.raises(Unbounded) as refused:
        marked(sql)
    assert refused.value.code is Code.FAN_OUT


def test_public_table_keeps_some_rows_of_each_value() -> None:
    """64, after the conditions that are about it alone."""
    where = "WHERE c.code > 'a' AND v.cost > 5 AND c.code <> v.diagnosis"
    rows = bound_joins(marked(f"SELECT COUNT(*) FROM visits v {_MET} {where}").child, _KEYED)
    assert limits(rows) == [64]
    shown = explain_plan(rows).splitlines()
    below = [
        one.strip()
        for one in shown[shown.index(next(one for one in shown if "sample_number" in one)) :]
    ]
    assert "partition by c.chapter" in below[0]
    assert below[1] == "filter (c.code > 'a')"
    assert below[2].startswith("scan codes")


def test_conditions_stay_above_an_outer_join() -> None:
    """Rows without a partner stay: what is asked of the far side afterwards is no condition of the join."""
    left = f"SELECT COUNT(*) FROM visits v LEFT {_MET} AND c.code <> 'b' WHERE c.code > 'a' OR c.code IS NULL"
    plan = marked(left).child
    assert gather_conditions(plan) == plan
    shown = explain_plan(bound_joins(plan, _KEYED))
    assert "filter (c.code <> 'b')" in shown
    assert shown.count("c.code > 'a'") == 1


@for_each(
    ("sql", "kept"),
    [
        (f"SELECT COUNT(*) FROM visits v {_MET} JOIN patients p USING (patient_id)", [64]),
        (f"SELECT COUNT(*) FROM visits v {_MET} JOIN visits w ON w.patient_id = v.patient_id", [1024, 1024, 64, 64]),
        (f"SELECT COUNT(*) FROM visits v JOIN visits w ON w.patient_id = v.patient_id {_MET}", [1024, 256, 256, 64]),
        (f"SELECT COUNT(*) FROM visits v {_MET} JOIN codes d ON d.chapter = v.diagnosis", [1024, 1024, 64, 64]),
        (
            f"""SELECT COUNT(*) FROM visits w WHERE EXISTS (SELECT 1 FROM visits v {_MET}
            WHERE v.patient_id = w.patient_id AND v.cost > w.cost)""",
            [64, 64, 1024, 1024, 64],
        ),
    ],
)  # fmt: skip
def test_rows_that_are_sampled_for_a_person_are_few(sql: str, kept: list[int]) -> None:
    """No sample orders more than 65,536 pairs of a person; where nothing is sampled above, no row is left out."""
    rows = bound_joins(marked(sql).child, _KEYED)
    assert sorted(limits(rows)) == sorted(kept)


def test_join_is_refused_where_nothing_is_marked_or_nothing_equal_is_found() -> None:
    """A proof that went away between the analysis and the question; and keys that are compared as floats."""
    unmarked = statement(f"SELECT COUNT(*) FROM visits v {_MET}").plan.child
    assert (
        bound_joins(unmarked, Licences({"codes": TableProof(frozenset({frozenset({"chapter"})}))}))
        == unmarked
    )
    floats = marked("SELECT COUNT(*) FROM visits v JOIN regions r ON r.population = v.weight").child
    for plan in (unmarked, floats):
        with pytest.raises(Unbounded) as refused:
            bound_joins(plan, _KEYED)
        assert refused.value.code is Code.FAN_OUT


def test_proven_key_leaves_a_marked_join_as_it_is() -> None:
    """A proof that came between the analysis and the question: the weights are there all the same."""
    plan = marked(f"SELECT COUNT(*) FROM visits v {_MET}").child
    assert (
        bound_joins(plan, Licences({"codes": TableProof(frozenset({frozenset({"chapter"})}))}))
        == plan
    )


def test_rows_beside_public_rows_have_a_third_of_the_time_and_pairs_a_tenth() -> None:
    """Where they are joined again they are pairs."""
    many = f"SELECT COUNT(*) FROM visits v {_MET}"
    for sql, share in (
        ("SELECT COUNT(*) FROM visits v JOIN codes c ON c.code = v.diagnosis", 1),
        (many, 3),
        (f"{many} JOIN codes d ON d.chapter = v.diagnosis", 10),
        (f"{many} JOIN visits w ON w.patient_id = v.patient_id", 10),
    ):
        assert row_share(marked(sql).child) == share
    rows = bound_joins(marked(f"{many} JOIN codes d ON d.chapter = v.diagnosis").child, _KEYED)
    assert (pairs_of(bound_joins(marked(many).child, _KEYED)), pairs_of(rows)) == (0, 1)
    long = " + ".join(["length(v.diagnosis || c.code)"] * 2)
    with pytest.raises(Refusal) as refused:
        check_work(marked(f"SELECT SUM(LEAST({long}, 9)) FROM visits v {_MET}"))
    assert refused.value.code is Code.WORK_OF_A_ROW


def test_levels_are_below_samples() -> None:
    """Which of a person's rows are kept must not depend on values finer than a level, so the scan's are replaced."""
    level = ReadLevel(PrefixLevel(1), PrefixLevel(1))
    table: Table | None = CLINIC.table("visits")
    assert table is not None
    read = dict.fromkeys(_diagnoses(f"SELECT COUNT(*) FROM visits v {_MET}"), level)
    for joins in (
        "JOIN codes c ON c.code = v.diagnosis JOIN codes d ON d.code = v.diagnosis",
        "JOIN patients p USING (patient_id)",
    ):
        sql = f"SELECT v.diagnosis, COUNT(*) FROM visits v {joins} GROUP BY 1"
        made = generalize(statement(sql).plan, read)
        [scan] = [
            one for one in walk_nodes(made) if isinstance(one, Scan) and one.table.name == "visits"
        ]
        above = [one for one in walk_nodes(made) if scan in one.below]
        assert explain_plan(above[0]).startswith("project")


def _diagnoses(sql: str) -> list[ColumnRef]:
    return [
        each
        for one in statement(sql).plan.child.fields
        for each in one.origins
        if str(each) == "visits.diagnosis"
    ]
