"""The items of the outermost SELECT list of a text, and the text with NULL in the place of some of them.

Takes the text of one query. Gives which items can be left out without another meaning of the rest, and the text without
them. A query of another shape gives None: a set operation, DISTINCT, a star in the list, brackets around all. So does
one that is too much work.

INVARIANT: what is made here is a text that the analyst could have sent. It is bound, described and decided on like every
text, so nothing rests on this module but which columns are NULL.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Final, Self

from gateway.binding.aggregates import AGGREGATES
from gateway.binding.text.dialect import quote_name
from gateway.binding.text.lexer import Lexeme, LexemeKind, lexemes

MOST_WORK: Final = 50_000
"""Of a text, all others stay as they are. Each item is bound once with the clauses behind the list: its work is their pieces."""
_EACH: Final = 100  # what any binding costs, in pieces
_OPEN: Final = frozenset("([")
_CLOSE: Final = frozenset(")]")
_ENDS: Final = frozenset(
    {"from", "where", "group", "having", "window", "order", "limit", "offset", "fetch", "for"}
)
_SETS: Final = frozenset({"union", "intersect", "except", "into"})
# words behind which a keyword is a name, or belongs to an expression: AS group, WITHIN GROUP, IS DISTINCT FROM
_JOINED: Final = frozenset({("within", "group"), ("distinct", "from")})
_COUNT: Final = f"COUNT(*) AS {quote_name('count of rows')}"
_LITERALS: Final = frozenset({"null", "true", "false"})
# one of these decides how many rows there are
_SET_RETURNING: Final = frozenset(
    {"generate_series", "generate_subscripts", "unnest", "regexp_matches", "string_to_table"}
    | {"regexp_split_to_table", "json_array_elements", "jsonb_array_elements", "json_each"}
    | {"jsonb_each", "json_object_keys", "jsonb_object_keys", "json_populate_recordset"}
)


@dataclass(frozen=True, slots=True)
class SelectItem:
    """An item with its place in the text and its name in the result, as far as the text tells it."""

    pieces: tuple[Lexeme, ...]
    name: str

    @property
    def start(self) -> int:
        return self.pieces[0].start

    @property
    def end(self) -> int:
        return self.pieces[-1].end

    @property
    def is_constant(self) -> bool:
        """Whether it is one literal, perhaps with a name."""
        first = self.pieces[0]
        literal = first.sort in {LexemeKind.STRING, LexemeKind.NUMBER} or _is_word(first, _LITERALS)
        named = [one.name for one in self.pieces[1:] if one.name != "as"]
        return literal and named in ([], [self.name])

    @property
    def stays(self) -> bool:
        """Whether it is never left out: a literal, or an item with a parameter or several rows."""
        return (
            self.is_constant
            or any(one.sort is LexemeKind.PARAMETER for one in self.pieces)
            or not _SET_RETURNING.isdisjoint(_called(self.pieces))
        )

    @property
    def aggregates(self) -> bool:
        """Whether it is certainly computed from all rows: a known aggregate outside of windows and subqueries."""
        words = {one.name for one in self.pieces if one.sort is LexemeKind.WORD}
        return not words & {"select", "over"} and not AGGREGATES.isdisjoint(_called(self.pieces))


@dataclass(frozen=True, slots=True)
class SelectList:
    """The list with the text around it.

    `fixed` are the items that stay, whatever they are. The first `counted` may be meant by their numbers. `around` is
    how many pieces stand around the list.
    """

    text: str
    items: tuple[SelectItem, ...]
    fixed: frozenset[int]
    counted: int
    grouped: bool
    around: int

    @property
    def replaceable(self) -> tuple[int, ...]:
        return tuple(place for place in range(len(self.items)) if place not in self.fixed)

    @property
    def work(self) -> int:
        """What binding each replaceable item alone costs, in pieces of text; some are bound once more beside a count."""
        each = len(self.replaceable)
        kept = sum(len(self.items[place].pieces) for place in self.fixed)
        tried = sum(len(self.items[place].pieces) for place in self.replaceable)
        return each * (_EACH + self.around + kept + 2 * self.counted) + tried

    def keeps_rows(self, nulled: Collection[int]) -> bool:
        """Whether something is answered, and the rest has the same rows without these: an aggregate or keys make them."""
        kept = [(place, one) for place, one in enumerate(self.items) if place not in nulled]
        if any(one.aggregates for _, one in kept):
            return True
        return self.grouped and any(place not in self.fixed for place, _ in kept)

    def with_nulls(self, nulls: Mapping[int, tuple[str, str]]) -> str:
        """The text with NULL in these places, each with its name and type."""
        parts, place = list[str](), 0
        for number, (name, of) in sorted(nulls.items()):
            item = self.items[number]
            parts += [self.text[place : item.start], f"CAST(NULL AS {of}) AS {quote_name(name)}"]
            place = item.end
        return "".join([*parts, self.text[place:]])

    def alone(self, place: int) -> tuple[str, int]:
        """The text with this item and those that stay, and where it stands then.

        Others are left out, so that the work for each does not grow with their number. Where a clause may count items,
        those before are NULL.
        """
        parts, found = list[str](), 0
        for number, item in enumerate(self.items):
            if number == place:
                found = len(parts)
            if number == place or number in self.fixed:
                parts.append(self.text[item.start : item.end])
            elif number < self.counted:
                parts.append("NULL")
        head, tail = self.text[: self.items[0].start], self.text[self.items[-1].end :]
        return f"{head}{', '.join(parts)}{tail}", found

    def beside_count(self, place: int) -> str | None:
        """The text with this item, those that stay and a count of rows, where the statement has an aggregate.

        The aggregates of a list make one row of all rows. So an item without one, such as a query in brackets, may be
        answered beside them, though it would be an item of each row without them.
        """
        if self.items[place].aggregates or not any(one.aggregates for one in self.items):
            return None
        text, _ = self.alone(place)
        tail = len(self.text) - self.items[-1].end
        return f"{text[: len(text) - tail]}, {_COUNT}{text[len(text) - tail :]}"

    @classmethod
    def read(cls, text: str) -> Self | None:
        """The list of a query; None where an item cannot be left out, or trying each is too much work."""
        pieces = [(one, depth) for one, depth in _nested(lexemes(text)) if one.name != ";"]
        outside = [place for place, (_, depth) in enumerate(pieces) if not depth]
        begin = next((one for one in outside if _is_word(pieces[one][0], {"select"})), None)
        if begin is None or any(_ends(pieces, one, _SETS) for one in outside):
            return None
        end = next(
            (one for one in outside if one > begin and _ends(pieces, one, _ENDS)), len(pieces)
        )
        found = list(_split(pieces[begin + 1 : end]))
        if not all(found) or _is_whole(found):
            return None
        items = tuple(SelectItem(tuple(one), _name(one)) for one in found)
        keywords = {pieces[one][0].name for one in outside if one >= end}
        later = _later([one for one, _ in pieces[end:]])
        names = {one.name for one in later if one.sort in {LexemeKind.WORD, LexemeKind.QUOTED}}
        written = {text[one.start : one.end] for one in later if one.sort is LexemeKind.NUMBER}
        numbers = [place for place, _ in enumerate(items) if str(place + 1) in written]
        fixed = {place for place, one in enumerate(items) if one.stays or one.name in names}
        made = cls(
            text,
            items,
            frozenset(fixed.union(numbers)),
            max(numbers, default=-1) + 1,
            not keywords.isdisjoint({"group", "having"}),
            len(pieces) - (end - begin - 1),
        )
        return made if made.work <= MOST_WORK else None


def _nested(pieces: Sequence[Lexeme]) -> Iterator[tuple[Lexeme, int]]:
    """Each piece with the number of brackets around it; brackets are inside of themselves."""
    depth = 0
    for one in pieces:
        opens = one.sort is LexemeKind.SIGN and one.name in _OPEN
        depth += opens
        yield one, depth
        depth -= one.sort is LexemeKind.SIGN and one.name in _CLOSE


def _ends(pieces: Sequence[tuple[Lexeme, int]], place: int, words: Collection[str]) -> bool:
    """Whether the word at this place is one of these keywords, and neither a name nor a part of an expression."""
    piece = pieces[place][0]
    before = pieces[place - 1][0].name if place else ""
    return (
        _is_word(piece, words) and before not in {"as", "."} and (before, piece.name) not in _JOINED
    )


def _split(pieces: Sequence[tuple[Lexeme, int]]) -> Iterator[list[Lexeme]]:
    item: list[Lexeme] = []
    for one, depth in pieces:
        if not depth and one.sort is LexemeKind.SIGN and one.name == ",":
            yield item
            item = []
        else:
            item.append(one)
    yield item


def _is_whole(items: Sequence[Sequence[Lexeme]]) -> bool:
    """Whether the list has a star, or removes equal rows."""
    return _is_word(items[0][0], {"distinct", "all"}) or any(
        one[-1].name == "*" and (len(one) == 1 or one[-2].name == ".") for one in items
    )


def _later(rest: Sequence[Lexeme]) -> Sequence[Lexeme]:
    """The clauses that may name or count items."""
    words = {"group", "having", "order", "window"}
    begin = next((place for place, one in enumerate(rest) if _is_word(one, words)), len(rest))
    return rest[begin:]


def _name(pieces: Sequence[Lexeme]) -> str:
    """The name behind AS or at the end, else that of the function, as PostgreSQL names it."""
    last = pieces[-1]
    if last.sort is LexemeKind.QUOTED or (
        last.sort is LexemeKind.WORD and not _is_word(last, _LITERALS | {"end"})
    ):
        return last.name
    if last.name == ")":
        return next(_called(pieces), "?column?")
    return "case" if _is_word(last, {"end"}) else "?column?"


def _called(pieces: Sequence[Lexeme]) -> Iterator[str]:
    """The names in front of brackets."""
    for one, after in pairwise(pieces):
        if one.sort is LexemeKind.WORD and after.name == "(":
            yield one.name


def _is_word(piece: Lexeme, words: Collection[str]) -> bool:
    return piece.sort is LexemeKind.WORD and piece.name in words
