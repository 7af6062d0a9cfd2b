"""PREPARE, EXECUTE and DEALLOCATE: a question by its name is charged when it runs, and means what PostgreSQL means.

One row of names is there for SQL and for the protocol, as in PostgreSQL.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from endtoend.plain_postgresql import plain_connection
from psycopg import pq
from sqlalchemy import URL
from wire.gateways import WireGateway

COUNT = "SELECT count(*) FROM patients"
OLDER = (
    "SELECT region, count(*) FROM patients WHERE birth_year < $1 GROUP BY region ORDER BY region"
)


@contextmanager
def charging(gateway: WireGateway, count: int, subject: str = "alice") -> Iterator[None]:
    """So many questions are charged in the block."""
    before = gateway.charged(subject)
    yield
    assert gateway.charged(subject) == before + count


def rows(connection: psycopg.Connection, text: str) -> list[tuple[object, ...]]:
    return connection.execute(text).fetchall()


def last(connection: psycopg.Connection, text: str) -> list[list[str | None]]:
    """The rows of the last statement of a simple query, as texts."""
    result = connection.pgconn.exec_(text.encode())
    return values_of(result)


def refused_by(connection: psycopg.Connection, statement: str) -> tuple[str | None, str]:
    connection.execute(f"PREPARE older (int) AS {OLDER}")
    with pytest.raises(psycopg.Error) as refused:
        connection.execute(statement)
    return refused.value.sqlstate, str(refused.value).partition("\n")[0]


def in_pipeline(connection: psycopg.Connection, *texts: str) -> None:
    with connection.pipeline():
        for text in texts:
            connection.execute(text)


def values_of(result: pq.abc.PGresult) -> list[list[str | None]]:
    assert result.status == pq.ExecStatus.TUPLES_OK, result.error_message.decode()
    return [
        [
            None if (value := result.get_value(row, column)) is None else value.decode()
            for column in range(result.nfields)
        ]
        for row in range(result.ntuples)
    ]


def test_a_prepared_question_is_charged_at_each_execute(
    gateway: WireGateway, alice: psycopg.Connection, plain: psycopg.Connection
) -> None:
    """PREPARE costs nothing, EXECUTE what the question costs, with the answer that PostgreSQL gives."""
    wanted = plain.execute("SELECT count(*) FROM patients").fetchall()
    with charging(gateway, 0):
        alice.execute(f"PREPARE q AS {COUNT}")
    with charging(gateway, 1):
        assert rows(alice, "EXECUTE q") == wanted
    with charging(gateway, 1):
        assert rows(alice, 'EXECUTE "q"') == wanted


@pytest.mark.parametrize(
    ("arguments", "value"),
    [
        ("(1980)", "1980"),
        ("('1980')", "1980"),
        ("(1980.4)", "1980"),
        ("(+1980)", "1980"),
        ("(1900 + 80)", "1980"),
        ("('1980'::text::int)", "1980"),
        ("(extract(year from date '1980-05-01'))", "1980"),
        ("(NULL)", "NULL"),
    ],
)
def test_arguments_are_what_postgresql_makes_of_them(
    gateway: WireGateway,
    alice: psycopg.Connection,
    plain: psycopg.Connection,
    arguments: str,
    value: str,
) -> None:
    """Literals, casts, signs, sums and NULL become values of the parameter's type."""
    alice.execute(f"PREPARE older (int) AS {OLDER}")
    wanted = plain.execute(
        "SELECT region, count(*) FROM patients "
        f"WHERE birth_year < {value} GROUP BY region ORDER BY region"
    ).fetchall()
    with charging(gateway, 1):
        assert rows(alice, f"EXECUTE older{arguments}") == wanted


def test_types_of_parameters_are_inferred(
    alice: psycopg.Connection, plain: psycopg.Connection
) -> None:
    """Without a list of types PostgreSQL finds them, and a moment keeps its meaning in every style."""
    text = "SELECT count(*) FROM visits WHERE visit_date < $1 AND admitted < $2 AND weight < $3"
    plain.execute(f"PREPARE inferred AS {text}")
    alice.execute(f"PREPARE inferred AS {text}")
    call = "EXECUTE inferred('2024-03-01', '2025-01-01 12:30', 80.5)"
    wanted = plain.execute(call).fetchall()
    plain.execute("DEALLOCATE inferred")
    assert rows(alice, call) == wanted
    alice.execute("SET datestyle = 'German'")
    assert rows(alice, call) == wanted


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        ("EXECUTE nothing", "26000"),
        ("EXECUTE older", "42601"),
        ("EXECUTE older(1, 2)", "42601"),
        ("EXECUTE older()", "42601"),
        ("EXECUTE older('x')", "22P02"),
        ("EXECUTE older(true)", "42804"),
        ("EXECUTE older((SELECT 1))", "0A000"),
        ("EXECUTE older(birth_year)", "42703"),
        ("EXECUTE older(count(*))", "42803"),
        ("PREPARE older AS SELECT 1", "42P05"),
        (f"PREPARE older AS {COUNT}", "42P05"),
        ("PREPARE wrong AS SELECT nothing FROM patients", "42703"),
        ("PREPARE wrong (nothing) AS SELECT count(*) FROM patients", "42704"),
        ("DEALLOCATE nothing", "26000"),
    ],
)
def test_errors_are_those_of_postgresql_and_free(
    gateway: WireGateway,
    alice: psycopg.Connection,
    clinic: URL,
    statement: str,
    sqlstate: str,
) -> None:
    """What is wrong with a name, a number of arguments or a value is told as PostgreSQL tells it, before any charge."""
    before = gateway.charged()
    with plain_connection(clinic) as beside:
        told = [refused_by(connection, statement) for connection in (beside, alice)]
    assert gateway.charged() == before
    assert told[0] == told[1]
    assert told[0][0] == sqlstate
    with charging(gateway, 1):
        assert len(rows(alice, "EXECUTE older(1980)")) == 4


@pytest.mark.parametrize(
    "statement",
    [
        "PREPARE p AS INSERT INTO patients VALUES (1)",
        "PREPARE p AS DELETE FROM patients",
        "PREPARE TRANSACTION 'x'",
        "PREPARE p AS SELECT pg_notify('a', 'b')",
        "PREPARE p AS SELECT set_config('work_mem', '1GB', false) FROM patients",
        "EXECUTE older(pg_notify('a', 'b')::text::int)",
        "EXPLAIN EXECUTE older(1)",
        "CREATE TEMP TABLE t AS EXECUTE older(1)",
    ],
)
def test_nothing_comes_in_by_another_name(
    gateway: WireGateway, alice: psycopg.Connection, statement: str
) -> None:
    """What is refused by itself is refused as what a name stands for, and as an argument."""
    alice.execute(f"PREPARE older (int) AS {OLDER}")
    with charging(gateway, 0), pytest.raises(psycopg.Error) as refused:
        alice.execute(f"{statement}; EXECUTE p")
    assert refused.value.sqlstate in {"0A000", "42501"}


def test_rows_of_persons_are_refused_when_they_are_asked_for(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """A prepared question is judged as a question: at its EXECUTE, with its own refusal."""
    alice.execute("PREPARE everybody AS SELECT * FROM patients")
    with charging(gateway, 0), pytest.raises(psycopg.errors.InsufficientPrivilege, match="GW"):
        alice.execute("EXECUTE everybody")


def test_what_touches_no_table_is_the_twins(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """A prepared statement about the connection runs there, for nothing."""
    with charging(gateway, 0):
        alice.execute("PREPARE me (text) AS SELECT current_user || $1")
        assert rows(alice, "EXECUTE me('!')") == [("alice!",)]
        assert rows(alice, "EXECUTE me(current_user)") == [("alicealice",)]


def test_a_prepare_outlives_the_transaction_that_is_undone(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """Prepared statements are not transactional; a charge is not given back either."""
    with charging(gateway, 2):
        alice.execute("BEGIN")
        alice.execute(f"PREPARE q AS {COUNT}")
        first = rows(alice, "EXECUTE q")
        alice.execute("ROLLBACK")
        assert rows(alice, "EXECUTE q") == first


def test_a_refusal_of_an_execute_fails_its_transaction(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """As an error of PostgreSQL's does: nothing more is done, or charged, before its end."""
    alice.execute(f"PREPARE q AS {COUNT}")
    alice.execute("PREPARE everybody AS SELECT * FROM patients")
    with charging(gateway, 0):
        alice.execute("BEGIN")
        with pytest.raises(psycopg.errors.InsufficientPrivilege):
            alice.execute("EXECUTE everybody")
        for statement in ("EXECUTE q", f"PREPARE r AS {COUNT}", "DEALLOCATE q"):
            with pytest.raises(psycopg.errors.InFailedSqlTransaction):
                alice.execute(statement)
        alice.execute("ROLLBACK")
    with charging(gateway, 1):
        alice.execute("EXECUTE q")


def test_several_statements_are_one_query(gateway: WireGateway, alice: psycopg.Connection) -> None:
    """PREPARE, EXECUTE and DEALLOCATE in one message, in their order."""
    text = f"PREPARE q AS {COUNT}; EXECUTE q; PREPARE r AS SELECT 7; EXECUTE q; DEALLOCATE q; EXECUTE r"
    with charging(gateway, 2):
        assert last(alice, text) == [["7"]]
    with charging(gateway, 0), pytest.raises(psycopg.errors.InvalidSqlStatementName):
        alice.execute("EXECUTE q")


def test_execute_goes_by_the_extended_protocol(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """Parsed, bound, described, in binary, and again."""
    simple = last(alice, f"PREPARE q AS {COUNT}; EXECUTE q")
    with charging(gateway, 3):
        cursor = alice.execute("EXECUTE q", binary=True)
        assert [[str(value) for value in row] for row in cursor.fetchall()] == simple
        assert alice.execute("EXECUTE q", prepare=True).statusmessage == "SELECT 1"
        assert alice.execute("EXECUTE q", prepare=True).rowcount == 1
    with charging(gateway, 0):
        alice.pgconn.prepare(b"called", b"EXECUTE q")
        described = alice.pgconn.describe_prepared(b"called")
        assert [described.fname(0), described.ftype(0)] == [b"count", 20]


def test_prepare_goes_by_the_extended_protocol(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """What was only parsed gives no name; what was executed does."""
    alice.pgconn.prepare(b"later", f"PREPARE q AS {COUNT}".encode())
    with charging(gateway, 0), pytest.raises(psycopg.errors.InvalidSqlStatementName):
        alice.execute("EXECUTE q")
    run = alice.pgconn.exec_prepared(b"later", None)
    assert run.status == pq.ExecStatus.COMMAND_OK, run.error_message
    with charging(gateway, 1):
        alice.execute("EXECUTE q")
    alice.execute("DEALLOCATE q")
    run = alice.pgconn.exec_prepared(b"later", None)
    assert run.status == pq.ExecStatus.COMMAND_OK, run.error_message
    with charging(gateway, 1):
        alice.execute("EXECUTE q")


def test_names_of_the_protocol_are_names_of_sql(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """What was prepared by either can be executed by the other, and given up by the other."""
    connection = alice.pgconn
    connection.prepare(b"by_protocol", OLDER.encode())
    alice.execute(f'PREPARE "by_sql" AS {OLDER}')
    with charging(gateway, 2):
        one = values_of(connection.exec_(b'EXECUTE "by_protocol"(1980)'))
        other = values_of(connection.exec_prepared(b"by_sql", [b"1980"]))
    assert one == other
    clash = connection.prepare(b"by_sql", b"SELECT 1")
    assert clash.error_field(pq.DiagnosticField.SQLSTATE) == b"42P05"
    alice.execute('DEALLOCATE "by_protocol"')
    connection.exec_prepared(b"by_sql", [b"1980"])
    with charging(gateway, 0):
        gone = connection.exec_prepared(b"by_protocol", [b"1980"])
    assert gone.error_field(pq.DiagnosticField.SQLSTATE) == b"26000"


@pytest.mark.parametrize("ending", ["DEALLOCATE ALL", "DISCARD ALL", "DEALLOCATE q; DEALLOCATE p"])
def test_what_was_given_up_is_gone(
    gateway: WireGateway, alice: psycopg.Connection, ending: str
) -> None:
    """After the words by which drivers clear a connection no question answers to its name, and none is charged."""
    connection = alice.pgconn
    alice.execute(f"PREPARE q AS {COUNT}")
    connection.prepare(b"p", COUNT.encode())
    for statement in ending.split("; "):
        alice.execute(statement)
    with charging(gateway, 0):
        for result in (
            connection.exec_(b"EXECUTE q"),
            connection.exec_(b"EXECUTE p"),
            connection.exec_prepared(b"q", None),
            connection.exec_prepared(b"p", None),
            connection.describe_prepared(b"p"),
        ):
            assert result.error_field(pq.DiagnosticField.SQLSTATE) == b"26000"


def test_a_name_given_anew_means_the_new_statement(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """A question that had the name before is neither answered nor charged."""
    connection = alice.pgconn
    connection.prepare(b"q", COUNT.encode())
    alice.execute("DEALLOCATE q")
    alice.execute("PREPARE q AS SELECT 7")
    with charging(gateway, 0):
        assert values_of(connection.exec_(b"EXECUTE q")) == [["7"]]
        assert values_of(connection.exec_prepared(b"q", None)) == [["7"]]


def test_a_pipeline_is_answered_in_its_order(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """Without a Sync in between: a name is given, used and taken away."""
    with charging(gateway, 1), alice.pipeline():
        alice.execute(f"PREPARE q AS {COUNT}")
        counted = alice.execute("EXECUTE q")
        alice.execute("DEALLOCATE q")
        assert len(counted.fetchall()) == 1
    with pytest.raises(psycopg.errors.InvalidSqlStatementName):
        in_pipeline(alice, "EXECUTE q")


def test_a_failed_statement_of_a_pipeline_takes_the_rest_with_it(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """An EXECUTE behind an error is skipped, and not charged."""
    alice.execute(f"PREPARE q AS {COUNT}")
    with charging(gateway, 0), pytest.raises(psycopg.errors.DivisionByZero):
        in_pipeline(alice, "SELECT 1 / 0", "EXECUTE q")
    with charging(gateway, 1):
        alice.execute("EXECUTE q")
