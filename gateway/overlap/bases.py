"""What expressions are about, once every name that was given on the way is followed back to where it comes from."""

from collections.abc import Mapping
from dataclasses import dataclass

from gateway.catalog.tables import ColumnRef
from gateway.overlap.axes import Axis
from gateway.plan.fields import Field


@dataclass(frozen=True, slots=True)
class Base:
    """A column of a table, or something computed that has an axis of its own.

    `field` is what expressions refer to: its id is the normal text. `uses` are the columns of the source that it is
    made of. Without an axis conditions over it are not understood.
    """

    field: Field
    axis: Axis | None
    uses: frozenset[ColumnRef]
    quasi: bool


Bases = Mapping[str, Base]
