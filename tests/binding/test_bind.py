"""Binding beyond the golden cases: parameters, several statements, memory, names."""

import pytest
from binding.clinic import CLINIC

from gateway.binding.bind import StatementCache, bind
from gateway.binding.bound import Cut, Empty, PassThrough, Release, Stage
from gateway.binding.text.classify import split_statements
from gateway.binding.text.parameters import Given, parameter_literals
from gateway.errors import Code, Refusal, UnsupportedSql
from gateway.plan.fields import INTEGER, TEXT
from gateway.plan.print import explain_plan
from gateway.plan.scalars import Literal
from gateway.plan.sql_text import literal_sql


def _cut(sql: str, *parameters: Given) -> Cut:
    bound = bind(sql, CLINIC, parameters=parameters)
    assert isinstance(bound, Cut)
    return bound


def _code(sql: str, *parameters: Given) -> Code:
    with pytest.raises(Refusal) as caught:
        bind(sql, CLINIC, parameters=parameters)
    return caught.value.code


def test_parameters_become_constants_in_both_halves() -> None:
    """A parameter is a typed constant in the plan and in the finishing."""
    sql = "SELECT region, $1 AS w FROM patients WHERE birth_year > $1 AND region <> $2 GROUP BY region"
    bound = _cut(sql, Literal(1980, INTEGER), Literal("no'rth", TEXT))
    plan = explain_plan(bound.releases[0].plan)
    assert "patients.birth_year > 1980" in plan
    assert "'no''rth'" in plan
    assert "CAST(1980 AS INT)" in bound.finishing.text()


def test_parameter_is_refused_when_it_has_no_value() -> None:
    """A statement with a hole is not guessed at."""
    assert _code("SELECT COUNT(*) FROM patients WHERE birth_year > $2", Literal(1, INTEGER)) is (
        Code.SQL_SYNTAX
    )


@pytest.mark.parametrize(
    ("condition", "given", "type_", "shown"),
    [
        (
            "region = ANY ($1)",
            '{north,"we\\"st, ","it\'s"}',
            "text[]",
            "'north', 'we\"st, ', 'it''s'",
        ),
        ("region <> ALL ($1::text[])", "{north,NULL}", "character varying[]", "in ('north', "),
        ("birth_year = ANY ($1)", "{1950,1960}", "integer[]", "1950, 1960"),
        ("birth_year IN ($1,$2)", "1950", "integer", "1950, 1950"),
    ],
)
def test_parameter_is_a_list_when_it_is_an_array(
    condition: str, given: str, type_: str, shown: str
) -> None:
    """What drivers send for `= ANY ($1)` means what the same array means in the text."""
    [one] = parameter_literals([given], [type_], "UTC")
    bound = _cut(f"SELECT COUNT(*) FROM patients WHERE {condition}", one, one)
    written = _cut(
        f"SELECT COUNT(*) FROM patients WHERE {condition}".replace("$1::text[]", "$1")
        .replace("$2", "$1")
        .replace(
            "$1",
            f"CAST({literal_sql(given, TEXT)} AS {type_.replace('character varying', 'text')})",
        )
    )
    assert explain_plan(bound.releases[0].plan) == explain_plan(written.releases[0].plan)
    assert shown in explain_plan(bound.releases[0].plan)


@pytest.mark.parametrize(
    ("sql", "given"),
    [
        ("SELECT COUNT(*) FROM visits WHERE diagnosis LIKE $1", "a%"),
        ("SELECT COUNT(*) FROM visits WHERE diagnosis NOT ILIKE $1::varchar", "%it's_"),
        ("SELECT date_trunc($1, visit_date) AS d, COUNT(*) FROM visits GROUP BY d", "year"),
        ("SELECT date_part($1::text, visit_date) AS d, COUNT(*) FROM visits GROUP BY 1", "year"),
        ("SELECT to_char(visit_date, $1) AS d, COUNT(*) FROM visits GROUP BY 1", "YYYY-MM"),
        ("SELECT COUNT(*) FROM visits WHERE visit_date > to_date($1, 'YYYY-MM-DD')", "2024-01-31"),
    ],
)
def test_parameter_is_a_string_where_only_one_can_stand(sql: str, given: str) -> None:
    """Patterns, parts of dates and formats of drivers mean what they mean when they are written."""
    bound = _cut(sql, Literal(given, TEXT))
    written = (
        sql.replace("::varchar", "").replace("::text", "").replace("$1", literal_sql(given, TEXT))
    )
    assert explain_plan(bound.releases[0].plan) == explain_plan(_cut(written).releases[0].plan)


@pytest.mark.parametrize("type_", ["numeric", "double precision"])
def test_parameter_is_the_fraction_of_a_percentile(type_: str) -> None:
    """A driver sends it as a number with a point, of whichever type."""
    sql = "SELECT percentile_cont($1) WITHIN GROUP (ORDER BY cost) AS c FROM visits"
    [fraction] = parameter_literals(["0.9"], [type_], "UTC")
    written = explain_plan(_cut(sql.replace("$1", "0.9")).releases[0].plan)
    given = explain_plan(_cut(sql, fraction).releases[0].plan)
    assert given.replace(f"cast(0.9 as {type_})", "0.9") == written


@pytest.mark.parametrize(
    ("given", "type_"),
    [("{2024-01-01}", "date[]"), (None, "text[]"), ("{a}", "point[]"), ("{a}", "text[][]")],
)
def test_parameter_is_refused_when_it_is_an_array_of_another_kind(
    given: str | None, type_: str
) -> None:
    """How moments are written in an array depends on settings, so nobody guesses."""
    with pytest.raises(UnsupportedSql, match="parameter"):
        parameter_literals([given], [type_], "UTC")


@pytest.mark.parametrize("text", ["'; DROP TABLE x --", "\\", "a''b", "$$", "/*", "--"])
def test_parameter_stays_data_whatever_is_in_it(text: str) -> None:
    """The text of a parameter is a literal in both halves, whatever it looks like."""
    bound = _cut("SELECT COUNT(*), $1 FROM visits WHERE diagnosis = $1", Literal(text, TEXT))
    shown = "'" + text.replace("'", "''") + "'"
    assert shown in explain_plan(bound.releases[0].plan)
    assert shown in bound.finishing.text()


def test_split_parts_statements_at_semicolons_outside_of_strings() -> None:
    """Several statements in one message are told apart."""
    assert split_statements("BEGIN; SELECT ';' ; /* ; */ COMMIT;") == [
        "BEGIN",
        " SELECT ';' ",
        " /* ; */ COMMIT",
    ]


def test_finishing_takes_constants_before_its_own_ctes() -> None:
    """The twin can put the constants before a WITH that is there already."""
    bound = _cut("WITH t AS (SELECT COUNT(*) AS n FROM patients) SELECT n FROM t")
    text = bound.finishing.text({"_r1": "SELECT 5 AS m1"})
    assert text.startswith("WITH _r1 AS (SELECT 5 AS m1), t AS (")


def test_steps_come_in_the_order_they_run() -> None:
    """A stage comes after the release it reads and before the one that reads it."""
    bound = _cut("SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients)")
    assert [type(step) for step in bound.steps] == [Release, Stage, Release]
    assert [step.name for step in bound.steps] == ["_r1", "_s1", "_r2"]


def test_names_of_constants_cannot_be_written_by_the_analyst() -> None:
    """A name in the text that looks like a constant's makes the constant's name another."""
    bound = _cut("WITH _r1 AS (SELECT 1 AS m1) SELECT COUNT(*), MIN(x.m1) FROM patients, _r1 x")
    assert {step.name for step in bound.steps} == {"__s1", "__r1"}


def test_empty_probe_needs_no_release_and_keeps_the_columns() -> None:
    """What a tool sends to learn names is answered from empty relations."""
    bound = _cut("SELECT * FROM patients WHERE 1 <> 1")
    assert [type(step) for step in bound.steps] == [Empty]
    assert bound.columns == ("patient_id", "region", "birth_year", "income", "smoker", "name")
    assert not bound.uses


def test_hidden_and_unknown_names_read_alike() -> None:
    """Apart from the name that was written, nothing tells what is hidden from what is not there."""
    with pytest.raises(Refusal) as one:
        bind("SELECT COUNT(hidden) FROM patients", CLINIC)
    with pytest.raises(Refusal) as other:
        bind("SELECT COUNT(absent) FROM patients", CLINIC)
    assert str(one.value).replace("hidden", "absent") == str(other.value)


def test_remembered_gives_the_same_value_again() -> None:
    """A text that was bound is not bound again, and a refusal stays a refusal."""
    remembered = StatementCache(CLINIC, most=2)
    sql = "SELECT COUNT(*) FROM patients"
    assert remembered.bind(sql) is remembered.bind(sql)
    for _ in range(2):
        with pytest.raises(Refusal):
            remembered.bind("SELECT * FROM patients")
    first = remembered.bind(sql)
    remembered.bind("SELECT COUNT(*) FROM visits")
    remembered.bind("SELECT SUM(cost) FROM visits")
    assert remembered.bind(sql) is not first


def test_passing_statement_is_kept_as_it_was_written() -> None:
    """The twin gets the analyst's own text where no table is touched."""
    bound = bind("  SELECT 1 AS x ; ", CLINIC)
    assert isinstance(bound, PassThrough)
    assert bound.statement.text == "  SELECT 1 AS x"


def test_refusal_hands_on_no_text_of_the_parser(caplog: pytest.LogCaptureFixture) -> None:
    """Neither a log nor the cause of a refusal has the analyst's text in it."""
    for sql in ("SELECT 'secret' FROM (", "WITH t AS (SELECT 'secret') FETCH (", "SELECT 'secret"):
        with pytest.raises(Refusal) as caught:
            bind(sql, CLINIC)
        assert caught.value.__cause__ is None
        assert "secret" not in str(caught.value)
    assert not caplog.records


@pytest.mark.parametrize(
    "sql",
    [
        """SELECT region, n FROM regions JOIN (SELECT region, COUNT(*) AS n FROM patients GROUP BY 1) t
        USING (region) ORDER BY region""",
        "SELECT region FROM regions NATURAL JOIN (SELECT DISTINCT region FROM patients) t",
        """SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM regions JOIN
        (SELECT region, COUNT(*) AS n FROM patients GROUP BY 1) t USING (region) WHERE n > 10)""",
        "SELECT region FROM (regions JOIN (SELECT DISTINCT region FROM patients) t USING (region)), codes",
    ],
)
def test_name_is_one_column_when_a_join_above_releases_merged_it(sql: str) -> None:
    """What USING and NATURAL make one column has one meaning under its bare name."""
    assert _cut(sql).releases


def test_name_is_refused_when_no_join_merged_it() -> None:
    """Two columns of one name above a release stay two."""
    sql = "SELECT region FROM regions JOIN (SELECT DISTINCT region FROM patients) t ON true"
    assert _code(sql) is Code.NAME_AMBIGUOUS


@pytest.mark.parametrize(
    ("shift", "zoned"),
    [
        ("+ INTERVAL '1 month' - INTERVAL '1 day'", True),
        ("- INTERVAL '1 week'", True),
        ("+ INTERVAL '1 hour'", False),
    ],
)
def test_truncated_date_gets_its_zone_back_when_it_is_moved_by_days(
    shift: str, *, zoned: bool
) -> None:
    """A moved local time is the same in every zone unless it was moved by hours."""
    sql = f"SELECT DATE_TRUNC('month', visit_date) {shift} AS d, COUNT(*) FROM visits GROUP BY 1"
    assert ("TIMESTAMPTZ" in _cut(sql).finishing.text()) is zoned
