"""Sessions: their settings, the gateway's clock, and what they bring back."""

import threading
import time
from collections.abc import Callable

import pytest
from fix_twin import CLINIC, ENDLESS, OTHER, state
from laws import for_each

from gateway.errors import REASON, Code, Reason
from gateway.twin import Twin, TwinRefused, TwinSession
from gateway.twin.errors import code_of
from gateway.twin.settings import SESSION

_PARSED_AT = "SELECT timestamptz 'now', $1::integer"
_HUNG_S = 30  # a bound on waiting for ever, not a measurement


def test_settings_that_change_results_are_fixed(analyst: TwinSession) -> None:
    """Every session begins with the same settings, and RESET leads back to them."""
    for name, value in SESSION.items():
        assert analyst.run("SELECT current_setting($1)", [name]) == ((value,),)
    analyst.run("SET DateStyle = 'German'")
    analyst.run("SET search_path = pg_temp")
    analyst.run("RESET ALL")
    assert analyst.run("SELECT current_setting('DateStyle'), current_setting('search_path')") == (
        (SESSION["DateStyle"], SESSION["search_path"]),
    )


def test_environment_of_the_operator_has_no_say(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """PostgreSQL's own variables neither lead a session elsewhere nor change its settings."""
    for name, value in (
        ("PGHOST", "nowhere.invalid"),
        ("PGDATABASE", "postgres"),
        ("PGOPTIONS", "-c search_path=pg_temp"),
        ("PGTZ", "Asia/Tokyo"),
        ("PGDATESTYLE", "German"),
        ("PGCLIENTENCODING", "LATIN1"),
        ("PGAPPNAME", "theirs"),
        ("PGSSLMODE", "require"),
    ):
        monkeypatch.setenv(name, value)
    with twin.session("alice", CLINIC) as session:
        assert session.run(
            "SELECT date '2026-01-31', current_setting('TimeZone'), current_schema(), 'é'"
        ) == (("2026-01-31", "UTC", "public", "é"),)


def test_run_gives_rows_as_text(analyst: TwinSession) -> None:
    """Values come as PostgreSQL writes them, NULL as None, parameters are bound."""
    assert analyst.run("SELECT $1::int + 1, $2::text, NULL, ''", ["41", None]) == (
        ("42", None, None, ""),
    )
    assert len(analyst.run("SELECT generate_series(1, 1000)")) == 1000


def test_statement_is_parsed_once_when_it_runs_again_with_other_parameters(
    analyst: TwinSession,
) -> None:
    """The second run has its own values; `now` as a literal shows when PostgreSQL parsed the text."""
    runs = [analyst.run(_PARSED_AT, [str(number)]) for number in range(12)]
    assert [number for ((_, number),) in runs] == [str(number) for number in range(12)]
    assert len({parsed for ((parsed, _),) in runs}) == 1


def test_statement_is_parsed_anew_when_anything_else_came_between(analyst: TwinSession) -> None:
    """PostgreSQL has another unnamed statement then, or none, and a run never gets that one's rows."""

    def fail() -> None:
        with pytest.raises(TwinRefused):
            analyst.run(_PARSED_AT, ["many"])

    def fail_to_parse() -> None:
        with pytest.raises(TwinRefused):
            analyst.run("SELECT FROM WHERE $1", ["1"])

    between: list[Callable[[], object]] = [
        lambda: analyst.run("SELECT 1"),
        lambda: analyst.run("SELECT $1", ["1"]),
        lambda: analyst.describe("SELECT 'another'"),
        lambda: analyst.search(["public"]),
        fail,
        fail_to_parse,
    ]
    for one in between:
        [(before, _)] = analyst.run(_PARSED_AT, ["1"])
        one()
        [(parsed, number)] = analyst.run(_PARSED_AT, ["2"])
        assert parsed != before
        assert number == "2"


def test_names_are_looked_up_again_when_a_statement_is_not_parsed_again(
    analyst: TwinSession,
) -> None:
    """What a statement itself changes counts for its next run: PostgreSQL analyzes it anew."""
    changes = "SELECT set_config('search_path', $1, false) FROM enabled_roles"
    analyst.search(["information_schema"])
    for path in ("information_schema", "information_schema", "public"):
        assert analyst.run(changes, [path]) == ((path,),)
    with pytest.raises(TwinRefused, check=state("42P01")):
        analyst.run(changes, ["public"])


def test_several_statements_are_refused(analyst: TwinSession) -> None:
    """One statement at a time, whoever sends two."""
    for statement in ("SELECT 1; SELECT 2", "SELECT 1; SET work_mem = '1GB'"):
        for way in (analyst.run, analyst.describe):
            with pytest.raises(TwinRefused, match="multiple commands"):
                way(statement)
    assert analyst.run("SELECT 1;") == (("1",),)


def test_result_that_is_too_long_ends_the_session(analyst: TwinSession) -> None:
    """More rows than allowed are not waited for."""
    with pytest.raises(TwinRefused) as refused:
        analyst.run("SELECT generate_series(1, 1000000000)", most_rows=1000)
    assert refused.value.reason is Reason.LIMIT_EXCEEDED
    with pytest.raises(TwinRefused, check=state("57P01")):
        analyst.run("SELECT 1")


def test_result_of_too_much_text_ends_the_session(
    analyst: TwinSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Few rows may be long: the gateway holds no more of a result than it says."""
    monkeypatch.setattr("gateway.twin.session._LARGEST_RESULT", 1 << 20)
    with pytest.raises(TwinRefused, match="more than 1 MB of text") as refused:
        analyst.run("SELECT repeat('x', 100000) FROM generate_series(1, 1000)")
    assert refused.value.code is Code.TWIN_LIMIT


@pytest.mark.parametrize("statement", ["COPY (SELECT 1) TO STDOUT", "COPY patients FROM STDIN"])
def test_copy_is_refused_and_ends_at_once(attacker: TwinSession, statement: str) -> None:
    """COPY speaks a protocol of its own, which is not spoken here."""
    with pytest.raises(TwinRefused, check=state("0A000", "42501")):
        attacker.run(statement)


def test_statement_over_time_is_cancelled(twin: Twin) -> None:
    """The gateway's clock ends a statement whose session switched PostgreSQL's off; it lives on."""
    with twin.session("alice", CLINIC, limit_s=0.3) as session:
        session.run("SET statement_timeout = 0")
        began = time.monotonic()
        with pytest.raises(TwinRefused, match=r"longer than 0\.3 s") as refused:
            session.run(ENDLESS)
        assert refused.value.reason is Reason.TIMEOUT
        assert time.monotonic() - began < _HUNG_S
        assert session.run("SELECT 1") == (("1",),)


def test_result_that_never_ends_is_cancelled(twin: Twin) -> None:
    """The clock also runs while rows keep coming."""
    with twin.session("alice", CLINIC, limit_s=0.3) as session:
        began = time.monotonic()
        with pytest.raises(TwinRefused, match=r"longer than 0\.3 s"):
            session.run("SELECT generate_series(1, 4000000000)", most_rows=10**12)
        assert time.monotonic() - began < _HUNG_S


def test_result_in_another_encoding_is_refused(analyst: TwinSession) -> None:
    """A session that changed its encoding gets a refusal, not a wrong letter."""
    analyst.run("SET client_encoding = 'LATIN1'")
    with pytest.raises(TwinRefused, check=state("22021")):
        analyst.run("SELECT chr(233)")


def test_session_that_heeds_no_cancel_is_ended(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """When a cancel does not help, the session is terminated from outside."""
    monkeypatch.setattr("gateway.twin.session._GRACE_S", 0.2)
    monkeypatch.setattr("gateway.twin.session._Clock._cancel", lambda _: None)
    session = twin.session("alice", CLINIC, limit_s=0.2)
    with pytest.raises(TwinRefused, match=r"longer than 0\.2 s"):
        session.run(ENDLESS)
    with pytest.raises(TwinRefused, check=state("57P01")):
        session.run("SELECT 1")


def test_clock_gives_up_when_nothing_helps(twin: Twin, monkeypatch: pytest.MonkeyPatch) -> None:
    """A session that can be neither cancelled nor ended is left behind in time."""
    monkeypatch.setattr("gateway.twin.session._GRACE_S", 0.2)
    monkeypatch.setattr("gateway.twin.session._Clock._cancel", lambda _: None)
    monkeypatch.setattr("gateway.twin.supervisor.Life.end_session", lambda *_: None)
    began = time.monotonic()
    with twin.session("alice", CLINIC, limit_s=0.2) as session:
        session.run("SET client_connection_check_interval = '100ms'")
        with pytest.raises(TwinRefused, match=r"longer than 0\.2 s"):
            session.run(ENDLESS)
        assert time.monotonic() - began < _HUNG_S
        with pytest.raises(TwinRefused, check=state("57P01")):
            session.run("SELECT 1")


def test_sessions_run_side_by_side(twin: Twin) -> None:
    """Somebody's long statement does not hold up others, nor the making of databases."""
    with twin.session("alice", CLINIC, limit_s=6) as slow:
        refused: list[TwinRefused] = []
        thread = threading.Thread(target=_collect, args=(slow, refused))
        thread.start()
        with twin.session("bob", OTHER) as quick:
            assert quick.describe("SELECT secret_id FROM secrets").columns
        assert thread.is_alive()
        assert not refused
        thread.join()
        assert refused


def _collect(session: TwinSession, refused: list[TwinRefused]) -> None:
    try:
        session.run(ENDLESS)
    except TwinRefused as error:
        refused.append(error)


@for_each(
    ("sqlstate", "reason"),
    [
        ("53200", Reason.LIMIT_EXCEEDED),
        ("53400", Reason.LIMIT_EXCEEDED),
        ("54001", Reason.LIMIT_EXCEEDED),
        ("57P01", Reason.BACKEND_UNAVAILABLE),
        ("57P03", Reason.BACKEND_UNAVAILABLE),
        ("08006", Reason.BACKEND_UNAVAILABLE),
        ("08P01", Reason.SYNTAX_ERROR),
        ("57014", Reason.TIMEOUT),
        ("25006", Reason.UNSUPPORTED_SQL),
        ("22012", Reason.SYNTAX_ERROR),
        ("42804", Reason.SYNTAX_ERROR),
        ("XX000", Reason.INTERNAL),
        ("ZZZZZ", Reason.INTERNAL),
        ("", Reason.INTERNAL),
    ],
)
def test_every_state_has_a_reason(sqlstate: str, reason: Reason) -> None:
    """What PostgreSQL may say has an outcome class; what we do not know is a failure of ours."""
    assert REASON[code_of(sqlstate)] is reason
