"""Samples of rows: at most so many of each person, or of each value of a public table, by a hash of the row.

INVARIANT: which rows are kept depends on the rows of the part alone, and rows that tie in the hash are ordered by all of
their columns: the same ones however they are stored.
"""

from typing import Final

from gateway.plan.aggregates import WindowCall
from gateway.plan.fields import BIGINT, BOOLEAN, Tie
from gateway.plan.joins import Mark
from gateway.plan.node import Node
from gateway.plan.relations import Filter, Project, Window
from gateway.plan.scalars import Call, Literal, Ref, Scalar

MOST_MET: Final = 256
"""How many rows of a person one row of that person meets."""
MOST_MATCHES: Final = 64
"""How many rows of a public table one row of a person meets."""
MOST_PAIRS: Final = 65_536
"""How many pairs of rows one person has, where they are sampled, ordered or held."""


def few_of_person(side: Node, most: int, name: str) -> Node:
    """At most so many rows of each person; a side that was cut to no more is left as it is."""
    there = kept_of_person(side)
    if there is not None and there <= most:
        return side
    # a sample is of the rows of each person, also where no column has the person
    units = tuple(Ref(one) for one in side.fields if one.tie is Tie.ALWAYS)
    return sample_rows(side, units[:1], most, name)


def sample_rows(side: Node, partition: tuple[Scalar, ...], most: int, name: str) -> Filter:
    """At most so many rows of each part; `order` is completed later, as of every window."""
    call = WindowCall("sample_number", (), partition, (), None, BIGINT)
    numbered = Window(side, ((name, call),))
    few = Call("<=", (Ref(numbered.fields[-1]), Literal(most, BIGINT)), BOOLEAN)
    return Filter(numbered, few)


def kept_of_person(side: Node) -> int | None:
    """To how many rows of each person a cut below has brought the side; None: there is none.

    INVARIANT: what stands between the side and the cut adds no row and changes the person of none, so that another cut to as
    many rows would leave out no row.
    """
    while isinstance(side, Filter | Mark | Project | Window):
        if isinstance(side, Filter) and (most := _most_of_sample(side)) is not None:
            return most
        side = side.child
    return None


def _most_of_sample(node: Filter) -> int | None:
    """How many rows of each person a filter of `sample_rows` keeps; None of any other filter."""
    condition, below = node.condition, node.child
    if not isinstance(below, Window) or not isinstance(condition, Call):
        return None
    match condition.function, condition.parts:
        case "<=", (Ref(field=number), Literal(value=int(most))):
            sampled = any(
                name == number.id and call.function == "sample_number" for name, call in below.items
            )
            return most if sampled else None
    return None
