"""The cut of what a unit adds to a group, by the integer form.

INVARIANT: with n rows, each of at most d in size, |s| <= n*d, and what is left is at most R*d in size: nothing
overflows, and no quotient is rounded up. docs/proofs/bounding.md.
"""

from typing import Final

from sqlalchemy import BigInteger, case, func, literal_column

from gateway.engines.expressing import Dialect, Sql

_ZERO: Final[Sql] = literal_column("0")
_ONE: Final[Sql] = literal_column("1")


def shortened(dialect: Dialect, s: Sql, n: Sql, most: Sql) -> Sql:
    """The sum `s` of `n` rows where `most` rows count; NULL is 0."""
    whole = "//" if dialect == "duckdb" else "/"
    size = func.abs(s, type_=BigInteger())

    def divided(one: Sql) -> Sql:
        made: Sql = one.op(whole, precedence=8, return_type=BigInteger())(n)
        return made

    rest = (size % n).self_group() * most
    short = divided(size).self_group() * most + divided(rest.self_group()).self_group()
    sign = case((s < _ZERO, literal_column("-1")), else_=_ONE)
    return case((n > most, sign * short.self_group()), else_=func.coalesce(s, _ZERO))
