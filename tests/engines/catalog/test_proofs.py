"""Only what a constraint of a real database always guarantees is proven; for each there is what is not."""

import re
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import TypeAlias

import duckdb
import psycopg
import pytest
from engines.sources import described, in_duckdb, in_postgresql
from fix_policy import BASE, changed, read
from fix_sample import plain
from sqlalchemy import URL, Connection

from gateway.catalog.tables import ColumnRef
from gateway.engines.catalog.describe import SourceTables, describe_source
from gateway.engines.catalog.proofs import ReferenceProof, TableProof, list_proofs, prove_tables
from gateway.engines.catalog.source_columns import with_public_columns
from gateway.engines.connections import open_source

SCHEMA = """
CREATE TABLE regions (region varchar(20) PRIMARY KEY, country text, lead text, UNIQUE (country, lead));
CREATE TABLE patients (patient_id bigint PRIMARY KEY, region text NOT NULL,
    birth_year integer CHECK (birth_year BETWEEN 1920 AND 2020), income numeric, weight double precision);
CREATE TABLE visits (visit_id bigint PRIMARY KEY, patient_id bigint NOT NULL REFERENCES patients,
    cost numeric(8,2), visit_date date NOT NULL, UNIQUE (patient_id, visit_date));
"""
DATASET = read(BASE).accepted.dataset


Made: TypeAlias = Callable[[str], URL]


@pytest.fixture(params=["duckdb", "postgresql"])
def made(request: pytest.FixtureRequest, tmp_path: Path) -> Made:
    """Makes a source of these statements."""
    if request.param == "duckdb":
        return partial(in_duckdb, tmp_path)
    return partial(in_postgresql, request.getfixturevalue("sample_database"))


@pytest.fixture
def source(made: Made) -> Iterator[Connection]:
    with open_source(made(SCHEMA)) as reading:
        yield reading


def test_constraints_prove_what_need_not_be_done(source: Connection) -> None:
    """The same in both databases, as values and as sentences."""
    there = describe_source(source)
    whole = with_public_columns(DATASET, there, lambda _: True)
    found = prove_tables(whole, there)
    assert found["patients"] == TableProof(
        unique=frozenset({frozenset({"patient_id"})}),
        not_null=frozenset({"patient_id", "region"}),
        within=frozenset({"birth_year"}),
    )
    assert found["visits"].leads == {
        ReferenceProof("patient_id", ColumnRef("patients", "patient_id"))
    }
    assert found["visits"].meets_one({"visit_date", "patient_id", "cost"})
    assert not found["visits"].meets_one({"patient_id"})
    assert [(proof.table, proof.message) for proof in list_proofs(whole, there)] == [
        ("patients", "`patient_id` is unique: no person has more than one row"),
        ("patients", "`patient_id` is never null"),
        ("patients", "`region` is never null"),
        ("patients", "`birth_year` is always within its domain, or null"),
        ("visits", "`visit_id` is never null"),
        ("visits", "`patient_id` is never null"),
        ("visits", "`visit_date` is never null"),
        ("visits", "`patient_id` leads to at most one row of `patients`, by `patients.patient_id`"),
        ("regions", "a row of a person meets at most one row of `regions` on `country`, `lead`"),
        ("regions", "a row of a person meets at most one row of `regions` on `region`"),
    ]


def test_nothing_is_proven_of_a_column_that_does_not_fit(source: Connection) -> None:
    """A key of another type than declared is a misfit, and no key."""
    dataset = changed("birth_year: {type: integer", "birth_year: {type: smallint").dataset
    assert prove_tables(dataset, describe_source(source))["patients"].within == frozenset()
    dataset = changed(
        "patient_id: {type: bigint, class: identifier}",
        "patient_id: {type: integer, class: identifier}",
    ).dataset
    found = prove_tables(dataset, describe_source(source))
    assert found["patients"].unique == frozenset()
    assert found["visits"].leads == frozenset()


# declared, the column in the source, its constraint, in which databases that proves the domain
DOMAINS = [
    ("integer, domain: {between: [1, 10]}", "integer", "c >= 1 AND c <= 10", "both"),
    ("integer, domain: {between: [1, 10]}", "integer", "c BETWEEN 2 AND 9", "both"),
    ("integer, domain: {between: [1, 10]}", "integer", "c > 0 AND 11 > c", "both"),
    ("integer, domain: {between: [-5, 5]}", "integer", "c >= -5 AND c <= 5", "both"),
    ("bigint, domain: {between: [1, 10]}", "smallint", "c IN (1, 10)", "both"),
    ("bigint, domain: {between: [0, 10000000000]}", "bigint", "c >= 0 AND c < 10000000001", "both"),
    ("integer, domain: {in: [1, 2, 3]}", "integer", "c IN (1, 3)", "both"),
    ("integer, domain: {in: [1, 2, 3]}", "integer", "c BETWEEN 1 AND 3", "both"),
    ("integer, domain: {in: [1]}", "integer", "c = 1", "both"),
    ('"numeric(8,2)", domain: {between: [0, 99.5]}', "numeric(8,2)", "c >= 0 AND c <= 99.5", "both"),
    ('"numeric(8,2)", domain: {between: [-2.5, 1]}', "numeric(8,2)", "c >= -2.5 AND c <= 1", "both"),
    ("numeric, step: 0.01, domain: {between: [0, 9]}", "numeric(8,2)", "c >= 0 AND c < 9.01", "both"),
    ("date, domain: {between: [2020-01-01, 2020-12-31]}", "date", "c >= '2020-01-01'::date AND c < '2021-01-01'::date", "both"),
    ("timestamp, domain: {between: [2020-01-01, 2021-01-01]}", "timestamp", "c BETWEEN '2020-01-01'::timestamp AND '2021-01-01'::timestamp", "both"),
    ("timestamptz, domain: {between: [2020-01-01, 2021-01-01]}", "timestamptz", "c BETWEEN '2020-01-01 00:00:00+00'::timestamptz AND '2020-06-01 00:00:00+00'::timestamptz", "both"),
    ("text, domain: {in: [north, east]}", "text", "c IN ('north', 'east')", "postgresql"),
    ("text, domain: {in: [north, east]}", "varchar(9)", "c IN ('north', 'east')", "postgresql"),
    ("text, domain: {in: [north, east]}", "varchar(9)", "c = 'north'", "postgresql"),
    ("uuid, domain: {in: [00000000-0000-0000-0000-000000000001]}", "uuid", "c = '00000000-0000-0000-0000-000000000001'::uuid", "both"),
    # bounds that are not enough
    ("integer, domain: {between: [1, 10]}", "integer", "c >= 1", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c >= 1 AND c <= 11", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c >= 0 AND c <= 10", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c > 1 AND c >= -3 AND c < 12", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c IN (1, 11)", "none"),
    ("integer, domain: {in: [1, 3]}", "integer", "c BETWEEN 1 AND 3", "none"),
    ("text, domain: {in: [north]}", "text", "c IN ('north', 'east')", "none"),
    # the domain has a coarser grid than the source
    ("integer, step: 5, domain: {between: [0, 10]}", "integer", "c BETWEEN 0 AND 10", "none"),
    ("numeric, step: 0.1, domain: {between: [0, 10]}", "numeric(8,2)", "c BETWEEN 0 AND 10", "none"),
    # other shapes
    ("integer, domain: {between: [1, 10]}", "integer", "c >= 1 AND c <= 10 OR d = 1", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c BETWEEN 1 AND 10 OR c = 11", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "NOT (c BETWEEN 1 AND 10)", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "d BETWEEN 1 AND 10", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c >= 1 AND c <= d", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "abs(c) BETWEEN 1 AND 10", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c + 1 BETWEEN 1 AND 10", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "-c BETWEEN 1 AND 10", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c <> 11", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "c NOT IN (0, 11)", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "(c BETWEEN 1 AND 10) IS NOT FALSE", "none"),
    ("integer, domain: {between: [1, 10]}", "integer", "CASE WHEN d = 1 THEN c BETWEEN 1 AND 10 ELSE true END", "none"),
    # NaN and infinity are floats too, and bounds of floats are no decimal texts
    ("double precision, step: 1, domain: {between: [0, 1]}", "double precision", "c >= 0 AND c <= 1", "none"),
    ("numeric, step: 1, domain: {between: [0, 9]}", "numeric", "c >= 0 AND c <= 9", "none"),
    ('"numeric(8,2)", domain: {between: [0, 999999.99]}', "numeric(8,2)", "c >= 0", "none"),
]  # fmt: skip


@pytest.mark.parametrize(("declared", "kind", "check", "proves"), DOMAINS)
def test_check_proves_a_domain_that_it_implies(
    made: Made, declared: str, kind: str, check: str, proves: str
) -> None:
    """By plain comparisons with constants; what is not understood or not enough proves nothing."""
    there = made(f"CREATE TABLE visits (patient_id bigint, c {kind}, d integer, CHECK ({check}))")
    with open_source(there) as connection:
        proven_here = within(declared, describe_source(connection))
    assert proven_here is (proves in {"both", there.get_backend_name()})


def within(declared: str, source: SourceTables) -> bool:
    dataset = changed(
        '      cost: {type: "numeric(8,2)", class: sensitive, domain: {between: [0, 5000]}}',
        f"      c: {{type: {declared}, class: sensitive}}",
    ).dataset
    return "c" in prove_tables(dataset, source)["visits"].within


BETWEEN = "integer, domain: {between: [1, 10]}"
AMONG = "text, domain: {in: [north, east]}"
CHECK = "CHECK (c BETWEEN 1 AND 10)"
TABLE = "CREATE TABLE visits (patient_id bigint, c integer"
ANYBODYS = """
CREATE FUNCTION yes(integer, integer) RETURNS boolean IMMUTABLE RETURN true;
CREATE OPERATOR public.>= (LEFTARG = integer, RIGHTARG = integer, FUNCTION = yes);
SET search_path = public, pg_catalog;
"""


@pytest.mark.parametrize(
    ("declared", "statements", "proves"),
    [
        (BETWEEN, f"{TABLE}, {CHECK});", True),
        (BETWEEN, f"{TABLE}, CHECK (c >= 1)); ALTER TABLE visits ADD CHECK (c <= 10);", True),
        (BETWEEN, f"{TABLE}); ALTER TABLE visits ADD {CHECK} NOT VALID;", False),
        (
            BETWEEN,
            (
                f"{TABLE}); ALTER TABLE visits ADD CONSTRAINT one {CHECK} NOT VALID;"
                "ALTER TABLE visits VALIDATE CONSTRAINT one;"
            ),
            True,
        ),
        (BETWEEN, f"{TABLE}, {CHECK} NO INHERIT);", False),
        (BETWEEN, f"{TABLE}, {CHECK}); CREATE TABLE more () INHERITS (visits);", False),
        (BETWEEN, f"{TABLE}, {CHECK}) PARTITION BY RANGE (c);", False),
        (
            BETWEEN,
            (f"{TABLE}, {CHECK}) PARTITION BY RANGE (c);"
            "CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
            "CREATE TABLE few PARTITION OF visits FOR VALUES FROM (1) TO (5) PARTITION BY RANGE (c);"
            "CREATE FOREIGN TABLE one PARTITION OF few FOR VALUES FROM (1) TO (2) SERVER s;"),
            False,
        ),
        (
            BETWEEN,
            ("CREATE FOREIGN DATA WRAPPER w; CREATE SERVER s FOREIGN DATA WRAPPER w;"
            f"CREATE FOREIGN TABLE visits (patient_id bigint, c integer, {CHECK}) SERVER s;"),
            False,
        ),
        (
            BETWEEN,
            (f"CREATE TABLE kept (patient_id bigint, c integer, {CHECK});"
            "CREATE VIEW visits AS SELECT * FROM kept;"),
            False,
        ),
        # an operator that is called `>=` and is always true
        (
            BETWEEN,
            (f"{ANYBODYS} {TABLE}, CHECK (c >= 1 AND c <= 10));"
            "DO $$ BEGIN EXECUTE format("
            "'ALTER DATABASE %I SET search_path = public, pg_catalog', current_database()); END $$;"),
            False,
        ),
        (AMONG, "CREATE TABLE visits (patient_id bigint, c text CHECK (c IN ('north')));", True),
        # a backslash may or may not mean itself
        (
            "text, domain: {in: ['a\\b']}",
            "CREATE TABLE visits (patient_id bigint, c text CHECK (c IN ('a\\b')));",
            False,
        ),
        ("char(5), domain: {in: [north]}", "CREATE TABLE visits (patient_id bigint, c char(5) CHECK (c = 'north'));", False),
        # the name of another column, but for its case
        (BETWEEN, 'CREATE TABLE visits (patient_id bigint, c integer, "C" integer CHECK ("C" BETWEEN 1 AND 10));', False),
        (BETWEEN, f"{TABLE}, CHECK (c BETWEEN 1 AND 10 AND {' AND '.join(['c <> 5'] * 200)}));", False),
    ],
)  # fmt: skip
def test_check_proves_what_postgresql_enforces_always(
    sample_database: URL, declared: str, statements: str, *, proves: bool
) -> None:
    """Not of old rows when they were not looked at, not of rows elsewhere, not by operators of anybody."""
    assert within(declared, described(in_postgresql(sample_database, statements))) is proves


def test_operator_of_anybody_would_be_read_as_postgresqls(sample_database: URL) -> None:
    """The negative control of the above: by its text alone such a constraint cannot be told apart."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(ANYBODYS.encode())
        connection.execute("CREATE TABLE t (c integer CHECK (c >= 1))")
        connection.execute("INSERT INTO t VALUES (-7)")
        found = connection.execute(
            "SELECT pg_get_expr(conbin, conrelid) FROM pg_constraint WHERE conrelid = 't'::regclass AND contype = 'c'"
        ).fetchone()
    assert found == ("(c >= 1)",)


def test_enforced_is_what_postgresql_18_calls_so(sample_database: URL) -> None:
    """A constraint that is NOT ENFORCED is a remark."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        if connection.info.server_version < 180000:
            pytest.skip("PostgreSQL 18 has it first")
    in_postgresql(sample_database, f"{TABLE}, {CHECK} NOT ENFORCED);")
    assert not within(BETWEEN, described(sample_database))


@pytest.mark.parametrize("exact", [True, False])
def test_text_is_proven_when_equal_means_the_same(sample_database: URL, *, exact: bool) -> None:
    """Where the column's collation takes more texts for equal, `in` lets them in."""
    in_postgresql(
        sample_database,
        "CREATE COLLATION own (provider = libc, locale = 'C');"
        "CREATE TABLE visits (patient_id bigint, c text COLLATE own CHECK (c IN ('north')));"
        # ICU alone makes such collations, and not every PostgreSQL is built with it
        "SET allow_system_table_mods = on;"
        f"UPDATE pg_collation SET collisdeterministic = {exact} WHERE collname = 'own';",
    )
    assert within(AMONG, described(sample_database)) is exact


def test_duckdb_lets_in_what_the_writer_takes_for_equal(tmp_path: Path) -> None:
    """Why no text is proven there: the default collation of whoever writes decides."""
    url = in_duckdb(tmp_path, "CREATE TABLE visits (patient_id bigint, c text CHECK (c = 'north'))")
    with duckdb.connect(url.database or "") as connection:
        connection.execute("SET default_collation = 'nocase'")
        connection.execute("INSERT INTO visits VALUES (1, 'NORTH')")
    assert not within(AMONG, described(url))


@pytest.mark.parametrize(
    ("statements", "leads"),
    [
        ("REFERENCES patients", True),
        ("REFERENCES patients NOT VALID", False),
        ("", False),
    ],
)
def test_foreign_key_leads_to_one_row_at_most(
    sample_database: URL, statements: str, *, leads: bool
) -> None:
    """When it is validated."""
    adding = "ALTER TABLE visits ADD FOREIGN KEY (patient_id)"
    in_postgresql(
        sample_database,
        "CREATE TABLE patients (patient_id bigint PRIMARY KEY);"
        "CREATE TABLE visits (patient_id bigint);"
        + (f"{adding} {statements};" if statements else ""),
    )
    found = prove_tables(DATASET, described(sample_database))["visits"].leads
    assert bool(found) is leads


def test_foreign_key_leads_nowhere_when_heirs_double_its_target(sample_database: URL) -> None:
    """The rows of heirs are read too, and no key binds them: two may be met."""
    in_postgresql(
        sample_database,
        "CREATE TABLE patients (patient_id bigint PRIMARY KEY);"
        "CREATE TABLE visits (patient_id bigint REFERENCES patients);"
        "CREATE TABLE heirs () INHERITS (patients);"
        "INSERT INTO patients VALUES (1); INSERT INTO heirs VALUES (1);",
    )
    assert prove_tables(DATASET, described(sample_database))["visits"].leads == frozenset()


def test_foreign_key_into_another_schema_is_not_taken_for_this_one(sample_database: URL) -> None:
    """Tables are found by schema and name."""
    in_postgresql(
        sample_database,
        "CREATE SCHEMA old; CREATE TABLE old.patients (patient_id bigint PRIMARY KEY);"
        "CREATE TABLE patients (patient_id bigint PRIMARY KEY);"
        "CREATE TABLE visits (patient_id bigint REFERENCES old.patients);",
    )
    assert prove_tables(DATASET, described(sample_database))["visits"].leads == frozenset()


def test_cases_of_domains_cover_both_outcomes() -> None:
    """A control of the table above: each kind of constant is proven somewhere, and refused somewhere."""
    outcomes = {proves for *_, proves in DOMAINS}
    assert outcomes == {"both", "postgresql", "none"}
    assert {re.split(r"\W", kind)[0] for _, kind, _, proves in DOMAINS if proves != "none"} >= {
        "integer",
        "numeric",
        "date",
        "timestamp",
        "text",
    }
