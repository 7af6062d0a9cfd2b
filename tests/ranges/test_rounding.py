"""Sums that the lattice rounds: the decision is compared with the lattice that the release really uses."""

from fractions import Fraction
from random import Random
from typing import Final

from sensitivity.analyses import analysed, dataset, plan_of

from gateway.catalog.domains import Interval
from gateway.catalog.types import parse_type
from gateway.functions.range_arithmetic import Range
from gateway.plan.aggregates import PerUnit
from gateway.plan.node import walk_nodes
from gateway.ranges.lattice import Lattice, person_lattice
from gateway.ranges.relations import range_of, ranges_of
from gateway.ranges.rounding import rounded_sums, rounding_uses
from gateway.sensitivity.measurement import Total

_SEED: Final = 20_261_119
_WIDTH: Final = 4096
_DATASET: Final = dataset(
    5,
    {
        "x": ("double precision", Interval(0, _WIDTH, Fraction(1, 1024))),
        "n": ("integer", Interval(0, 1000, Fraction(1))),
    },
)
_LEAST_STEPS: Final = 2**16
_FACTORS: Final = tuple(Fraction(1, 2**power) for power in range(0, 22, 3))
_CONSTANTS: Final = (0, 1, 1000, 10**6, 10**9, 10**12)
_ALWAYS_ZERO: Final = (0, 1, 1000, 10**6, 10**9)


def _drawn(chance: Random) -> tuple[Fraction, str]:
    factor = chance.choice(_FACTORS)
    zero = f"{chance.choice(_ALWAYS_ZERO)}::double precision * (n - n)"
    return factor, f"x * {float(factor)!r} + {chance.choice(_CONSTANTS)} + {zero}"


def _is_rounded(sql: str) -> bool:
    return bool(rounded_sums(plan_of(sql, _DATASET)))


def _step_of_release(sql: str) -> Fraction | None:
    """The step of the lattice on which the release adds up; None if the lattice has one point, so that rows are counted."""
    for one in analysed(sql, of=_DATASET).measurements:
        if isinstance(one.quantity, Total):
            return one.quantity.lattice.step
    return None


def _within_person(sql: str) -> tuple[bool, Lattice, Range]:
    """Whether the mean of a person is rounded, and the lattice of its values as `unit_aggregate` makes it."""
    plan = plan_of(sql, _DATASET)
    node = next(one for one in walk_nodes(plan) if isinstance(one, PerUnit))
    [(_, measure)] = node.measures
    found = range_of(measure.arguments[0], ranges_of(node.child))
    assert found is not None
    return measure in rounded_sums(plan), person_lattice(found), found


def test_sums_are_rounded_if_and_only_if_the_lattice_has_few_steps_for_a_column() -> None:
    """Whatever factor, constant and term of 0 the analyst chooses: 2^16 steps, or the permission to filter."""
    chance = Random(_SEED)  # noqa: S311 - a seed, no secret
    seen = set[bool]()
    for _ in range(150):
        factor, expression = _drawn(chance)
        sql = f"SELECT SUM({expression}) FROM t"
        step = _step_of_release(sql)
        few = step is None or (factor * _WIDTH / step < _LEAST_STEPS and step > factor / 1024)
        assert _is_rounded(sql) == few, sql
        seen.add(_is_rounded(sql))
    assert seen == {False, True}


def test_sums_of_a_person_are_rounded_if_and_only_if_the_lattice_has_few_steps_for_a_column() -> (
    None
):
    """The same within a person, where filters narrow nothing."""
    chance = Random(_SEED)  # noqa: S311 - a seed, no secret
    seen = set[bool]()
    for _ in range(150):
        factor, expression = _drawn(chance)
        where = chance.choice(("", " WHERE n = 5"))
        inner = f"SELECT u, AVG({expression}) a FROM t{where} GROUP BY 1"
        is_rounded, lattice, found = _within_person(f"SELECT AVG(a) FROM ({inner}) s")
        few = factor * _WIDTH / lattice.step < _LEAST_STEPS and lattice.step != found.step
        assert is_rounded == few, inner
        seen.add(few)
    assert seen == {False, True}


def test_sum_of_sums_is_rounded_if_too_many_rows_are_behind_it() -> None:
    """Each level of sums multiplies the range by R and leaves the part of a row as it is."""
    inner = "SELECT u, n, SUM(x) s FROM t GROUP BY 1, 2"
    for level in range(8):
        sql = f"SELECT SUM(s) FROM ({inner}) q"
        assert _is_rounded(sql) == (5 ** (level + 1) > 2**14), level
        inner = f"SELECT u, n, SUM(s) s FROM ({inner}) q{level} GROUP BY 1, 2"


def test_mean_of_a_choice_is_rounded_for_one_row_among_many() -> None:
    """A condition can leave one row of R with a value: its part in the mean is an R-th."""
    inner = "SELECT u, AVG(CASE WHEN n > 5 THEN x ELSE 0 END) a FROM t GROUP BY 1"
    plain = "SELECT u, AVG(x) a FROM t GROUP BY 1"
    wide = "AVG(a + 40000000)"
    assert _is_rounded(f"SELECT {wide} FROM ({inner}) s")
    assert not _is_rounded(f"SELECT {wide} FROM ({plain}) s")


def test_sum_without_a_known_width_is_rounded() -> None:
    """Fail closed: of a column without a domain nothing says how wide its part is."""
    of = dataset(5, {"x": ("double precision", None)})
    sql = "SELECT SUM(LEAST(GREATEST(x, 0), 5)) FROM t"
    assert {str(one) for one in rounding_uses(plan_of(sql, of))} == {"filter t.x"}


def test_sum_of_whole_numbers_is_exact_however_wide() -> None:
    """Whole numbers are points of the lattice: nothing is rounded."""
    assert parse_type("integer").bound is not None
    assert not _is_rounded("SELECT SUM(n + 1000000 * (n - n)) FROM t")
