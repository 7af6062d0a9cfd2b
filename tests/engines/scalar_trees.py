"""Random expressions over the table of extremes, as an analyst could write them."""

from random import Random
from typing import Final

_WHOLE: Final = ("s", "i", "j", "b")
_NUMBER: Final = (*_WHOLE, "n", "m", "f", "p", "r")
_TEXT: Final = ("t", "v")
_DATE: Final = ("d", "e")
_TIME: Final = ("z", "y", *_DATE)
_PATTERNS: Final = ("'%a_'", "''", "'1%'")
_TRIMMED: Final = ("'a '", "'x'")
_SPANS: Final = (
    "1 month",
    "-1 day",
    "9000 years",
    "-7 months 3 days",
    "1 microsecond",
    "40 seconds",
)


class Trees:
    """Draws expressions from a seed."""

    def __init__(self, seed: int) -> None:
        self._chance = Random(seed)  # noqa: S311 - a seed, no secret

    def any(self, depth: int) -> str:
        kinds = (self.number, self.condition, self.text, self.time, self.whole, self.date)
        return self._chance.choice(kinds)(depth)

    def _one(self, *given: str) -> str:
        return self._chance.choice(given)

    def number(self, depth: int) -> str:
        if depth == 0:
            return self._one(*_NUMBER, "0", "2", "0.5", "1000000", "3.25")
        x, y = self.number(depth - 1), self.number(depth - 1)
        return self._one(
            *(f"({x} {op} {y})" for op in "+-*/"),
            *(f"{name}({x})" for name in ("abs", "sign", "floor", "ceil", "round", "trunc")),
            *(f"{name}({x})" for name in ("sqrt", "ln", "log", "exp")),
            *(f"cast({x} as {kind})" for kind in ("numeric", "double precision", "numeric(9,2)")),
            f"power({x}, {self._one('2', '3', '-1', '0.5', '0')})",
            f"({x} ^ {y})",
            f"(- {x})",
            f"coalesce({x}, {y})",
            f"nullif({x}, {y})",
            f"greatest({x}, {y})",
            f"least({x}, {y}, 100)",
            f"case when {self.condition(depth - 1)} then {x} else {y} end",
            f"cast({self.text(depth - 1)} as {self._one('numeric', 'double precision', 'integer')})",
            f"extract({self._one('year', 'epoch', 'second', 'week')} from {self._one('z', 'y')})",
            f"round(cast({x} as numeric), {self._one('0', '1', '3')})",
            self.whole(depth - 1),
        )

    def whole(self, depth: int) -> str:
        if depth == 0:
            return self._one(*_WHOLE, "0", "1", "7", "-3")
        x, y = self.whole(depth - 1), self.whole(depth - 1)
        return self._one(
            *(f"({x} {op} {y})" for op in "+-*/%"),
            f"mod({x}, {y})",
            f"abs({x})",
            f"cast({self.number(depth - 1)} as {self._one('integer', 'bigint', 'smallint')})",
            f"length({self.text(depth - 1)})",
            f"strpos({self.text(depth - 1)}, {self.text(depth - 1)})",
            f"width_bucket({self.number(depth - 1)}, {self._one('0', '10')}, {self._one('5', '0')}, 4)",
            f"({self._one(*_DATE)} - {self.date(depth - 1)})",
            f"coalesce({x}, {y}, 0)",
            f"case when {self.condition(depth - 1)} then {x} end",
        )

    def condition(self, depth: int) -> str:
        if depth == 0:
            return self._one("o", "true", "null", "(i > 0)", "(t is null)")
        kind = self._chance.choice((self.number, self.text, self.time, self.condition, self.whole))
        x, y = kind(depth - 1), kind(depth - 1)
        return self._one(
            *(f"({x} {op} {y})" for op in ("=", "<>", "<", ">=", "is distinct from")),
            f"({x} is null)",
            f"(not {self.condition(depth - 1)})",
            f"({self.condition(depth - 1)} and {self.condition(depth - 1)})",
            f"({self.condition(depth - 1)} or {self.condition(depth - 1)})",
            f"({self.condition(depth - 1)} is not true)",
            f"({self.text(depth - 1)} like {self._one(*_PATTERNS)})",
            f"({self.number(depth - 1)} in (0, 1, 2.5))",
            f"({x} between {y} and {kind(0)})",
        )

    def text(self, depth: int) -> str:
        if depth == 0:
            return self._one(*_TEXT, "''", "'a'", "'12'", "'2024-02-29'")
        x, y = self.text(depth - 1), self.text(depth - 1)
        return self._one(
            f"({x} || {y})",
            f"concat({x}, {y})",
            f"lower({x})",
            f"upper({x})",
            f"left({x}, {self._one('0', '1', '3')})",
            f"substr({x}, {self._one('0', '2')}, {self._one('0', '1', '4')})",
            f"btrim({x}, {self._one(*_TRIMMED)})",
            f"replace({x}, 'a', '')",
            f"split_part({x}, ',', {self._one('0', '1', '2')})",
            f"cast({self.whole(depth - 1)} as text)",
            f"cast({self.date(depth - 1)} as text)",
            f"cast({x} as varchar(3))",
            f"coalesce({x}, {y})",
            f"case when {self.condition(depth - 1)} then {x} else {y} end",
        )

    def date(self, depth: int) -> str:
        if depth == 0:
            return self._one(*_DATE, "date '2024-02-29'")
        return self._one(
            f"({self.date(depth - 1)} + {self.whole(0)})",
            f"({self.date(depth - 1)} - {self.whole(depth - 1)})",
            f"cast({self.time(depth - 1)} as date)",
            f"cast({self.text(depth - 1)} as date)",
            f"make_date({self.whole(0)}, {self.whole(depth - 1)}, {self.whole(0)})",
            f"coalesce({self.date(depth - 1)}, e)",
            f"greatest({self.date(depth - 1)}, {self.date(0)})",
        )

    def time(self, depth: int) -> str:
        if depth == 0:
            return self._one(*_TIME)
        span = f"cast('{self._one(*_SPANS)}' as interval)"
        return self._one(
            f"({self.time(depth - 1)} + {span})",
            f"({self.time(depth - 1)} - {span})",
            f"date_trunc('{self._one('year', 'month', 'week', 'hour')}', {self.time(depth - 1)})",
            f"least({self.time(depth - 1)}, {self.time(0)})",
            self.date(depth - 1),
        )
