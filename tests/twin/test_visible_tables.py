"""The tables of the twin, for what a subject may see of a dataset."""

from gateway.catalog.tables import Column, ColumnRef, Dataset, Protection, Table, visible_part
from gateway.catalog.types import parse_type
from gateway.twin import ForeignKey, Twin, VisibleColumn, VisibleTable, visible_tables

_KEY = Column("patient_id", parse_type("bigint"), nullable=False)
_CLINIC = Dataset(
    "clinic",
    "patient",
    (
        Table(
            "patients",
            (
                _KEY,
                Column("region", parse_type("varchar(12)")),
                Column("zip", parse_type("char(5)")),
            ),
            Protection("patient_id", 1, 1),
        ),
        Table(
            "ward.visits",
            (
                Column("patient_id", _KEY.type, joins=ColumnRef("patients", "patient_id")),
                Column("cost", parse_type("numeric(8,2)")),
                Column("like_region", parse_type("text"), joins=ColumnRef("patients", "region")),
            ),
            Protection("patient_id", 10, 4),
        ),
        Table("regions", (Column("name", parse_type("text")),)),
    ),
)
# the gateway's own tables, which everybody sees
_OWN = visible_tables(Dataset("nothing", "patient", ()))


def test_tables_are_those_of_the_projection() -> None:
    """Types are PostgreSQL's names, keys follow from units with one row, hidden columns are gone."""
    seen = visible_part(_CLINIC, {"patients": ["region"], "ward.visits": ["cost", "like_region"]})
    assert {table.schema for table in _OWN} == {"gateway"}
    assert visible_tables(seen) - _OWN == {
        VisibleTable(
            "patients",
            (
                VisibleColumn("patient_id", "bigint", not_null=True),
                VisibleColumn("region", "character varying(12)"),
            ),
            primary_key=("patient_id",),
        ),
        VisibleTable(
            "visits",
            (
                VisibleColumn("patient_id", "bigint"),
                VisibleColumn("cost", "numeric(8,2)"),
                VisibleColumn("like_region", "text"),
            ),
            foreign_keys=(ForeignKey(("patient_id",), "public", "patients", ("patient_id",)),),
            schema="ward",
        ),
    }


def test_key_to_a_hidden_table_is_not_shown() -> None:
    """A foreign key would name the table that it leads to."""
    (visits,) = visible_tables(visible_part(_CLINIC, {"ward.visits": ["cost"]})) - _OWN
    assert visits.foreign_keys == ()


def test_projection_becomes_a_database(twin: Twin) -> None:
    """PostgreSQL takes every type of the catalog, and describes statements on the projection."""
    tables = visible_tables(_CLINIC)
    with twin.session("alice", tables) as session:
        said = session.describe(
            "SELECT region, zip, cost FROM patients JOIN ward.visits USING (patient_id)"
        )
        assert [column.type_name for column in said.columns] == [
            *("character varying(12)", "character(5)", "numeric(8,2)"),
        ]
    twin.forget(tables)
