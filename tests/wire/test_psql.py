"""psql, as people use it: its backslash commands, several statements, copies to files, and refusals as it prints them."""

from collections.abc import Callable
from pathlib import Path

import pytest
from wire.clients import E2E_PYTHON, PSQL, run
from wire.gateways import WireGateway

from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.programs import find_programs

# where `make e2e` asks for the clients, a missing one is a failure
pytestmark = pytest.mark.skipif(
    PSQL is None and not E2E_PYTHON, reason="psql is not installed: `make e2e` sees to it"
)

Psql = Callable[..., tuple[str, str]]
_COUNT = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"


@pytest.fixture
def psql(gateway: WireGateway) -> Psql:
    """Runs commands as alice; gives standard output and standard error."""

    def asked(*commands: str, code: int = 0, **changed: str) -> tuple[str, str]:
        options = [part for one in commands for part in ("-c", one)]
        done = run(
            [PSQL or "psql", "-X", "-v", "ON_ERROR_STOP=1", "-P", "pager=off", *options],
            {**gateway.environment(), **changed},
        )
        assert done.returncode == code, done.stderr
        return done.stdout, done.stderr

    return asked


@pytest.mark.parametrize(
    ("command", "shown"),
    [
        (r"\d", ("public | patients | table", "public | visits   | table")),
        (r"\dt", ("public | codes    | table", "public | regions  | table")),
        (r"\d visits", ('Table "public.visits"', "numeric(12,2)", "timestamp without time zone")),
        (r"\d+ patients", ('Table "public.patients"', "birth_year", "integer")),
        (r"\dn", ("public", "List of schemas")),
        (r"\l", ("clinic", "List of databases", "UTF8")),
        (r"\du", ("alice",)),
        (r"\dt public.*", ("patients",)),
        (r"\di", ("patients",)),
        (r"\dv", ()),
        (r"\dT", ()),
        (r"\dp patients", ("Access privileges",)),
        (r"\df", ()),
        (r"\df pg_catalog.lower", ("lower",)),
        (r"\d gateway.budget", ("epsilon_spent",)),
        (r"\conninfo", ('as user "alice"', 'database "clinic"')),
        (r"\encoding", ("UTF8",)),
        (r"\dRs", ()),
    ],
)
def test_psql_describes_what_there_is(psql: Psql, command: str, shown: tuple[str, ...]) -> None:
    """Tables, columns and types stand where psql looks for them, and its commands meet no error."""
    told, errors = psql(command)
    assert errors in ("", "Did not find any relations.\n")
    assert [one for one in shown if one not in told] == []


def test_psql_shows_oneself_alone(psql: Psql) -> None:
    """There is one database and one role, by the names that one came in with; others are not listed."""
    databases, _ = psql(r"\l", "SELECT datname FROM pg_database")
    assert "(1 row)" in databases
    told, _ = psql(r"\du", "SELECT current_database(), current_user, session_user")
    assert " clinic           | alice        | alice" in told
    assert "bob" not in told


def test_psql_answers_several_statements_of_one_command(gateway: WireGateway, psql: Psql) -> None:
    """Each of them, in order, each question charged once."""
    before = gateway.charged()
    told, errors = psql(
        f"SELECT 1 AS first; {_COUNT}; SHOW server_version; SELECT COUNT(*) AS last FROM visits"
    )
    assert errors.count("NOTICE:  price: epsilon ") == 2
    [clipped] = [one for one in errors.splitlines() if not one.startswith("NOTICE:  price: ")]
    assert clipped.startswith("DETAIL:  visits: each patient counts in full up to a norm of ")
    assert [told.index(one) for one in ("first", "region", "server_version", "last")] == sorted(
        told.index(one) for one in ("first", "region", "server_version", "last")
    )
    assert "north  | 36" in told
    assert gateway.charged() == before + 2


def test_psql_stops_at_the_statement_that_fails(gateway: WireGateway, psql: Psql) -> None:
    """What comes after it in one command is neither answered nor charged."""
    before = gateway.charged()
    told, errors = psql(f"{_COUNT}; SELECT * FROM patients; SELECT COUNT(*) FROM visits", code=1)
    assert "north  | 36" in told
    assert "GW110" in errors
    assert gateway.charged() == before + 1


def test_psql_prints_one_notice_for_an_answer(psql: Psql) -> None:
    """Brief of its own accord; as the connection wants it, by SET or from its start; none for a catalog query."""
    line = "NOTICE:  price: epsilon "
    _, brief = psql(_COUNT)
    assert brief.startswith(line)
    assert "; largest 95 % margins: `n` ±0" in brief
    assert brief.count("NOTICE:") == brief.count("\n") == 1
    assert psql("SHOW gateway.notices", r"\d")[1] == ""
    assert psql("SET gateway.notices = off", _COUNT)[1] == ""
    assert psql(_COUNT, PGOPTIONS="-c gateway.notices=off")[1] == ""
    assert psql(_COUNT, PGAPPNAME="a nightly job")[1] == ""
    named, _ = psql("SHOW gateway.notices", PGOPTIONS="-c gateway.notices=full")
    assert "full" in named
    _, both = psql(_COUNT, PGAPPNAME="a nightly job", PGOPTIONS="-c gateway.notices=brief")
    assert both.startswith(line)


def test_psql_without_notices_reads_clips_in_the_history_and_in_explain(psql: Psql) -> None:
    """What counts with less weight is told on request where a NOTICE would be taken for a warning."""
    off = "-c gateway.notices=off"
    visits = "SELECT COUNT(*) AS told FROM visits"
    shown, said = psql(
        visits,
        f"SELECT clipped FROM gateway.queries WHERE sql = '{visits}' ORDER BY at DESC LIMIT 1",
        f"EXPLAIN {visits}",
        PGOPTIONS=off,
    )
    assert said == ""
    assert "visits: norm " in shown
    assert "Notice: visits: each patient counts in full up to a norm of " in shown


def test_psql_prints_what_the_answer_is_not_as_a_detail(psql: Psql) -> None:
    """Under the line of the answer, or alone where the connection wants no more."""
    null = "SELECT COUNT(*) AS n, array_agg(income) AS a FROM patients"
    wanted = "-c gateway.unsupported=null"
    _, brief = psql(null, PGOPTIONS=wanted)
    first, second, *others = brief.splitlines()
    assert first.startswith("NOTICE:  price: epsilon ")
    assert second.startswith("DETAIL:  column `a` is NULL, since it cannot be answered: GW118: ")
    assert others == []
    _, off = psql(null, PGOPTIONS=f"{wanted} -c gateway.notices=off")
    (line,) = off.splitlines()
    assert line == second.replace("DETAIL:", "NOTICE:")


def test_psql_prints_why_something_is_refused(psql: Psql) -> None:
    """A line, a DETAIL that begins with the code, and a HINT."""
    _, errors = psql("SELECT * FROM visits LIMIT 100", code=1)
    lines = errors.splitlines()
    assert lines[0].startswith("ERROR:  ")
    assert lines[1].startswith("DETAIL:  GW110: ")
    assert lines[2].startswith("HINT:  ")
    assert len(lines) == 3


def test_psql_points_at_what_postgresql_does_not_know(psql: Psql) -> None:
    """A misspelt column is told with PostgreSQL's own words and place."""
    _, errors = psql("SELECT regio, COUNT(*) FROM patients GROUP BY 1", code=1)
    assert "regio" in errors
    assert "LINE 1" in errors


@pytest.mark.parametrize(
    ("options", "first"),
    [
        ("csv", "east,24"),
        ("csv header", "region,n"),
        ("(format csv, header true, delimiter ';')", "region;n"),
        ("", "east\t24"),
    ],
)
def test_psql_copies_an_answer_to_a_file(
    gateway: WireGateway, psql: Psql, tmp_path: Path, options: str, first: str
) -> None:
    r"""`\copy (…) to` writes what COPY writes, for the price of one question."""
    before = gateway.charged()
    file = tmp_path / "answer"
    told, errors = psql(rf"\copy ({_COUNT}) to '{file}' {options}")
    assert told == "COPY 5\n"
    assert errors.startswith("NOTICE:  price: epsilon ")
    assert errors.count("\n") == 1
    assert file.read_text().splitlines()[0] == first
    assert gateway.charged() == before + 1


def test_psql_reads_row_by_row_with_fetch_count(gateway: WireGateway, psql: Psql) -> None:
    """`FETCH_COUNT` makes psql use a cursor, which is one question."""
    before = gateway.charged()
    told, _ = psql(r"\set FETCH_COUNT 2", _COUNT)
    assert "north  | 36" in told
    assert gateway.charged() == before + 1


def test_psql_explains_without_a_price(gateway: WireGateway, psql: Psql) -> None:
    """EXPLAIN tells the price; nothing is charged."""
    before = gateway.charged()
    told, _ = psql(f"EXPLAIN {_COUNT}", "SHOW gateway.budget")
    assert "Private Aggregate" in told
    assert "analyst:alice@clinic" in told
    assert gateway.charged() == before


def test_psql_comes_in_by_tls(gateway: WireGateway, psql: Psql) -> None:
    """`sslmode=verify-full` with the certificate that the gateway has."""
    told, _ = psql(
        "SELECT COUNT(*) FROM patients",
        PGHOST="localhost",
        PGHOSTADDR="127.0.0.1",
        PGPORT=str(gateway.tls_port),
        PGSSLMODE="verify-full",
        PGSSLROOTCERT=gateway.certificate,
    )
    assert "96" in told


def test_psql_does_not_come_in_with_another_key(gateway: WireGateway, psql: Psql) -> None:
    """Another subject's key is no password."""
    _, errors = psql("SELECT 1", code=2, PGPASSWORD=gateway.keys["bob"])
    assert 'password authentication failed for user "alice"' in errors


def test_psql_meets_no_dataset_without_a_grant(psql: Psql, gateway: WireGateway) -> None:
    """For a subject without a rule the database does not exist; for another name neither."""
    _, errors = psql("SELECT 1", code=2, PGUSER="eve", PGPASSWORD=gateway.keys["eve"])
    assert 'database "clinic" does not exist' in errors
    _, unknown = psql("SELECT 1", code=2, PGDATABASE="nowhere")
    assert 'database "nowhere" does not exist' in unknown


def test_pg_dump_writes_the_schema_that_alice_sees(gateway: WireGateway) -> None:
    """Tables, types and keys of the source, without a row; its settings and locks are accepted."""
    dump = find_programs(None, OsUser.own()).path("pg_dump")
    done = run([str(dump), "--schema-only"], gateway.environment())
    assert (done.returncode, done.stderr) == (0, "")
    for written in (
        "CREATE TABLE public.visits (",
        "cost numeric(12,2)",
        "ADD CONSTRAINT patients_pkey PRIMARY KEY (patient_id)",
        "FOREIGN KEY (patient_id) REFERENCES public.patients(patient_id)",
    ):
        assert written in done.stdout
