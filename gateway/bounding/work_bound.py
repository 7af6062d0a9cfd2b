"""The work bound: how long one row of a person can keep a source busy, computed from the plan before anything is charged.

Takes a release, gives the nanoseconds that all its expressions take for one row at most, or the refusal. Sizes come from
what is enforced (`max_length` of a column, the digits of a type), costs from `functions/costs`, and how often an engine may
compute an operand from `copies`; columns that are computed below are counted wherever they are read, since a database
may put their expression there. What the stages of bounding add is counted on the rows as they are rendered.

INVARIANT: no row takes more than `MOST_WORK`, whatever stands in it, no person's pairs of rows hold more than `MOST_HELD`,
and the refusal depends on the statement, the policy and the source's constraints alone. A statement whose work differs by row tells of rows by its time (privacy.md §7): this is what bounds it.
See docs/proofs/row_work.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from operator import itemgetter
from typing import Final, TypeAlias

from gateway.bounding.fan_out import pairs_of, row_share
from gateway.bounding.row_cost import (
    RowWidth,
    copy_time,
    document_times,
    hash_time,
    needs_ranges,
    operand_copies,
    row_bytes,
    row_width,
    share_of_node,
    size_of,
    size_of_literal,
    sort_time,
)
from gateway.bounding.row_samples import MOST_PAIRS
from gateway.catalog.domains import Values
from gateway.catalog.tables import Column
from gateway.catalog.types import ColumnType, Family
from gateway.errors import Code, UnsupportedSql
from gateway.functions.costs import MOMENT, NUMBER, STEP, cast_cost
from gateway.functions.range_arithmetic import Range
from gateway.functions.result_sizes import Size, largest_size, size_of_type
from gateway.functions.table import function_of
from gateway.plan.aggregates import Aggregate, Measure, PerUnit, WindowCall
from gateway.plan.joins import Join, Mark, UnionAll
from gateway.plan.node import Node
from gateway.plan.relations import Constant, Filter, Project, Scan, Window
from gateway.plan.scalars import (
    Call,
    Case,
    Cast,
    Literal,
    Ref,
    Scalar,
    StagedMember,
    column_ids,
    walk_scalar,
)
from gateway.plan.sql_text import scalar_sql as text_of
from gateway.ranges.relations import ranges_of

MOST_WORK: Final = 200_000
"""Nanoseconds of one row."""
MOST_HELD: Final = 64 * 2**20
"""Bytes of all pairs of rows of one person, in one window, join or grouping."""
_NUMBER_READ: Final = 300
_WHOLE_READ: Final = 150
_TEXT_READ: Final = 300
_KEY: Final = 4  # selected, grouped by, hashed, and ranked
_WINDOW_KEY: Final = 3
# in how many places of different aggregates: a sum names its value twice, its count does, and once it is tested;
# databases compute an aggregate once, however often what is around it names it
_MEASURED: Final = {"count": 2, "min": 2, "max": 2, "sum": 5, "avg": 5}
_MEASURED_OFTEN: Final = 14
_MEASURED_TOGETHER: Final = 24
_ADDED: Final = frozenset({"count", "sum", "avg"})
_MOVING: Final = frozenset({"min", "max"})


@dataclass(frozen=True, slots=True)
class Work:
    """Of one value: nanoseconds, how large it is, and how many columns are read for it."""

    time: int
    size: Size = field(default_factory=Size)
    reads: int = 0


Columns: TypeAlias = Mapping[str, Work]
Spent: TypeAlias = list[tuple[int, Scalar | WindowCall | None]]
"""Nanoseconds, and what takes them; None: rows that are carried on."""


def check_work(plan: Aggregate) -> None:
    """Refuse a release of which one row could take too long."""
    spent: Spent = []
    columns = _columns_of(plan.child, spent)
    _spend(plan, columns, spent, share=row_share(plan.child))
    _require_short(spent)


def check_bounded_work(plan: Aggregate, rows: Node) -> None:
    """Refuse a release whose rows, as they are rendered, take one person too long or too much memory.

    `rows` are those of the plan with everything that the stages of bounding added: cuts and completed orders.
    """
    spent: Spent = []
    columns = _columns_of(rows, spent, bounded=True)
    made, share = _Expression(columns, _ranges(rows)), row_share(rows)
    for scalar, times in _expressions(plan):
        # a column that no measurement needs has been dropped, and is not computed
        if column_ids(scalar) <= columns.keys():
            spent.append((made.of(scalar).time * times * share, scalar))
    grouped = [one for one in _grouped(plan) if column_ids(one) <= columns.keys()]
    _require_small(row_width((one.type, made.of(one).size) for one in grouped), pairs_of(rows))
    _require_short(spent)


def _require_short(spent: Spent) -> None:
    total = sum(time for time, _ in spent)
    if total > MOST_WORK:
        raise _too_long(total, max(spent, key=itemgetter(0))[1])


def _require_small(row: RowWidth, pairs: int) -> None:
    """That all pairs of rows of one person can be held at once."""
    held = row_bytes(row) * pairs * MOST_PAIRS
    if held > MOST_HELD:
        raise UnsupportedSql(
            Code.WORK_OF_A_ROW,
            f"the pairs of rows of one person could take up to {held // 2**20} MiB, more than the limit of {MOST_HELD // 2**20}",
            "aggregate by the unit key before the join, read fewer columns above it,"
            " or declare a shorter `max_length` or a list of values for the texts in it",
        )


def _too_long(time: int, worst: Scalar | WindowCall | None) -> UnsupportedSql:
    return UnsupportedSql(
        Code.WORK_OF_A_ROW,
        f"one row could take up to {time // 1_000} µs, more than the limit of {MOST_WORK // 1_000};"
        f" most of it for {_shown(worst)}",
        "declare a shorter `max_length` or a list of values for the texts in it, read fewer columns above a join or"
        " window, aggregate by the unit key first, or split the query",
    )


def _shown(worst: Scalar | WindowCall | None) -> str:
    if worst is None:
        return "columns that are carried through a join or a window"
    return f"`{(str(worst) if isinstance(worst, WindowCall) else text_of(worst))[:80]}`"


def work_of(scalar: Scalar, columns: Columns, ranges: Mapping[str, Range]) -> Work:
    """What an expression takes for one row at most."""
    return _Expression(columns, ranges).of(scalar)


class _Expression:
    def __init__(self, columns: Columns, ranges: Mapping[str, Range]) -> None:
        self._columns = columns
        self._ranges = ranges

    def of(self, scalar: Scalar) -> Work:
        if isinstance(scalar, Ref):
            return replace(self._columns[scalar.field.id], reads=1)
        if isinstance(scalar, Literal):
            return Work(STEP // 2, size_of_literal(scalar))
        below = [self.of(one) for one in scalar.parts]
        time = _own(scalar, [one.size for one in below])
        reads = 0
        for work, many in zip(below, operand_copies(scalar, self._ranges), strict=True):
            time += many * work.time
            reads += many * work.reads
        if time > MOST_WORK:
            # at once: what is around it would be looked at for nothing
            raise _too_long(time, scalar)
        return Work(time, size_of(scalar, [one.size for one in below]), reads)


def _own(scalar: Scalar, sizes: list[Size]) -> int:
    match scalar:
        case Call():
            return function_of(scalar).cost(scalar, sizes)
        case Cast():
            return cast_cost(scalar.what, sizes[0], scalar.type.family)
        case Case():
            return STEP * len(scalar.parts)
        case StagedMember():
            return NUMBER + sizes[0].characters
        case _:
            return MOMENT


def _columns_of(node: Node, spent: Spent, *, bounded: bool = False) -> Columns:
    """What reading a column of the relation takes; `spent` gets what the relation itself takes."""
    below: dict[str, Work] = {}
    for one in node.below:
        below |= _columns_of(one, spent, bounded=bounded)
    _spend(node, below, spent, share=share_of_node(node))
    if bounded:
        _carry(node, below, spent)
    match node:
        case Scan():
            spent += ((time, None) for time in document_times(node.table.columns))
            columns = zip(node.fields, node.table.columns, strict=True)
            return {field.id: _read(column) for field, column in columns}
        case Constant():
            return {one.id: Work(STEP, size_of_type(one.type)) for one in node.fields}
        case Project():
            made = _Expression(below, _ranges(node))
            items = zip(node.fields, node.items, strict=True)
            return {field.id: made.of(one) for field, (_, one) in items}
        case UnionAll():
            return {
                made.id: Work(
                    max(one.time for one in sides) + NUMBER, largest_size(one.size for one in sides)
                )
                for made, sides in (
                    (made, (below[left.id], below[right.id]))
                    for made, left, right in zip(
                        node.fields, node.left.fields, node.right.fields, strict=True
                    )
                )
            }
        case PerUnit() | Window():
            return _computed(node, below)
        case _:
            added = {one.id: Work(STEP) for one in node.fields if one.id not in below}
            return {**below, **added}


def _computed(node: PerUnit | Window, below: Columns) -> Columns:
    """Columns of a relation that a database computes before anything reads them."""
    made = _Expression(below, _ranges(node))
    if isinstance(node, Window):
        found = {one.id: _kept(one.type, below[one.id].size) for one in node.child.fields}
        return found | {name: _kept(call.type, _handed(call, made)) for name, call in node.items}
    keys = [made.of(key).size for _, key in node.keys]
    sizes = [*keys, *(_handed(one, made) for _, one in node.measures)]
    return {one.id: _kept(one.type, size) for one, size in zip(node.fields, sizes, strict=True)}


def _kept(of: ColumnType, size: Size) -> Work:
    """A value that was computed below, and is copied."""
    return Work(STEP + copy_time(row_width(((of, size),))), size)


def _carry(node: Node, below: Columns, spent: Spent) -> None:
    """What a node takes for all columns of its rows, read by it or above it."""
    match node:
        case Window():
            _carry_through(node, below, spent)
        case Join() | Mark():
            for side in node.below:
                row = _row_of(side, below)
                _require_small(row, pairs_of(side))
                spent.append((copy_time(row) * row_share(side), None))
        case PerUnit():
            made = _Expression(below, _ranges(node))
            grouped = row_width((one.type, made.of(one).size) for one in _grouped(node))
            _require_small(grouped, pairs_of(node))
        case _:
            return


def _carry_through(node: Window, below: Columns, spent: Spent) -> None:
    row = _row_of(node.child, below)
    _require_small(row, pairs_of(node))
    made = _Expression(below, _ranges(node))
    ordered = {(one.function == "sample_number", one.partition, one.order) for _, one in node.items}
    for is_sample, partition, order in ordered:
        keys = row_width((one.type, made.of(one).size) for one in (*partition, *_by(order)))
        time = copy_time(row) + sort_time(keys) + (hash_time(keys) if is_sample else 0)
        spent.append((time * row_share(node), None))


def _row_of(node: Node, columns: Columns) -> RowWidth:
    return row_width((one.type, columns[one.id].size) for one in node.fields)


def _grouped(node: PerUnit | Aggregate) -> Iterator[Scalar]:
    """What a database holds of the rows that it groups."""
    for _, key in node.keys:
        yield key
    for _, measure in node.measures:
        if measure.distinct or measure.function not in _ADDED:
            yield from measure.arguments


def _handed(one: Measure | WindowCall, made: _Expression) -> Size:
    if one.type.family is Family.TEXT and one.arguments:
        return made.of(one.arguments[0]).size
    return size_of_type(one.type)


def _read(column: Column) -> Work:
    """A column of a table, with what is enforced when it is read."""
    if column.longest is None:
        whole = column.type.family in {Family.WHOLE, Family.BOOLEAN, Family.DATE}
        return Work(_WHOLE_READ if whole else _NUMBER_READ, size_of_type(column.type))
    if isinstance(column.domain, Values):
        longest = max(len(one) for one in column.domain if isinstance(one, str))
        return Work(_TEXT_READ + 2 * longest, Size(longest))
    return Work(_TEXT_READ + 5 * column.longest, Size(column.longest))


def _spend(node: Node, columns: Columns, spent: Spent, *, share: int) -> None:
    """The expressions of the node itself, for one row of it, of which there are the more the larger the share."""
    if isinstance(node, Project):
        return  # what is projected counts where it is read
    made = _Expression(columns, _ranges(node))
    for scalar, times in _expressions(node):
        time = made.of(scalar).time * times * share
        spent.append((time, scalar))
    if isinstance(node, Window):
        for _, call in node.items:
            spent.append((_of_frame(call), call))


def _of_frame(call: WindowCall) -> int:
    """The least and the greatest of a frame that moves are sought anew for every row."""
    if call.frame is None or call.function not in _MOVING:
        return MOMENT
    first, last = (_place(one) for one in call.frame)
    if first is None or last is None:  # see `complete_window_order`
        return MOMENT
    return MOMENT + STEP * max(last - first + 1, 0)


def _place(bound: str) -> int | None:
    if bound == "current row":
        return 0
    away, _, side = bound.partition(" ")
    if away == "unbounded":
        return None
    return -int(away) if side == "preceding" else int(away)


def _expressions(node: Node) -> Iterator[tuple[Scalar, int]]:
    match node:
        case Filter():
            yield node.condition, 1
        case Join() | Mark():
            if node.condition is not None:
                yield node.condition, 1
        case Window():
            arguments = [one for _, call in node.items for one in call.arguments]
            # databases order once for all calls that have the same order
            orders = {(call.partition, call.order): None for _, call in node.items}
            keys = [one for partition, order in orders for one in (*partition, *_by(order))]
            yield from ((one, _WINDOW_KEY) for one in (*arguments, *keys))
        case PerUnit() | Aggregate():
            for _, key in node.keys:
                yield key, _KEY
            yield from _of_measures(one for _, one in node.measures)
        case _:
            return


def _by(order: Iterable[tuple[Scalar, bool]]) -> Iterator[Scalar]:
    return (one for one, _ in order)


def _of_measures(measures: Iterable[Measure]) -> Iterator[tuple[Scalar, int]]:
    """What several aggregates need of the same values is measured once."""
    once: dict[tuple[tuple[Scalar, ...], Scalar | None], int] = {}
    for measure in measures:
        values = (measure.arguments, measure.where)
        once[values] = max(once.get(values, 0), _times_of(measure))
    for (arguments, where), times in once.items():
        for one in (*arguments, *(() if where is None else (where,))):
            yield one, times


def _times_of(measure: Measure) -> int:
    if len(measure.arguments) > 1:
        return _MEASURED_TOGETHER
    return _MEASURED.get(measure.function, _MEASURED_OFTEN)


def _ranges(node: Node) -> Mapping[str, Range]:
    found: dict[str, Range] = {}
    if any(needs_ranges(part) for one, _ in _all(node) for part in walk_scalar(one)):
        for one in node.below:
            found |= ranges_of(one)
    return found


def _all(node: Node) -> Iterator[tuple[Scalar, int]]:
    if isinstance(node, Project):
        for _, one in node.items:
            yield one, 1
    yield from _expressions(node)
