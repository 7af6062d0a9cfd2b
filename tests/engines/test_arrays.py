"""Elements of arrays: whether an array has a value, in both databases."""

from typing import Final

import pytest
from engines.extremes import Databases
from sqlalchemy import ColumnElement, column, literal_column, select, table

from gateway.catalog.tables import Column, Protection, Table, membership_column
from gateway.catalog.types import parse_type
from gateway.engines.sql.clamp import MOST_ELEMENTS, clamp_column
from gateway.engines.sql.partial_select import Dialect

TEXT: Final = parse_type("text")
UNIT: Final = Column("u", parse_type("bigint"))
CONSENTS: Final = Column("consents", TEXT, is_array=True)
PATIENTS: Final = Table("patients", (UNIT, CONSENTS), Protection("u", 1, 1))
DIALECTS: Final[tuple[Dialect, ...]] = ("duckdb", "postgresql")
CASES: Final = (
    ("ARRAY['care']", True),
    ("ARRAY['audit', 'care']", True),
    ("ARRAY[NULL, 'care']", True),
    ("ARRAY['CARE']", False),
    ("ARRAY['care ', ' care', 'cares']", False),
    ("ARRAY['audit']", False),
    ("ARRAY[NULL, 'audit']", False),
    ("CAST(ARRAY[NULL] AS text[])", False),
    ("CAST(NULL AS text[])", False),
    ("CAST(ARRAY[] AS text[])", False),
)
LONG: Final = {
    "duckdb": "list_resize(['care'], {0}, 'x')",
    "postgresql": "ARRAY['care'] || array_fill('x'::text, ARRAY[{0} - 1])",
}


@pytest.mark.parametrize("dialect", DIALECTS)
def test_array_has_its_elements_and_no_other_value(databases: Databases, dialect: Dialect) -> None:
    """NULL, an empty array and NULL among the elements are false, never NULL; texts are compared by their bytes."""

    def has(array: str, value: str) -> object:
        stored: ColumnElement[object] = literal_column(array)
        made = clamp_column(dialect, PATIENTS, membership_column(CONSENTS, value), stored)
        return databases.of(dialect).execute(select(made)).scalar_one()

    assert [(array, has(array, "care")) for array, _ in CASES] == list(CASES)
    assert has("ARRAY['x'' OR ''a'' = ''a']", "x' OR 'a' = 'a") is True
    assert has("ARRAY['a']", "x' OR 'a' = 'a") is False
    assert has(LONG[dialect].format(MOST_ELEMENTS), "care") is True
    assert has(LONG[dialect].format(MOST_ELEMENTS + 1), "care") is False


def test_value_of_an_array_is_bound_and_never_spliced() -> None:
    """The value is a parameter of the statement."""
    stored = table("patients", column("consents")).c.consents
    for dialect in DIALECTS:
        made = clamp_column(dialect, PATIENTS, membership_column(CONSENTS, "c'are"), stored)
        assert "are" not in str(made)
        assert "c'are" in made.compile().params.values()
