"""Bounding rewrites of plans: what each adds, omits and refuses."""

from collections.abc import Collection
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from fractions import Fraction

import pytest
from binding.clinic import CLINIC
from laws import for_each

from gateway.bounding.bound_joins import bound_joins
from gateway.bounding.licences import Licences
from gateway.bounding.rewrites import complete_window_order
from gateway.bounding.time_zone import fold_moments
from gateway.catalog.tables import Column, Protection, Table
from gateway.catalog.types import parse_type
from gateway.errors import Code, Unbounded
from gateway.functions.range_arithmetic import Range
from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import BIGINT, BOOLEAN, DATE, Protected
from gateway.plan.joins import Join, Mark
from gateway.plan.node import Node
from gateway.plan.print import explain_plan
from gateway.plan.relations import Filter, Project, Scan, Window
from gateway.plan.scalars import Call, Literal, Moment, Ref
from gateway.plan.unused_columns import drop_unused
from gateway.ranges.lattice import person_lattice

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)


@dataclass(frozen=True)
class Unique:
    """A table with these keys."""

    keys: tuple[frozenset[str], ...]
    within: frozenset[str] = field(default_factory=frozenset)

    def meets_one(self, columns: Collection[str]) -> bool:
        return any(key <= frozenset(columns) for key in self.keys)


PATIENTS = Licences({"patients": Unique((frozenset({"patient_id"}),))})
REGIONS = Licences({"regions": Unique((frozenset({"region"}),))})
NOTHING = Licences({})


def scan(name: str, alias: str) -> Scan:
    table = CLINIC.table(name)
    assert table is not None
    return Scan(table, alias, CLINIC.unit)


def ref(node: Node, name: str) -> Ref:
    return Ref(next(one for one in node.fields if one.id == name))


def equal(one: Ref, other: Ref) -> Call:
    return Call("=", (one, other), BOOLEAN)


def both_of(one: Call, other: Call) -> Call:
    return Call("and", (one, other), BOOLEAN)


def both(left: str, right: str) -> Join:
    one, other = scan(left, "a"), scan(right, "b")
    return Join(one, other, equal(ref(one, "a.patient_id"), ref(other, "b.patient_id")))


def public(column: str = "b.region") -> Join:
    one, other = scan("patients", "a"), scan("regions", "b")
    return Join(one, other, equal(ref(one, "a.region"), ref(other, column)))


def test_join_of_persons_stays_when_a_constraint_leaves_one_row_to_each() -> None:
    """What a key proves need not be cut."""
    join = both("patients", "visits")
    assert bound_joins(join, PATIENTS) is join


def test_join_of_persons_is_cut_to_the_smaller_side_when_nothing_is_proven() -> None:
    """The side that is declared to have fewer rows is cut to them."""
    shown = explain_plan(bound_joins(both("visits", "patients"), NOTHING))
    assert "sample_number()" in shown
    assert "<= cast(1 as bigint)" in shown
    assert (
        shown.index("scan visits") < shown.index("sample_number()") < shown.index("scan patients")
    )


def test_join_of_one_persons_rows_is_cut_on_both_sides() -> None:
    """256 rows of a side meet as many of the other, however many a person has or is declared to have; a key leaves nothing to cut."""
    shown = explain_plan(bound_joins(both("visits", "visits"), NOTHING))
    assert shown.count("<= cast(256 as bigint)") == 2
    assert (
        explain_plan(bound_joins(both("visits", "patients"), PATIENTS)).count("sample_number") == 0
    )


def test_exists_over_the_same_persons_rows_is_cut_where_pairs_are_compared() -> None:
    """Equalities are looked up, so nothing is left out; anything else is tried pair by pair."""
    one, other = scan("visits", "a"), scan("visits", "b")
    person = equal(ref(one, "a.patient_id"), ref(other, "b.patient_id"))
    later = Call("<", (ref(one, "a.cost"), ref(other, "b.cost")), BOOLEAN)
    alike = equal(ref(one, "a.diagnosis"), ref(other, "b.diagnosis"))
    for condition, cuts in ((person, 0), (both_of(person, alike), 0), (both_of(person, later), 2)):
        shown = explain_plan(bound_joins(Mark(one, other, condition, "m"), NOTHING))
        assert shown.count("sample_number()") == cuts


def dearer(child: Node, inner: Node, alias: str, name: str) -> Mark:
    """EXISTS over rows of the same person that cost more than the row of `a`."""
    person = equal(ref(child, "a.patient_id"), ref(inner, f"{alias}.patient_id"))
    more = Call("<", (ref(child, "a.cost"), ref(inner, f"{alias}.cost")), BOOLEAN)
    return Mark(child, inner, both_of(person, more), name)


def test_rows_that_were_cut_are_not_cut_again_to_as_many() -> None:
    """A second EXISTS finds the rows of a person as few as it needs them: another cut would leave out none."""
    marked = dearer(scan("visits", "a"), scan("visits", "b"), "b", "m")
    for child in (marked, Filter(marked, Ref(marked.fields[-1]))):
        shown = explain_plan(bound_joins(dearer(child, scan("visits", "c"), "c", "n"), NOTHING))
        assert shown.count("<= cast(256 as bigint)") == 3, (
            "the rows that both look at, and look for"
        )


def test_rows_are_cut_again_when_fewer_are_needed_or_rows_were_added() -> None:
    """A cut to 256 rows is no cut to 64, and pairs of rows that were cut are more than these rows."""
    marked = dearer(scan("visits", "a"), scan("visits", "b"), "b", "m")
    pairs = Join(
        scan("visits", "c"),
        other := scan("visits", "d"),
        equal(ref(scan("visits", "c"), "c.patient_id"), ref(other, "d.patient_id")),
    )
    shown = explain_plan(bound_joins(dearer(marked, pairs, "c", "n"), NOTHING))
    assert shown.count("<= cast(256 as bigint)") == 4, "the rows of `a`, `b`, `c` and `d`"
    assert shown.count("<= cast(64 as bigint)") == 1, "the rows of `a` again"
    assert shown.count("<= cast(1024 as bigint)") == 1, "the pairs"


def test_exists_over_public_rows_needs_a_key_where_pairs_are_compared() -> None:
    """Otherwise every row of a person would be held against every public row."""
    one, other = scan("patients", "a"), scan("regions", "b")
    region = equal(ref(one, "a.region"), ref(other, "b.region"))
    older = Call("<", (ref(one, "a.birth_year"), ref(other, "b.population")), BOOLEAN)
    mark = Mark(one, other, both_of(region, older), "m")
    assert bound_joins(mark, REGIONS) == mark
    with pytest.raises(Unbounded) as refused:
        bound_joins(mark, NOTHING)
    assert refused.value.code is Code.FAN_OUT


def test_join_with_public_rows_is_refused_when_its_key_is_not_proven() -> None:
    """A declared key licenses nothing."""
    assert bound_joins(public(), REGIONS) == public()
    for join, licences in ((public(), NOTHING), (public("b.capital"), REGIONS)):
        with pytest.raises(Unbounded) as refused:
            bound_joins(join, licences)
        assert refused.value.code is Code.FAN_OUT


def test_key_compared_as_a_float_proves_nothing() -> None:
    """Two whole numbers may be one float."""
    visits, patients = scan("visits", "a"), scan("regions", "b")
    licences = Licences({"regions": Unique((frozenset({"population"}),))})
    join = Join(visits, patients, equal(ref(visits, "a.weight"), ref(patients, "b.population")))
    assert not licences.meets_one(join)
    whole = Join(visits, patients, equal(ref(visits, "a.visit_id"), ref(patients, "b.population")))
    assert licences.meets_one(whole)


@for_each(
    ("key", "given", "told_apart"),
    [
        ("bigint", "integer", True),
        ("bigint", "numeric", False),
        ("bigint", "numeric(12,2)", False),
        ("numeric", "bigint", False),
        ("numeric", "numeric", False),
        ("numeric(12,2)", "numeric(12,2)", True),
        ("numeric(12,2)", "numeric(14,2)", False),
        ("numeric(40,2)", "numeric(40,2)", False),
        ("bigint", "double precision", False),
        ("double precision", "bigint", False),
        ("real", "real", False),
        ("text", "character varying(3)", True),
        ("timestamp without time zone", "date", True),
    ],
)
def test_key_proves_one_row_only_when_it_is_compared_with_all_its_digits(
    key: str, given: str, *, told_apart: bool
) -> None:
    """DuckDB compares most decimals as doubles: 2^53 and 2^53 + 1 are then one key."""
    persons = Table(
        "p", (Column("u", BIGINT), Column("k", parse_type(given))), Protection("u", 1, 1)
    )
    codes = Table("codes", (Column("code", parse_type(key)),))
    one, other = Scan(persons, "a", "person"), Scan(codes, "b", "person")
    join = Join(one, other, equal(Ref(one.fields[1]), Ref(other.fields[0])))
    licences = Licences({"codes": Unique((frozenset({"code"}),))})
    assert licences.meets_one(join) is told_apart


def test_window_order_is_completed_by_the_columns_that_are_read() -> None:
    """Unused columns are gone first; the order within a person then has all that are left."""
    visits = scan("visits", "v")
    unit = (ref(visits, "v.patient_id"),)
    order = ((ref(visits, "v.visit_date"), True),)
    call = WindowCall("lag", (ref(visits, "v.cost"),), unit, order, None, BIGINT)
    kept = drop_unused(Window(visits, (("w", call),)), frozenset({"w"}))
    made = complete_window_order(kept)
    assert isinstance(made, Window)
    assert [str(one.field.id) for one, _ in made.items[0][1].order if isinstance(one, Ref)] == [
        "v.visit_date",
        "v.cost",
    ]


def test_frame_without_order_is_ordered_too() -> None:
    """A frame of rows depends on their order even where none is written."""
    visits = scan("visits", "v")
    unit = (ref(visits, "v.patient_id"),)
    frame = ("2 preceding", "current row")
    call = WindowCall("count", (), unit, (), frame, BIGINT)
    made = complete_window_order(Window(visits, (("w", call),)))
    assert isinstance(made, Window)
    assert len(made.items[0][1].order) == len(visits.fields) - 1
    whole = Window(visits, (("w", WindowCall("count", (), unit, (), None, BIGINT)),))
    assert complete_window_order(whole) == whole


def test_scan_reads_only_what_is_used_and_the_unit() -> None:
    """Filters count as use; the unit key stays whatever is wanted."""
    visits = scan("visits", "v")
    cheap = Call("<", (ref(visits, "v.cost"), Literal(5, BIGINT)), BOOLEAN)
    node = Project(Filter(visits, cheap), "q", (("d", ref(visits, "v.diagnosis")),))
    below = drop_unused(node, frozenset()).below[0].below[0]
    assert [one.id for one in below.fields] == ["v.patient_id", "v.cost"]


def test_moments_become_the_time_of_the_statement_in_utc() -> None:
    """One time, wherever the gateway stands."""
    visits = scan("visits", "v")
    past = Call("<", (ref(visits, "v.visit_date"), Moment("current_date", DATE)), BOOLEAN)
    made = fold_moments(Filter(visits, past), NOON)
    assert isinstance(made, Filter)
    assert made.condition.parts[1] == Literal(date(2026, 3, 2), DATE)


def test_lattice_of_a_persons_sums_is_exact_where_its_step_allows() -> None:
    """Cents stay cents; what is too wide or has no step gets a power of two."""
    cents = person_lattice(Range(Fraction(0), Fraction(5000), Fraction(1, 100)))
    assert (cents.step, cents.low, cents.high) == (Fraction(1, 100), 0, 500_000)
    for wide in (Range(Fraction(-1), Fraction(2**80), None), Range(Fraction(0), Fraction(1), None)):
        found = person_lattice(wide)
        step = found.step
        assert (
            step.numerator & (step.numerator - 1) == 0 == step.denominator & (step.denominator - 1)
        )
        assert max(-found.low, found.high) <= 2**31
    every_integer = person_lattice(Range(Fraction(-(2**31)), Fraction(2**31 - 1), Fraction(1)))
    assert every_integer.step == 1


def _numbered(node: Node, *partition: str, name: str = "n") -> Window:
    parts = tuple(ref(node, one) for one in partition)
    return Window(node, ((name, WindowCall("row_number", (), parts, (), None, BIGINT)),))


def _is(node: Node, value: int, name: str = "n") -> Filter:
    return Filter(node, Call("=", (ref(node, name), Literal(value, BIGINT)), BOOLEAN))


def test_first_row_of_each_unit_is_one_row() -> None:
    """ROW_NUMBER by the unit alone, kept where it is 1, also behind other names and filters."""
    visits = scan("visits", "v")
    numbered = _numbered(visits, "v.patient_id")
    named = Project(
        numbered, "t", (("u", ref(visits, "v.patient_id")), ("place", ref(numbered, "n")))
    )
    for kept in (_is(numbered, 1), _is(_is(named, 1, "t.place"), 1, "t.place")):
        assert NOTHING.unit_has_one_row(kept)
        assert isinstance(kept.label, Protected)
        assert kept.label.rows == 1


def test_numbered_rows_prove_nothing_in_any_other_form() -> None:
    """Another number, other parts, another function, or rows that a join adds after they were numbered."""
    visits, again = scan("visits", "v"), scan("visits", "w")
    by_more = _numbered(visits, "v.patient_id", "v.diagnosis")
    numbered = _numbered(visits, "v.patient_id")
    same = equal(ref(numbered, "v.patient_id"), ref(again, "w.patient_id"))
    unit = (ref(visits, "v.patient_id"),)
    counted = Window(visits, (("n", WindowCall("count", (), unit, (), None, BIGINT)),))
    either = Call("or", (_is(numbered, 1).condition, _is(numbered, 1).condition), BOOLEAN)
    for node in (
        _is(by_more, 1),
        _is(numbered, 2),
        _is(counted, 1),
        _is(Join(numbered, again, same), 1),
        Filter(numbered, either),
        numbered,
    ):
        assert not NOTHING.unit_has_one_row(node)
        assert isinstance(node.label, Protected)
        assert node.label.rows != 1


def test_first_row_proves_nothing_where_one_row_is_declared() -> None:
    """Numbers are cut to the declared rows: where that is 1 and the source holds more rows, all of them have the number 1."""
    visits = scan("visits", "v")
    numbered = _numbered(visits, "v.patient_id")
    assert _is(numbered, 1).keeps_first_rows
    table = visits.table
    assert table.protection is not None
    one = replace(table, protection=replace(table.protection, rows_per_unit=1))
    declared = _numbered(replace(visits, table=one), "v.patient_id")
    assert not _is(declared, 1).keeps_first_rows
    assert not NOTHING.unit_has_one_row(_is(declared, 1))
