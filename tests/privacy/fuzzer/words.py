"""Expressions of the accepted language as text: columns, odd spellings of constants, numbers, conditions."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from privacy.fuzzer.catalogs import VALUES, Column, Table, usual
from privacy.fuzzer.chance import Chance
from property.small_worlds import Row

NUMBERS: Final = frozenset({"whole", "exact", "float"})
Ways: TypeAlias = Sequence[tuple[int, str, Callable[[], str]]]
"""Ways to say something: how often, the feature of the language, the text."""
_KINDS: Final = {
    **dict.fromkeys(("smallint", "integer", "bigint"), "whole"),
    **dict.fromkeys(("numeric(10,2)", "numeric"), "exact"),
    **dict.fromkeys(("double precision", "real"), "float"),
    **dict.fromkeys(("text", "varchar(8)", "varchar(12)", "char(3)"), "text"),
    "boolean": "boolean",
    "date": "date",
    "timestamp": "timestamp",
    "timestamptz": "zoned",
    "uuid": "uuid",
}
_PATTERNS: Final = ("%", "a%", "%a%", "_", "a\\_%", "%3_%", "", "fl_", "%ä", "%%a%%")
_COMPARED: Final = ("=", "<>", "<", "<=", ">", ">=")
_CASTS: Final = ("integer", "numeric", "double precision", "smallint", "real", "bigint")


@dataclass(frozen=True)
class Seen:
    """An expression over rows, what it is, and constants that it may equal; `bounded`: it can be added up."""

    sql: str
    kind: str
    values: tuple[str, ...]
    bounded: bool = False


@dataclass(frozen=True)
class Relation:
    """A FROM clause with what can be named in it. `unit` is None where there are no rows of persons."""

    sql: str
    columns: tuple[Seen, ...]
    unit: str | None
    where: tuple[str, ...] = ()


@dataclass
class Words:
    """Expressions by chance; `parameters` are the values of `$1`, `$2`, …, `staging` that there may be one more stage.

    `favourite` is the column that is named more often than others.
    """

    chance: Chance
    rows: Mapping[str, Sequence[Row]] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)
    staging: bool = True
    favourite: str = ""

    def pick(self, ways: Ways) -> str:
        """One of the ways; the others are not even thought of."""
        name, make = self.chance.weighted([(weight, (name, make)) for weight, name, make in ways])
        self.chance.note(name)
        return make()

    def seen(self, table: Table, alias: str) -> tuple[Seen, ...]:
        """The columns of a table but the unit's."""
        skipped = table.columns[1:] if table.protected else table.columns
        # arrays are for row rules alone
        return tuple(self._seen(one, alias, table) for one in skipped if one.type in _KINDS)

    def _seen(self, column: Column, alias: str, table: Table) -> Seen:
        """What is stored is written more often than what is not."""
        place = table.columns.index(column)
        stored = {row[place] for row in self.rows.get(table.name, ())}
        values = tuple(one for one in VALUES[column.type] if "?" not in one)
        there = tuple(one for one in values if one in stored)
        return Seen(
            f"{alias}.{column.name}", _KINDS[column.type], values + 3 * there, column.summable
        )

    def column(self, relation: Relation, *kinds: str) -> Seen | None:
        """A column of one of these kinds; of any where none is named."""
        fit = [one for one in relation.columns if not kinds or one.kind in kinds]
        if not fit:
            return None
        if not self.favourite:
            self.favourite = self.chance.one_of(fit).sql
        liked = [one for one in fit if one.sql == self.favourite]
        return liked[0] if liked and self.chance.happens(0.7) else self.chance.one_of(fit)

    def constant(self, kind: str, values: Sequence[str]) -> str:  # noqa: PLR0911 - one answer for each kind
        """One of the values, in one of the ways in which it can be written."""
        value = self.chance.one_of(usual(self.chance, values))
        if "inf" in value.lower() or value == "NaN":
            if not self.chance.happens(0.05):
                return self.constant(
                    kind, [one for one in values if one[-3:].lower() not in {"nan", "ity"}]
                )
            self.chance.note(f"constant {value.lstrip('-').lower()}")
            return f"'{value}'::double precision" if kind == "float" else f"'{value}'"
        if kind == "text":
            return f"'{value.replace(chr(39), chr(39) * 2)}'"
        if kind == "boolean":
            return value
        if kind in NUMBERS:
            return self._number(kind, value)
        if kind in {"date", "timestamp"} and self.chance.happens(0.6):
            return f"{kind.upper()} '{value}'"
        return f"'{value}'"

    def _number(self, kind: str, value: str) -> str:
        if not value.lstrip("-").replace(".", "").isdecimal() or len(value) > 8:
            return value if kind == "float" or "e" not in value else "30"
        if value in {"-0.0", "0"} and self.chance.happens(0.3):
            self.chance.note("constant -0")
            return self.chance.one_of(("-0", "-0.0", "'-0'::double precision"))
        if not self.chance.happens(0.4):
            return value
        if len(self.parameters) < 3 and self.chance.happens(0.12) and "." not in value:
            self.chance.note("parameter")
            self.parameters.append(value)
            return f"${len(self.parameters)}"
        return self._odd(value)

    def _odd(self, value: str) -> str:
        sign, bare = ("-", value[1:]) if value.startswith("-") else ("", value)
        whole = "." not in bare
        of = self.chance.one_of(_CASTS[:3])
        return self.pick((
            (3, "constant 030", lambda: f"{sign}0{bare}"),
            (3, "constant 30.0", lambda: f"{sign}{bare}.0" if whole else f"{sign}{bare}0"),
            (3, "constant 3e1", lambda: f"{sign}{bare}0e-1" if whole else f"{sign}{bare}e0"),
            (1, "constant ' 30'", lambda: f"' {value}'"),
            (3, "constant '30'::numeric", lambda: f"'{value}'::{of}" if of != "integer" or whole else value),
            (1, "constant CAST(' 30')", lambda: f"CAST(' {value}' AS {_CASTS[1]})"),
            (3, "constant -(-30)", lambda: f"-(+{bare})" if sign else f"-(-{bare})"),
            (2, "constant 30 + 0", lambda: f"({value} + 0)"),
            (2, "constant CASE", lambda: f"CASE WHEN true THEN {value} END"),
        ))  # fmt: skip

    def number(self, relation: Relation) -> Seen:
        """What can be added up: of enforced domains, or between the ends that it is moved to."""
        bounded = [one for one in relation.columns if one.bounded]
        free = self.column(relation, *NUMBERS)
        if not bounded or self.chance.happens(0.15):
            if free is None:
                self.chance.note("number of a condition")
                return Seen(
                    f"CASE WHEN {self.condition(relation)} THEN 1 ELSE 0 END", "whole", ("0", "1")
                )
            self.chance.note("number between ends")
            return Seen(f"GREATEST(LEAST({free.sql}, 9), -9)", free.kind, ("0", "7", "9"))
        one = self.chance.one_of(bounded)
        if one.kind not in NUMBERS:
            self.chance.note("number of a date")
            part = self.chance.one_of(("month", "day", "year"))
            return Seen(f"EXTRACT({part} FROM {one.sql})", "exact", ("1", "2", "2024"))
        numbers = [each for each in bounded if each.kind in NUMBERS]
        made = self._computed(relation, one.sql, self.chance.one_of(numbers).sql)
        return Seen(made, one.kind, one.values, bounded=True)

    def _computed(self, relation: Relation, one: str, other: str) -> str:
        def of(*values: str) -> str:
            return self.constant("whole", values)

        return self.pick((
            (9, "number of a column", lambda: one),
            (1, "number * constant", lambda: f"{one} * {of('0', '2', '-1', '7')}"),
            (1, "number + constant", lambda: f"{one} + {of('1', '30', '-1')}"),
            (1, "number / constant", lambda: f"{one} / {of('3', '7', '30')}"),
            (1, "number / number", lambda: f"GREATEST(LEAST({one} / {other}, 5), -5)"),
            (1, "number + number", lambda: f"{one} + {other}"),
            (1, "number * number", lambda: f"{one} * {other}"),
            (1, "number CASE", lambda: f"CASE WHEN {self.condition(relation)} THEN {one} ELSE {of('0', '30')} END"),
            (1, "number COALESCE", lambda: f"COALESCE({one}, {of('0', '30')})"),
            (1, "number NULLIF", lambda: f"NULLIF({one}, {of('0', '30')})"),
            (1, "number ABS", lambda: f"ABS({one})"),
            (1, "number SQRT", lambda: f"SQRT({one})"),
            (1, "number LN", lambda: f"GREATEST(LN(GREATEST({one}, 1)), -5)"),
            (1, "number ROUND", lambda: f"ROUND({one})"),
            (1, "number cast", lambda: f"CAST({one} AS {self.chance.one_of(_CASTS)})"),
        ))  # fmt: skip

    def condition(self, relation: Relation, depth: int = 0) -> str:  # noqa: PLR0911 - see above
        """True of some rows and of others not."""
        if depth < 2 and self.chance.happens(0.2):
            self.chance.note("condition AND OR NOT")
            one, other = (self.condition(relation, depth + 1) for _ in range(2))
            return self.chance.one_of(
                (f"({one} AND {other})", f"({one} OR {other})", f"NOT ({one})")
            )
        column = self.column(relation)
        if column is None:
            return "1 = 1"
        if self.chance.happens(0.1):
            self.chance.note("condition IS NULL")
            return f"{column.sql} IS {self.chance.one_of(('', 'NOT '))}NULL"
        if column.kind == "boolean":
            self.chance.note("condition boolean")
            return self.chance.one_of(
                (column.sql, f"NOT {column.sql}", f"{column.sql} IS NOT TRUE")
            )
        if column.kind == "text" and self.chance.happens(0.5):
            return self._of_text(column.sql)
        if column.kind in NUMBERS and self.chance.happens(0.25):
            return self._of_numbers(relation, column)
        return self._compared(column)

    def _of_text(self, text: str) -> str:
        pattern = self.chance.one_of(_PATTERNS)
        return self.pick((
            (2, "condition LIKE", lambda: f"{text} LIKE '{pattern}'"),
            (1, "condition NOT LIKE", lambda: f"{text} NOT LIKE '{pattern}'"),
            (1, "condition ILIKE", lambda: f"{text} ILIKE '{pattern}'"),
            (1, "condition LENGTH", lambda: f"LENGTH({text}) > {self.constant('whole', ('0', '1', '2'))}"),
            (1, "condition of a text function", lambda: f"UPPER(LEFT({text}, 1)) = 'A'"),
            (1, "condition of concatenation", lambda: f"{text} || 'x' = 'ax'"),
            (1, "condition POSITION", lambda: f"POSITION('a' IN {text}) = 1"),
            (1, "condition of a cast", lambda: f"CAST({text} AS integer) = {self.constant('whole', ('30', '1'))}"),
        ))  # fmt: skip

    def _of_numbers(self, relation: Relation, column: Seen) -> str:
        one, other = column.sql, (self.column(relation, *NUMBERS) or column).sql
        compared = self.chance.one_of(_COMPARED)
        return self.pick((
            (2, "condition of two columns", lambda: f"{one} {compared} {other}"),
            (1, "condition of a quotient", lambda: f"{one} / {other} = 1"),
            (1, "condition of arithmetic", lambda: f"{one} * 2 - 1 > {self.constant(column.kind, column.values)}"),
            (1, "condition WIDTH_BUCKET", lambda: f"WIDTH_BUCKET({one}, 0, 100, 10) = 4"),
            (1, "condition CASE", lambda: f"CASE WHEN {one} > 7 THEN {other} ELSE 0 END > 1"),
            (1, "condition GREATEST", lambda: f"GREATEST({one}, {other}) <= 36"),
        ))  # fmt: skip

    def _compared(self, column: Seen) -> str:
        def constant() -> str:
            return self.constant(column.kind, column.values)

        one, compared = column.sql, self.chance.one_of(_COMPARED)
        if column.kind in NUMBERS and self.chance.happens(0.35):
            self.chance.note("condition between steps")
            low, high = (
                self.constant(column.kind, ("30", "31", "31", "32")),
                self.constant(column.kind, ("36", "37", "39", "40")),
            )
            return f"({one} {self.chance.one_of(('>', '>='))} {low} AND {one} {self.chance.one_of(('<', '<='))} {high})"
        text = self.pick((
            (5, "condition compared", lambda: f"{one} {compared} {constant()}"),
            (3, "condition range", lambda: f"{one} >= {constant()} AND {one} < {constant()}"),
            (3, "condition BETWEEN", lambda: f"{one} BETWEEN {constant()} AND {constant()}"),
            (2, "condition IN", lambda: f"{one} IN ({constant()}, {constant()}, {constant()})"),
            (1, "condition NOT IN", lambda: f"{one} NOT IN ({constant()}, {constant()})"),
            (1, "condition mirrored", lambda: f"{constant()} {compared} {one}"),
            (1, "condition DISTINCT FROM", lambda: f"{one} IS DISTINCT FROM {constant()}"),
        ))  # fmt: skip
        return f"({text})"
