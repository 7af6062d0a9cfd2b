"""The privacy unit is found by keys and names, never among lookup tables, and refused where it is unclear."""

import re
from pathlib import Path

import duckdb
import pytest
from admin.proposal.other_schemas import UNCLEAR, UNITS
from laws import for_each

from gateway.admin.proposal.key_graph import KeyGraph, key_graph
from gateway.admin.proposal.unit_candidates import (
    clear_winner,
    columns_about_somebody,
    find_candidates,
    may_be_public,
    named_unit,
    refuse_unclear,
    unit_doubts,
)
from gateway.engines.catalog.describe import SourceTables, duckdb_tables
from gateway.errors import OperatorError

SCHEMAS = Path(__file__).parents[2] / "cases" / "schemas"


def source_of(ddl: str) -> SourceTables:
    """The catalog of a schema without rows."""
    with duckdb.connect() as connection:
        connection.execute(ddl)
        return duckdb_tables(lambda sql: connection.execute(sql).fetchall())


def graph_of(ddl: str) -> KeyGraph:
    """Its keys."""
    return key_graph(source_of(ddl))


def standard(name: str) -> str:
    return (SCHEMAS / f"{name}.sql").read_text()


def without_foreign_keys(ddl: str) -> str:
    return re.sub(r" REFERENCES \w+", "", ddl)


STANDARDS = {
    "hospital": (standard("omop"), "person.person_id"),
    "orders": (standard("tpch"), "customer.c_custkey"),
}


@for_each(("title", "case"), [*UNITS.items(), *STANDARDS.items()], ids=lambda one: one)
def test_unit_is_the_person_about_whom_records_are_kept(title: str, case: tuple[str, str]) -> None:
    """Not the lookup table that every row refers to, nor staff and products that appear in records."""
    graph = graph_of(case[0])
    unit = clear_winner(find_candidates(graph))
    assert unit is not None, title
    assert f"{unit.table[1]}.{unit.key}" == case[1]


def test_lookup_is_no_candidate_however_many_tables_refer_to_it() -> None:
    """`concept` is what all clinical tables lead to, and `gender_concept_id` refers to it."""
    graph = graph_of(standard("omop"))
    assert graph.reach(("main", "concept")) > graph.reach(("main", "person"))
    assert "concept" not in {one.table[1] for one in find_candidates(graph)}


@for_each(("title", "ddl"), UNCLEAR.items(), ids=lambda one: one)
def test_unit_is_refused_when_the_catalog_does_not_tell(title: str, ddl: str) -> None:
    """Nothing is guessed where there is no more evidence for one table than for another."""
    graph = graph_of(ddl)
    candidates = find_candidates(graph)
    assert clear_winner(candidates) is None, title
    hint = refuse_unclear(graph, candidates).hint
    assert "--unit TABLE.COLUMN" in hint
    assert all(one.table[1] in hint for one in candidates)


def test_named_unit_that_is_a_code_is_doubted() -> None:
    """A column that refers to a lookup table, or is not unique, cannot be a person's key."""
    source = source_of(standard("omop"))
    graph = key_graph(source)
    wrong = named_unit(graph, source, "person.gender_concept_id")
    assert unit_doubts(graph, wrong) == [
        "the column refers to another table, so it is a code and no person's key",
        "no constraint makes the column unique",
    ]
    assert unit_doubts(graph, named_unit(graph, source, "concept.concept_id")) == [
        "its name is that of a code",
        "the table looks like a list of codes or things",
    ]
    assert unit_doubts(graph, named_unit(graph, source, "person.person_id")) == []


def test_named_unit_that_does_not_exist_is_refused() -> None:
    """The refusal repeats what was written."""
    source = source_of(standard("omop"))
    graph = key_graph(source)
    for written in ("person.nope", "nobody.id", "person_id", ""):
        with pytest.raises(OperatorError, match="--unit"):
            named_unit(graph, source, written)


def test_path_leads_through_keys_to_the_unit() -> None:
    """The shortest one, by declared keys, and none from tables that are about nobody."""
    graph = graph_of(standard("tpch"))
    unit = ("main", "customer")
    [path] = graph.paths(("main", "lineitem"), unit, "c_custkey")
    assert [(one.column, one.target) for one in path] == [
        ("l_orderkey", "o_orderkey"),
        ("o_custkey", "c_custkey"),
    ]
    for name in ("part", "supplier", "partsupp", "nation"):
        assert graph.paths(("main", name), unit, "c_custkey") == []


def test_keys_are_inferred_from_names_when_none_is_declared() -> None:
    """Also from names with the prefixes of their tables; they are marked as inferred."""
    graph = graph_of(without_foreign_keys(standard("tpch")))
    [path] = graph.paths(("main", "lineitem"), ("main", "customer"), "c_custkey")
    assert [one.column for one in path] == ["l_orderkey", "o_custkey"]
    assert not any(one.declared for one in path)
    camel = UNITS["school with camel case"][0]
    bare = graph_of(without_foreign_keys(camel))
    [longer] = bare.paths(("main", "Grades"), ("main", "Students"), "Id")
    assert [one.column for one in longer] == ["EnrolmentId", "StudentId"]


def test_table_with_attributes_of_persons_is_not_called_public() -> None:
    """Addresses of persons lie in a table that no key leads from; a list of codes has none."""
    graph = graph_of(standard("omop"))
    assert columns_about_somebody(graph.tables["main", "location"]) == ["address_1"]
    assert columns_about_somebody(graph.tables["main", "concept"]) == []


def test_bookings_are_not_called_public() -> None:
    """What nobody refers to, or what has a time, may be about persons, though no key leads to them."""
    graph = graph_of(UNITS["bank"][0])
    assert [name for _, name in graph.tables if may_be_public(graph, ("main", name))] == [
        "district"
    ]
    shop = graph_of(standard("tpch"))
    public = {name for _, name in shop.tables if may_be_public(shop, ("main", name))}
    assert public == {"region", "nation", "part"}
