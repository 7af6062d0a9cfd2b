"""Row rules: which rows a rule speaks of, as `column = value` and `column in (…)`, joined by AND.

A value is a constant or an attribute of the subject. What is made of a rule is a set of permitted values
for each column: data, which the plan compares with. Nothing of it is ever text in a statement.

The SQL binder does not read rules: `region in subject.regions` is not SQL, an attribute has no type before the subject
is known, and every place of a problem is one of the policy file. Of what the binder accepts, all but this had to be
refused again.

INVARIANT: an attribute that is missing, of the wrong shape, or no value of the column's type makes the
rule hold for no row at all.
"""

import re
from dataclasses import dataclass
from typing import NoReturn

from gateway.catalog.tables import Column, Table
from gateway.catalog.types import Family
from gateway.catalog.values import InvalidValue, Value, read_value
from gateway.policy.conditions.parser import InvalidCondition
from gateway.policy.subjects import Subject
from gateway.policy.validate import suggestion

_WORD = re.compile(
    r"\s+|(?P<text>'(?:[^']|'')*')|(?P<number>[+-]?[0-9]+(?:\.[0-9]+)?)(?![A-Za-z0-9_.])"
    r"|(?P<name>[A-Za-z_][A-Za-z0-9_$]{0,62}(?:\.[A-Za-z_][A-Za-z0-9_$]{0,62}){0,2})|(?P<sign>[=(),])"
)
_LONGEST = 2048
_MOST_TESTS = 16
_MOST_VALUES = 1000
_EXAMPLE = "write it like `region = subject.region` or `region in ('north', 'east')`"
# An equality of floats or times holds by chance, and is no way to part rows.
_UNFIT = frozenset({Family.FLOAT, Family.TIMESTAMP})


@dataclass(frozen=True)
class Attribute:
    """The value is what the subject has; several when it was asked for with `in`."""

    name: str
    several: bool


@dataclass(frozen=True)
class RowTest:
    column: Column
    wanted: Attribute | tuple[Value, ...]


@dataclass(frozen=True)
class RowRule:
    """Rows for which every test holds."""

    table: str
    tests: tuple[RowTest, ...]

    @property
    def attributes(self) -> frozenset[str]:
        return frozenset(
            test.wanted.name for test in self.tests if isinstance(test.wanted, Attribute)
        )


@dataclass(frozen=True)
class BoundTest:
    """The column has one of these values; a row where it is NULL does not pass."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class BoundRows:
    """A row rule for one subject: all of the tests hold."""

    tests: tuple[BoundTest, ...]


def bind_rows(rule: RowRule, subject: Subject) -> BoundRows | None:
    """The rule for this subject; None when an attribute it needs is missing or unfit."""
    bound = []
    for test in rule.tests:
        values = _values_of(test, subject)
        if values is None:
            return None
        bound.append(BoundTest(test.column.name, values))
    return BoundRows(tuple(bound))


def _values_of(test: RowTest, subject: Subject) -> tuple[Value, ...] | None:
    if not isinstance(test.wanted, Attribute):
        return test.wanted
    held = subject.name if test.wanted.name == "name" else subject.attributes.get(test.wanted.name)
    if held is None or isinstance(held, tuple) is not test.wanted.several:
        return None
    texts = held if isinstance(held, tuple) else (held,)
    try:
        values = {read_value(text, test.column.type): None for text in texts}
    except InvalidValue:
        return None
    return tuple(values) or None


def parse_row_rule(text: str, table: Table) -> RowRule:
    """The rule that `text` writes about rows of `table`."""
    if len(text) > _LONGEST:
        raise InvalidCondition(f"a row rule is at most {_LONGEST} characters long")
    return _Parser(text, table).rule()


class _Parser:
    def __init__(self, text: str, table: Table) -> None:
        self._table = table
        self._words: list[tuple[str, str, int]] = []
        at = 0
        while at < len(text):
            match = _WORD.match(text, at)
            if match is None:
                self._fail(f"`{text[at]}` is not allowed in a row rule", at, _EXAMPLE)
            if match.lastgroup is not None:
                self._words.append((match.lastgroup, match.group(), at))
            at = match.end()
        self._words.append(("end", "", len(text)))
        self._at = 0

    def rule(self) -> RowRule:
        tests = [self._test()]
        while self._next[1].lower() == "and":
            self._at += 1
            tests.append(self._test())
        if self._next[0] != "end":
            hint = f"tests can only be joined by `AND`; {_EXAMPLE}"
            self._fail(f"`{self._next[1]}` is not expected here", self._next[2], hint)
        if len(tests) > _MOST_TESTS:
            self._fail(f"a row rule has at most {_MOST_TESTS} tests", 0)
        return RowRule(self._table.name, tuple(tests))

    @property
    def _next(self) -> tuple[str, str, int]:
        return self._words[self._at]

    def _take(self) -> tuple[str, str, int]:
        word = self._next
        self._at += word[0] != "end"
        return word

    def _fail(self, message: str, column: int, hint: str = "") -> NoReturn:
        raise InvalidCondition(message, column, hint)

    def _test(self) -> RowTest:
        column = self._column()
        sort, sign, at = self._take()
        several = sort == "name" and sign.lower() == "in"
        if not several and sign != "=":
            self._fail("a row rule may only use `=` and `in`", at, _EXAMPLE)
        sort, word, at = self._next
        if sort == "name" and word.startswith("subject."):
            self._at += 1
            return RowTest(column, Attribute(self._attribute(word, at), several))
        if not several:
            return RowTest(column, (self._constant(column),))
        if self._take()[1] != "(":
            self._fail("`in` must be followed by `subject.…` or `(`", at, _EXAMPLE)
        values = {self._constant(column): None}
        while self._next[1] == ",":
            self._at += 1
            values[self._constant(column)] = None
        if self._take()[1] != ")":
            self._fail("the list is not closed with `)`", at)
        if len(values) > _MOST_VALUES:
            self._fail(f"a list has at most {_MOST_VALUES} values", at)
        return RowTest(column, tuple(values))

    def _attribute(self, word: str, at: int) -> str:
        name = word.removeprefix("subject.")
        if "." in name:
            self._fail(f"`{word}` is not an attribute", at)
        return name

    def _column(self) -> Column:
        sort, word, at = self._take()
        if sort != "name":
            self._fail("a column's name is expected here", at, _EXAMPLE)
        name = word.removeprefix(f"{self._table.name}.")
        column = self._table.column(name)
        if column is None:
            known = (each.name for each in self._table.columns)
            message = f"`{self._table.name}` has no column `{name}`"
            self._fail(message, at, suggestion(name, known))
        if column.type.family in _UNFIT:
            self._fail(f"a row rule cannot compare `{column.type}`", at)
        return column

    def _constant(self, column: Column) -> Value:
        sort, word, at = self._take()
        truth = sort == "name" and word in {"true", "false"}
        if sort not in {"text", "number"} and not truth:
            self._fail("a constant or `subject.…` is expected here", at, _EXAMPLE)
        if (sort == "text") is (column.type.family in {Family.WHOLE, Family.EXACT}) or (
            truth is not (column.type.family is Family.BOOLEAN)
        ):
            self._fail(f"`{word}` is not a valid `{column.type}`", at)
        try:
            return read_value(
                word[1:-1].replace("''", "'") if sort == "text" else word, column.type
            )
        except InvalidValue as error:
            raise InvalidCondition(str(error), at) from None
