"""Expressions over the table of extremes, by subject."""

from typing import Final

NUMBERS: Final = [
    *("s + 1", "i + i", "b + 1", "b - 1", "b * b", "-b", "abs(b)", "b / -1", "b % -1", "i * i"),
    *("i / 7", "i % 7", "i / j", "j / i", "i % j", "mod(i, -5)", "b / 2", "b / j", "b % 10", "s * s"),
    *("s / 0", "j * j * j", "j * b * 0", "j + j + j - j * 2", "i - b", "-s", "abs(s)", "abs(i)"),
    *("n + 1", "n * n", "n - m", "n / 3", "n / m", "m / n", "m / 0", "n % 3", "n % m", "m % 0.5"),
    *("-n", "-m", "n * 0.1", "m * m", "m + 0.00001", "i + n", "i * m", "j / n", "n / j", "m - 1e12"),
    *("f + 1", "f - f", "f * f", "f * f * f", "f / 3", "f / p", "p / f", "1 / f", "p * p", "p / 100"),
    *("-f", "f / 0", "f * 0.1", "j * f", "f / j", "n * f", "m / f", "f / m", "r + 1", "r * f", "p * 0"),
    *("abs(f)", "abs(n)", "abs(m)", "abs(j)", "sign(f)", "sign(m)", "sign(i)", "sign(n)"),
    *("floor(f)", "floor(m)", "floor(n)", "floor(j)", "ceil(f)", "ceil(m)", "ceiling(n)", "ceil(j)"),
    *("round(f)", "round(m)", "round(n)", "round(j)", "trunc(f)", "trunc(m)", "trunc(n)", "trunc(j)"),
    *("round(n, 1)", "round(m, 1)", "round(n, 0)", "round(n, -2)", "round(j, -1)", "round(m, 20)"),
    *("trunc(n, 1)", "trunc(m, 1)", "trunc(n, -2)", "trunc(j, -1)", "round(n, 5)", "round(i, -9)"),
    *("round(n, -30)", "round(m, -400)", "trunc(m, 400)", "round(m, 5000)"),
    *("sqrt(f)", "sqrt(m)", "sqrt(n)", "sqrt(j)", "sqrt(p)", "sqrt(abs(f))", "sqrt(i)", "sqrt(b)"),
    *("ln(f)", "ln(m)", "ln(n)", "ln(j)", "ln(p)", "log(f)", "log(m)", "log(n)", "log(j)", "log(p)"),
    *("exp(f)", "exp(m)", "exp(n)", "exp(j)", "exp(p)", "exp(j / 10)", "exp(r)", "exp(i)", "exp(-p)"),
    *("power(f, 2)", "power(m, 2)", "power(n, 3)", "power(j, 2)", "power(p, 16)", "power(j, -2)"),
    *("power(f, -1)", "power(m, -1)", "power(n, 0.5)", "power(f, 0.5)", "power(j, 0)", "power(f, 0)"),
    *("f ^ 2", "j ^ 0.5", "p ^ -16", "m ^ 2", "p ^ r", "f ^ f", "n ^ j", "j ^ j", "m ^ m", "f ^ 16"),
    *("power(m, 16)", "power(m, -16)", "power(n, -3)", "power(f, -16)"),
    *("width_bucket(f, 0, 10, 5)", "width_bucket(n, 0, 10, 5)", "width_bucket(m, 0, 1, 10)"),
    *("width_bucket(j, 100, -100, 7)", "width_bucket(n, 10, 0, 5)", "width_bucket(f, 1, 0, 3)"),
    *("width_bucket(j, 1, 1, 5)", "width_bucket(j, 0, 10, 0)", "width_bucket(i, 0, 10, 2147483647)"),
    *("width_bucket(p, 1, 300, 10)", "width_bucket(m, 0.1, 0.7, 3)", "width_bucket(b, -5, 5, 10)"),
]
COMPARED: Final = [
    *("s = i", "i < b", "b = 9223372036854775807", "b < 1.5", "i >= 0.5", "n = 0.5", "w < 0.5"),
    *("w = 0.0000000001", "w > f", "m = n", "f = 0.1", "g > 0", "g = 0", "g = -0.0", "f < n", "r = 0.5"),
    *("g <> g", "w = 99999999999999999999999999999", "b > 99999999999999999999", "g < 1e300"),
    *("t = 'a'", "t < 'a'", "t > 'Z'", "t <> v", "t <= v", "v = 'abc'", "d = '2024-02-29'", "d < e"),
    *("d < z", "z >= timestamp '2024-02-29 13:14:15.678901'", "e = y", "o = true", "o < true"),
    *("i is distinct from s", "t is not distinct from v", "n is distinct from 0.5", "o is not true"),
    *("d between '2000-01-01' and '2024-12-31'", "n between 0 and 1", "g between -1 and 1"),
    *("i in (1, 0, 12)", "n in (0.5, 1, 3.25)", "n in (0.501)", "g in (0.1, 0, 2.5)", "t in ('a', '')"),
    *("b in (36, 9223372036854775807, 99999999999999999999)", "t in ('a', null)", "i in (1, null)"),
    *("d in ('2024-02-29', '1900-02-28')", "w in (0.5, 0)", "m in (1)", "s not in (1, 7)", "o in (true)"),
    *("i is null", "o is null", "t is not null", "o is true", "o is false", "o is not false"),
    *("not o", "o and i > 0", "o or i > 0", "not (o and t = 'a')", "(i > 0) = o", "(o is true) = o"),
    *("o and null", "o or null", "i = null", "case when i > 0 then n else f end"),
    *("case when i > 0 then 1.5 else i end", "case when i <> 0 then 7 / i else 0 end"),
    *("case when i > 0 then t end", "case i when 1 then 'one' when 0 then 'zero' else t end"),
    *("case when d > '2000-01-01' then d else z end", "case when o then 1 else 2.25 end"),
    *("coalesce(i, s, 0)", "coalesce(n, i)", "coalesce(t, v, 'x')", "coalesce(d, z)", "coalesce(f, i)"),
    *("coalesce(m, n, 0)", "coalesce(w, 1)", "greatest(i, s)", "least(i, b, null)", "greatest(n, i)"),
    *("greatest(t, v)", "least(t, 'a')", "greatest(f, i)", "least(g, 0)", "greatest(d, e)", "least(d, z)"),
    *("greatest(w, m)", "least(n, 0.125)", "nullif(i, 0)", "nullif(t, 'a')", "nullif(n, 0.5)"),
    *("nullif(f, 0)", "nullif(d, e)", "nullif(i, 0.5)", "1 / nullif(i, 0)", "nullif(o, true)"),
    *("coalesce(o, false)", "greatest(o, false)", "case when true then i end", "case when null then 1 end"),
]
TEXTS: Final = [
    *("lower(t)", "upper(t)", "length(t)", "char_length(v)", "left(t, 2)", "left(t, 0)", "right(t, 2)"),
    *("right(t, 0)", "substr(t, 0)", "substr(t, 2)", "substr(t, 0, 2)", "substr(t, 0, 0)", "substr(t, 9)"),
    *("substr(t, 2, 1)", "substr(t, 1, 10000)", "substring(t from 2 for 2)", "left(t, 10000)"),
    *("btrim(t)", "ltrim(t)", "rtrim(t)", "btrim(t, 'xa')", "ltrim(t, 'xa')", "rtrim(t, 'añ')"),
    *("trim(t)", "trim(both 'x' from t)", "btrim(t, '')", "replace(t, 'a', 'b')", "replace(t, '', '')"),
    *("replace(t, 'ab', '')", "position('b' in t)", "position('' in t)", "strpos(t, v)", "strpos(t, '')"),
    *("strpos(t, '本')", "split_part(t, ',', 1)", "split_part(t, ',', 2)", "split_part(t, ',', 9)"),
    *("split_part(t, '', 1)", "split_part(t, '', 2)", "split_part(t, ',', 0)", "starts_with(t, 'a')"),
    *("starts_with(t, v)", "starts_with(t, '')", "concat(t, 'x', v)", "concat(t)", "t || v", "t || 'x'"),
    *("t || null", "concat(t, null)", "t like 'a%'", "t like '_'", "t like '%,%'", "t ilike 'A%'"),
    *("t not like 'a%'", "t not ilike 'A%'", r"t like 'a\_c'", r"t like '\%'", r"t like '\\'", "t like ''"),
    *("t like '%日%'", "t ilike 'Ä%'", "t like 'a_b'", "t like '%%'", "lower(t) = 'abc'", "v like '_%_'"),
    *("upper(left(t, 1)) || lower(substr(t, 2))", "length(t || v)", "replace(v, 'x', '')"),
]
TIMES: Final = [
    *(
        f"date_trunc('{part}', {one})"
        for part in ("year", "quarter", "month", "week", "day", "hour", "minute", "second")
        for one in ("d", "z")
    ),
    *(
        f"extract({part} from {one})"
        for part in (
            *("year", "quarter", "month", "week", "day", "hour", "minute", "dow", "isodow", "doy"),
            *("isoyear", "second", "epoch", "decade", "century"),
        )
        for one in ("d", "z")
    ),
    *("d - d", "d - e", "d + 1", "d - 1", "d + i", "d + j", "i + e", "d - i", "d + s", "d + b"),
    *("d + interval '1 month'", "z + interval '1 month'", "z - interval '1 month'", "z + interval '1 year'"),
    *("d - interval '5000 years'", "z + interval '9998 years'", "z + interval '9999 years'"),
    *("z + interval '1 day'", "z - interval '1 second'", "z + interval '1 microsecond'"),
    *("z - interval '1 month 1 day 1 second'", "e + interval '1 month -31 days'", "d - interval '1 day'"),
    *("z + interval '100000 days'", "y - interval '13 months 5 hours'", "z + interval '0 days'"),
    *("z - interval '10000 years'", "z + interval '10000000000 seconds'", "z - interval '1 microsecond'"),
    *("z - interval '100000000000 seconds'",),
    *(
        f"extract({part} from age({pair}))"
        for part in ("year", "month", "day")
        for pair in ("d, e", "z, y", "y, z", "d, timestamp '2020-02-29 12:00:00'", "e, d", "z, d")
    ),
    *("make_date(2024, 2, 30)", "make_date(2024, j, 1)", "make_date(i, 2, 29)", "make_date(i, i, i)"),
    *("make_date(2000 + j, abs(j), abs(j))", "make_date(2023, 2, j)", "make_date(9999, 12, j)"),
    *("make_date(s, 1, 1)", "make_date(1900 + j, 2, 29)", "make_date(2024, 2, 28 + abs(j))"),
]
CASTS: Final = [
    *("cast(i as smallint)", "cast(b as integer)", "cast(b as smallint)", "cast(s as bigint)"),
    *("cast(n as integer)", "cast(m as bigint)", "cast(w as bigint)", "cast(w as smallint)"),
    *("cast(f as integer)", "cast(g as bigint)", "cast(g as integer)", "cast(g as smallint)"),
    *("cast(i as numeric)", "cast(n as numeric(5,1))", "cast(w as numeric(10,3))", "cast(i as numeric(3,0))"),
    *("cast(m as double precision)", "cast(w as double precision)", "cast(b as double precision)"),
    *("cast(g as real)", "cast(i as real)", "cast(w as real)", "cast(f as numeric(12,2))"),
    *("cast(i as text)", "cast(b as text)", "cast(n as text)", "cast(d as text)", "cast(o as text)"),
    *("cast(n as numeric(6,1))::text", "cast(i as varchar(2))", "cast(t as varchar(2))", "cast(v as text)"),
    *("cast(t as integer)", "cast(t as smallint)", "cast(t as bigint)", "cast(t as numeric)"),
    *("cast(t as numeric(5,1))", "cast(t as double precision)", "cast(t as real)", "cast(t as date)"),
    *("cast(o as integer)", "cast(d as timestamp)", "cast(z as date)", "date(z)", "cast(v as date)"),
    *("date_part('year', d)", "date_part('second', z)"),
]
ALL: Final = {
    "numbers": NUMBERS,
    "compared": COMPARED,
    "texts": TEXTS,
    "times": TIMES,
    "casts": CASTS,
}
