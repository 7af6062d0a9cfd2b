"""What the database itself refuses, whoever asks: the application's login, and the owner."""

from collections.abc import Iterator
from contextlib import contextmanager

import psycopg
import pytest
from fix_ledger import ALICE, CLINIC, NOON, Bank, limits
from fix_state import StateServer, dsn_of
from psycopg import errors, sql

from gateway.state.open import APPLICATION, StateUrls
from gateway.state.tables import APPEND_ONLY, EXPIRING, METADATA, UPDATABLE

NAMES = [table.name for table in APPEND_ONLY]


@contextmanager
def login(urls: StateUrls, *, owner: bool = False) -> Iterator[psycopg.Connection]:
    url = urls.owner if owner else urls.application
    assert url is not None
    with psycopg.connect(dsn_of(url), autocommit=True) as connection:
        yield connection


def run(connection: psycopg.Connection, statement: str, table: str) -> None:
    with connection.transaction():
        connection.execute(sql.SQL(statement).format(sql.Identifier(table)))


def test_tables_are_all_append_only_or_updatable_or_expiring(
    state_server: StateServer, state_urls: StateUrls
) -> None:
    """Whoever adds a table has to say which it is, and the database has no other tables."""
    kinds = [*APPEND_ONLY, *UPDATABLE, *EXPIRING]
    assert set(kinds) == set(METADATA.sorted_tables)
    assert len(kinds) == len(set(kinds))
    with state_server.superuser(str(state_urls.application.database)) as connection:
        query = "SELECT tablename FROM pg_tables WHERE schemaname = 'public'"
        found = {row[0] for row in connection.execute(query)}
    assert found == {*METADATA.tables, "alembic_version"}


_CHANGES = {
    "update": "UPDATE {} SET at = at",
    "delete": "DELETE FROM {}",
    "truncate": "TRUNCATE {} CASCADE",
    "drop": "DROP TABLE {} CASCADE",
    "alter": "ALTER TABLE {} ADD COLUMN more text",
    "disable triggers": "ALTER TABLE {} DISABLE TRIGGER ALL",
    "drop the trigger": "DROP TRIGGER append_only ON {}",
    "rename": "ALTER TABLE {} RENAME TO gone",
    "rule": "CREATE RULE r AS ON INSERT TO {} DO INSTEAD NOTHING",
    "trigger": "CREATE TRIGGER t BEFORE INSERT ON {} EXECUTE FUNCTION gateway_refuse_change()",
    "lock": "LOCK TABLE {} IN SHARE ROW EXCLUSIVE MODE",
    "merge": "MERGE INTO {} AS t USING (SELECT 1) AS s ON true WHEN MATCHED THEN DELETE",
    "overwrite": "INSERT INTO {} SELECT * FROM {0} ON CONFLICT DO UPDATE SET at = NULL",
}


@pytest.mark.parametrize("change", ["delete", "truncate", "drop", "alter", "rename", "lock"])
def test_application_cannot_change_what_was_written(state_urls: StateUrls, change: str) -> None:
    """The application's login inserts and reads; every other right is withheld, table by table."""
    with login(state_urls) as connection:
        for table in NAMES:
            with pytest.raises(errors.InsufficientPrivilege):
                run(connection, _CHANGES[change], table)


@pytest.mark.parametrize("change", [*_CHANGES, "replication role", "become the owner"])
def test_application_finds_no_way_around_the_trail(state_urls: StateUrls, change: str) -> None:
    """Neither statements that update in passing nor switching off what watches is allowed."""
    statements = {
        **_CHANGES,
        "overwrite": "INSERT INTO {} SELECT * FROM trail_records ON CONFLICT (seq)"
        " DO UPDATE SET body = ''",
        "replication role": "SET session_replication_role = replica",
        "become the owner": "SET ROLE gateway_owner",
    }
    with login(state_urls) as connection, pytest.raises(errors.InsufficientPrivilege):
        run(connection, statements[change], "trail_records")


def test_application_has_exactly_the_rights_it_needs(
    state_server: StateServer, state_urls: StateUrls
) -> None:
    """INSERT and SELECT, on each table as a whole, not grantable on, and nobody else has any."""
    query = (
        "SELECT table_name, grantee, privilege_type, is_grantable"
        " FROM information_schema.role_table_grants"
        " WHERE table_schema = 'public' AND grantee <> 'gateway_owner'"
    )
    with state_server.superuser(str(state_urls.application.database)) as connection:
        found = set(connection.execute(query))
    rights = {(name, right) for name in METADATA.tables for right in ("SELECT", "INSERT")}
    rights |= {(table.name, "UPDATE") for table in UPDATABLE} | {("alembic_version", "SELECT")}
    assert found == {(name, APPLICATION, right, "NO") for name, right in rights}


@pytest.mark.parametrize("change", ["DELETE FROM {}", "TRUNCATE {} CASCADE", "update"])
def test_owner_is_stopped_by_a_trigger(state_urls: StateUrls, change: str) -> None:
    """Who may by rights is stopped all the same, also where no row would be met."""
    with login(state_urls, owner=True) as connection:
        for table in NAMES:
            column = METADATA.tables[table].primary_key.columns.values()[0].name
            statement = f"UPDATE {{}} SET {column} = {column}" if change == "update" else change
            with pytest.raises(errors.InsufficientPrivilege, match="append-only"):
                run(connection, statement, table)


def test_application_updates_the_one_table_it_may(state_urls: StateUrls) -> None:
    """A negative control: the refusals are about these tables, not about this login."""
    with login(state_urls) as connection:
        connection.execute("UPDATE key_uses SET last_used_at = now()")
        with pytest.raises(errors.InsufficientPrivilege):
            connection.execute("DELETE FROM key_uses")


# ---- what may follow what ----


@pytest.fixture
def spent(bank: Bank) -> Bank:
    """Alice has three entries that add up to 3/5."""
    bank.open_ledger(limits(10))
    bank.open_account(ALICE, limits(10))
    for place, price in enumerate(("0.1", "0.2", "0.3"), start=1):
        bank.ask(price, delta="1/10000000", query_id=f"c{place}")
    return bank


Entry = dict[str, object]
_NEXT: Entry = {
    "account": ALICE,
    "cell": "*",
    "ordinal": 4,
    "query_id": "c3",
    "at": NOON,
    "amount": "1/10",
    "spent_after": "7/10",
    "delta": "1/10000000",
    "delta_after": "4/10000000",
}


def insert_entry(connection: psycopg.Connection, **changed: object) -> None:
    connection.execute(
        "INSERT INTO ledger_entries (account, cell, ordinal, query_id, at, amount, spent_after,"
        " delta, delta_after) VALUES (%(account)s, %(cell)s, %(ordinal)s, %(query_id)s, %(at)s,"
        " %(amount)s, %(spent_after)s, %(delta)s, %(delta_after)s)",
        {**_NEXT, **changed},
    )


def test_entry_that_follows_is_taken(spent: Bank, state_urls: StateUrls) -> None:
    """A negative control: what adds up is written, in whatever terms the fractions are."""
    del spent
    with login(state_urls) as connection:
        insert_entry(connection)
        insert_entry(
            connection,
            ordinal=5,
            amount="2/20",
            spent_after="80/100",
            delta="0/7",
            delta_after="2/5000000",
        )


_REFUSED: list[Entry] = [
    {"spent_after": "5/10"},
    {"spent_after": "6/10"},
    {"spent_after": "8/10"},
    {"spent_after": "7000000000000000000001/10000000000000000000000"},
    {"delta_after": "0/1"},
    {"delta_after": "3/10000000"},
    {"ordinal": 5, "spent_after": "7/10"},
    {"ordinal": 1},
    {"ordinal": 0, "spent_after": "1/10"},
    {"ordinal": -1, "spent_after": "1/10"},
    {"at": NOON.replace(hour=11)},
    {"at": "-infinity"},
    {"amount": "-1/10", "spent_after": "5/10"},
    {"amount": "1/-10"},
    {"amount": "1/0"},
    {"amount": "0.1"},
    {"amount": ""},
    {"amount": "1/10 "},
    {"amount": "1/10\n", "spent_after": "7/10"},
    {"amount": None},
    {"spent_after": None},
    {"delta": "-1/10000000", "delta_after": "2/10000000"},
    {"delta": None},
    {"account": "analyst:nobody@clinic", "ordinal": 1, "spent_after": "1/10"},
    {"query_id": "never charged"},
]


@pytest.mark.parametrize("owner", [False, True])
def test_entry_that_does_not_follow_is_refused(
    spent: Bank, state_urls: StateUrls, *, owner: bool
) -> None:
    """Nothing refills a balance: no smaller sum, no gap, no step back in time, no negative amount."""
    del spent
    with login(state_urls, owner=owner) as connection:
        for changed in _REFUSED:
            with pytest.raises(errors.IntegrityError):
                insert_entry(connection, **changed)
        insert_entry(connection)


@pytest.mark.parametrize("ordinal", [1, 2])
def test_first_entry_of_an_account_begins_at_nothing(
    spent: Bank, state_urls: StateUrls, ordinal: int
) -> None:
    """An account's first entry is number 1 and its balance what was taken."""
    spent.open_account("analyst:new@clinic", limits(1))
    new: Entry = {"account": "analyst:new@clinic", "ordinal": ordinal, "delta_after": "1/10000000"}
    with login(state_urls) as connection:
        with pytest.raises(errors.IntegrityError):
            insert_entry(connection, **new, spent_after="0/1")
        if ordinal == 1:
            insert_entry(connection, **new, spent_after="1/10")
        else:
            with pytest.raises(errors.IntegrityError):
                insert_entry(connection, **new, spent_after="1/10")


@pytest.mark.parametrize("ahead", [0, 2, 100, -1])
def test_trail_has_no_holes_and_no_doubles(spent: Bank, state_urls: StateUrls, ahead: int) -> None:
    """A record follows its predecessor, or is not written."""
    del spent
    with login(state_urls) as connection, pytest.raises(errors.IntegrityError):
        connection.execute(
            "INSERT INTO trail_records (seq, at, kind, body, mac)"
            " SELECT max(seq) + %s, now(), 'x', '{}', repeat('0', 64) FROM trail_records",
            (ahead,),
        )


def test_temporary_table_does_not_hide_the_trail_from_its_trigger(
    spent: Bank, state_urls: StateUrls
) -> None:
    """A login that may make temporary tables cannot show the triggers another past."""
    del spent
    with login(state_urls) as connection:
        connection.execute(
            "CREATE TEMPORARY TABLE trail_records AS SELECT * FROM public.trail_records"
        )
        connection.execute("INSERT INTO pg_temp.trail_records (seq) VALUES (99)")
        with pytest.raises(errors.IntegrityError):
            connection.execute(
                "INSERT INTO public.trail_records (seq, at, kind, body, mac)"
                " VALUES (100, now(), 'x', '{}', repeat('0', 64))"
            )


@pytest.mark.parametrize(
    "ledger",
    [
        ("dataset:other", f"postgresql://source/{CLINIC}", "patient", "pure"),
        (CLINIC, "elsewhere", "patient", "pure"),
        ("dataset:gold", "elsewhere", "patient", "gold"),
    ],
)
def test_ledger_is_one_for_each_source_and_unit(
    spent: Bank, state_urls: StateUrls, ledger: tuple[str, ...]
) -> None:
    """The database knows no second ledger for the same people."""
    del spent
    with login(state_urls) as connection, pytest.raises(errors.IntegrityError):
        connection.execute(
            "INSERT INTO ledgers (name, source, unit, currency, opened_at)"
            " VALUES (%s, %s, %s, %s, now())",
            ledger,
        )
