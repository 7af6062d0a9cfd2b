"""Bugs that the fuzzer has to find, planted from outside: nothing in the gateway knows how to be wrong.

Each is a break that was there once: a licence that was read from spellings, keys that are equal in one type and not in
another, a domain that was narrowed on a declared step.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final

import pytest
from sqlglot import exp

from gateway.binding import free
from gateway.bounding import licences
from gateway.plan import narrowing
from gateway.plan.joins import Join
from gateway.plan.relations import Constant


@contextmanager
def spellings() -> Iterator[None]:
    """Texts that are not alike are taken for values that are not, and what was written licenses a join."""

    def written(node: exp.Expression) -> tuple[bool, str | int] | None:
        return (node.is_string, str(node.this)) if isinstance(node, exp.Literal) else None

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(free, "_written_value", written)
        patch.setattr(licences.Licences, "meets_one", _meets_one)
        yield


@contextmanager
def floats() -> Iterator[None]:
    """Keys of released rows license a join, in whichever type they were computed and printed."""

    def stay_apart(*_: object) -> bool:
        return True

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(licences, "_stay_apart", stay_apart)
        patch.setattr(licences.Licences, "meets_one", _meets_one)
        yield


_MEETS_ONE: Final = licences.Licences.meets_one


def _meets_one(self: licences.Licences, node: Join) -> bool:
    """As it was: what the statement says of its own rows is believed."""
    for other, mine in ((node.left, node.right), (node.right, node.left)):
        equal = licences.equal_columns(node.condition, other, mine)
        if isinstance(licences.lowest(other), Constant) and any(
            one <= equal for one in other.claims
        ):
            return True
    return _MEETS_ONE(self, node)


@contextmanager
def steps() -> Iterator[None]:
    """An end of a domain is moved onto the next declared step inwards."""
    within: Callable[..., Any] = narrowing._within

    def rounded(*given: Any, exact: bool) -> Any:  # noqa: ANN401 - as given
        del exact
        return within(*given, exact=True)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(narrowing, "_within", rounded)
        yield


PLANTS: Final = {"spellings": spellings, "floats": floats, "steps": steps}
AIMED: Final = {
    "spellings": frozenset({"VALUES of one number"}),
    "floats": frozenset({"released key of an expression"}),
    "steps": frozenset({"COUNT(DISTINCT x)", "condition between steps"}),
}
"""Features of statements that can show the bug: the others are not asked."""
