"""psycopg 3: text and binary, cursors of every kind, pipelines, copies, prepared statements, async, cancelling."""

import asyncio
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import UTC, date, datetime
from decimal import Decimal

import psycopg
import pytest
from psycopg import errors
from psycopg.pq import TransactionStatus
from psycopg.rows import dict_row
from wire.gateways import WireGateway

_REGIONS = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"
_ROWS = [("east", 24), ("north", 36), ("south", 20), ("west", 12), (None, 4)]
_MOMENT = datetime(2024, 2, 29, 12, 30)  # noqa: DTZ001 - what has no zone in SQL has none here
_LATER = datetime(2026, 1, 1, 3, 4)  # noqa: DTZ001 - see above
_ENDLESS = "SELECT count(*) FROM pg_attribute a, pg_attribute b, pg_attribute c WHERE a.attname || b.attname || c.attname = 'x'"


@contextmanager
def charging(gateway: WireGateway, count: int) -> Iterator[None]:
    """So many questions are charged in the block."""
    before = gateway.charged()
    yield
    assert gateway.charged() == before + count


def status(connection: psycopg.Connection) -> TransactionStatus:
    """How the transaction stands by now."""
    return connection.info.transaction_status


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_reads_values_of_every_type(
    alice: psycopg.Connection,
    plain: psycopg.Connection,
    binary: bool,  # noqa: FBT001 - a parameter
) -> None:
    """In both formats they are the values that PostgreSQL gives."""
    text = """SELECT COUNT(*) AS many, AVG(birth_year) AS mean, SUM(birth_year) AS total,
        MIN(birth_year) AS least, AVG(CAST(income AS double precision)) AS floating,
        BOOL_OR(TRUE) AS truth, COUNT(*)::text AS words, DATE '2024-02-29' AS day,
        TIMESTAMP '2024-02-29 12:30' AS moment, ARRAY[COUNT(*), 1] AS list, NULL::numeric(12,2) AS nothing
        FROM patients"""
    text = text.replace("BOOL_OR(TRUE)", "COUNT(*) > 5")
    ours = alice.execute(text, binary=binary).fetchone()
    theirs = plain.execute(text, binary=binary).fetchone()
    assert ours is not None
    assert theirs is not None
    assert [type(cell) for cell in ours] == [type(cell) for cell in theirs]
    assert ours[0] == 96
    assert (ours[7], ours[8], ours[9]) == (
        date(2024, 2, 29),
        _MOMENT,
        [96, 1],
    )
    assert ours[1] == pytest.approx(theirs[1], rel=Decimal("1e-9"))


@pytest.mark.parametrize("binary", [False, True])
def test_psycopg_binds_values_of_every_type(
    alice: psycopg.Connection,
    plain: psycopg.Connection,
    binary: bool,  # noqa: FBT001 - a parameter
) -> None:
    """Texts with everything in them, numbers, dates, lists and NULL mean what they mean in PostgreSQL."""
    mark = "%b" if binary else "%t"
    marks = [mark] * 6
    text = """SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id
        WHERE v.diagnosis = ANY({}) AND v.cost > {} AND v.visit_date >= {} AND v.admitted < {}
        AND (p.smoker = {} OR p.smoker IS NULL) AND p.birth_year > {}""".format(*marks)
    values = (
        ["crohn's", 'ÄÖ "q", {x}', "flu"],
        Decimal("12.34"),
        date(2020, 6, 1),
        _LATER,
        True,
        1930,
    )
    expected = plain.execute(text, values).fetchone()
    assert alice.execute(text, values).fetchone() == expected
    assert expected is not None
    assert expected[0] > 0


def test_psycopg_describes_for_free(gateway: WireGateway, alice: psycopg.Connection) -> None:
    """Parse, Bind and Describe charge nothing; each Execute of a prepared question is one question."""
    pgconn = alice.pgconn
    with charging(gateway, 0):
        pgconn.prepare(b"mine", _REGIONS.encode())
        described = pgconn.describe_prepared(b"mine")
    assert [described.fname(place) for place in range(described.nfields)] == [b"region", b"n"]
    with charging(gateway, 2):
        for _ in range(2):
            assert pgconn.exec_prepared(b"mine", []).ntuples == 5
    with charging(gateway, 2):
        for _ in range(2):
            assert alice.execute(_REGIONS, prepare=True).fetchall() == _ROWS


@pytest.mark.parametrize("binary", [False, True])
def test_named_cursor_is_one_question(
    gateway: WireGateway,
    binary: bool,  # noqa: FBT001 - a parameter
) -> None:
    """However often it is fetched from, forth and back."""
    with (
        charging(gateway, 1),
        gateway.connect(autocommit=False) as connection,
        connection.cursor("mine", scrollable=True) as cursor,
    ):
        cursor.execute(_REGIONS, binary=binary)
        assert cursor.fetchmany(2) == _ROWS[:2]
        assert cursor.fetchone() == _ROWS[2]
        cursor.scroll(-2)
        assert cursor.fetchone() == _ROWS[1]
        cursor.scroll(0, mode="absolute")
        assert cursor.fetchall() == _ROWS
        cursor.scroll(1, mode="absolute")
        assert list(cursor) == _ROWS[1:]


def test_named_cursor_is_held_after_its_transaction(gateway: WireGateway) -> None:
    """WITH HOLD: the rows outlive COMMIT, and are charged once."""
    with (
        charging(gateway, 1),
        gateway.connect(autocommit=False) as connection,
        connection.cursor("held", withhold=True) as cursor,
    ):
        cursor.execute(_REGIONS)
        assert cursor.fetchone() == _ROWS[0]
        connection.commit()
        assert cursor.fetchall() == _ROWS[1:]


def test_sql_cursors_move_as_in_postgresql(gateway: WireGateway, alice: psycopg.Connection) -> None:
    """DECLARE with parameters, FETCH in every direction, MOVE and CLOSE; one question each."""
    with charging(gateway, 2), alice.transaction():
        alice.execute(f"DECLARE mine SCROLL CURSOR FOR {_REGIONS}")
        assert alice.execute("FETCH 2 FROM mine").fetchall() == _ROWS[:2]
        assert alice.execute("MOVE FORWARD 1 IN mine").statusmessage == "MOVE 1"
        assert alice.execute("FETCH BACKWARD 1 FROM mine").fetchall() == [_ROWS[1]]
        assert alice.execute("FETCH LAST FROM mine").fetchall() == [_ROWS[-1]]
        assert alice.execute("FETCH ABSOLUTE 1 FROM mine").fetchall() == [_ROWS[0]]
        assert alice.execute("FETCH ALL FROM mine").fetchall() == _ROWS[1:]
        alice.execute(
            "DECLARE other CURSOR FOR SELECT COUNT(*) FROM patients WHERE region = 'north'"
        )
        assert alice.execute("FETCH 1 FROM other").fetchall() == [(36,)]
        alice.execute("CLOSE mine")
        with pytest.raises(errors.InvalidCursorName), alice.transaction():
            alice.execute("FETCH 1 FROM mine")


def test_portal_that_is_suspended_is_one_question(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """Rows read in chunks, as drivers with a fetch size do."""
    with charging(gateway, 1), alice.cursor() as cursor:
        assert list(cursor.stream(_REGIONS, size=2)) == _ROWS


def test_pipeline_charges_what_it_answers(gateway: WireGateway, alice: psycopg.Connection) -> None:
    """Questions and chatter in one pipeline, each answered in its place."""
    with charging(gateway, 2), alice.pipeline():
        asked = [
            alice.execute(text)
            for text in (_REGIONS, "SELECT 7", "SELECT COUNT(*) FROM visits", "SHOW timezone")
        ]
        found = [cursor.fetchall() for cursor in asked]
    assert found[0] == _ROWS
    assert found[1] == [(7,)]
    assert found[2][0][0] > 200
    assert len(found[3]) == 1


def test_pipeline_charges_nothing_for_what_an_error_skips(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """After a refusal everything up to the next Sync is skipped, and free."""

    def ask() -> None:
        with alice.pipeline():
            first = alice.execute("SELECT COUNT(*) FROM visits")
            alice.execute("SELECT * FROM patients")
            alice.execute(_REGIONS)
            alice.execute("SELECT COUNT(*) FROM patients")
            first.fetchall()

    with charging(gateway, 1), pytest.raises(errors.InsufficientPrivilege) as refused:
        ask()
    assert "GW110" in str(refused.value.diag.message_detail)
    assert alice.execute("SELECT 1").fetchone() == (1,)


@pytest.mark.parametrize(
    ("options", "begins"),
    [
        ("", b"east\t24\n"),
        ("(FORMAT csv, HEADER)", b"region,n\n"),
        ("WITH CSV", b"east,24\n"),
        ("(FORMAT binary)", b"PGCOPY\n\xff\r\n\x00"),
    ],
)
def test_copy_is_one_question(
    gateway: WireGateway, alice: psycopg.Connection, options: str, begins: bytes
) -> None:
    """COPY (…) TO STDOUT in every format."""
    with (
        charging(gateway, 1),
        alice.cursor() as cursor,
        cursor.copy(f"COPY ({_REGIONS}) TO STDOUT {options}") as copy,
    ):
        data = b"".join(bytes(one) for one in copy)
    assert data.startswith(begins)


def test_copy_gives_typed_rows(alice: psycopg.Connection) -> None:
    """Binary rows are read by the types that the question has."""
    with (
        alice.cursor() as cursor,
        cursor.copy(f"COPY ({_REGIONS}) TO STDOUT (FORMAT binary)") as copy,
    ):
        copy.set_types(["text", "int8"])
        assert list(copy.rows()) == _ROWS


@pytest.mark.parametrize(
    "text",
    [
        "SELECT * FROM visits LIMIT 100",
        "COPY visits TO STDOUT",
        "COPY (SELECT * FROM visits) TO STDOUT",
        "DECLARE mine CURSOR FOR SELECT * FROM visits",
        "SELECT COUNT(*) FROM nowhere",
        "SELECT COUNT(nothing) FROM visits",
        "SELECT COUNT(*) FROM",
        "DELETE FROM visits",
        "CREATE TABLE mine (a int)",
        "LISTEN a",
        "SET session_replication_role = 'replica'",
    ],
)
def test_refusal_is_free_and_fails_the_transaction(gateway: WireGateway, text: str) -> None:
    """What is refused costs nothing; inside a transaction it leaves it failed, until ROLLBACK."""
    with charging(gateway, 0), gateway.connect(autocommit=False) as connection:
        connection.execute("SELECT 1")
        assert status(connection) == TransactionStatus.INTRANS
        with pytest.raises(psycopg.Error):
            connection.execute(text)
        assert status(connection) == TransactionStatus.INERROR
        for again in ("SELECT 1", _REGIONS):
            with pytest.raises(errors.InFailedSqlTransaction):
                connection.execute(again)
        connection.rollback()
        assert status(connection) == TransactionStatus.IDLE


def test_savepoint_outlives_a_refusal(gateway: WireGateway) -> None:
    """Drivers set savepoints around what may fail; what follows is answered."""
    with charging(gateway, 1), gateway.connect(autocommit=False) as connection:
        with pytest.raises(errors.InsufficientPrivilege), connection.transaction():
            connection.execute("SELECT * FROM patients")
        with connection.transaction():
            assert connection.execute(_REGIONS).fetchall() == _ROWS


def test_question_after_a_refusal_is_answered_in_autocommit(alice: psycopg.Connection) -> None:
    """A refusal outside a transaction leaves the connection as it was."""
    with pytest.raises(errors.InsufficientPrivilege):
        alice.execute("SELECT * FROM patients")
    assert alice.info.transaction_status == TransactionStatus.IDLE
    assert alice.execute(_REGIONS).fetchall() == _ROWS


def test_hint_of_a_preview_of_rows_can_be_asked(alice: psycopg.Connection) -> None:
    """The aggregate that the hint of a refused preview names is answered."""
    for text, table in (
        ("SELECT * FROM visits LIMIT 100", "visits"),
        ('SELECT * FROM "public"."patients" LIMIT 1001', "patients"),
        ("SELECT t.* FROM public.visits t ORDER BY t.cost LIMIT 200", "visits"),
        ("TABLE patients", "patients"),
    ):
        with pytest.raises(errors.InsufficientPrivilege) as refused:
            alice.execute(text)
        hint = refused.value.diag.message_hint or ""
        asked = hint.removeprefix("use an aggregate, such as ")
        assert asked == f"SELECT COUNT(*) FROM {table}"
        assert alice.execute(asked).fetchall()


def test_notice_says_what_a_question_meets(alice: psycopg.Connection) -> None:
    """SHOW, SET and RESET of the gateway's settings work, and what cannot be set is refused."""
    alice.execute("SET gateway.purpose = 'care-quality'")
    assert alice.execute("SHOW gateway.purpose").fetchone() == ("care-quality",)
    assert alice.execute(_REGIONS).fetchall() == _ROWS
    alice.execute("SET gateway.purpose = 'marketing'")
    with pytest.raises(errors.InsufficientPrivilege):
        alice.execute(_REGIONS)
    alice.execute("RESET gateway.purpose")
    assert alice.execute(_REGIONS).fetchall() == _ROWS


def test_settings_come_with_the_connection(gateway: WireGateway) -> None:
    """`options` carry settings, and PostgreSQL's own besides."""
    options = "-c gateway.purpose=care-quality -c timezone=Europe/Berlin"
    with gateway.connect(options=options, application_name="a report") as connection:
        assert connection.execute("SHOW gateway.purpose").fetchone() == ("care-quality",)
        assert connection.info.parameter_status("TimeZone") == "Europe/Berlin"
        assert connection.execute("SHOW application_name").fetchone() == ("a report",)
        assert connection.execute(_REGIONS).fetchall() == _ROWS


def test_own_tables_say_what_was_asked(alice: psycopg.Connection) -> None:
    """`gateway.queries` has the questions, refused ones too, and their prices."""
    alice.execute("SELECT COUNT(*) AS told_again FROM patients")
    with pytest.raises(errors.InsufficientPrivilege):
        alice.execute("SELECT name AS told_again FROM patients")
    with alice.cursor(row_factory=dict_row) as cursor:
        cursor.execute(
            "SELECT * FROM gateway.queries WHERE sql LIKE '%AS told\\_again%' ORDER BY at"
        )
        answered, refused = cursor.fetchall()[:2]
    assert (answered["outcome"], refused["outcome"]) == ("answered", "refused")
    assert answered["charged_epsilon"] > 0 == refused["charged_epsilon"]


def test_statement_is_cancelled_on_the_twin(alice: psycopg.Connection) -> None:
    """A CancelRequest ends what runs with 57014, and the connection lives on."""
    stopped = threading.Event()

    def cancel() -> None:
        while not stopped.wait(0.2):  # it may come before the statement
            alice.cancel_safe(timeout=20)

    thread = threading.Thread(target=cancel)
    thread.start()
    try:
        with pytest.raises(errors.QueryCanceled):
            alice.execute(_ENDLESS)
    finally:
        stopped.set()
        thread.join()
    assert alice.execute(_REGIONS).fetchall() == _ROWS


def test_async_connections_are_answered_side_by_side(gateway: WireGateway) -> None:
    """Several at once, each with its own transaction."""

    async def ask() -> list[tuple[object, ...]]:
        async with await psycopg.AsyncConnection.connect(gateway.url(), connect_timeout=20) as one:
            cursor = await one.execute(_REGIONS)
            return await cursor.fetchall()

    async def everybody() -> list[list[tuple[object, ...]]]:
        return await asyncio.gather(*(ask() for _ in range(4)))

    with charging(gateway, 4):
        assert asyncio.run(everybody()) == [_ROWS] * 4


def test_subject_sees_the_rows_of_a_rule(gateway: WireGateway) -> None:
    """Bob's rule has a condition on rows: his answers are about these, and his account pays."""
    with charging(gateway, 0), gateway.connect("bob") as bob:
        before = gateway.charged("bob")
        assert bob.execute(_REGIONS).fetchall() == [("north", 36)]
        assert gateway.charged("bob") == before + 1


def test_connection_is_inside_tls_when_asked(gateway: WireGateway) -> None:
    """The whole way is encrypted, and answers are the same."""
    with psycopg.connect(gateway.url(tls=True), connect_timeout=20) as connection:
        assert connection.pgconn.ssl_in_use
        assert connection.execute(_REGIONS).fetchall() == _ROWS


_NOBODY = "SELECT sum(income) / count(*) AS x, count(*) FROM patients WHERE birth_year = 1921"


@pytest.mark.parametrize(
    "before",
    ["", "PREPARE q AS ", "COPY ", "DECLARE c CURSOR WITH HOLD FOR "],
    ids=["query", "prepared", "copy", "cursor"],
)
def test_number_without_a_value_is_null_with_a_notice(
    gateway: WireGateway, alice: psycopg.Connection, before: str
) -> None:
    """However it is asked; and in a transaction, which goes on."""
    notices: list[str] = []
    alice.add_notice_handler(lambda one: notices.append(one.message_detail or ""))
    with charging(gateway, 1), alice.transaction():
        if before == "COPY ":
            with alice.cursor().copy(f"COPY ({_NOBODY}) TO STDOUT") as copy:
                assert [bytes(one) for one in copy] == [b"\\N\t0\n"]
        else:
            found = alice.execute(f"{before}{_NOBODY}")
            if before:
                found = alice.execute("EXECUTE q" if before[0] == "P" else "FETCH ALL FROM c")
            assert found.fetchall() == [(None, 0)]
    assert ["NULL stands where" in one for one in notices] == [True]


def test_quotient_by_a_literal_zero_is_the_error_of_postgresql_and_costs_nothing(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """It is found before the charge."""
    with charging(gateway, 0), pytest.raises(psycopg.errors.DivisionByZero):
        alice.execute("SELECT count(*), 1 / 0 FROM patients")


def test_moments_are_bound_and_shown_in_the_time_zone_of_the_session(
    gateway: WireGateway, plain: psycopg.Connection
) -> None:
    """An aware datetime is a moment, a naive one what the clock of the session shows; results come back aware."""
    sql = """SELECT date_trunc('month', began), COUNT(*) FROM calls
        WHERE began >= %s AND began::date <= %s GROUP BY 1 ORDER BY 1"""
    given = (datetime(2024, 3, 31, 1, 30, tzinfo=UTC), date(2024, 12, 31))
    for zone in ("Europe/Berlin", "America/New_York"):
        with gateway.connect() as connection, plain.transaction():
            connection.execute(f"SET TIME ZONE '{zone}'")
            plain.execute(f"SET LOCAL TIME ZONE '{zone}'")
            expected: dict[datetime, int] = dict(plain.execute(sql, given).fetchall())
            found = {key: many for key, many in connection.execute(sql, given) if many}
            assert found == expected
            assert all(str(one.tzinfo) == zone for one in found)
        with gateway.connect() as connection:
            connection.execute(f"SET TIME ZONE '{zone}'")
            with pytest.raises(psycopg.Error, match="Atlantis"):
                connection.execute("SET TIME ZONE 'Europe/Atlantis'")
