"""Entitlements: which subject received which part of a release, and which accounts paid for it.

INVARIANT: an account counts for a column only if it paid the whole price of that column. A subject whose accounts all
count gets the column for nothing.
"""

from collections.abc import Iterable
from dataclasses import dataclass, field

Accounts = frozenset[str]
_NOBODY: Accounts = frozenset()


@dataclass(slots=True)
class ReceivedColumns:
    """The columns of a release that one subject received, as bits."""

    slots: int = 0
    choices: int = 0


@dataclass(slots=True)
class _Received:
    """Who received a release after it was bought; most releases have no other recipient."""

    parts: dict[str, ReceivedColumns] = field(default_factory=dict)
    slots: dict[int, Accounts] = field(default_factory=dict)
    choices: dict[int, Accounts] = field(default_factory=dict)


class Entitlements:
    """What each subject received and each account paid. The caller keeps threads apart."""

    def __init__(self) -> None:
        self._bought: dict[str, tuple[str, Accounts]] = {}
        self._received: dict[str, _Received] = {}
        self._alike: dict[Accounts, Accounts] = {}
        self._origins: dict[str, str] = {}
        self._copies: dict[str, list[str]] = {}

    def bought(
        self, release: str, subject: str, accounts: Accounts, copied: str | None = None
    ) -> None:
        self._bought[release] = (subject, self._alike.setdefault(accounts, accounts))
        if copied is not None:
            origin = self._origins[release] = self.origin(copied)
            self._copies.setdefault(origin, []).append(release)

    def origin(self, release: str) -> str:
        """The release whose draw this is; itself, if it is no copy."""
        return self._origins.get(release, release)

    def holders(self, release: str) -> Accounts:
        """The accounts that paid the whole price of this draw, under any name of it."""
        return frozenset(account for one in self._same(release) for account in self._buyers(one))

    def is_given(self, members: frozenset[str], release: str) -> bool:
        """True if any member received anything of this draw, under any name of it."""
        return any(
            self._bought[one][0] in members
            or (one in self._received and not members.isdisjoint(self._received[one].parts))
            for one in self._same(release)
        )

    def add_recipient(
        self,
        release: str,
        subject: str,
        slots: Iterable[int],
        choices: Iterable[int],
        accounts: Accounts,
    ) -> None:
        known = self._received.setdefault(release, _Received())
        part = known.parts.setdefault(subject, ReceivedColumns())
        for slot in slots:
            part.slots |= 1 << slot
            known.slots[slot] = known.slots.get(slot, _NOBODY) | accounts
        for choice in choices:
            part.choices |= 1 << choice
            known.choices[choice] = known.choices.get(choice, _NOBODY) | accounts

    def knows(
        self, members: frozenset[str], release: str, slots: Iterable[int], choices: Iterable[int]
    ) -> bool:
        """True if the members together received all of these parts. The buyer of a release received all of it."""
        if release not in self._bought:
            return False
        if self._bought[release][0] in members:
            return True
        known = self._received.get(release)
        parts = () if known is None else [known.parts[one] for one in known.parts if one in members]
        known_slots = known_choices = 0
        for part in parts:
            known_slots |= part.slots
            known_choices |= part.choices
        return all(known_slots >> slot & 1 for slot in slots) and all(
            known_choices >> choice & 1 for choice in choices
        )

    def paid_slot(self, release: str, slot: int) -> Accounts:
        """The accounts that paid for a slot."""
        known = self._received.get(release)
        return self._buyers(release) | (
            _NOBODY if known is None else known.slots.get(slot, _NOBODY)
        )

    def paid_choice(self, release: str, choice: int) -> Accounts:
        """The accounts that paid for a choice."""
        known = self._received.get(release)
        more = _NOBODY if known is None else known.choices.get(choice, _NOBODY)
        return self._buyers(release) | more

    def _same(self, release: str) -> list[str]:
        """All releases with the same draw."""
        origin = self.origin(release)
        return [origin, *self._copies.get(origin, ())]

    def _buyers(self, release: str) -> Accounts:
        bought = self._bought.get(release)
        return _NOBODY if bought is None else bought[1]
