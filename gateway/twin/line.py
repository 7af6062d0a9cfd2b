"""A raw connection to the twin for a wire client, message by message.

libpq logs in; from then on the holder of the line reads and writes the socket.

INVARIANT: a line belongs to one subject on one database of the twin for as long as it lasts; it is never
reused.
"""

import os
import socket
from collections.abc import Callable, Mapping
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field

from psycopg import OperationalError
from psycopg.pq.abc import PGconn

from gateway.twin.login import TwinConnection

# the parameters that a server reports when a connection begins
_REPORTED = (
    *("application_name", "client_encoding", "DateStyle", "default_transaction_read_only"),
    *("in_hot_standby", "integer_datetimes", "IntervalStyle", "is_superuser", "scram_iterations"),
    *("search_path", "server_encoding", "server_version", "session_authorization"),
    *("standard_conforming_strings", "TimeZone"),
)


@dataclass
class TwinLine:
    """`socket` is for reading and writing; `cancel` and `end` use another connection and wait: call them from a
    thread.
    """

    socket: socket.socket
    reported: Mapping[str, str]
    end: Callable[[], None]
    _connection: PGconn = field(repr=False)
    _let_go: Callable[[], None] = field(repr=False)

    def cancel(self) -> None:
        """Ask the twin to cancel the statement on the line, which may have ended already."""
        with suppress(OperationalError), ExitStack() as done:
            cancel = self._connection.cancel_conn()
            done.callback(cancel.finish)
            cancel.blocking()

    def close(self) -> None:
        """Close the line; the twin ends the session."""
        self.socket.close()
        self._connection.finish()
        self._let_go()


def open_line(entered: TwinConnection, let_go: Callable[[], None]) -> TwinLine:
    """A line on this connection; `let_go` is called when the line is closed."""
    connection = entered.connection
    reported = {
        name: value.decode()
        for name in _REPORTED
        if (value := connection.parameter_status(name.encode())) is not None
    }
    line = socket.socket(fileno=os.dup(connection.socket))
    return TwinLine(line, reported, entered.end, connection, let_go)
