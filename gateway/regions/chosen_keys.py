"""Keys whose boundaries the query chose, such as `year >= 1923`: they divide rows as a condition does.

If the cells of the groups are known, the auditor compares groups. Otherwise each value of such a key is the region of a
condition. What cannot be read as one is opaque, as it is in WHERE.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.fields import BOOLEAN
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar, column_ids
from gateway.plan.sql_text import scalar_sql
from gateway.regions.base_columns import Bases
from gateway.regions.cells import is_fine
from gateway.regions.conditional_aggregates import join_regions
from gateway.regions.predicate import opaque_region, region_of
from gateway.regions.region import Region

_JOINED: Final = frozenset({"||", "concat", "concat_ws"})
_COLUMN: Final = re.compile(r'(?:[\w$]+|"(?:[^"]|"")*")(?:\.(?:[\w$]+|"(?:[^"]|"")*"))*')
_ROUND: Final = r"(?:[125]|25)0*"
_CUTS: Final = tuple(
    re.compile(one, re.DOTALL)
    for one in (
        r"date_trunc\('\w+', (.+)\)",
        r"extract\(\w+ from (.+)\)",
        r"cast\((.+) as (?:date|text|integer|bigint|timestamp without time zone|timestamp with time zone)\)",
        r"left\((.+), \d+\)",
        r"\((.+) [+-] interval '-?\d+ months 0 days 0 microseconds'\)",
        r"(?:floor|ceil|trunc|round)\((.+?)(?:, -?\d+)?\)",
        rf"\((.+) [/*] (?:{_ROUND}|cast\({_ROUND} as numeric\))\)",
    )
)
"""Keys with boundaries that the calendar or round numbers set: in these the text inside is a key of this kind again."""


def has_chosen_bounds(text: str) -> bool:
    """Whether the analyst chose the boundaries of the key's groups, as in `year >= 1923` or `(day - 3) / 7`.

    Nobody chooses where a month, a decade or a value of a column begins.
    """
    while not _COLUMN.fullmatch(text):
        found = next((each for one in _CUTS if (each := one.fullmatch(text))), None)
        if found is None:
            return True
        text = found[1]
    return False


@dataclass(frozen=True, slots=True)
class KeyPart:
    """The rows for which a key comes from one place: those of a region, divided by `rest` if it is not one value there."""

    region: Region
    rest: Scalar | None = None


def parts_of_key(scalar: Scalar, bases: Bases) -> Iterator[KeyPart]:
    """The regions into which a key divides the rows if the query chose its boundaries, as far as they can be read.

    `scalar` is the key over bases. A key over names and listed values alone chooses no boundary.
    """
    axes = [bases[one].axis for one in sorted(column_ids(scalar))]
    if _chooses(scalar) and any(one is not None and is_fine(one) for one in axes):
        yield from _parts(scalar, (), bases)


def _parts(scalar: Scalar, given: tuple[Scalar, ...], bases: Bases) -> Iterator[KeyPart]:
    """The parts where these conditions are true."""
    match scalar:
        case Case():
            for when, then in scalar.branches:
                yield from _parts(then, (*given, when), bases)
                given = (*given, _not(when))
            yield from _parts(scalar.otherwise, given, bases)
        case Literal():
            yield KeyPart(region_of(given, bases))
        case _ if scalar.type.family is Family.BOOLEAN:
            yield KeyPart(region_of((*given, scalar), bases))
            yield KeyPart(region_of((*given, _not(scalar)), bases))
        case _ if given and not _chooses(scalar):
            yield KeyPart(region_of(given, bases), scalar)
        case _:
            yield KeyPart(join_regions(region_of(given, bases), opaque_region(scalar, bases)))


def _chooses(scalar: Scalar) -> bool:
    """The same for a key over several columns: a text that is put together from keys divides as these do."""
    if isinstance(scalar, Literal):
        return False
    if isinstance(scalar, Call) and scalar.function in _JOINED:
        return any(map(_chooses, scalar.parts))
    if isinstance(scalar, Cast) and scalar.type.family is Family.TEXT:
        return _chooses(scalar.what)
    return has_chosen_bounds(scalar_sql(scalar))


def _not(condition: Scalar) -> Scalar:
    return Call("not", (condition,), BOOLEAN)
