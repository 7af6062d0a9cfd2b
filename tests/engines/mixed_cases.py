"""Expressions that compare or mix two types, for every function that can."""

from typing import Final

_PAIRS: Final = (
    *(("d", "z"), ("e", "y"), ("d", "timestamp '2024-02-29 00:00:00'"), ("z", "date '5000-06-30'")),
    *(("date_trunc('day', z)", "d"), ("z::date", "timestamp '2024-02-29'"), ("e", "z::date")),
    *(("i", "n"), ("b", "w"), ("n", "m"), ("i", "1.0"), ("b", "9223372036854775807.5"), ("s", "b")),
    *(("f", "n"), ("f", "0.1"), ("g", "0.1000000000000000000001"), ("g", "i"), ("p", "2.5")),
    *(("g", "9007199254740993"), ("o", "(i > 0)"), ("o", "true")),
    *(("t", "v"), ("c", "t"), ("v", "c"), ("t", "'a '")),
    *(("c", "'a '"), ("coalesce(c, 'b ')", "'b  '"), ("nullif(c, 'ab ')", "'a '")),
)
_SINGLES: Final = (("r", "i"), ("r", "m"), ("r", "0.1"), ("r", "0.5"), ("r", "f"))
_COMPARING: Final = (
    *(f"{{0}} {one} {{1}}" for one in ("=", "<>", "is distinct from", "is not distinct from")),
    *(f"{{0}} {one} {{1}}" for one in ("<", "<=", ">", ">=")),
    *("{0} between {1} and {1}", "{0} = any(array[{1}])", "{1} is distinct from {0}"),
    "case {0} when {1} then 1 else 0 end",
)
_LISTING: Final = ("{0} in ({1}, null)", "{0} in ({1}, {1})")
_CHOOSING: Final = (
    *("nullif({0}, {1})", "coalesce({0}, {1})", "greatest({0}, {1})", "least({1}, {0})"),
    "case when o then {0} else {1} end",
    "case when {0} is not distinct from {1} then {0} else {1} end = {1}",
)
WIDER: Final = [one.format(*pair) for pair in _SINGLES for one in _CHOOSING]
"""A double here, where PostgreSQL has a real with fewer digits."""
_DECIMALS: Final = (
    *("numeric(12,2)", "numeric(18,3)", "numeric(18,18)", "numeric(30,20)", "numeric(38,0)"),
    "numeric(38,18)",
)
_FACTORS: Final = (
    *(f"9{'0' * 32}", f"571{'0' * 27}", f"1{'0' * 9}", f"1{'0' * 18}", "0.000000000000000001"),
    *("0.125", f"{'7' * 38}", f"{'3' * 18}.5"),
)
LONG: Final = [
    *(
        f"cast(n as {kind}) {one} {factor}"
        for kind in _DECIMALS
        for factor in _FACTORS
        for one in ("+", "-", "*", "%", "/", "<")
    ),
    *(f"cast(n as {kind}) * cast(m as {other})" for kind in _DECIMALS for other in _DECIMALS),
    *(f"- cast(n as {kind}) + 5 * cast(m as {kind}) - n" for kind in _DECIMALS),
    *(f"width_bucket(cast(n as {kind}), 0, 5000, 47)" for kind in _DECIMALS),
    *(f"width_bucket(cast(n as {kind}), 0.001, 7.5, 2000000000)" for kind in _DECIMALS),
    *(f"round(cast(n as {kind}) * 5, {places})" for kind in _DECIMALS for places in (-2, 0, 2)),
]
"""Decimals of which a result, or a step on the way to it, needs more digits than DuckDB has."""
MIXED: Final = [
    *(one.format(*pair) for pair in (*_PAIRS, *_SINGLES) for one in _COMPARING),
    *(one.format(*pair) for pair in _PAIRS for one in (*_LISTING, *_CHOOSING)),
    *WIDER,
    *(f"i {one} n" for one in ("+", "-", "*", "/", "%")),
    *(f"r {one} m" for one in ("+", "-", "*", "/")),
    *("mod(i, 0.5)", "power(i, 0.5)", "width_bucket(i, 0.5, 10, 5)", "round(r)", "n ^ i"),
    *("c || t", "strpos(t, c)", "starts_with(t, c)", "position(c in t)", "position(' ' in t)"),
    *("c in ('a  ', 'ab')", "c not in ('a ', 'b')", "c || 'x'", "length(c)", "position(' ' in c)"),
    *(
        "c = 'a '::text",
        "c is distinct from 'a '::text",
        "c < 'a '::text",
        "c between 'a ' and 'b '",
    ),
    *("'a ' = 'a'", "date_bin('7 days', e, timestamp '2024-03-31')", "extract(day from age(z, e))"),
]
