"""The answers that a connection keeps under names, as far as its transactions stand.

INVARIANT: what a transaction kept is gone when it is undone; all answers of a connection together have a limit.
"""

from typing import Final

from gateway.binding.keeping import Kept
from gateway.frontends.pgwire import messages

MOST_BYTES: Final = 16 * 1024 * 1024
MOST_ANSWERS: Final = 64
MOST_ROWS: Final = 100_000
_ENDING: Final = frozenset({b"DISCARD ALL", b"DISCARD TEMP"})
_IDLE: Final = ord("I")


class Keeping:
    """By their names; a dictionary is never changed, but another one takes its place."""

    def __init__(self) -> None:
        self.answers: dict[str, Kept] = {}
        self._settled: dict[str, Kept] = {}
        self._undone = False
        self._number = 0

    def next_number(self) -> int:
        self._number += 1
        return self._number

    def room(self) -> int:
        """How many bytes more there may be; what is undone later counts up to then."""
        return MOST_BYTES - sum(one.size for one in self.answers.values())

    def keep(self, name: str, one: Kept) -> None:
        self.answers = {**self.answers, name: one}

    def give_up(self, names: tuple[str, ...]) -> None:
        self.answers = {name: one for name, one in self.answers.items() if name not in names}

    def heard(self, kind: int, raw: bytes) -> None:
        """What the twin says of statements and transactions."""
        if kind == messages.ERROR:
            self._undone = True
        elif kind == messages.COMMAND_COMPLETE:
            tag = raw[5:-1]
            if tag in _ENDING:
                self.answers = {}
            elif tag in {b"COMMIT", b"ROLLBACK"}:
                self._undone = tag == b"ROLLBACK"
        elif kind == messages.READY and raw[5] == _IDLE:
            if self._undone:
                self.answers = self._settled
            self._settled, self._undone = self.answers, False
