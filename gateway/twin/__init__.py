"""Keep the twin: a PostgreSQL with what an analyst may see of the schema, and no protected data.

Whatever is run there can only reach what the twin has, and that is nothing that was not released. The
wall is the server's privileges; `docs/twin.md` has the list.
"""

from gateway.twin.errors import TwinRefused
from gateway.twin.session import Described, DescribedColumn, DescribedParameter, TwinSession
from gateway.twin.table_ddl import NotShowable
from gateway.twin.twin import Twin, open_twin, start_twin
from gateway.twin.visible_tables import (
    ForeignKey,
    VisibleColumn,
    VisibleTable,
    VisibleTables,
    visible_tables,
)

__all__ = [
    "Described",
    "DescribedColumn",
    "DescribedParameter",
    "ForeignKey",
    "NotShowable",
    "Twin",
    "TwinRefused",
    "TwinSession",
    "VisibleColumn",
    "VisibleTable",
    "VisibleTables",
    "open_twin",
    "start_twin",
    "visible_tables",
]
