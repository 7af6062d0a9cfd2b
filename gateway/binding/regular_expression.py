"""Regular expressions over values that are known: whether a text matches, as PostgreSQL's `~` says it.

A pattern is read into a tree and followed as a set of places in the text, so nothing is tried twice. The steps over all
texts are limited. No engine runs it: it is decided for each listed value.

INVARIANT: what is not read here exactly as PostgreSQL reads it is refused: directives, references, look-around, classes
of letters beyond ASCII.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Final, TypeAlias

from gateway.errors import Code, UnsupportedSql

_MOST_SIGNS: Final = 500
_MOST_TIMES: Final = 255
_MOST_STEPS: Final = 2_000
_MOST_WORK: Final = 1_000_000
_DIGITS: Final = frozenset("0123456789")
_LETTERS: Final = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ")
_SPACES: Final = frozenset(" \t\n\r\f\v")
_CLASSES: Final = {
    "alpha": _LETTERS,
    "digit": _DIGITS,
    "alnum": _LETTERS | _DIGITS,
    "upper": frozenset(one for one in _LETTERS if one.isupper()),
    "lower": frozenset(one for one in _LETTERS if one.islower()),
    "space": _SPACES,
}
_ESCAPED: Final = {"d": _DIGITS, "w": _LETTERS | _DIGITS | {"_"}, "s": _SPACES}
_SIGNS: Final = {"n": "\n", "t": "\t", "r": "\r", "f": "\f", "v": "\v"}


@dataclass(frozen=True, slots=True)
class _One:
    """One character that passes the test."""

    test: Callable[[str], bool]


@dataclass(frozen=True, slots=True)
class _Edge:
    end: bool


@dataclass(frozen=True, slots=True)
class _All:
    parts: tuple["_Part", ...]


@dataclass(frozen=True, slots=True)
class _Either:
    parts: tuple["_Part", ...]


@dataclass(frozen=True, slots=True)
class _Times:
    part: "_Part"
    least: int
    most: int | None


_Part: TypeAlias = _One | _Edge | _All | _Either | _Times


class _Walk:
    """Follows patterns through texts, with so many steps in all."""

    def __init__(self) -> None:
        self._left = _MOST_WORK

    def after(self, part: _Part, text: str, places: frozenset[int]) -> frozenset[int]:
        """Where the part may end that begins at one of the places."""
        self._left -= 1 + len(places)
        if self._left < 0:
            raise unreadable("it takes too long")
        match part:
            case _One():
                return frozenset(at + 1 for at in places if at < len(text) and part.test(text[at]))
            case _Edge():
                return places & {len(text) if part.end else 0}
            case _All():
                for one in part.parts:
                    places = self.after(one, text, places)
                return places
            case _Either():
                return frozenset().union(*(self.after(one, text, places) for one in part.parts))
            case _Times():
                return self._repeat(part, text, places)

    def _repeat(self, part: _Times, text: str, places: frozenset[int]) -> frozenset[int]:
        for _ in range(part.least):
            places = self.after(part.part, text, places)
        found, times = places, part.least
        while places and (part.most is None or times < part.most):
            places = self.after(part.part, text, places) - found
            found |= places
            times += 1
        return found


@dataclass(frozen=True, slots=True)
class RegularExpression:
    """A pattern that was read. `classes`: it has classes of letters, which are known for ASCII alone."""

    part: _Part
    classes: bool
    folded: bool
    walk: _Walk = field(default_factory=_Walk, compare=False)

    def is_in(self, text: str) -> bool:
        """Whether a part of the text matches."""
        if (self.classes or self.folded) and not text.isascii():
            raise unreadable("classes and cases of letters are known for ASCII alone")
        text = text.lower() if self.folded else text
        return bool(self.walk.after(self.part, text, frozenset(range(len(text) + 1))))


def read_regular_expression(pattern: str, *, folded: bool = False) -> RegularExpression:
    """The pattern of `~`; `folded`: that of `~*`."""
    if len(pattern) > _MOST_SIGNS:
        raise unreadable(f"the pattern has more than {_MOST_SIGNS} characters")
    if pattern.startswith(("***", "(?")) or (folded and not pattern.isascii()):
        raise unreadable("it begins with a directive, or has letters beyond ASCII")
    reader = _Reader(_lowered(pattern) if folded else pattern)
    return RegularExpression(reader.whole(), reader.classes, folded)


def read_similar(pattern: str) -> RegularExpression:
    """The pattern of SIMILAR TO, which is that of the whole text."""
    made, inside, signs = "", False, iter(pattern)
    for sign in signs:
        if sign == "\\":
            meant = next(signs, None)
            if meant is None:
                raise unreadable("it ends in its escape sign")
            made += f"\\{meant}"  # of a letter it is a class of signs, as in PostgreSQL
        elif inside:
            inside = sign != "]"
            made += sign
        elif sign in "%_":
            made += ".*" if sign == "%" else "."
        else:
            if sign == "?" and made.endswith("("):
                raise unreadable("a repetition has nothing before it")
            inside = sign == "["
            made += f"\\{sign}" if sign in ".^$" else sign
    return read_regular_expression(f"^(?:{made})$")


def unreadable(why: str) -> UnsupportedSql:
    """The refusal of a pattern."""
    return UnsupportedSql(
        Code.CLAUSE_UNSUPPORTED,
        f"the regular expression is not supported: {why}",
        "use LIKE, or IN with the values that are meant",
    )


def _lowered(pattern: str) -> str:
    """The pattern for lower-case texts: what is escaped keeps its meaning."""
    made, signs = "", iter(pattern)
    for sign in signs:
        made += sign + next(signs, "") if sign == "\\" else sign.lower()
    return made


class _Reader:
    """Reads a pattern from left to right."""

    def __init__(self, pattern: str) -> None:
        self._pattern = pattern
        self._place = 0
        self._steps = 0
        self.classes = False

    def whole(self) -> _Part:
        part = self._either()
        if self._place < len(self._pattern):
            raise unreadable("a bracket is closed that was not opened")
        if _size(part) > _MOST_STEPS:
            raise unreadable("it repeats too much")
        return part

    def _next(self) -> str:
        return self._pattern[self._place : self._place + 1]

    def _take(self) -> str:
        sign = self._next()
        if not sign:
            raise unreadable("it ends too early")
        self._place += 1
        return sign

    def _either(self) -> _Part:
        parts = [self._all()]
        while self._next() == "|":
            self._take()
            parts.append(self._all())
        return parts[0] if len(parts) == 1 else _Either(tuple(parts))

    def _all(self) -> _Part:
        parts: list[_Part] = []
        while self._next() not in {"", "|", ")"}:
            parts.append(self._repeated(self._atom()))
        return _All(tuple(parts))

    def _repeated(self, part: _Part) -> _Part:
        sign = self._next()
        following = self._pattern[self._place + 1 : self._place + 2]
        if sign in {"*", "+", "?"} and sign:
            self._take()
            found = _Times(part, int(sign == "+"), 1 if sign == "?" else None)
        elif sign == "{" and following.isdecimal():
            found = self._counted(part)
        else:
            return part
        if isinstance(part, _Edge):
            raise unreadable("`^` or `$` is repeated")
        if self._next() == "?":  # as few as possible: that is the same for a match
            self._take()
        if self._next() in {"*", "+", "{"} and self._next():
            raise unreadable("a repetition is repeated")
        return found

    def _counted(self, part: _Part) -> _Times:
        end = self._pattern.find("}", self._place)
        least, comma, most = self._pattern[self._place + 1 : end].partition(",")
        if end < 0 or not _is_count(least) or (most and not _is_count(most)):
            raise unreadable("the braces of a repetition are not read")
        self._place = end + 1
        low = int(least)
        high = int(most) if most else None if comma else low
        if max(low, high or 0) > _MOST_TIMES or (high is not None and high < low):
            raise unreadable(f"a repetition is more than {_MOST_TIMES} times, or none")
        return _Times(part, low, high)

    def _atom(self) -> _Part:
        sign = self._take()
        match sign:
            case "(":
                return self._group()
            case "[":
                return _One(self._bracket())
            case ".":
                return _One(lambda _: True)
            case "^" | "$":
                return _Edge(sign == "$")
            case "\\":
                return _One(self._escape())
            case "*" | "+" | "?":
                raise unreadable("there is nothing to repeat")
            case _:
                return _One(lambda one: one == sign)

    def _group(self) -> _Part:
        if self._next() == "?":
            if self._pattern[self._place : self._place + 2] != "?:":
                raise unreadable("look-around and directives are not read")
            self._place += 2
        part = self._either()
        if self._take() != ")":
            raise unreadable("a bracket is not closed")
        return part

    def _escape(self) -> Callable[[str], bool]:
        sign = self._take()
        kind = _ESCAPED.get(sign.lower())
        if kind is not None:
            self.classes = True
            return (lambda one: one not in kind) if sign.isupper() else kind.__contains__
        if sign in _SIGNS:
            return _SIGNS[sign].__eq__
        if sign.isalnum():
            raise unreadable(f"`\\{sign}` is not read")
        return sign.__eq__

    def _bracket(self) -> Callable[[str], bool]:
        negated = self._next() == "^"
        if negated:
            self._take()
        tests: list[Callable[[str], bool]] = []
        first = True
        while first or self._next() != "]":
            tests.append(self._member())
            first = False
        self._take()
        return lambda one: any(test(one) for test in tests) is not negated

    def _member(self) -> Callable[[str], bool]:
        sign = self._take()
        if sign == "[" and self._next() in {":", ".", "="} and self._next():
            end = self._pattern.find(":]", self._place)
            kind = _CLASSES.get(self._pattern[self._place + 1 : end]) if end > 0 else None
            if kind is None or self._next() != ":":
                raise unreadable("this class of characters is not read")
            self.classes = True
            self._place = end + 2
            return kind.__contains__
        if sign == "\\":
            return self._escape()
        if self._next() != "-" or self._pattern[self._place + 1 : self._place + 2] in {"]", ""}:
            return sign.__eq__
        self._take()
        last = self._take()
        if last in {"[", "\\"} or last < sign or not (sign + last).isascii():
            raise unreadable("this range of characters is not read")
        return lambda one: sign <= one <= last


def _is_count(text: str) -> bool:
    return text.isascii() and text.isdecimal() and len(text) <= len(str(_MOST_TIMES))


def _size(part: _Part) -> int:
    """How many steps a text is followed through at most, repetitions counted as often as they are said."""
    match part:
        case _Times():
            return (part.most or part.least or 1) * _size(part.part) + 1
        case _All() | _Either():
            return 1 + sum(map(_size, part.parts))
        case _:
            return 1
