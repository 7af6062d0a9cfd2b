"""Twin: a PostgreSQL server with the part of the schema that an analyst may see, and no protected data.

A statement on the twin can only reach released values, public tables and an empty schema. The wall is the
server's privileges; `docs/twin.md` has the list.
"""

from gateway.twin.errors import TwinRefused
from gateway.twin.session import (
    DescribedColumn,
    DescribedParameter,
    StatementDescription,
    TwinSession,
)
from gateway.twin.twin import Twin, open_twin, start_twin
from gateway.twin.visible_tables import (
    ForeignKey,
    UnsupportedColumn,
    VisibleColumn,
    VisibleTable,
    VisibleTables,
    visible_tables,
)

__all__ = [
    "DescribedColumn",
    "DescribedParameter",
    "ForeignKey",
    "StatementDescription",
    "Twin",
    "TwinRefused",
    "TwinSession",
    "UnsupportedColumn",
    "VisibleColumn",
    "VisibleTable",
    "VisibleTables",
    "open_twin",
    "start_twin",
    "visible_tables",
]
