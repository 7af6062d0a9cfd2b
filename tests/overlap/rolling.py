"""Dashboards whose windows roll from day to day: each tile asked on each of many days, as a tool reloads it.

A tile is a statement with `{first}` and `{last}` for the days of its window; or one that reads the clock. Everything
that is released is remembered with its noisy sizes, as the pipeline does.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta

import numpy as np
from overlap.walk import DEFAULTS, SPREAD, parts, remember

from gateway.errors import OverlapRefused
from gateway.overlap.auditor import History, NewQuery, audit
from gateway.policy.policy import Auditing

BEGIN = date(2026, 2, 1)
_WINDOW = timedelta(days=30)


@dataclass(frozen=True)
class Dashboard:
    """`first` are the tiles that are loaded before the others; each at so many times the default price."""

    title: str
    tiles: tuple[str, ...]
    first: tuple[str, ...] = ()
    days: int = 30
    price: int = 1
    begin: date = BEGIN


@dataclass(frozen=True)
class Refused:
    """The tile that was refused, on which day, and how."""

    day: int
    tile: str
    refusal: OverlapRefused


@dataclass
class Rolled:
    """What became of a dashboard: how many tiles were answered, and what was refused."""

    answered: int = 0
    refused: list[Refused] = field(default_factory=list)
    history: History = field(default_factory=History)


def rolled(board: Dashboard, order: int = 0, rules: Auditing = DEFAULTS) -> Rolled:
    """The tiles, loaded on so many days one after the other, each day in an order by chance; `order` is its seed."""
    chance, found = np.random.default_rng(order), Rolled()
    price = board.price
    for day in range(board.days):
        now = _loaded(board.begin, day, chance)
        for place, tile in enumerate([*board.first, *_shuffled(board.tiles, chance)]):
            query = f"q{day}.{place}"
            about = parts("shop", _on(tile, now), now)
            spread = SPREAD / price**2
            try:
                audit([NewQuery(one.scope, spread) for one in about], found.history, rules)
            except OverlapRefused as refusal:
                found.refused.append(Refused(day, tile, refusal))
                continue
            found.answered += 1
            remember(about, found.history, query, chance, price)
    return found


def _loaded(begin: date, day: int, chance: np.random.Generator) -> datetime:
    """Some time in the morning of that day."""
    minute = int(chance.integers(0, 180))
    at = datetime(begin.year, begin.month, begin.day, 7, tzinfo=UTC)
    return at + timedelta(days=day, minutes=minute, microseconds=int(chance.integers(0, 10**6)))


def _shuffled(tiles: Sequence[str], chance: np.random.Generator) -> Iterator[str]:
    return (tiles[place] for place in chance.permutation(len(tiles)).tolist())


def _on(tile: str, now: datetime) -> str:
    """The statement of that day: the window are the 30 days before."""
    last = now.date()
    instant = now.strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03}Z"
    before = (now - _WINDOW).strftime("%Y-%m-%dT%H:%M:%S.") + f"{now.microsecond // 1000:03}Z"
    return (
        tile.replace("{first}", str(last - _WINDOW))
        .replace("{last}", str(last))
        .replace("{since}", before)
        .replace("{until}", instant)
    )
