"""Each limit of docs/sql.md: its number in the code, and a statement that is as large as it says."""

from collections.abc import Callable
from typing import Final, NamedTuple

from gateway.binding import constants, windows
from gateway.binding import constants as intervals
from gateway.binding import expressions as scalars
from gateway.binding import select_list as items
from gateway.binding.text import allowlist as shapes
from gateway.binding.text import classify as statement
from gateway.binding.text import lexer
from gateway.errors import Code
from gateway.functions import function, numbers
from gateway.plan import node

_DIGITS: Final = 40  # in the expression that reads numbers, gateway/catalog/values.py


class Limit(NamedTuple):
    """A number of the document: where it stands in the code, and a text that is as long as it says."""

    number: int
    text: Callable[[int], str]
    code: Code


_COUNT: Final = "SELECT count(*) FROM patients WHERE "
_BIG: Final = Code.SQL_TOO_LARGE
_CLAUSE: Final = Code.CLAUSE_UNSUPPORTED
_FUNCTION: Final = Code.FUNCTION_UNSUPPORTED


def _sized(size: int) -> str:
    return f"{_COUNT}smoker{' ' * (size - len(_COUNT) - 6)}"


def _worded(size: int) -> str:
    # eight up to WHERE, the first flag, and two for each of the others; a NOT makes the number even
    return f"{_COUNT}{'NOT ' * (1 - size % 2)}smoker{' OR smoker' * ((size - 9) // 2)}"


def _arrays(size: int) -> str:
    parts = []
    for deep in range(lexer.TYPE_DEPTH, 0, -1):
        one = 2 ** (deep + 1) - 2
        parts += ["array[" * deep + "1" + "]" * deep] * (size // one)
        size %= one
    return f"SELECT {', '.join([*parts, *['array[1]'] * size])}"


def _in_list(size: int) -> str:
    return f"{_COUNT}birth_year IN ({', '.join(['1950'] * size)})"


def _keys(size: int) -> str:
    keys = ", ".join(f"birth_year + {place}" for place in range(size))
    return f"SELECT count(*) FROM patients GROUP BY {keys}"


def _sets(size: int) -> str:
    sets = ", ".join(["(region)"] * size)
    return f"SELECT count(*) FROM patients GROUP BY GROUPING SETS ({sets})"


def _scans(size: int) -> str:
    # each patients beyond the first is a scan and a join; with the first scan and the release that is
    # even, and a filter makes it odd
    joins = "".join(
        f" JOIN patients p{place} ON p{place}.patient_id = p.patient_id"
        for place in range((size - 2) // 2)
    )
    where = " WHERE p.smoker" if size % 2 else ""
    return f"SELECT count(*) FROM patients p{joins}{where}"


def _texts(size: int) -> str:
    joined = " || ".join(["name"] * size)
    return f"SELECT count(x) FROM (SELECT {joined} AS x FROM patients) t"


def _offset(size: int) -> str:
    lag = f"lag(cost, {size}) OVER (PARTITION BY patient_id ORDER BY visit_date)"
    return f"SELECT avg(x) FROM (SELECT {lag} AS x FROM visits) t"


def _frame(size: int) -> str:
    frame = f"ROWS BETWEEN {size} PRECEDING AND CURRENT ROW"
    over = f"sum(cost) OVER (PARTITION BY patient_id ORDER BY visit_date {frame})"
    return f"SELECT avg(x) FROM (SELECT {over} AS x FROM visits) t"


def _interval(size: int) -> str:
    return f"SELECT count(*) FROM visits WHERE visit_date > now() - interval '{size} days'"


LIMITS: Final = {
    "characters of a statement": Limit(lexer.LENGTH, _sized, _BIG),
    "words and signs of a statement": Limit(lexer.TOKENS, _worded, _BIG),
    "brackets and `CASE` within one another": Limit(
        lexer.DEPTH, lambda n: f"{_COUNT}{'(' * n}smoker{')' * n}", _BIG
    ),
    "arrays and brackets behind a type within one another": Limit(
        lexer.TYPE_DEPTH, lambda n: f"SELECT {'array[' * n}1{']' * n}", _BIG
    ),
    "readings of such brackets: one within n others counts 2ⁿ⁺¹": Limit(
        lexer.RETRIES, _arrays, _BIG
    ),
    "signs such as `NOT` and `-` one after the other": Limit(
        lexer.PREFIXES, lambda n: f"{_COUNT}{'NOT ' * n}smoker", _BIG
    ),
    "levels of an expression; a chain of `OR` is one": Limit(
        shapes._DEEPEST, lambda n: "SELECT " + "+".join(["1"] * n), _BIG
    ),
    "bytes of a name": Limit(
        lexer.NAME_BYTES,
        lambda n: f"SELECT count(*) AS {'n' * n} FROM patients",
        Code.NAME_AMBIGUOUS,
    ),
    "values in a list behind `IN`": Limit(scalars._LONGEST_LIST, _in_list, _CLAUSE),
    "grouping keys": Limit(items._MOST_KEYS, _keys, _CLAUSE),
    "grouping sets": Limit(items._MOST_SETS, _sets, _CLAUSE),
    "relations of persons and steps over them": Limit(node.MOST_NODES, _scans, _BIG),
    "texts put together in one column": Limit(node.MOST_TEXTS, _texts, _BIG),
    "characters of a constant in a function": Limit(
        function.LONGEST_CONSTANT, lambda n: f"{_COUNT}btrim(name, '{'x' * n}') = ''", _FUNCTION
    ),
    "a place or length in a text function": Limit(
        function.LARGEST_PLACE, lambda n: f"{_COUNT}left(name, {n}) = ''", _FUNCTION
    ),
    "the exponent of `power`": Limit(
        numbers._LARGEST_POWER, lambda n: f"SELECT sum(power(income, {n})) FROM patients", _FUNCTION
    ),
    "characters of a number": Limit(
        constants._LONGEST_NUMBER,
        lambda n: f"{_COUNT}income < {'9' * 30}.{'9' * (n - 31)}",
        _CLAUSE,
    ),
    "digits of a number on either side of its point": Limit(
        _DIGITS, lambda n: f"{_COUNT}income < {'9' * n}", Code.TYPE_MISMATCH
    ),
    "rows away in the offset of `lag` and `lead`": Limit(
        windows._MOST_ROWS_AWAY, _offset, _FUNCTION
    ),
    "rows away in the frame of a window": Limit(windows._MOST_ROWS_AWAY, _frame, _CLAUSE),
    "days or months of an interval": Limit(intervals._LARGEST, _interval, _CLAUSE),
    "words behind the first in a statement that passes": Limit(
        statement._MOST_WORDS, lambda n: "SHOW" + " x" * n, Code.STATEMENT_UNSUPPORTED
    ),
}
