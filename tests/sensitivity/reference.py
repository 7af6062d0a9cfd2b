"""Random expressions, and what they come to: written apart from the code that is tested.

Two columns of whole numbers and one of hundredths; every expression is computed exactly, or is None where a
database has NULL.
"""

from collections.abc import Mapping
from fractions import Fraction
from math import ceil, floor, trunc

from hypothesis import strategies as st

from gateway.catalog.types import Family
from gateway.plan.fields import BOOLEAN, INTEGER, NUMERIC, Field
from gateway.plan.scalars import Call, Case, Literal, Ref, Scalar

Row = Mapping[str, Fraction | None]

COLUMNS = {
    "a": Ref(Field("a", INTEGER)),
    "b": Ref(Field("b", INTEGER)),
    "c": Ref(Field("c", NUMERIC)),
}


def _literal(value: int | Fraction) -> Literal:
    return Literal(value, INTEGER if isinstance(value, int) else NUMERIC)


_leaves = st.one_of(
    st.sampled_from([COLUMNS["a"], COLUMNS["b"], COLUMNS["c"]]),
    st.integers(-12, 12).map(_literal),
    st.integers(-40, 40).map(lambda n: _literal(Fraction(n, 4))),
)
_TWO = ["+", "-", "*", "/", "%", "greatest", "least", "coalesce", "nullif"]
_ONE = ["negate", "abs", "sign", "floor", "ceil", "trunc", "round"]
_COMPARED = ["<", "<=", ">", ">=", "=", "<>"]


def _kind(parts: tuple[Scalar, ...]) -> bool:
    return all(one.type.family is Family.WHOLE for one in parts)


def _two(drawn: tuple[str, Scalar, Scalar]) -> Scalar:
    name, left, right = drawn
    whole = _kind((left, right)) if name != "nullif" else _kind((left,))
    return Call(name, (left, right), INTEGER if whole else NUMERIC)


def _one(drawn: tuple[str, Scalar]) -> Scalar:
    name, of = drawn
    return Call(name, (of,), INTEGER if _kind((of,)) and name in {"negate", "abs"} else NUMERIC)


def _power(drawn: tuple[Scalar, int]) -> Scalar:
    base, exponent = drawn
    return Call("power", (base, _literal(exponent)), NUMERIC)


def _condition(drawn: tuple[str, Scalar, Scalar]) -> Scalar:
    name, left, right = drawn
    return Call(name, (left, right), BOOLEAN)


def _case(drawn: tuple[Scalar, Scalar, Scalar]) -> Scalar:
    when, then, otherwise = drawn
    return Case(((when, then),), otherwise, INTEGER if _kind((then, otherwise)) else NUMERIC)


def conditions(scalars: st.SearchStrategy[Scalar]) -> st.SearchStrategy[Scalar]:
    simple = st.tuples(st.sampled_from(_COMPARED), scalars, scalars).map(_condition)
    joined = st.tuples(st.sampled_from(["and", "or"]), simple, simple).map(_condition)
    negated = st.one_of(simple, joined).map(lambda one: Call("not", (one,), BOOLEAN))
    return st.one_of(simple, joined, negated)


def _bigger(scalars: st.SearchStrategy[Scalar]) -> st.SearchStrategy[Scalar]:
    return st.one_of(
        st.tuples(st.sampled_from(_TWO), scalars, scalars).map(_two),
        st.tuples(st.sampled_from(_ONE), scalars).map(_one),
        st.tuples(scalars, st.integers(-3, 3)).map(_power),
        st.tuples(conditions(scalars), scalars, scalars).map(_case),
    )


expressions: st.SearchStrategy[Scalar] = st.recursive(_leaves, _bigger, max_leaves=8)


def computed(scalar: Scalar, row: Row) -> Fraction | None:
    """The value of a number; None is NULL."""
    match scalar:
        case Ref(field):
            return row[field.id]
        case Literal(value):
            assert isinstance(value, int | Fraction)
            return Fraction(value)
        case Case():
            for when, then in scalar.branches:
                if holds(when, row):
                    return computed(then, row)
            return computed(scalar.otherwise, row)
        case Call(name, parts):
            return _called(name, parts, [computed(one, row) for one in parts])
        case _:
            raise AssertionError(scalar)


def holds(condition: Scalar, row: Row) -> bool | None:
    """Of the three values of SQL, None is unknown."""
    assert isinstance(condition, Call)
    name = condition.function
    if name == "not":
        inner = holds(condition.parts[0], row)
        return None if inner is None else not inner
    if name == "is not null":
        return computed(condition.parts[0], row) is not None
    if name in {"and", "or"}:
        each = [holds(one, row) for one in condition.parts]
        decisive = name == "or"
        return decisive if decisive in each else None if None in each else not decisive
    left, right = (computed(one, row) for one in condition.parts)
    if left is None or right is None:
        return None
    return {
        "<": left < right,
        "<=": left <= right,
        ">": left > right,
        ">=": left >= right,
        "=": left == right,
        "<>": left != right,
    }[name]


def _called(  # noqa: C901, PLR0911, PLR0912 - one answer for each function
    name: str, parts: tuple[Scalar, ...], values: list[Fraction | None]
) -> Fraction | None:
    there = [one for one in values if one is not None]
    if name in {"greatest", "least"}:
        return (max if name == "greatest" else min)(there) if there else None
    if name == "coalesce":
        return there[0] if there else None
    if name == "nullif":
        return None if len(there) == 2 and there[0] == there[1] else values[0]
    if len(there) < len(values):
        return None
    x, y = there[0], there[1] if len(there) > 1 else Fraction(0)
    match name:
        case "+":
            return x + y
        case "-":
            return x - y
        case "*":
            return x * y
        case "/":
            if y == 0:
                return None
            return Fraction(trunc(x / y)) if _kind(parts) else x / y
        case "%":
            return None if y == 0 else x - y * trunc(x / y)
        case "power":
            return None if x == 0 and y < 0 else x ** int(y)
        case "negate":
            return -x
        case "abs":
            return abs(x)
        case "sign":
            return Fraction((x > 0) - (x < 0))
        case "floor":
            return Fraction(floor(x))
        case "ceil":
            return Fraction(ceil(x))
        case "trunc":
            return Fraction(trunc(x))
        case "round":
            return Fraction(floor(x + Fraction(1, 2)) if x >= 0 else ceil(x - Fraction(1, 2)))
        case _:
            raise AssertionError(name)
