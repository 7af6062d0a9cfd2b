"""What is declared of what a plan reads, as a digest."""

from dataclasses import replace
from datetime import date
from fractions import Fraction

from regions.ward import WARD, plan_of, scope

from gateway.catalog.domains import Domain, Interval
from gateway.catalog.tables import ColumnClass, Dataset, Table
from gateway.regions.scope import declarations

_SQL = "SELECT region, COUNT(*) FROM patients WHERE birth_year < 1950 GROUP BY 1"


def _with(table: str, column: str, **changes: object) -> Dataset:
    def changed(one: Table) -> Table:
        if one.name != table:
            return one
        columns = tuple(
            replace(each, **changes) if each.name == column else each  # type: ignore[arg-type]
            for each in one.columns
        )
        return replace(one, columns=columns)

    return replace(WARD, tables=tuple(changed(one) for one in WARD.tables))


def _said(dataset: Dataset, sql: str = _SQL) -> str:
    return declarations(plan_of(sql, dataset), dataset)


def test_declarations_change_with_what_is_read() -> None:
    """Another domain, class or bound of what the question reads gives another digest."""
    wider: Domain = Interval(1900, 2020, Fraction(1))
    before = _said(WARD)
    assert _said(_with("patients", "birth_year", domain=wider)) != before
    assert _said(_with("patients", "birth_year", column_class=ColumnClass.QUASI)) != before
    assert _said(_with("patients", "region", nullable=True)) != before
    patients, *others = WARD.tables
    assert patients.protection is not None
    bounded = replace(patients, protection=replace(patients.protection, groups_per_unit=2))
    assert _said(replace(WARD, tables=(bounded, *others))) != before


def test_declarations_are_the_same_for_all_questions_about_a_table() -> None:
    """How a question is written does not matter, nor which columns it names; other tables do not either."""
    before = _said(WARD)
    assert _said(WARD, "WITH x AS (SELECT * FROM patients) SELECT COUNT(*) FROM x") == before
    assert _said(_with("visits", "ward", nullable=False)) == before
    assert _said(WARD, "SELECT COUNT(*) FROM visits") != before


def test_moved_end_of_a_domain_leaves_questions_comparable() -> None:
    """Shape, names and cells stay; only the digest is another."""
    longer: Domain = Interval(date(2020, 1, 1), date(2027, 12, 31), Fraction(1))
    sql = "SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN '2024-01-01' AND '2024-12-31'"
    before, after = scope(sql), scope(sql, _with("visits", "visit_date", domain=longer))
    assert before.shape == after.shape
    assert before.region.boxes == after.region.boxes
    assert before.region.same(after.region)
