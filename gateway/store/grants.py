"""What the application's login may do with the state: insert and read, and nothing else.

INVARIANT: no grant here lets the application update, delete or truncate an append-only table; of an expiring
one it can remove what is old, by a function that looks at the age itself.
"""

from sqlalchemy import Connection, inspect, text

from gateway.store.tables import EXPIRING, FORGET, METADATA, UPDATABLE


def grant_application(connection: Connection, login: str) -> None:
    """Give `login` exactly its rights, taking away whatever else it was granted before."""
    role = connection.dialect.identifier_preparer.quote(login)
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"GRANT SELECT ON alembic_version TO {role}"))
    there = set(inspect(connection).get_table_names())  # a backup may be of an older schema
    for table in METADATA.sorted_tables:
        if table.name not in there:
            continue
        connection.execute(text(f"REVOKE ALL ON {table.name} FROM {role}"))
        connection.execute(text(f"GRANT SELECT, INSERT ON {table.name} TO {role}"))
    for table in UPDATABLE:
        connection.execute(text(f"GRANT UPDATE ON {table.name} TO {role}"))
    if there.issuperset(table.name for table in EXPIRING):
        connection.execute(text(f"GRANT EXECUTE ON FUNCTION {FORGET}(integer) TO {role}"))
