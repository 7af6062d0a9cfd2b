"""What the application's login may do with the state: insert and read, and nothing else.

INVARIANT: no grant here lets the application update, delete or truncate an append-only table.
"""

from sqlalchemy import Connection, text

from gateway.store.tables import METADATA, UPDATABLE


def grant_application(connection: Connection, login: str) -> None:
    """Give `login` exactly its rights, taking away whatever else it was granted before."""
    role = connection.dialect.identifier_preparer.quote(login)
    connection.execute(text(f"GRANT USAGE ON SCHEMA public TO {role}"))
    connection.execute(text(f"GRANT SELECT ON alembic_version TO {role}"))
    for table in METADATA.sorted_tables:
        connection.execute(text(f"REVOKE ALL ON {table.name} FROM {role}"))
        connection.execute(text(f"GRANT SELECT, INSERT ON {table.name} TO {role}"))
    for table in UPDATABLE:
        connection.execute(text(f"GRANT UPDATE ON {table.name} TO {role}"))
