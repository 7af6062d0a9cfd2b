"""Prepared queries and their portals: what a client bound, until it wants rows.

INVARIANT: Bind and Describe run and charge nothing; the first Execute of a portal does, and none after it.
"""

from dataclasses import dataclass

from gateway.frontends.pgwire.classify import (
    AnalystQuery,
    ExecuteQuery,
    TempTableDrop,
    TempTableQuery,
)
from gateway.frontends.pgwire.messages import Bind


@dataclass(frozen=True, slots=True)
class PreparedQuery:
    """A parsed query, or an EXECUTE that may run one."""

    asking: AnalystQuery | ExecuteQuery | TempTableQuery | TempTableDrop


@dataclass(slots=True)
class Portal:
    """A query with its values; once started, it is a portal of the twin's."""

    prepared: PreparedQuery
    bind: Bind
    types: tuple[int, ...] = ()
    columns: bytes = b""  # as the twin describes them
    started: bool = False
