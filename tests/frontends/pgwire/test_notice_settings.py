"""`gateway.notices` as a setting of a connection: from its start, for a transaction, reset, shown; and by the client."""

from collections.abc import Iterator

import psycopg
import pytest
from fix_auth import Door
from frontends.pgwire.wire_server import QUESTION, Wired, wired
from psycopg import errors

from gateway.requests.request import Notice, NoticeDetail
from gateway.twin import Twin

BRIEF, FULL, OFF = NoticeDetail.BRIEF, NoticeDetail.FULL, NoticeDetail.OFF


@pytest.fixture
def wire(twin: Twin, door: Door) -> Iterator[Wired]:
    with wired(twin, door) as wire:
        wire.pipeline.let.set()
        yield wire


def _detail(wire: Wired, connection: psycopg.Connection, *before: str) -> NoticeDetail:
    """How much is told of a query after these statements, which both protocols agree about."""
    for one in before:
        connection.execute(one)
    psycopg.ClientCursor(connection).execute(QUESTION).fetchall()
    connection.execute(QUESTION, binary=True).fetchall()
    simple, extended = (one.notices for one in wire.pipeline.asked[-2:])
    assert simple is extended
    return extended


def _shown(connection: psycopg.Connection, how: str = "SHOW gateway.notices") -> object:
    row = connection.execute(how).fetchone()
    return None if row is None else row[0]


def test_detail_holds_as_long_as_a_setting_of_postgresql_does(wire: Wired) -> None:
    """Set, for a session or a transaction, reset, gone with what is rolled back."""
    with wire.connect() as connection:
        assert _detail(wire, connection) is BRIEF
        assert _detail(wire, connection, "SET gateway.notices = full") is FULL
        assert _detail(wire, connection, "SET SESSION gateway.notices TO 'off'") is OFF
        assert _detail(wire, connection, "RESET gateway.notices") is BRIEF
        assert _detail(wire, connection, "BEGIN", "SET LOCAL gateway.notices = 'Full'") is FULL
        assert _detail(wire, connection, "COMMIT") is BRIEF
        assert _detail(wire, connection, "BEGIN", "SET gateway.notices = off") is OFF
        assert _detail(wire, connection, "ROLLBACK") is BRIEF
        assert _detail(wire, connection, "SET gateway.notices = off", "RESET ALL") is BRIEF
        assert _detail(wire, connection, "SET gateway.notices = off", "DISCARD ALL") is BRIEF
        assert _detail(wire, connection, "SET gateway.notices = off") is OFF
        assert _detail(wire, connection, "SET gateway.notices TO DEFAULT") is BRIEF


def test_detail_of_the_connection_is_what_reset_returns_to(wire: Wired) -> None:
    """`options` set it from the start, and PostgreSQL's own commands know that value."""
    with wire.connect("-c gateway.notices=full", application_name="PostgreSQL JDBC Driver") as one:
        assert _shown(one) == "full"
        assert _detail(wire, one) is FULL
        assert _detail(wire, one, "SET gateway.notices = off") is OFF
        assert _detail(wire, one, "RESET ALL") is FULL
        assert _detail(wire, one, "SET gateway.notices = off", "DISCARD ALL") is FULL
        assert _shown(one) == "full"


def test_detail_is_shown_from_the_start(wire: Wired) -> None:
    """SHOW and `current_setting` know it, whether the client set it or not."""
    with wire.connect() as connection:
        assert _shown(connection) == "auto"
        assert _shown(connection, "SELECT current_setting('gateway.notices')") == "auto"
        with pytest.raises(errors.InsufficientPrivilege):  # as for every setting of the gateway's
            connection.execute("SELECT set_config('gateway.notices', 'off', false)")
        assert _detail(wire, connection, "SET gateway.notices = off") is OFF
        assert _shown(connection) == "off"
        # as every setting of an extension that is not loaded, and as the other ones of the gateway
        listed = "SELECT count(*) FROM pg_settings WHERE name LIKE 'gateway.%'"
        connection.execute("SET gateway.fresh = on")
        assert _shown(connection, listed) == 0


def test_detail_follows_the_name_that_a_client_gives_itself(wire: Wired) -> None:
    """At the start or later: pgjdbc names itself by a statement."""
    with wire.connect(application_name="psql") as connection:
        assert _detail(wire, connection) is BRIEF
    with wire.connect(application_name="Metabase") as connection:
        assert _detail(wire, connection) is OFF
        assert _detail(wire, connection, "SET gateway.notices = brief") is BRIEF
    with wire.connect() as connection:
        assert _detail(wire, connection) is BRIEF
        named = "SET application_name = 'PostgreSQL JDBC Driver'"
        assert _detail(wire, connection, named) is OFF
        assert _detail(wire, connection, "SET application_name = ''") is BRIEF
        assert _detail(wire, connection, "SET extra_float_digits = 2") is OFF


def test_setting_is_refused_when_it_is_set_to_what_it_cannot_be(wire: Wired) -> None:
    """PostgreSQL takes any text for a setting with a point in its name; then no query could be asked."""
    with wire.connect() as connection:
        connection.execute("SET gateway.notices = full")
        for written in ("loud", "'loud'", "'default'", "2"):
            with pytest.raises(psycopg.DataError) as caught:
                connection.execute(f"SET gateway.notices = {written}")
            assert caught.value.sqlstate == "22023"
            assert "`off`, `brief`, `full` or `auto`" in str(caught.value)
        with pytest.raises(psycopg.DataError):
            connection.execute("SET gateway.notices = loud", prepare=True)
        with pytest.raises(psycopg.DataError):
            connection.execute("SET SESSION gateway.epsilon TO -0.1")
        for name in ("epsilon", "accuracy", "fresh", "unsupported"):
            with pytest.raises(psycopg.DataError):
                connection.execute(f"SET gateway.{name} = 'maybe'")
        assert _shown(connection) == "full"
        assert _detail(wire, connection, "SET gateway.epsilon = 0.1") is FULL
    with pytest.raises(psycopg.OperationalError, match=r"gateway\.notices"):
        wire.connect("-c gateway.notices=loud")


def test_setting_may_be_empty_or_a_purpose_in_any_words(wire: Wired) -> None:
    """The negative control: an empty text is no value, and the policy decides on purposes."""
    with wire.connect("-c gateway.notices=") as connection:
        connection.execute("SET gateway.epsilon = ''")
        connection.execute("SET gateway.purpose = 'loud'")
        assert _shown(connection, "SHOW gateway.purpose") == "loud"


def test_detail_and_hint_of_a_notice_are_its_own_fields(wire: Wired) -> None:
    """As clients of PostgreSQL show them: each line is one."""
    wire.pipeline.notices = (Notice("price: epsilon 1", ("one", "two\nlines"), ("ask less",)),)
    told: list[tuple[str | None, ...]] = []
    with wire.connect() as connection:
        connection.add_notice_handler(
            lambda one: told.append((one.message_primary, one.message_detail, one.message_hint))
        )
        connection.execute(QUESTION)
    assert told == [("price: epsilon 1", "one\ntwo lines", "ask less")]


def test_refusals_are_errors_at_every_detail(wire: Wired) -> None:
    """`off` silences no error, neither of the gateway nor of the twin."""
    with wire.connect("-c gateway.notices=off") as connection:
        with pytest.raises(errors.UndefinedFunction):
            connection.execute("SELECT nothing()")
        with pytest.raises(psycopg.DataError):
            connection.execute("SET gateway.fresh = 'maybe'")
