"""Conditions for the work oracle: every function over rows, and every shape of pattern, as large as they are accepted."""

from typing import Final

TEXTS: Final = (
    *("lower(t) = upper(s)", "length(t) = 7", "left(t, 900) = right(s, 900)"),
    *(
        "substr(t, 500, 400) = 'a'",
        "btrim(t) = 'a'",
        "btrim(t, 'ab') = 'c'",
        "ltrim(t, 'abx ') = 'c'",
    ),
    *("rtrim(t, '0123456789abcdefghij') = 'c'", f"btrim(t, '{'xyzäö日' * 5}ab0123456789') = 'c'"),
    *(
        "replace(t, 'a', 'b') = 'c'",
        "replace(t, 'ab', '') = 'c'",
        f"replace(t, 'b{'a' * 39}', '') = 'c'",
    ),
    *(f"replace(t, '{'ä' * 60}b', '') = 'c'", f"replace(t, 'b{'ä' * 60}', '') = 'c'"),
    *("split_part(t, 'a', 400) = 'c'", f"split_part(t, 'b{'a' * 80}', 3) = 'c'"),
    *(f"strpos(t, 'b{'a' * 60}') > 0", f"position('{'a' * 30}b{'a' * 30}' IN t) > 0"),
    *(f"strpos(t, '日{'本' * 60}') > 0", "position(left(s, 60) IN t) > 0", "starts_with(t, s)"),
    *("t || s || t || s = 'a'", "concat(t, s, t) = 'a'", "t = s", "t < s", "coalesce(t, s) = 'x'"),
    *(
        "nullif(t, s) IS NULL",
        "greatest(t, s) = least(s, t)",
        "t IN ('a', 'b', 'c')",
        "t IS NOT NULL",
    ),
    *("cast(t AS integer) = 1", "cast(t AS numeric) > 1", "cast(t AS double precision) > 1"),
    *(
        "cast(t AS real) > 1",
        "cast(t AS date) > d",
        "cast(t AS bigint) = b",
        "cast(t AS numeric(10,2)) = c",
    ),
    *(
        "cast(c AS text) = t",
        "cast(b AS text) = t",
        "cast(d AS text) = t",
        "r IN ('north', 'east')",
    ),
    "CASE " + " ".join(f"WHEN t = 'word{place}' THEN {place}" for place in range(20)) + " END = 1",
    "r IN (" + ", ".join(f"'word{place}'" for place in range(500)) + ")",
)
PATTERNS: Final = (
    *("t LIKE 'a%'", "t LIKE '%b'", "t LIKE '%abc%'", "t LIKE 'a%b'", "t LIKE '_%'", "t LIKE '%'"),
    *("t LIKE '%a%a%a%_b'", "t LIKE '%a%b%a%b%a%b%q'", "t LIKE '%a_b%'", "t ILIKE '%aB%Ba%'"),
    *(f"t LIKE '%{'a' * 39}b%'", f"t LIKE '%b{'a' * 39}%'", f"t LIKE '%{'ä' * 39}b%'"),
    *(f"t LIKE '%{'ab' * 20}c%'", f"t LIKE '%{'日本' * 20}日日%'", f"t LIKE '%a{'_' * 14}b%'"),
    *(f"t LIKE '%a{'_' * 7}a{'_' * 6}q%'", "t LIKE '%a_a_a_a_a_a_a_q%'", "t NOT LIKE '%a%_%a_'"),
    *(
        f"t LIKE '{'a_' * 15}%'",
        f"t LIKE '%{'_a' * 15}'",
        f"t LIKE '{'_' * 900}%'",
        "t LIKE '%__%__%__b'",
    ),
    *(
        "t LIKE '" + "%a" * 60 + "%q'",
        "t LIKE '%" + "%".join(["ab", "ba", "aab", "bba"] * 4) + "%q'",
    ),
    *(r"t LIKE '%\\%a\\_%'", "t ILIKE 'A%B%'", "t LIKE 'é%'"),
    *(
        "t LIKE '%abab%bbaa%aaab%baba%aaaa%bbbb%ababab%qqq'",
        "t LIKE '%a%' OR s LIKE '%b%' OR t LIKE '%c%'",
    ),
)
NUMBERS: Final = (
    *(
        "i + b * 2 - i / 7 > i % 5",
        "b * b > 1",
        "abs(i) + sign(c) > 3",
        "c * c * c > 5",
        "c / 7 > n",
    ),
    *(
        "n * n * n > 1",
        "n / (c + 1) > 2",
        "round(n, 3) = trunc(c, 1)",
        "ceil(n) = floor(f)",
        "f * f > 1",
    ),
    *(
        "f / (i + 2000) > 1",
        "f * f * f > 2",
        "sqrt(n) > 3",
        "ln(n) > 1",
        "log(n) > 1",
        "exp(i / 10) > 2",
    ),
    *(
        "exp(n / 1000000000) > 2",
        "power(n, 16) > 1",
        "power(n, 0.5) > 1",
        "power(f, 2) > 1",
        "f ^ 0.5 > 1",
    ),
    *("power(c, -3) > 0", "width_bucket(n, 0, 100, 10) = 3", "width_bucket(f, 0, 100, 10) = 3"),
    *(
        "mod(i, 7) = 3",
        "-b < 0",
        "greatest(i, c, n) > least(f, b)",
        "cast(f AS integer) = 1",
        "b = n",
    ),
    *(
        "cast(n AS numeric(12,2)) = c",
        "cast(b AS smallint) = 1",
        "cast(c AS real) > 1",
        "nullif(i, 0) > 3",
    ),
)
TIMES: Final = (
    *("extract(year FROM d) = 2000", "extract(epoch FROM z) > 1", "date_trunc('month', z) > z"),
    *("d + i > d", "d - DATE '2000-01-01' > 4", "z + interval '1 month 3 days' > z", "d < z"),
    *("make_date(i, 1, 31) > d", "extract(year FROM age(z, d)) > 4", "extract(second FROM z) = 1"),
)
EVERY: Final = (*TEXTS, *PATTERNS, *NUMBERS, *TIMES)
