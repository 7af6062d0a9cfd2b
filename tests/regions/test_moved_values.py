"""Values that a constant moves: they stay apart as long as nothing leaves its type, the calendar or a double's digits."""

from fractions import Fraction

from laws import for_each

from gateway.catalog.domains import Anything, Domain, Interval
from gateway.catalog.types import parse_type
from gateway.plan.fields import INTEGER, NUMERIC, Field
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, Shift
from gateway.regions.moved_values import keeps_values_apart

_YEAR = Ref(Field("t.year", INTEGER, Interval(1920, 2020, Fraction(1))))
_TIMESTAMP = parse_type("timestamp")
_DOUBLE = parse_type("double precision")
_TEXT = parse_type("text")


def _of(function: str, one: Scalar, by: int | str, kind: object = None) -> Scalar:
    value = Literal(Fraction(by), NUMERIC if "." in str(by) else INTEGER)
    return Call(function, (one, value), one.type if kind is None else kind)  # type: ignore[arg-type]


def _moment(domain: Domain | None = None) -> Ref:
    return Ref(Field("t.at", _TIMESTAMP, domain or Anything()))


def _later(one: Scalar, days: int) -> Scalar:
    return Shift(one, 0, days, 0, _TIMESTAMP)


_DOUBLE_YEAR = Cast(_YEAR, _DOUBLE)


@for_each(
    "scalar",
    [
        _YEAR,
        _of("+", _YEAR, 3),
        _of("*", _of("+", _YEAR, 3), 100),
        _of("*", _YEAR, "0.5", NUMERIC),
        _of("+", _DOUBLE_YEAR, 5),
        Cast(_of("+", _YEAR, 3), _TEXT),
        _later(_moment(), 300),
    ],
)
def test_ordinary_moves_keep_values_apart(scalar: Scalar) -> None:
    """Different values have different keys."""
    assert keeps_values_apart(scalar)


@for_each(
    "scalar",
    [
        _of("*", _YEAR, 1_111_111),
        _of("+", _YEAR, 2**31 - 1_934),
        _of("+", _of("+", _DOUBLE_YEAR, 5), 10**17),
        Cast(_of("*", _YEAR, 1_111_111), _TEXT),
        _of("+", Cast(_of("*", _YEAR, 17), parse_type("smallint")), 1),
        _later(_moment(), 400),
        _later(_later(_moment(), 300), 300),
        _of("+", Ref(Field("t.n", INTEGER)), 3),
    ],
)
def test_moves_out_of_the_type_or_the_calendar_divide(scalar: Scalar) -> None:
    """What becomes NULL or is rounded away is divided from the rest by the constant."""
    assert not keeps_values_apart(scalar)
