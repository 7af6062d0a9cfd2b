"""The `domain` and `step` of a column, read exactly and held against the column's type."""

from datetime import date
from fractions import Fraction

from gateway.catalog.domains import Anything, Bound, Domain, Interval, Values, distance
from gateway.catalog.types import ColumnType, Family
from gateway.catalog.values import Value, ValueUnfit, read_number, read_value
from gateway.policy.model import ColumnModel
from gateway.policy.problems import Complaints, Path
from gateway.policy.scalars import seconds_of
from gateway.policy.yaml_text import quote

_MEASURED = frozenset({Family.WHOLE, Family.EXACT, Family.FLOAT, Family.DATE, Family.TIMESTAMP})


def declared_domain(
    model: ColumnModel, of: ColumnType, path: Path, complaints: Complaints
) -> Domain | None:
    """The domain, or None with a complaint."""
    domain = model.domain
    between = None if domain is None else domain.between
    if model.step is not None and between is None:
        complaints.add(
            (*path, "step"), "a `step` needs `domain: {between: [low, high]}`", at_key=True
        )
        return None
    if domain is None:
        # a boolean has its domain from its type
        return Values((False, True)) if of.family is Family.BOOLEAN else Anything()
    if (between is None) == (domain.in_ is None):
        hint = "`{between: [low, high]}` or `{in: [one, another]}`"
        complaints.add((*path, "domain"), "a domain is either `between` or `in`", hint, at_key=True)
        return None
    if between is not None:
        return _interval(model, of, path, complaints)
    return _values(domain.in_ or [], of, (*path, "domain", "in"), complaints)


def _values(
    written: list[str], of: ColumnType, path: Path, complaints: Complaints
) -> Values | None:
    if of.family in {Family.FLOAT, Family.TIMESTAMP}:
        complaints.add(path, f"`{of}` cannot be a set of values", "use `between`", at_key=True)
        return None
    values: dict[Value, None] = {}
    for place, text in enumerate(written):
        value = _read(text, of, (*path, place), complaints)
        if value is None:
            return None
        if value in values:
            complaints.add((*path, place), f"{quote(text)} stands here twice")
            return None
        values[value] = None
    return Values(tuple(values))


def _interval(
    model: ColumnModel, of: ColumnType, path: Path, complaints: Complaints
) -> Interval | None:
    here = (*path, "domain", "between")
    if of.family not in _MEASURED:
        complaints.add(here, f"`{of}` has no `between`", "use `in`", at_key=True)
        return None
    written = model.domain.between if model.domain and model.domain.between else []
    bounds = [_read(text, of, (*here, place), complaints) for place, text in enumerate(written)]
    low, high = (_bound(value) for value in bounds)
    if low is None or high is None:
        return None
    width = distance(low, high)
    if width < 0:
        complaints.add(here, "the bounds are reversed", f"write `[{written[1]}, {written[0]}]`")
        return None
    step = _step(model.step, of, path, complaints)
    if step is None:
        return None
    if width % step:
        message = (
            f"a step of {quote(model.step or str(step))} does not lead from one bound to the other"
        )
        complaints.add((*path, "step") if model.step else here, message)
        return None
    return Interval(low, high, step)


def _step(
    written: str | None, of: ColumnType, path: Path, complaints: Complaints
) -> Fraction | None:
    natural = of.resolution
    if written is None:
        if natural is None:
            hint = "write `step: 0.01`, or what the values may be rounded to"
            complaints.add(path, f"`{of}` needs a `step`", hint, at_key=True)
        return natural
    here = (*path, "step")
    try:
        step = seconds_of(written) if of.family is Family.TIMESTAMP else read_number(written)
    except ValueUnfit as error:
        complaints.add(here, str(error))
        return None
    if step <= 0:
        complaints.add(here, "a `step` must be above zero")
        return None
    if natural is not None and step % natural:
        complaints.add(here, f"a step of {quote(written)} is finer than `{of}`")
        return None
    return step


def _read(text: str, of: ColumnType, path: Path, complaints: Complaints) -> Value | None:
    try:
        return read_value(text, of)
    except ValueUnfit as error:
        complaints.add(path, str(error))
        return None


def _bound(value: Value | None) -> Bound | None:
    return value if isinstance(value, int | Fraction | date) else None
