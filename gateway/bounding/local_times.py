"""Whether a plan reads times in the zone of whoever asks, as PostgreSQL does of times with a zone.

The source computes in UTC. There a time with a zone is a moment, whatever zone it is shown in; but the day or the hour
of it, a text without an offset read as one, and days added to it depend on the zone.

INVARIANT: where the answer could differ between two zones, the plan is said to read them.
"""

from collections.abc import Iterator

from gateway.bounding.replacing import in_node
from gateway.catalog.types import Kind
from gateway.plan.node import Node, nodes
from gateway.plan.scalars import Call, Cast, Literal, Scalar, Shift, walk

# these look at moments and at nothing of them
_OF_MOMENTS = frozenset({"=", "<>", "<", "<=", ">", ">=", "in", "not in", "is null", "is not null"})


def reads_zone(plan: Node) -> bool:
    """Whether a day, an hour or a text of a time with a zone is made or read anywhere."""
    return any(in_zone(scalar) for scalar in _scalars(plan))


def in_zone(scalar: Scalar) -> bool:
    """The same of one expression."""
    return any(_reads(one) for one in walk(scalar))


def _reads(scalar: Scalar) -> bool:
    match scalar:
        case Call():
            zoned = [_is_zoned(part) for part in scalar.parts]
            moments = scalar.function.lower() in _OF_MOMENTS and all(zoned)
            return any(zoned) and not moments
        case Cast():
            return _is_zoned(scalar) or _is_zoned(scalar.what)
        case Shift() | Literal():
            return _is_zoned(scalar)
    return False


def _is_zoned(scalar: Scalar) -> bool:
    return scalar.type.kind is Kind.TIMESTAMPTZ


def _scalars(plan: Node) -> Iterator[Scalar]:
    found: list[Scalar] = []

    def seen(scalar: Scalar) -> Scalar:
        found.append(scalar)
        return scalar

    for node in nodes(plan):
        in_node(node, seen)
    yield from found
