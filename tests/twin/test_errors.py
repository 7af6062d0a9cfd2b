"""What the twin refuses is a refusal like every other, and says no more than it may."""

import pytest
from fix_twin import CLINIC, ENDLESS, life_of, state
from laws import for_each
from psycopg.pq import DiagnosticField

from gateway.errors import HTTP, REASON, SQLSTATE, Code, Reason, Refusal
from gateway.events import Crashed, Event
from gateway.twin import Twin, TwinRefused, TwinSession
from gateway.twin.errors import session_gone, twin_not_running, twin_refusal
from gateway.twin.pool import log_in

_CODES = {
    "42P01": Code.TWIN_NOT_PERMITTED,
    "42703": Code.TWIN_NOT_PERMITTED,
    "42501": Code.TWIN_NOT_PERMITTED,
    "42601": Code.TWIN_SYNTAX,
    "22P02": Code.TWIN_SYNTAX,
    "42883": Code.TWIN_UNSUPPORTED,
    "0A000": Code.TWIN_UNSUPPORTED,
    "53200": Code.TWIN_LIMIT,
    "54001": Code.TWIN_LIMIT,
    "57014": Code.TWIN_TIMEOUT,
    "57P01": Code.TWIN_UNAVAILABLE,
    "08006": Code.TWIN_UNAVAILABLE,
}
_UNEXPECTED = ("XX001", "ZZZZZ", "28P01", "P0001", "42", "")
_SECRET = "the text of PostgreSQL"


class _Said:
    """An error as libpq hands it over."""

    def __init__(self, sqlstate: str) -> None:
        self._fields = {
            DiagnosticField.SQLSTATE: sqlstate.encode(),
            DiagnosticField.MESSAGE_PRIMARY: _SECRET.encode(),
            DiagnosticField.MESSAGE_HINT: _SECRET.encode(),
            DiagnosticField.STATEMENT_POSITION: b"7",
        }

    def error_field(self, field: DiagnosticField) -> bytes | None:
        return self._fields.get(field)


def _refused(sqlstate: str) -> TwinRefused:
    return twin_refusal(_Said(sqlstate))  # type: ignore[arg-type]  # of a result it has what is asked


@for_each(("sqlstate", "code"), _CODES.items())
def test_refusal_has_a_code_and_keeps_the_sqlstate_when_it_is_expected(
    sqlstate: str, code: Code
) -> None:
    """Front ends find code, reason and status as with every refusal, and PostgreSQL's own SQLSTATE."""
    refusal: Refusal = TwinRefused(sqlstate)
    assert refusal.code is code
    assert refusal.sqlstate == sqlstate
    assert refusal.reason is REASON[code]


def test_each_outcome_of_the_twin_has_one_code_of_its_own() -> None:
    """Reason, status and SQLSTATE of a code are total, whatever PostgreSQL adds."""
    codes = {code for code in Code if code.name.startswith("TWIN_")}
    assert codes == set(_CODES.values())
    assert len({REASON[code] for code in codes}) == len(codes)
    for code in codes:
        assert Refusal(code).sqlstate == SQLSTATE[code]
    assert HTTP[Code.TWIN_TIMEOUT] == 504
    assert HTTP[Code.TWIN_UNAVAILABLE] == 503


@pytest.mark.parametrize("sqlstate", [one for one in _UNEXPECTED if one])
def test_refusal_says_an_incident_alone_when_it_is_unexpected(sqlstate: str) -> None:
    """Of what we do not know neither text, hint, position nor SQLSTATE are told."""
    for refusal in (_refused(sqlstate), TwinRefused(sqlstate, _SECRET, _SECRET, 7)):
        assert refusal.code is Code.INTERNAL
        assert refusal.sqlstate == "XX000"
        assert refusal.detail == f"incident {refusal.incident}"
        assert (refusal.hint, refusal.position) == ("", None)
        assert _SECRET not in str(refusal)
        assert refusal.unexpected == sqlstate
    assert TwinRefused("XX000").incident != TwinRefused("XX000").incident


@for_each("sqlstate", _CODES)
def test_text_of_postgresql_is_told_when_it_depends_on_the_statement_alone(sqlstate: str) -> None:
    """Names, syntax and what is missing are told in PostgreSQL's words; its own state never is."""
    told = REASON[_CODES[sqlstate]] in {
        *(Reason.NOT_PERMITTED, Reason.SYNTAX_ERROR, Reason.UNSUPPORTED_SQL),
    }
    refusal = _refused(sqlstate)
    assert (_SECRET in refusal.detail) is told
    assert (_SECRET in refusal.hint) is told
    assert (refusal.position == 7) is told


def test_lost_twin_is_unavailable_and_says_to_try_again() -> None:
    """A lost connection and a twin that does not run are the same outcome."""
    for refusal in (session_gone(), twin_not_running(), _refused("57P01"), _refused("")):
        assert refusal.code is Code.TWIN_UNAVAILABLE
        assert refusal.hint == "try again"


def test_incident_is_logged_without_text_when_the_twin_says_the_unexpected(
    twin: Twin, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The log has the id that was told, with the SQLSTATE and nothing of the statement."""
    told: list[Event] = []
    life = life_of(twin)
    entered = log_in(life, life.roles.login("alice", CLINIC))
    monkeypatch.setattr("gateway.twin.errors._CLASSES", {})
    with TwinSession(entered, 10, {}, told.append) as session:
        with pytest.raises(TwinRefused, check=state("XX000")) as refused:
            session.run("SELECT 'hush'::int")
        with pytest.raises(TwinRefused, check=state("42P01")):
            session.run("SELECT 1 FROM hush")
    problem = "the twin answered with SQLSTATE `22P02`"
    assert told == [Crashed(refused.value.incident, problem)]
    assert "hush" not in str(refused.value)


def test_number_that_is_no_object_is_no_bug(twin: Twin) -> None:
    """PostgreSQL calls it an internal error; it is one of the statement."""
    with twin.session("alice", CLINIC, limit_s=10) as session:
        for sql in ("SELECT to_tsvector(-1, 'x')", "SELECT plainto_tsquery(0, 'x')"):
            with pytest.raises(TwinRefused, check=state("42704")) as refused:
                session.run(sql)
            assert refused.value.code is Code.TWIN_UNSUPPORTED
            assert "cache lookup failed" in refused.value.detail


def test_timeout_is_a_gateway_timeout(twin: Twin) -> None:
    """A statement over its time is told as such, with PostgreSQL's SQLSTATE for it."""
    with twin.session("alice", CLINIC, limit_s=0.2) as session:
        with pytest.raises(TwinRefused, check=state("57014")) as refused:
            session.run(ENDLESS)
        assert HTTP[refused.value.code] == 504


def test_function_that_is_not_made_for_its_values_is_no_bug(twin: Twin) -> None:
    """PostgreSQL calls it an internal error; it is one of the statement, and has one fixed text."""
    with twin.session("alice", CLINIC, limit_s=10) as session:
        for sql in (
            "SELECT float8_combine('{}'::float8[], '{}'::float8[])",
            "SELECT unknownin('x'::cstring)",
            "SELECT setweight(''::tsvector, 'x'::\"char\")",
        ):
            with pytest.raises(TwinRefused, check=state("0A000")) as refused:
                session.run(sql)
            assert refused.value.code is Code.TWIN_UNSUPPORTED
            assert refused.value.detail.startswith("PostgreSQL reports an internal error")
            assert not refused.value.unexpected
