"""The gateway's own connection to the twin: as superuser, with settings that no analyst has."""

import psycopg

from gateway.twin.server import TwinServer

_OPTIONS = "-c default_transaction_read_only=off -c statement_timeout=30s -c search_path=pg_catalog"
_CONNECT_S = 2
OUTSIDE = "postgres"  # the database the gateway works from; analysts cannot connect to it


def admin_connection(server: TwinServer, database: str = OUTSIDE) -> psycopg.Connection:
    return psycopg.connect(
        host=str(server.address.socket_dir),
        port=server.address.port,
        user=server.superuser,
        password=server.password.get_secret_value(),
        dbname=database,
        options=_OPTIONS,
        connect_timeout=_CONNECT_S,
        autocommit=True,
    )
