"""What is judged to be affine is affine in both databases, whatever they round."""

from collections.abc import Iterator
from fractions import Fraction
from random import Random
from typing import Final

import pytest
from engines.extremes import Databases, answers, bound, scalars
from samples import draws

from gateway.engines.sql.partial_select import Dialect, Sql
from gateway.errors import Refusal
from gateway.plan import affine_rounding as affine_forms
from gateway.plan.affine import Affinity
from gateway.plan.affine_rounding import Form
from gateway.plan.scalars import Call, Cast, Literal, Ref, Scalar, walk_scalar

_SEED: Final = 20_261_119
_NEAR: Final = Fraction(1, 10**5)
_COLUMNS: Final = ("j", "j", "n", "m", "f", "p", "p", "r")
_SUMMANDS: Final = ("1", "0.1", "1e6", "1073741824", "1e13", "1e18", "99999999999999999999999")
_FACTORS: Final = ("3", "-1", "1.1", "0.001", "0.000001", "0.00000006111", "1000", "1e6")
_TYPES: Final = ("float8", "float8", "real", "numeric", "bigint", "numeric(38,10)", "numeric(30,4)")


def _drawn(chance: Random, depth: int) -> str:
    if depth == 0:
        return chance.choice(_COLUMNS)
    x = _drawn(chance, depth - 1)
    big, small = chance.choice(_SUMMANDS), chance.choice(_FACTORS)
    kind = chance.choice(_TYPES)
    back = f"(({x} + {big}) - {big})"
    return chance.choice(
        (
            *(f"({x} + {big})", f"({big} - {x})", back, f"({x} * {small})", f"({x} * {small})"),
            *(
                f"({x} / {small}.0)"
                if "." not in small and "e" not in small
                else f"({x} / {small})",
            ),
            *(f"({x})::{kind}", f"({x})::{kind}", f"({x} + {big}::{kind})"),
            *(f"({x} {sign} {_drawn(chance, depth - 1)})" for sign in "+-*"),
            f"(({x})::float8 + {big}::float8 - {big}::float8)",
        )
    )


def _exact(scalar: Scalar, row: dict[Ref, Fraction]) -> Fraction:
    match scalar:
        case Ref():
            return row[scalar]
        case Literal(value) if isinstance(value, int | Fraction):
            return Fraction(value)
        case Cast(what):
            return _exact(what, row)
        case Call("negate", (one,)):
            return -_exact(one, row)
        case Call(function, (one, other)):
            left, right = _exact(one, row), _exact(other, row)
            return {
                "+": lambda: left + right,
                "-": lambda: left - right,
                "*": lambda: left * right,
                "/": lambda: left / right,
            }[function]()
    raise AssertionError(scalar)


def _judged_affine(many: int) -> Iterator[tuple[str, Scalar, Form]]:
    chance = Random(_SEED)  # noqa: S311 - a seed, no secret
    found: set[str] = set()
    while len(found) < many:
        sql = _drawn(chance, chance.choice((1, 2, 3, 4)))
        try:
            made = bound(sql)
        except Refusal:
            continue
        form = Affinity({}).form(made)
        if sql not in found and not form.chosen and form.degree:
            found.add(sql)
            yield sql, made, form


def _wrong(databases: Databases, many: int) -> list[tuple[str, str]]:
    """Expressions whose values are not near to the affine ones, beside the least part of a column in them."""
    cases = list(_judged_affine(many))
    wrong = []
    dialects: tuple[Dialect, ...] = ("postgresql", "duckdb")
    for dialect in dialects:
        rendering = scalars(dialect)
        rendered: list[tuple[str, Scalar, Form, Sql]] = []
        for sql, made, form in cases:
            try:
                rendered.append((sql, made, form, rendering.sql(made)))
            except Refusal:
                continue
        assert len(rendered) > 0.9 * many
        refs = list(
            {one for _, made, _, _ in rendered for one in walk_scalar(made) if isinstance(one, Ref)}
        )
        items = [*map(rendering.sql, refs), *(one[3] for one in rendered)]
        for row in answers(databases.of(dialect), items):
            given = {
                ref: Fraction(value)
                for ref, value in zip(refs, row, strict=False)
                if value is not None
            }
            for (sql, made, form, _), value in zip(rendered, row[len(refs) :], strict=True):
                if not {one for one in walk_scalar(made) if isinstance(one, Ref)} <= set(given):
                    continue
                assert form.least is not None
                far = (
                    value is None or abs(Fraction(value) - _exact(made, given)) > _NEAR * form.least
                )
                if far:
                    wrong.append((dialect, sql))
    return list(dict.fromkeys(wrong))


def test_values_are_affine_where_expressions_are_judged_to_be(databases: Databases) -> None:
    """Casts, sums, products and quotients drawn at random lose no row's part to rounding, and none becomes NULL."""
    assert _wrong(databases, draws(500)) == []


def test_thresholds_are_found_where_rounding_is_not_judged(
    databases: Databases, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The control: the same search without the limit of errors finds cuts in both databases."""
    monkeypatch.setattr(affine_forms, "_TOLERATED", Fraction(10**60))
    found = {dialect for dialect, _ in _wrong(databases, draws(500))}
    assert found == {"postgresql", "duckdb"}
