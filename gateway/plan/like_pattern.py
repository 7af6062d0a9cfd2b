"""The pieces of a LIKE pattern: what must stand at the start, at the end, and in between in order.

Takes a pattern whose escape sign is the backslash, as `gateway.binding.expressions` leaves it, and gives its pieces. A
piece is a tuple of characters; None stands for any one character. Blanks of one character at the edge of a piece that
floats are counted as a gap instead, so a floating piece begins and ends with a character that is known.

INVARIANT: a text matches the pattern exactly where it begins with `start`, ends with `end`, has at least `least`
characters, and has the floating pieces between the two in their order, each at least `gap` characters after what
comes before it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final, TypeAlias

ESCAPE: Final = "\\"
LONGEST_BLANKED: Final = 16
"""How long a floating piece with `_` inside may be: the automaton that finds it has at most 2^15 states."""

Piece: TypeAlias = tuple[str | None, ...]


@dataclass(frozen=True, slots=True)
class Floating:
    """A piece that may stand anywhere, at least `gap` characters after what is before it."""

    gap: int
    piece: Piece

    @property
    def literal(self) -> str | None:
        """The text that it is; None where a `_` is in it."""
        return piece_text(self.piece)


@dataclass(frozen=True, slots=True)
class Pattern:
    """`end` is None where the pattern has no `%`: then `start` is the whole text.

    `gap` is how many characters at least stand between the last floating piece and `end`.
    """

    start: Piece
    floating: tuple[Floating, ...]
    gap: int
    end: Piece | None

    @property
    def least(self) -> int:
        """How many characters a text must have at least."""
        inside = sum(one.gap + len(one.piece) for one in self.floating)
        return len(self.start) + inside + self.gap + len(self.end or ())

    @property
    def longest(self) -> int:
        """How many characters the longest floating piece has."""
        return max((len(one.piece) for one in self.floating), default=0)

    @property
    def is_bounded(self) -> bool:
        """Whether every engine can match it in time that is linear in the text."""
        blanked = [one for one in self.floating if one.literal is None]
        return not blanked or (len(self.floating) == 1 and self.longest <= LONGEST_BLANKED)


def read_pattern(pattern: str) -> Pattern:
    """The pieces of a pattern. One that ends in the escape sign has none: the binder refuses it."""
    pieces = list(_split(pattern))
    if len(pieces) == 1:
        return Pattern(pieces[0], (), 0, None)
    start, *middle, end = pieces
    floating: list[Floating] = []
    gap = 0
    for piece in middle:
        known = [place for place, one in enumerate(piece) if one is not None]
        if not known:
            gap += len(piece)
            continue
        first, last = known[0], known[-1]
        floating.append(Floating(gap + first, piece[first : last + 1]))
        gap = len(piece) - last - 1
    return Pattern(start, tuple(floating), gap, end)


def matches_like(text: str, pattern: str) -> bool:
    """Whether a text matches a pattern: each floating piece is taken where it stands first."""
    pieces = read_pattern(pattern)
    if pieces.end is None:
        return len(text) == len(pieces.start) and _stands_at(pieces.start, text, 0)
    last = len(text) - len(pieces.end)
    if len(text) < pieces.least or not _stands_at(pieces.end, text, last):
        return False
    place = len(pieces.start)
    for one in pieces.floating:
        places = range(place + one.gap, last - len(one.piece) + 1)
        found = next((at for at in places if _stands_at(one.piece, text, at)), None)
        if found is None:
            return False
        place = found + len(one.piece)
    return _stands_at(pieces.start, text, 0) and place + pieces.gap <= last


def _stands_at(piece: Piece, text: str, place: int) -> bool:
    return all(one in {None, text[place + at]} for at, one in enumerate(piece))


def with_escape(pattern: str, escape: str) -> str | None:
    """The pattern with the backslash for its escape sign; None where it ends in that sign, or the sign is none."""
    if len(escape) > 1:
        return None
    made = ""
    signs = iter(pattern)
    for sign in signs:
        if sign == escape:
            meant = next(signs, None)
            if meant is None:
                return None
            made += ESCAPE + meant
        else:
            made += ESCAPE * 2 if sign == ESCAPE else sign
    return made


def piece_text(piece: Piece) -> str | None:
    """The text that a piece is; None where a `_` is in it."""
    known = [one for one in piece if one is not None]
    return "".join(known) if len(known) == len(piece) else None


def piece_texts(piece: Piece) -> Iterator[tuple[int, str]]:
    """The texts between the `_` of a piece, each with its place from 0."""
    begun, letters = 0, ""
    for place, one in enumerate((*piece, None)):
        if one is not None:
            begun = begun if letters else place
            letters += one
        elif letters:
            yield begun, letters
            letters = ""


def _split(pattern: str) -> Iterator[Piece]:
    signs = iter(pattern)
    piece: list[str | None] = []
    for sign in signs:
        if sign == "%":
            yield tuple(piece)
            piece = []
        elif sign == ESCAPE:
            piece.append(next(signs))
        else:
            piece.append(None if sign == "_" else sign)
    yield tuple(piece)
