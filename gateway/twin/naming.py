"""Who one is and where: names that a session was begun with, in the place of the server's random ones.

They come from settings that the start-up packet fixes. A client may not change these, and if it could it would only
misname itself: nothing else reads them.

INVARIANT: rights hang on the server's own roles and databases alone, whatever these functions say. They are
PostgreSQL's own in everything but the name that is shown, and run with the rights of their caller.
"""

from dataclasses import dataclass
from typing import Final

DATASET_UNNAMED: Final = "gateway"  # a session that was begun without a dataset's name


@dataclass(frozen=True)
class Names:
    """What a session calls its subject and its dataset, and the number by which its client can cancel."""

    subject: str = ""
    dataset: str = ""
    process: int = 0

    def settings(self) -> dict[str, str]:
        """The settings that the functions below read."""
        given = {"subject": self.subject, "dataset": self.dataset, "process": str(self.process)}
        return {f"gateway.{name}": value for name, value in given.items() if value}


_SUBJECT: Final = (
    "coalesce(nullif(pg_catalog.current_setting('gateway.subject', true), '')::name, CURRENT_USER)"
)
_DATASET: Final = (
    "coalesce(nullif(pg_catalog.current_setting('gateway.dataset', true), ''), "
    f"'{DATASET_UNNAMED}')::name"
)

# The number of `current_database` stays that of a built-in function, which the executor would call without
# looking here. But a function that is one expression is put in its place by the planner, in every view of
# `information_schema` too; a test looks at each of them.
NAMES: Final = (
    """CREATE FUNCTION pg_catalog.current_database_of_server() RETURNS name
       LANGUAGE internal STABLE STRICT PARALLEL SAFE AS 'current_database'""",
    f"""CREATE OR REPLACE FUNCTION pg_catalog.current_database() RETURNS name
       LANGUAGE sql STABLE PARALLEL SAFE RETURN {_DATASET}""",
    # what the gateway makes of keywords; the columns have their names
    *(
        f'ALTER FUNCTION pg_catalog."{keyword}"() RENAME TO {keyword}_of_server'
        for keyword in ("current_user", "session_user", "system_user")
    ),
    *(
        f'CREATE FUNCTION pg_catalog."{keyword}"() RETURNS name '
        f"LANGUAGE sql STABLE PARALLEL SAFE RETURN {_SUBJECT}"
        for keyword in ("current_user", "session_user", "user", "current_role")
    ),
    f"""CREATE FUNCTION pg_catalog.system_user() RETURNS text
       LANGUAGE sql STABLE PARALLEL SAFE RETURN {_SUBJECT}::text""",
    """CREATE FUNCTION pg_catalog.current_catalog() RETURNS name
       LANGUAGE sql STABLE PARALLEL SAFE RETURN pg_catalog.current_database()""",
    # from a name that is shown to the server's own, for functions that take one
    """CREATE FUNCTION pg_catalog.role_of_server(name) RETURNS name
       LANGUAGE sql STABLE PARALLEL SAFE
       RETURN CASE WHEN $1 = pg_catalog."current_user"() THEN CURRENT_USER ELSE $1 END""",
    """CREATE FUNCTION pg_catalog.database_of_server(text) RETURNS text
       LANGUAGE sql STABLE PARALLEL SAFE
       RETURN CASE WHEN $1 = pg_catalog.current_database()
                   THEN pg_catalog.current_database_of_server()::text ELSE $1 END""",
)

# These read `pg_roles`, which must be a view of oneself by then.
NAMES_BY_NUMBER: Final = (
    "ALTER FUNCTION pg_catalog.pg_get_userbyid(oid) RENAME TO pg_get_userbyid_of_server",
    """CREATE FUNCTION pg_catalog.pg_get_userbyid(oid) RETURNS name
       LANGUAGE sql STABLE STRICT PARALLEL SAFE
       RETURN coalesce((SELECT rolname FROM pg_catalog.pg_roles WHERE oid = $1),
                       ('unknown (OID=' || $1 || ')')::name)""",
)
