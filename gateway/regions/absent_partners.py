"""What a query leaves out that may be nobody's: persons with a partner (NOT EXISTS, NOT IN, outer joins), and rows with a name.

Nothing shows that anybody has such a partner: rows with `cost IS NULL`, or with a name that the policy does not list, may be
nobody's. So a condition of this kind hides no other: its region is compared as it is, and as if nobody had what it leaves out.

INVARIANT: the regions here are compared beside the region itself, never in its place.
"""

from collections.abc import Callable, Iterator

from gateway.regions.axis import AxisKind, RegionAxis
from gateway.regions.cells import Cells, NameCells, is_only_null
from gateway.regions.region import NOTHING, Box, Region

IsOfPartner = Callable[[RegionAxis], bool]


def without_absent_partners(region: Region, is_of_partner: IsOfPartner) -> Iterator[Region]:
    """The region as if nobody had the partners and the names that it leaves out, if it leaves any out.

    Boxes that ask for such a partner are kept first, and left out then: other boxes may be about the same partner.
    """
    axes = {one.name: one for one in region.axes}
    partners = frozenset(name for name, one in axes.items() if is_of_partner(one))

    def is_absence(name: str, cells: Cells) -> bool:
        if name in partners and is_only_null(cells):
            return True
        return _is_of_other_names(cells) and _is_unlisted(axes[name])

    absent = frozenset(
        name for box in region.boxes for name, cells in box.parts if is_absence(name, cells)
    )
    if not absent:
        return
    kept, alone = NOTHING, NOTHING
    for box in region.boxes:
        parts = tuple((name, cells) for name, cells in box.parts if not is_absence(name, cells))
        left = tuple(one for one in region.axes if any(one.name == name for name, _ in parts))
        made = Region(left, (Box(parts),))
        kept = kept.join(made)
        if not any(name in absent for name, _ in parts):
            alone = alone.join(made)
    yield kept
    if alone != kept:
        yield alone


def _is_of_other_names(cells: Cells) -> bool:
    """Whether the cells are all names but some."""
    return isinstance(cells, NameCells) and cells.rest


def _is_unlisted(axis: RegionAxis) -> bool:
    """Whether nothing says which names there are, and one of them by itself is not narrow."""
    return axis.kind is AxisKind.NAMES and axis.names is None and not axis.quasi
