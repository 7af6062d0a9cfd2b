"""What single aggregates are about, where they look at fewer rows than the question: FILTER, and choices that leave out.

`count(*) FILTER (WHERE c)`, `sum(CASE WHEN c THEN x ELSE 0 END)` and `sum(x * CAST(c AS integer))` tell of the rows
where c is true, as a question of their own with WHERE c would. Whoever compares questions has to see them.

INVARIANT: a row that moves such an aggregate is in the region that is given for it.
"""

from collections.abc import Iterator
from typing import Final

from gateway.catalog.types import Family
from gateway.plan.aggregates import Measure
from gateway.plan.scalars import Call, Case, Cast, Literal, Scalar
from gateway.plan.types import BOOLEAN

_ADDED: Final = frozenset({"sum", "avg"})
_TRUE: Final = Literal(value=True, type=BOOLEAN)
_FALSE: Final = Literal(value=False, type=BOOLEAN)


def conditions_of(measure: Measure) -> tuple[Scalar, ...]:
    """The conditions that are all true of every row that moves the aggregate."""
    found = [] if measure.where is None else [measure.where]
    for argument in measure.arguments:
        if measure.function == "sum":
            found.extend(_moving(argument, zero=True))
        elif measure.function in _ADDED | {"count"}:
            found.extend(_moving(argument, zero=False))
    return tuple(found)


def _moving(scalar: Scalar, *, zero: bool) -> Iterator[Scalar]:
    """When the value is there; `zero`: and is not 0."""
    match scalar:
        case Case():
            results = tuple(_moves(one, zero=zero) for one in scalar.results)
            if _FALSE in results:
                whens = (when for when, _ in scalar.branches)
                *branches, otherwise = results
                yield Case(tuple(zip(whens, branches, strict=True)), otherwise, BOOLEAN)
        case Cast(what) if what.type.family is Family.BOOLEAN and zero:
            yield what
        case Cast(what):
            yield from _moving(what, zero=zero)
        case Call("*", parts):
            for one in parts:
                yield from _moving(one, zero=zero)
        case Call("nullif", (what, Literal(value))) if value == 0 and not zero:
            yield from _moving(what, zero=True)


def _moves(result: Scalar, *, zero: bool) -> Literal:
    if isinstance(result, Cast):
        return _moves(result.what, zero=zero)
    nothing = isinstance(result, Literal) and (result.value is None or (zero and result.value == 0))
    return _FALSE if nothing else _TRUE
