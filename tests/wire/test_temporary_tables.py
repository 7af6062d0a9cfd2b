"""CREATE TEMP TABLE … AS and SELECT … INTO TEMP keep an answer for the connection: paid for once, then read for nothing.

Tables with columns of one's own are refused as PostgreSQL refuses what it has not, so that tools go on without them:
Tableau looks at each connection whether it may make one, and writes subqueries where it may not.
"""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from wire.gateways import WireGateway

PROBE = (
    'CREATE LOCAL TEMPORARY TABLE "#Tableau_1_2_Connect" ("COL" INTEGER) ON COMMIT PRESERVE ROWS'
)
GROUPED = "SELECT region, count(*) AS n, sum(income) AS mean FROM patients GROUP BY region"
KEEP = f'CREATE LOCAL TEMPORARY TABLE "#T" ON COMMIT PRESERVE ROWS AS {GROUPED}'


RECURSIVE = """WITH RECURSIVE x(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM x WHERE n < 3)
SELECT * FROM x, "#T" AS t ORDER BY x.n, t.region"""


@contextmanager
def charging(gateway: WireGateway, count: int) -> Iterator[None]:
    """So many questions are charged in the block."""
    before = gateway.charged()
    yield
    assert gateway.charged() == before + count


@pytest.mark.parametrize(
    "keep",
    [
        KEEP,
        'SELECT region, count(*) AS n, sum(income) AS mean INTO TEMP TABLE "#T" FROM patients GROUP BY region',
        f'CREATE TEMP TABLE IF NOT EXISTS "#T" AS ({GROUPED}) WITH DATA',
    ],
)
@pytest.mark.parametrize(
    "read",
    [
        'SELECT * FROM "#T" ORDER BY region',
        'TABLE "#T" ORDER BY 1',
        "SELECT sum(n), max(mean) FROM \"#T\" WHERE region <> 'north'",
        'SELECT a.region, b.n FROM "#T" a JOIN "#T" AS b USING (region) ORDER BY 1',
        'WITH x AS (SELECT * FROM "#T") SELECT count(*) FROM x',
        RECURSIVE,
        '(SELECT pg_typeof(n), pg_typeof(mean), pg_typeof(region) FROM "#T" LIMIT 1)',
        "SELECT 1 FROM pg_class WHERE relname LIKE '%T%' AND relname IN (SELECT region FROM \"#T\")",
    ],
)
def test_what_is_kept_reads_as_in_postgresql(
    gateway: WireGateway,
    alice: psycopg.Connection,
    plain: psycopg.Connection,
    keep: str,
    read: str,
) -> None:
    """The same rows and types as a temporary table has there; one charge, and none for reading."""
    with plain.transaction(force_rollback=True):
        tag = plain.execute(keep, prepare=False).statusmessage
        cursor = plain.execute(read, prepare=False, binary=True)
        wanted, types = cursor.fetchall(), [one.type_code for one in cursor.description or ()]
    with charging(gateway, 1):
        kept = alice.execute(keep, prepare=True)
        assert kept.statusmessage == tag
        cursor = alice.execute(read, binary=True)
        assert cursor.fetchall() == wanted
        assert [one.type_code for one in cursor.description or ()] == types


def test_texts_are_kept_as_they_are(alice: psycopg.Connection) -> None:
    """Quotes, backslashes, braces, lines, the empty text and NULL; names of columns too."""
    texts = ["it's", 'a "b"', "\\", "{x,y}", "line\nline", "", None, "NULL", "Ünal"]
    values = ", ".join(
        f"(NULL, {place})" if text is None else "('{}', {})".format(text.replace("'", "''"), place)
        for place, text in enumerate(texts)
    )
    alice.execute(f'CREATE TEMP TABLE t ("a "" b", c) AS SELECT * FROM (VALUES {values}) AS v')
    found = alice.execute('SELECT "a "" b" FROM t ORDER BY c').fetchall()
    assert [row[0] for row in found] == texts


def test_nobody_else_sees_what_is_kept(gateway: WireGateway, alice: psycopg.Connection) -> None:
    """Neither rows nor names: not the same subject in another connection, and not in any catalog."""
    alice.execute(KEEP)
    with gateway.connect() as other, gateway.connect("bob") as bob:
        for connection in (other, bob):
            with pytest.raises(psycopg.errors.UndefinedTable):
                connection.execute('SELECT * FROM "#T"')
            for seen in (
                "SELECT count(*) FROM pg_class WHERE relname = '#T' OR relpersistence = 't'",
                "SELECT count(*) FROM pg_attribute WHERE attname = 'mean'",
                "SELECT count(*) FROM pg_settings WHERE name LIKE 'gateway.kept%'",
            ):
                assert connection.execute(seen).fetchone() == (0,)
            row = connection.execute("SELECT current_setting('gateway.kept_1_0', true)").fetchone()
            assert row == (None,)


def test_what_is_kept_goes_with_its_transaction(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """Undone with it, there after a commit; what was given up comes back when that is undone."""
    with charging(gateway, 2):
        alice.execute("BEGIN")
        alice.execute(KEEP)
        assert alice.execute('SELECT count(*) FROM "#T"').fetchone() == (5,)
        alice.execute("ROLLBACK")
        with pytest.raises(psycopg.errors.UndefinedTable):
            alice.execute('SELECT * FROM "#T"')
        alice.execute("BEGIN")
        alice.execute(KEEP)
        alice.execute("COMMIT")
        assert alice.execute('SELECT count(*) FROM "#T"').fetchone() == (5,)
        alice.execute("BEGIN")
        alice.execute('DROP TABLE "#T"')
        alice.execute("ROLLBACK")
        assert alice.execute('SELECT count(*) FROM "#T"').fetchone() == (5,)
        with pytest.raises(psycopg.errors.DivisionByZero):
            alice.execute("SELECT 1 / 0")
        assert alice.execute('SELECT count(*) FROM "#T"').fetchone() == (5,)


def test_no_rows_are_read_of_what_a_savepoint_undid(alice: psycopg.Connection) -> None:
    """It is an error, and never an answer without rows."""
    alice.execute("BEGIN")
    alice.execute("SAVEPOINT s")
    alice.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
    alice.execute("ROLLBACK TO s")
    with pytest.raises(psycopg.Error):
        alice.execute("SELECT * FROM t")
    alice.execute("ROLLBACK")
    alice.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
    alice.execute("RESET ALL")
    with pytest.raises(psycopg.Error):
        alice.execute("SELECT * FROM t")


@pytest.mark.parametrize(
    "ending", ["DROP TABLE t", "DISCARD ALL", "DISCARD TEMP", "DROP TABLE IF EXISTS x, t"]
)
def test_what_is_given_up_is_gone(alice: psycopg.Connection, ending: str) -> None:
    """Its name is free again."""
    for _ in range(2):
        alice.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
        with pytest.raises(psycopg.errors.DuplicateTable):
            alice.execute("CREATE TEMP TABLE t AS SELECT 2 AS a")
        alice.execute(ending)
        with pytest.raises(psycopg.errors.UndefinedTable):
            alice.execute("SELECT * FROM t")


@pytest.mark.parametrize(
    ("statement", "sqlstate"),
    [
        (PROBE, "0A000"),
        ('DROP TABLE "#Tableau_1_2_Connect"', "0A000"),
        ("DROP TABLE patients", "0A000"),
        ("DROP TABLE IF EXISTS patients", "0A000"),
        ("CREATE TEMP TABLE patients AS SELECT 1 AS a", "0A000"),
        ("CREATE TABLE t AS SELECT 1 AS a", "0A000"),
        ("CREATE TEMP TABLE pg_temp.t AS SELECT 1 AS a", "0A000"),
        ("CREATE TEMP TABLE t AS SELECT 1 AS a WITH NO DATA", "0A000"),
        ("CREATE TEMP TABLE t AS SELECT 1 AS a, 2 AS a", "42601"),
        ("CREATE TEMP TABLE t (a, b) AS SELECT 1", "42601"),
        ("CREATE TEMP TABLE t AS SELECT * FROM patients", "42501"),
        ("CREATE TEMP TABLE t AS SELECT nothing FROM patients", "42703"),
        ("CREATE TEMP TABLE t AS DELETE FROM patients", "0A000"),
        ("CREATE TEMP TABLE t AS SELECT * FROM generate_series(1, 100001)", "54000"),
        ("CREATE TEMP TABLE t AS SELECT repeat('x', 1000) FROM generate_series(1, 20000)", "54000"),
        ("INSERT INTO k VALUES (1)", "0A000"),
        ("SELECT count(*) FROM patients JOIN k ON patient_id = a", "0A000"),
    ],
)
def test_what_is_refused_is_free(
    gateway: WireGateway, alice: psycopg.Connection, statement: str, sqlstate: str
) -> None:
    """In a transaction or outside, and the connection goes on; nothing is kept of it."""
    alice.execute("CREATE TEMP TABLE k AS SELECT 1 AS a")
    with charging(gateway, 0):
        with pytest.raises(psycopg.Error) as refused:
            alice.execute(statement)
        assert refused.value.sqlstate == sqlstate
        with pytest.raises(psycopg.Error), alice.transaction():
            alice.execute(statement, prepare=True)
    with pytest.raises(psycopg.errors.UndefinedTable):
        alice.execute("SELECT * FROM t")
    assert alice.execute("SELECT * FROM k").fetchone() == (1,)


def test_a_name_may_be_a_columns_elsewhere(gateway: WireGateway, alice: psycopg.Connection) -> None:
    """A question in which something is called like what is kept is a question."""
    alice.execute("CREATE TEMP TABLE region AS SELECT 1 AS n")
    with charging(gateway, 1):
        rows = alice.execute(
            "SELECT region, count(*) AS n FROM patients GROUP BY region"
        ).fetchall()
        assert len(rows) == 5
    with charging(gateway, 0):
        assert alice.execute("SELECT n AS region FROM region").fetchall() == [(1,)]


def test_no_more_than_so_many_answers_are_kept(alice: psycopg.Connection) -> None:
    """Sixty-four; one that is given up makes room."""
    for number in range(64):
        alice.execute(f"CREATE TEMP TABLE t{number} AS SELECT 1 AS a")
    with pytest.raises(psycopg.errors.ProgramLimitExceeded):
        alice.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")
    alice.execute("DROP TABLE t0, t1")
    alice.execute("CREATE TEMP TABLE t AS SELECT 1 AS a")


def test_what_is_kept_goes_by_cursors_copies_and_names(
    gateway: WireGateway, alice: psycopg.Connection
) -> None:
    """Wherever a query of the twin's may stand, and built upon another."""
    alice.execute(KEEP)
    with charging(gateway, 0):
        alice.execute('CREATE TEMP TABLE u AS SELECT sum(n) AS s FROM "#T"')
        total = alice.execute("SELECT s FROM u").fetchone()
        assert total is not None
        with alice.cursor().copy("COPY (SELECT s FROM u) TO STDOUT") as copied:
            assert b"".join(copied).decode() == f"{total[0]}\n"
        with alice.transaction(), alice.cursor("c") as cursor:
            cursor.execute('SELECT * FROM "#T"')
            assert len(cursor.fetchall()) == 5
        alice.execute('PREPARE p (bigint) AS SELECT count(*) FROM "#T" WHERE n > $1')
        assert alice.execute("EXECUTE p(0)").fetchone() == (5,)
        assert alice.execute('SELECT count(*) FROM "#T" WHERE n > %s', (0,)).fetchone() == (5,)
