"""Concurrent equal queries of threads or processes are charged once and get the same answer."""

import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import IO, Any

from endtoend.reuse.clinics import PRICE
from endtoend.reuse.datasets import POSTGRESQL, Opened, Place
from warm_python import forks

from gateway.cancellation import CancelEvent
from gateway.noise.entropy import SYSTEM_ENTROPY
from gateway.requests.request import Answer

_PRICE = Fraction(PRICE)
_SUM = "SELECT SUM(income) FROM patients"
_PATIENCE_S = 60
_ROUNDS = 5
_THREADS = 6


def _of(number: int) -> str:
    """A question nobody asked before."""
    return f"SELECT region, SUM(income) FROM patients WHERE birth_year >= {1930 + number} GROUP BY region"


def test_question_is_paid_once_when_many_ask_it_at_the_same_moment(place: Place) -> None:
    """Six threads, five times: one price for each question, one answer for all."""
    for number in range(_ROUNDS):
        together = threading.Barrier(_THREADS)

        def one(sql: str, together: threading.Barrier = together) -> Answer:
            together.wait(_PATIENCE_S)
            return place.ask(sql)

        with ThreadPoolExecutor(_THREADS) as pool:
            answers = list(pool.map(one, [_of(number)] * _THREADS))
        assert len({tuple(answer.rows) for answer in answers}) == 1
        assert sum(answer.charged.value for answer in answers) == _PRICE
        assert place.spent_by_all() == place.spent() == (number + 1) * _PRICE


def test_everybody_pays_at_the_same_moment_when_noise_is_to_be_fresh(pure: Place) -> None:
    """The negative control: what is meant to be measured each time is charged as often."""
    with ThreadPoolExecutor(2) as pool:
        asked = [pool.submit(pure.ask, _SUM, fresh=True) for _ in range(2)]
        answers = [one.result(_PATIENCE_S) for one in asked]
    assert answers[0].rows != answers[1].rows
    assert pure.spent_by_all() == 2 * _PRICE


@dataclass
class Held:
    """Randomness that is not there before it is let go; the first who wants some says so."""

    wanted: threading.Event = field(default_factory=threading.Event)
    go: threading.Event = field(default_factory=threading.Event)

    def _wait(self) -> None:
        self.wanted.set()
        assert self.go.wait(_PATIENCE_S)

    def bits(self, count: int) -> int:
        self._wait()
        return SYSTEM_ENTROPY.bits(count)

    def bytes(self, count: int) -> bytes:
        self._wait()
        return SYSTEM_ENTROPY.bytes(count)


def test_question_is_paid_once_when_it_comes_again_while_it_is_worked_on(place: Place) -> None:
    """The first is charged and has no noise yet: the second waits for it, or finds it, and pays nothing."""
    held = Held()
    asking = place.asking
    slow = replace(asking, services=replace(asking.services, entropy=held))
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(slow.answer, place.subject("alice"), place.request(_SUM), CancelEvent())
        assert held.wanted.wait(_PATIENCE_S)
        second = pool.submit(place.ask, _SUM)
        threading.Event().wait(
            0.3
        )  # so that it has come to where it has to wait; more or less is as well
        held.go.set()
        one, other = first.result(_PATIENCE_S), second.result(_PATIENCE_S)
    assert one.rows == other.rows
    assert one.charged.value == _PRICE
    assert not other.charged
    assert place.spent_by_all() == _PRICE


@dataclass(frozen=True)
class Another:
    """A gateway in a process of its own."""

    said: IO[str]
    told: IO[str]

    def begin(self, sql: str) -> None:
        self.told.write(" ".join(sql.split()) + "\n")
        self.told.flush()

    def answer(self) -> tuple[list[list[str | None]], Fraction]:
        rows, charged = self.read()
        return rows, Fraction(charged)

    def read(self) -> Any:  # noqa: ANN401 - JSON
        return json.loads(self.said.readline())


@contextmanager
def _another(houses: Opened, place: Place) -> Iterator[Another]:
    environment = {
        **{name: value for name, value in os.environ.items() if not name.startswith("GATEWAY_")},
        **houses.environment,
        "PYTHONPATH": os.pathsep.join(filter(None, sys.path)),
    }
    command = [
        sys.executable,
        "-m",
        "endtoend.reuse.second_gateway",
        str(houses.home),
        place.dataset,
    ]
    with forks():
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
    with process:
        assert process.stdin is not None
        assert process.stdout is not None
        another = Another(process.stdout, process.stdin)
        try:
            assert another.read() == "ready"
            yield another
            process.stdin.close()
            assert process.wait(_PATIENCE_S) == 0
        finally:
            process.kill()


def test_question_is_paid_once_when_two_processes_ask_it_at_the_same_moment(
    few: Opened,
) -> None:
    """Each knows what the other bought: both get the same answer, and the dataset gives one price."""
    place = few.place(POSTGRESQL)
    with _another(few, place) as another:
        for number in range(_ROUNDS):
            another.begin(_of(number))
            mine = place.ask(_of(number))
            rows, charged = another.answer()
            assert [list(row) for row in mine.rows] == rows
            assert mine.charged.value + charged == _PRICE
            assert place.spent_by_all() == (number + 1) * _PRICE


def test_answer_of_one_process_is_free_in_another(few: Opened) -> None:
    """Whoever asks later finds it, wherever it was bought; also one that starts afterwards."""
    place = few.place(POSTGRESQL)
    first = place.ask(_SUM)
    with _another(few, place) as another:
        another.begin(_SUM)
        assert another.answer() == ([list(row) for row in first.rows], Fraction(0))
        another.begin(_of(1))
        rows, charged = another.answer()
        assert charged == _PRICE
    assert [list(row) for row in place.ask(_of(1)).rows] == rows
    assert place.spent_by_all() == 2 * _PRICE
