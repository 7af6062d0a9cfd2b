"""What the twin says of a statement without running it."""

import re

import pytest
from fix_twin import CLINIC, state

from gateway.errors import Reason
from gateway.twin import DescribedColumn, DescribedParameter, Twin, TwinRefused, TwinSession


def test_describe_gives_names_types_and_parameters(analyst: TwinSession) -> None:
    """Columns have their name, OID, type modifier and type name; parameters the inferred OID and its name."""
    said = analyst.describe(
        'SELECT region, avg(income) AS "Mean", code, count(*) FROM patients '
        "WHERE income > $1 AND region = $2 GROUP BY region, code"
    )
    assert said.parameters == (DescribedParameter(1700, "numeric"), DescribedParameter(25, "text"))
    assert said.columns == (
        DescribedColumn("region", 1043, 16, "character varying(12)"),
        DescribedColumn("Mean", 1700, -1, "numeric"),
        DescribedColumn("code", 1042, 7, "character(3)"),
        DescribedColumn("count", 20, -1, "bigint"),
    )


def test_describe_takes_types_of_parameters_when_given(analyst: TwinSession) -> None:
    """A given type is used, and 0 is inferred."""
    text, integer, numeric = (
        DescribedParameter(oid, name)
        for oid, name in ((25, "text"), (23, "integer"), (1700, "numeric"))
    )
    assert analyst.describe("SELECT $1, $2::int", [25]).parameters == (text, integer)
    assert analyst.describe("SELECT $1 + $2", [0, 1700]).parameters == (numeric, numeric)


def test_describe_names_types_of_a_table_when_a_row_is_asked_for(analyst: TwinSession) -> None:
    """A whole row has the table's own type; its number is not mistaken for another database's."""
    (column,) = analyst.describe("SELECT patients FROM patients").columns
    assert column.type_name == "patients"
    (parameter,) = analyst.describe("SELECT $1::patients").parameters
    assert parameter == DescribedParameter(column.type_oid, "patients")


def test_describe_plans_and_runs_nothing(attacker: TwinSession) -> None:
    """A division by zero, a forbidden function and a command are described, not done."""
    assert len(attacker.describe("SELECT 1/0").columns) == 1
    assert len(attacker.describe("SELECT pg_sleep(60)").columns) == 1
    assert attacker.describe("CREATE TABLE made (a int)").columns == ()
    assert attacker.describe("SET search_path = pg_catalog").columns == ()
    assert attacker.run("SHOW search_path") == (("public",),)
    with pytest.raises(TwinRefused, match="does not exist"):
        attacker.describe("SELECT a FROM made")


def test_primary_key_makes_other_columns_depend_on_it(analyst: TwinSession) -> None:
    """Grouping by the primary key lets the other columns be selected, as in the source."""
    said = analyst.describe("SELECT patient_id, region FROM patients GROUP BY patient_id")
    assert len(said.columns) == 2
    with pytest.raises(TwinRefused, match="must appear in the GROUP BY"):
        analyst.describe("SELECT patient_id, region FROM patients GROUP BY region")


@pytest.mark.parametrize(
    ("statement", "state", "reason", "position"),
    [
        ("SELEC 1", "42601", Reason.SYNTAX_ERROR, 1),
        ("SELECT 1 FROM", "42601", Reason.SYNTAX_ERROR, 14),
        ("SELECT 1; SELECT 2", "42601", Reason.SYNTAX_ERROR, None),
        ("SELECT 'é', x FROM patients", "42703", Reason.NOT_PERMITTED, 13),
        ("SELECT 1 FROM nowhere", "42P01", Reason.NOT_PERMITTED, 15),
        ("SELECT 1 FROM no.where", "42P01", Reason.NOT_PERMITTED, 15),
        ("SELECT patient_id FROM patients p, visits v", "42702", Reason.SYNTAX_ERROR, 8),
        ("SELECT nothing(1)", "42883", Reason.UNSUPPORTED_SQL, 8),
        ("SELECT 1::nothing", "42704", Reason.UNSUPPORTED_SQL, 11),
        ("SELECT 'x'::int", "22P02", Reason.SYNTAX_ERROR, 8),
        ("SELECT region FROM patients GROUP BY code", "42803", Reason.SYNTAX_ERROR, 8),
        ("SELECT a.b.c.d FROM patients", "0A000", Reason.UNSUPPORTED_SQL, 8),
        ("SELECT '\0'", "22021", Reason.SYNTAX_ERROR, None),
        ("SELECT '\ud800'", "22021", Reason.SYNTAX_ERROR, None),
        ("SELECT 1" + "+1" * 50_000, "54001", Reason.LIMIT_EXCEEDED, None),
    ],
)
def test_describe_refuses_with_state_reason_and_position(
    analyst: TwinSession, statement: str, state: str, reason: Reason, position: int | None
) -> None:
    """PostgreSQL's SQLSTATE and position are kept, and each has one reason; the session lives on."""
    with pytest.raises(TwinRefused) as refused:
        analyst.describe(statement)
    assert (refused.value.sqlstate, refused.value.reason) == (state, reason)
    assert refused.value.position == position
    assert analyst.describe("SELECT 1").columns[0].type_name == "integer"


def test_unknown_and_hidden_names_read_alike(twin: Twin, analyst: TwinSession) -> None:
    """A table or column of somebody else's is refused word for word like one that nobody has."""
    for hidden, unknown in (("secrets", "nothing"), ("public.secrets", "public.nothing")):
        assert _said(analyst, f"SELECT * FROM {hidden}", hidden) == _said(
            analyst, f"SELECT * FROM {unknown}", unknown
        )
    assert _said(analyst, "SELECT secret_id FROM patients", "secret_id") == _said(
        analyst, "SELECT nothing_x FROM patients", "nothing_x"
    )


def test_hint_names_visible_columns_alone(analyst: TwinSession) -> None:
    """PostgreSQL's own `did you mean` can only know what is there."""
    with pytest.raises(TwinRefused) as refused:
        analyst.describe("SELECT regio FROM patients")
    assert refused.value.hint == ('Perhaps you meant to reference the column "patients.region".')


def test_describe_works_in_many_sessions_of_one_subject(twin: Twin) -> None:
    """Sessions do not disturb each other."""
    sessions = [twin.session("alice", CLINIC) for _ in range(5)]
    for session in sessions:
        assert session.describe("SELECT 1").columns
        session.close()
    for session in sessions:
        session.close()
        with pytest.raises(TwinRefused, check=state("57P01")):
            session.describe("SELECT 1")


def _said(session: TwinSession, statement: str, name: str) -> tuple[object, ...]:
    with pytest.raises(TwinRefused) as refused:
        session.describe(statement)
    no = refused.value
    message = re.sub(rf"\b{re.escape(name)}\b", "NAME", no.detail)
    return no.sqlstate, no.reason, message, no.hint, no.position
