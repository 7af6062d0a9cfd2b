"""Invalid nodes cannot be constructed."""

from dataclasses import replace

import pytest
from binding.clinic import CLINIC

from gateway.catalog.domains import Interval, Values
from gateway.catalog.tables import Table
from gateway.errors import Code, Refusal
from gateway.plan.aggregates import Aggregate, Measure, PerUnit, WindowCall
from gateway.plan.fields import (
    BIGINT,
    BOOLEAN,
    INTEGER,
    NUMERIC,
    Field,
    Protected,
    Public,
    ReleasedLabel,
    Tie,
)
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import BrokenPlan, Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Literal, Ref, Scalar
from gateway.plan.uses import UseKind, plan_uses

COUNT = Measure("count", (), BIGINT)


def _table(name: str) -> Table:
    table = CLINIC.table(name)
    assert table is not None
    return table


def _scan(name: str, alias: str) -> Scan:
    return Scan(_table(name), alias, "patient")


def _column(node: Node, name: str) -> Ref:
    return Ref(next(one for one in node.fields if one.id.endswith(f".{name}")))


def _equal(one: Scalar, other: Scalar) -> Call:
    return Call("=", (one, other), BOOLEAN)


def _joined() -> Join:
    left, right = _scan("patients", "p"), _scan("visits", "v")
    return Join(left, right, _equal(_column(left, "patient_id"), _column(right, "patient_id")))


def _refused(make: object) -> Code:
    with pytest.raises(Refusal) as caught:
        make()  # type: ignore[operator]
    return caught.value.code


def test_scan_takes_its_label_from_the_catalog() -> None:
    """A table with a unit key is protected, one without is public."""
    assert _scan("patients", "p").label == Protected("patient", 1, 1, 10)
    assert _scan("regions", "r").label == Public()


def test_scan_ties_the_unit_key_alone() -> None:
    """One column of a protected table is the unit; it is never NULL."""
    ties = [one for one in _scan("visits", "v").fields if one.tie is not Tie.NONE]
    assert [(one.id, one.tie, one.nullable) for one in ties] == [
        ("v.patient_id", Tie.ALWAYS, False)
    ]


def test_join_of_persons_needs_the_unit_on_both_sides() -> None:
    """Only an equality of both unit keys makes rows of persons meet."""
    left, right = _scan("patients", "p"), _scan("visits", "v")
    other = _equal(_column(left, "patient_id"), _column(right, "visit_id"))
    assert _refused(lambda: Join(left, right, other)) is Code.UNIT_EQUALITY
    assert _refused(lambda: Join(left, right, None)) is Code.UNIT_EQUALITY
    assert _joined().label == Protected("patient", 10, 4, 10)


def test_join_refuses_persons_of_another_unit() -> None:
    """Rows of two kinds of units never meet."""
    left = _scan("patients", "p")
    right = Scan(_table("visits"), "v", "household")
    condition = _equal(_column(left, "patient_id"), _column(right, "patient_id"))
    assert _refused(lambda: Join(left, right, condition)) is Code.UNIT_EQUALITY


def test_left_join_keeps_the_unit_of_the_kept_side_alone() -> None:
    """On the far side the unit may be NULL, so it is no key that keeps persons apart."""
    inner = _joined()
    join = Join(inner.left, inner.right, inner.condition, outer=True)
    far = _column(join, "visit_id"), next(one for one in join.fields if one.id == "v.patient_id")
    assert far[1].tie is Tie.SOMETIMES
    with pytest.raises(BrokenPlan):
        PerUnit(join, "t", (("u", Ref(far[1])),), (("n", COUNT),))


def test_left_join_refuses_public_rows_beside_persons() -> None:
    """Whether a public row finds a person would be told by its NULLs."""
    left, right = _scan("regions", "r"), _scan("patients", "p")
    condition = _equal(_column(left, "region"), _column(right, "region"))
    assert _refused(lambda: Join(left, right, condition, outer=True)) is Code.CLAUSE_UNSUPPORTED


def test_expression_loses_the_tie_of_what_it_is_made_from() -> None:
    """Only the bare unit key is the unit; what is computed from it is an ordinary column."""
    scan = _scan("visits", "v")
    unit = _column(scan, "patient_id")
    plan = Project(scan, "t", (("u", unit), ("w", Call("+", (unit, Literal(0, INTEGER)), BIGINT))))
    assert [one.tie for one in plan.fields] == [Tie.ALWAYS, Tie.NONE]


def test_node_refuses_a_column_with_a_tie_it_has_not() -> None:
    """A reference that claims to be the unit is checked against the relation below."""
    scan = _scan("visits", "v")
    lied = Ref(replace(_column(scan, "visit_id").field, tie=Tie.ALWAYS))
    with pytest.raises(BrokenPlan):
        PerUnit(scan, "t", (("u", lied),), (("n", COUNT),))


def test_node_refuses_a_column_that_hides_its_origin() -> None:
    """A reference without its origins would be a use that nobody decides on."""
    scan = _scan("visits", "v")
    hidden = Ref(replace(_column(scan, "cost").field, origins=frozenset()))
    with pytest.raises(BrokenPlan):
        Aggregate(scan, (), (("m1", Measure("sum", (hidden,), NUMERIC)),), ((),))


def test_aggregate_is_the_only_way_to_released() -> None:
    """Of protected rows, every other node gives protected rows."""
    scan = _scan("visits", "v")
    unit, cost = _column(scan, "patient_id"), _column(scan, "cost")
    condition = Call(">", (cost, Literal(5, INTEGER)), BOOLEAN)
    window = WindowCall("row_number", (), (unit,), ((cost, False),), None, BIGINT)
    made: list[Node] = [
        Filter(scan, condition),
        Project(scan, "t", (("c", cost),)),
        PerUnit(scan, "t", (("u", unit),), (("n", COUNT),)),
        Window(scan, (("w", window),)),
        UnionAll(scan, _scan("visits", "w"), "u", tuple(str(n) for n in range(7))),
        Mark(scan, _scan("regions", "r"), None, "m"),
        _joined(),
    ]
    assert all(isinstance(node.label, Protected) for node in made)
    assert Aggregate(scan, (), (("m1", COUNT),), ((),)).label == ReleasedLabel()


def test_aggregate_refuses_the_unit_among_its_keys() -> None:
    """A group for each person is no release."""
    scan = _scan("visits", "v")
    with pytest.raises(BrokenPlan):
        Aggregate(scan, (("k1", _column(scan, "patient_id")),), (("m1", COUNT),), ((0,),))


def test_aggregate_refuses_rows_that_nothing_bounds() -> None:
    """A join that multiplies a person's rows has no bound, and so no answer."""
    plan = Join(_scan("patients", "p"), _scan("regions", "r"), None)
    assert plan.label == Protected("patient", None, 1, 10)
    assert _refused(lambda: Aggregate(plan, (), (("m1", COUNT),), ((),))) is Code.FAN_OUT


def test_aggregate_refuses_public_rows() -> None:
    """Public rows are not paid for."""
    with pytest.raises(BrokenPlan):
        Aggregate(_scan("regions", "r"), (), (("m1", COUNT),), ((),))


def test_constant_refuses_columns_that_tell_of_persons() -> None:
    """What is called public or released has no origin in rows of persons."""
    with pytest.raises(BrokenPlan):
        Constant("_r1", (_column(_scan("patients", "p"), "income").field,), ReleasedLabel())


def test_mark_needs_the_unit_over_rows_of_persons() -> None:
    """EXISTS looks at rows of the same person alone."""
    left, right = _scan("patients", "p"), _scan("visits", "v")
    assert _refused(lambda: Mark(left, right, None, "m")) is Code.UNIT_EQUALITY


def test_union_refuses_persons_beside_others() -> None:
    """Rows of nobody among rows of persons would have no unit."""
    left, right = _scan("patients", "p"), _scan("regions", "r")
    assert _refused(lambda: UnionAll(left, right, "u", ())) is Code.CLAUSE_UNSUPPORTED


def test_union_loses_the_tie_when_one_side_has_another_column_there() -> None:
    """A column that is the unit in one branch alone is not the unit."""
    one = _scan("visits", "v")
    left = Project(one, "a", (("u", _column(one, "patient_id")),))
    right = Project(one, "b", (("u", _column(one, "visit_id")),))
    assert UnionAll(left, right, "t", ("u",)).fields[0].tie is Tie.NONE


def test_window_needs_the_unit_in_its_partition() -> None:
    """A window over several persons would let one person's rows tell of another."""
    scan = _scan("visits", "v")
    cost = _column(scan, "cost")
    call = WindowCall("row_number", (), (cost,), ((cost, False),), None, BIGINT)
    assert _refused(lambda: Window(scan, (("w", call),))) is Code.ORDER_OF_PERSONS


def test_filter_narrows_domains_and_never_widens_them() -> None:
    """Comparisons with literals make an interval or a set smaller."""
    scan = _scan("patients", "p")
    year, region = _column(scan, "birth_year"), _column(scan, "region")
    condition = Call(
        "and",
        (
            Call(">", (year, Literal(1950, INTEGER)), BOOLEAN),
            Call("<=", (year, Literal(3000, INTEGER)), BOOLEAN),
            Call("in", (region, Literal("north", region.type), Literal("x", region.type)), BOOLEAN),
        ),
        BOOLEAN,
    )
    after = {one.id: one for one in Filter(scan, condition).fields}
    domain = after["p.birth_year"].domain
    assert isinstance(domain, Interval)
    assert (domain.low, domain.high) == (1951, 2020)
    assert after["p.region"].domain == Values(("north",))
    assert not after["p.birth_year"].nullable


def test_uses_count_what_decides_which_rows_are_there() -> None:
    """A column is used where it filters, groups, joins or is aggregated; the unit's joins are free."""
    plan = _joined()
    cost, region = _column(plan, "cost"), _column(plan, "region")
    kept = Filter(plan, Call(">", (cost, Literal(5, INTEGER)), BOOLEAN))
    again = {one.id: Ref(one) for one in kept.fields}
    release = Aggregate(
        kept,
        (("k1", again["p.region"]),),
        (("m1", Measure("sum", (again["v.cost"],), NUMERIC)),),
        ((0,),),
    )
    assert region.field.id == "p.region"
    assert {(str(one.column), one.operation) for one in plan_uses(release)} == {
        ("visits.cost", UseKind.FILTER),
        ("visits.cost", UseKind.AGGREGATE),
        ("patients.region", UseKind.GROUP_BY),
    }


def test_field_ids_tell_names_with_dots_apart() -> None:
    """No two columns of a plan can be taken for one another by their names."""
    scan = _scan("patients", "p")
    one = Project(scan, "a.b", (("x", _column(scan, "income")),)).fields[0]
    other = Project(scan, "a", (("b.x", _column(scan, "income")),)).fields[0]
    assert one.id != other.id
    assert isinstance(one, Field)
