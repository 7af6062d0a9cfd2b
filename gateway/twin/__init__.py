"""Keep the twin: a PostgreSQL with what an analyst may see of the schema, and no protected data.

Whatever is run there can only reach what the twin has, and that is nothing that was not released. The
wall is the server's privileges; `docs/twin.md` has the list.
"""

from gateway.twin.described import Described, DescribedColumn, DescribedParameter
from gateway.twin.refused import TwinRefused
from gateway.twin.session import TwinSession
from gateway.twin.tables import NotShowable
from gateway.twin.twin import Twin, open_twin, start_twin
from gateway.twin.visible import (
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
