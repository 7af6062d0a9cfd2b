"""Sums that the lattice rounds: the decision is compared with the lattice that the release really uses."""

from fractions import Fraction
from random import Random
from typing import Final

from laws import for_each
from sensitivity.analyses import analysed, dataset, plan_of

from gateway.catalog.domains import Interval
from gateway.catalog.types import parse_type
from gateway.functions.range_arithmetic import Range
from gateway.plan.aggregates import PerUnit
from gateway.plan.node import walk_nodes
from gateway.plan.uses import plan_uses
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
_LEAST_STEPS: Final = 2**20
_FACTORS: Final = tuple(Fraction(1, 2**power) for power in range(0, 22, 3))
_CONSTANTS: Final = (0, 1, 1000, 10**6, 10**9, 10**12)
_ALWAYS_ZERO: Final = (0, 1, 1000, 10**6, 10**9)


def _drawn(chance: Random) -> tuple[Fraction, int, str]:
    """A factor of x, the width of a term that is always 0, and the expression."""
    factor, zero = chance.choice(_FACTORS), chance.choice(_ALWAYS_ZERO)
    constant = chance.choice(_CONSTANTS)
    expression = f"x * {float(factor)!r} + {constant} + {zero}::double precision * (n - n)"
    return factor, 2_000 * zero, expression


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


def test_sums_are_rounded_if_and_only_if_the_lattice_has_few_steps() -> None:
    """Whatever factor, constant and term of 0 the analyst chooses: 2^20 steps, or the permission to filter."""
    chance = Random(_SEED)  # noqa: S311 - a seed, no secret
    seen = set[bool]()
    for _ in range(150):
        factor, wide, expression = _drawn(chance)
        sql = f"SELECT SUM({expression}) FROM t"
        step = _step_of_release(sql)
        width = factor * _WIDTH + wide
        few = step is None or (width / step < _LEAST_STEPS and step > factor / 1024)
        assert _is_rounded(sql) == few, sql
        seen.add(_is_rounded(sql))
    assert seen == {False, True}


def test_sums_of_a_person_are_rounded_if_and_only_if_the_lattice_has_few_steps() -> None:
    """The same within a person: filters narrow the width that is known above, and not the lattice."""
    chance = Random(_SEED)  # noqa: S311 - a seed, no secret
    seen = set[bool]()
    for _ in range(150):
        factor, wide, expression = _drawn(chance)
        where = chance.choice(("", " WHERE n = 5"))
        inner = f"SELECT u, AVG({expression}) a FROM t{where} GROUP BY 1"
        is_rounded, lattice, found = _within_person(f"SELECT AVG(a) FROM ({inner}) s")
        width = factor * _WIDTH + (0 if where else wide)
        few = width / lattice.step < _LEAST_STEPS and lattice.step != found.step
        assert is_rounded == few, inner
        seen.add(few)
    assert seen == {False, True}


def test_sums_of_sums_are_not_rounded() -> None:
    """Each level multiplies the range by R, and the noise with it."""
    inner = "SELECT u, n, SUM(x * 0.7) s FROM t GROUP BY 1, 2"
    for level in range(4):
        assert not _is_rounded(f"SELECT SUM(s) FROM ({inner}) q")
        inner = f"SELECT u, n, SUM(s) s FROM ({inner}) q{level} GROUP BY 1, 2"


def test_decimals_of_duckdb_round_small_means() -> None:
    """DuckDB keeps ten digits behind the point of a person's sum: less than those is a staircase."""
    of = dataset(5, {"x": ("numeric", Interval(0, 1, Fraction(1, 100)))})
    inner = "SELECT u, AVG(x * {} + 0.00000000002) m FROM t GROUP BY 1"
    for factor, is_rounded in (("0.000000001", True), ("0.1", False)):
        for mean in ("m", "m * 1000"):
            plan = plan_of(f"SELECT AVG({mean}) FROM ({inner.format(factor)}) s", of)
            uses = {str(one) for one in plan_uses(plan) | rounding_uses(plan)}
            assert ("filter t.x" in uses) is is_rounded, (factor, mean)


_NARROWED: Final = "x * (n - 500 + 0.00001) + 1000000000.5"


@for_each(
    "sql",
    [
        f"SELECT AVG({_NARROWED}) FILTER (WHERE n = 500) FROM t",
        f"SELECT STDDEV({_NARROWED}) FILTER (WHERE n = 500) FROM t",
        f"SELECT SUM({_NARROWED}) FROM t WHERE n = 500",
        f"SELECT AVG(CASE WHEN n = 500 THEN {_NARROWED} END) FROM t",
        "SELECT AVG(x * (d + 0.00001) + 1000000000.5) FROM (SELECT n - 500 d, x FROM t) s WHERE d = 0",
        f"""SELECT SUM(a - 1000000000.5) FROM (SELECT u, AVG(CASE WHEN n = 500 THEN {_NARROWED} END) a FROM t
        GROUP BY 1) s""",
        "SELECT AVG(x * (COALESCE(0, n) + 0.00001) + 1000000000.5) FROM t",
        "SELECT AVG(x * (LEAST(GREATEST(n - 500, 0), 0) + 0.00001) + 1000000000.5) FROM t",
        """SELECT SUM(x * (n - 500 + 0.00002)::double precision + 4503599627370496 - 4503599627370496)
        FILTER (WHERE n = 500) FROM t""",
        "SELECT SUM(a) FROM (SELECT u, AVG(x * 0.04 + 9e8 * (n - n)) a FROM t WHERE n = 5 GROUP BY 1) s",
        "SELECT SUM(a - 1e9) FROM (SELECT u, AVG(x * 0.000005 + 1e9) a FROM t GROUP BY 1) s",
    ],
)
def test_factor_that_a_condition_narrows_is_seen(sql: str) -> None:
    """The condition makes the column's part small, and the constant stays."""
    assert _is_rounded(sql)
    assert "filter t.x" in {str(one) for one in rounding_uses(plan_of(sql, _DATASET))}


def test_constant_beside_a_column_is_not_rounded() -> None:
    """What no row changes tells no rows apart."""
    assert not _is_rounded("SELECT CORR(x, (0.001 - 3)) FROM t")


def test_sum_of_whole_numbers_is_exact_however_wide() -> None:
    """Whole numbers are points of the lattice: nothing is rounded."""
    assert parse_type("integer").bound is not None
    assert not _is_rounded("SELECT SUM(n + 1000000 * (n - n)) FROM t")
