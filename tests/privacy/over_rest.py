"""Questions over loopback HTTP: connections that are kept, several questions under way on each side."""

import http.client
import json
import threading
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from time import monotonic
from typing import Any

from privacy.claims import Claim
from privacy.distinguisher import ALPHA, Loss, loss
from privacy.rest_numbers import Told, claim_of, numbers
from privacy.rest_sides import RestSides, Served
from privacy.shapes import Shape

_AT_ONCE = 2  # on each side: two processors, and a ledger to wait for
_PATIENCE_S = 60


@dataclass(frozen=True)
class Asked:
    """A question, and the dataset and the price it is asked at; without a price, the policy's own."""

    shape: Shape
    dataset: str
    epsilon: float | None = None

    @property
    def body(self) -> bytes:
        price = {} if self.epsilon is None else {"epsilon": self.epsilon}
        return json.dumps({"sql": self.shape.sql, "dataset": self.dataset, **price}).encode()


@dataclass(frozen=True)
class Found:
    """What the answers of both sides gave away, and how many there were of each."""

    loss: Loss
    claim: Claim
    answers: int
    seconds: float

    def __str__(self) -> str:
        kind = type(self.claim).__name__.lower()
        return (
            f"{kind} {self.claim.amount:.4g} claimed, {self.loss.proven:.4g} proven,"
            f" epsilon >= {self.loss.epsilon:.3f}, {self.answers} answers of each side"
            f" in {self.seconds:.1f} s, by {self.loss.event[:160]}"
        )


@dataclass
class Connection:
    """One kept connection of one subject."""

    served: Served
    subject: str
    _open: http.client.HTTPConnection = field(init=False)

    def __post_init__(self) -> None:
        self._open = http.client.HTTPConnection("127.0.0.1", self.served.port, timeout=_PATIENCE_S)

    def send(self, method: str, path: str, body: bytes | None = None) -> Told:
        headers = {"Authorization": f"Bearer {self.served.keys[self.subject]}"}
        if body is not None:
            headers["Content-Type"] = "application/json"
        self._open.request(method, path, body, headers)
        response = self._open.getresponse()
        return Told(response.status, tuple(response.getheaders()), response.read())

    def close(self) -> None:
        self._open.close()


def once(served: Served, subject: str, method: str, path: str, **body: Any) -> Told:  # noqa: ANN401  # JSON
    with closing(Connection(served, subject)) as connection:
        return connection.send(method, path, json.dumps(body).encode() if body else None)


def ask(served: Served, asked: Asked) -> Told:
    with closing(Connection(served, asked.shape.subject)) as connection:
        return connection.send("POST", "/v1/query", asked.body)


def found_loss(
    sides: RestSides, asked: Asked, *, pilot: int, test: int, alpha: float = ALPHA
) -> Found:
    """What is given away at least, by what the answers themselves claim."""
    began = monotonic()
    one, other = _answers(sides, asked, pilot + test)
    claim = claim_of((*one, *other))
    answers = [[numbers(each) for each in told] for told in (one, other)]
    found = loss(answers[0], answers[1], claim, pilot=pilot, alpha=alpha)
    return Found(found, claim, pilot + test, monotonic() - began)


def _answers(sides: RestSides, asked: Asked, count: int) -> list[Sequence[Told]]:
    """The answers of both sides, who are asked at the same time."""
    shares = [count // _AT_ONCE + (place < count % _AT_ONCE) for place in range(_AT_ONCE)]
    stop = threading.Event()
    with ThreadPoolExecutor(2 * _AT_ONCE) as pool:
        under_way = [
            [pool.submit(_some, served, asked, share, stop) for share in shares]
            for served in sides.both
        ]
        try:
            return [[told for one in side for told in one.result()] for side in under_way]
        finally:
            stop.set()


def _some(served: Served, asked: Asked, count: int, stop: threading.Event) -> Sequence[Told]:
    def told() -> Iterator[Told]:
        with closing(Connection(served, asked.shape.subject)) as connection:
            for _ in range(count):
                if stop.is_set():
                    return
                yield connection.send("POST", "/v1/query", asked.body)

    return list(told())
