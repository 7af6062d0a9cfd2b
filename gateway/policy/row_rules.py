"""Row rules: which rows a rule speaks of, as `column = value`, `column in (…)` and `value = ANY (array)`, joined by AND.

A value is a constant, an attribute of the subject or the purpose of the request. What is made of a rule is a set of
permitted values for each column, and values that an array has: data, which the plan compares with. Nothing of it is ever
text in a statement.

The SQL binder does not read rules: `region in subject.regions` is not SQL, an attribute has no type before the subject
is known, and every place of a problem is one of the policy file. Of what the binder accepts, all but this had to be
refused again.

INVARIANT: an attribute or purpose that is missing, of the wrong shape, or no value of the column's type makes the
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
_OF_ARRAY = "write `request.purpose = ANY (consents)` for a column of type `text[]`"
_OUTSIDE = ("subject.", "request.")
# An equality of floats or times holds by chance, and is no way to part rows.
_UNFIT = frozenset({Family.FLOAT, Family.TIMESTAMP})


@dataclass(frozen=True)
class Attribute:
    """The value is what the subject has, or the request; several when it was asked for with `in`."""

    name: str
    several: bool
    of_request: bool = False


@dataclass(frozen=True)
class RowTest:
    column: Column
    wanted: Attribute | tuple[Value, ...]


@dataclass(frozen=True)
class MembershipTest:
    """The array column has the value."""

    array: str
    wanted: Attribute | str


@dataclass(frozen=True)
class RowRule:
    """Rows for which every test holds."""

    table: str
    tests: tuple[RowTest | MembershipTest, ...]

    @property
    def attributes(self) -> frozenset[str]:
        """The attributes of the subject that it reads."""
        return frozenset(one.name for one in self._values if not one.of_request)

    @property
    def reads_purpose(self) -> bool:
        return any(one.of_request for one in self._values)

    @property
    def _values(self) -> tuple[Attribute, ...]:
        return tuple(test.wanted for test in self.tests if isinstance(test.wanted, Attribute))


@dataclass(frozen=True)
class BoundTest:
    """The column has one of these values; a row where it is NULL does not pass."""

    column: str
    values: tuple[Value, ...]


@dataclass(frozen=True)
class BoundMembership:
    """The array has this value; a row where the array is NULL does not pass."""

    array: str
    value: str


@dataclass(frozen=True)
class BoundRows:
    """A row rule for one request of one subject: all of the tests hold."""

    tests: tuple[BoundTest | BoundMembership, ...]


def bind_rows(rule: RowRule, subject: Subject, purpose: str | None) -> BoundRows | None:
    """The rule for this subject and purpose; None when a value it needs is missing or unfit."""
    bound: list[BoundTest | BoundMembership] = []
    for test in rule.tests:
        made = (
            _bound_membership(test, subject, purpose)
            if isinstance(test, MembershipTest)
            else _bound_test(test, subject, purpose)
        )
        if made is None:
            return None
        bound.append(made)
    return BoundRows(tuple(bound))


def _bound_membership(
    test: MembershipTest, subject: Subject, purpose: str | None
) -> BoundMembership | None:
    held = test.wanted
    if isinstance(held, Attribute):
        found = _held(held, subject, purpose)
        if not isinstance(found, str):
            return None
        held = found
    return BoundMembership(test.array, held)


def _bound_test(test: RowTest, subject: Subject, purpose: str | None) -> BoundTest | None:
    values = _values_of(test, subject, purpose)
    return None if values is None else BoundTest(test.column.name, values)


def _held(wanted: Attribute, subject: Subject, purpose: str | None) -> str | tuple[str, ...] | None:
    if wanted.of_request:
        return purpose
    return subject.name if wanted.name == "name" else subject.attributes.get(wanted.name)


def _values_of(test: RowTest, subject: Subject, purpose: str | None) -> tuple[Value, ...] | None:
    if not isinstance(test.wanted, Attribute):
        return test.wanted
    held = _held(test.wanted, subject, purpose)
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

    def _test(self) -> RowTest | MembershipTest:
        sort, word, at = self._next
        if sort == "text" or (sort == "name" and word.startswith(_OUTSIDE)):
            return self._membership()
        column = self._column()
        sort, sign, at = self._take()
        several = sort == "name" and sign.lower() == "in"
        if not several and sign != "=":
            self._fail("a row rule may only use `=` and `in`", at, _EXAMPLE)
        sort, word, at = self._next
        if sort == "name" and word.startswith(_OUTSIDE):
            self._at += 1
            return RowTest(column, self._attribute(word, at, several=several))
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

    def _membership(self) -> MembershipTest:
        """`request.purpose = ANY (consents)`."""
        sort, word, at = self._take()
        wanted = (
            word[1:-1].replace("''", "'")
            if sort == "text"
            else self._attribute(word, at, several=False)
        )
        for sign in ("=", "any", "("):
            _, written, there = self._take()
            if written.lower() != sign:
                self._fail("a value on the left must be followed by `= ANY (…)`", there, _OF_ARRAY)
        there = self._next[2]
        column = self._column(array=True)
        if self._take()[1] != ")":
            self._fail("`ANY (` is not closed with `)`", there, _OF_ARRAY)
        return MembershipTest(column.name, wanted)

    def _attribute(self, word: str, at: int, *, several: bool) -> Attribute:
        root, _, name = word.partition(".")
        if "." in name or (root == "request" and name != "purpose"):
            hint = "`request.purpose` is the only fact of a request that a row rule may read"
            self._fail(f"`{word}` is not an attribute", at, hint if root == "request" else "")
        if root == "request" and several:
            self._fail("`request.purpose` is one value", at, "use `=`")
        return Attribute(name, several, of_request=root == "request")

    def _column(self, *, array: bool = False) -> Column:
        sort, word, at = self._take()
        if sort != "name":
            self._fail("a column's name is expected here", at, _EXAMPLE)
        name = word.removeprefix(f"{self._table.name}.")
        column = self._table.column(name)
        if column is None:
            known = (each.name for each in self._table.columns)
            message = f"`{self._table.name}` has no column `{name}`"
            self._fail(message, at, suggestion(name, known))
        if column.is_array is not array:
            kind = "an array" if column.is_array else f"`{column.type}`, not an array"
            self._fail(f"`{name}` is {kind}", at, _OF_ARRAY)
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
