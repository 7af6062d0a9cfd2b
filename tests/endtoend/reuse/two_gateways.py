"""Two gateways over the same people: in one of them others asked before. What an asker can read is written down.

Noise hangs on the text of a question alone, so the same question draws the same noise in both. Numbers of questions are
chance, and stand as their places in the transcript; everything else is there byte for byte.
"""

import random
import re
import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from typing import Any, Final

import psycopg
from endtoend.reuse.datasets import Opened, Place
from fix_gateway import Client

from gateway.admin.key_actions import create_key
from gateway.app import gateway_api, query_api, serve_wire
from gateway.auth.key_store import KeyOrder
from gateway.cancellation import CancelEvent
from gateway.frontends.rest.app import create_app
from gateway.query_service import QueryService
from gateway.telemetry.metrics import Metrics
from gateway.trail.record import Trail

NOON: Final = datetime(2026, 11, 18, 12, tzinfo=UTC)
_NUMBER: Final = re.compile(r"\b[0-9a-f]{24}\b")


class Chance:
    """Reproducible bits: those of a question hang on its text."""

    def __init__(self) -> None:
        self._random = random.Random(0)  # noqa: S311 - a test's own stream

    def begin(self, text: str) -> None:
        self._random.seed(text)

    def bits(self, count: int) -> int:
        return self._random.getrandbits(count) if count else 0

    def bytes(self, count: int) -> bytes:
        return self._random.randbytes(count)


@dataclass
class World:
    """A dataset of one gateway, as alice sees it over REST and on the wire."""

    place: Place
    rest: Client
    keys: dict[str, str]
    chance: Chance
    asking: QueryService
    said: list[str] = field(default_factory=list)
    numbers: dict[str, str] = field(default_factory=dict)

    def others_ask(self, sql: str, who: str = "dave", epsilon: str | None = None) -> None:
        self.chance.begin(sql)
        self.asking.answer(self.place.subject(who), self.place.request(sql, epsilon), CancelEvent())

    def asks(self, path: str, sql: str, headers: dict[str, str] | None = None, **more: Any) -> Any:  # noqa: ANN401 - JSON
        """A question of alice's, whose reply is written down as it came."""
        self.chance.begin(sql)
        body = {"sql": sql, "dataset": self.place.dataset, **more}
        return self._noted("POST", path, json=body, headers=headers)

    def reads(self, path: str) -> None:
        self._noted("GET", path)

    def reads_budget(self) -> None:
        """The accounts of this dataset."""
        headers = {"Authorization": f"Bearer {self.keys['alice']}"}
        found = self.rest.get("/v1/budget", headers=headers).json()["accounts"]
        own = [one for one in found if one["dataset"] == self.place.dataset]
        self.said.append(self._masked(str(own)))

    def asks_on_the_wire(self, *statements: str) -> None:
        """Rows, and all that is noticed or refused."""
        said: list[str] = []
        with (
            socket.create_server(("127.0.0.1", 0)) as listener,
            serve_wire(
                self.place.opened.foundation, self.place.opened.policies, self.asking, listener
            ),
            psycopg.connect(
                host="127.0.0.1",
                port=int(listener.getsockname()[1]),
                user="alice",
                password=self.keys["alice"],
                dbname=self.place.dataset,
                sslmode="disable",
                autocommit=True,
                connect_timeout=20,
            ) as connection,
        ):
            connection.add_notice_handler(lambda one: said.append(f"notice {_fields(one)}"))
            for statement in statements:
                self.chance.begin(statement.removeprefix("EXPLAIN "))
                try:
                    cursor = connection.execute(statement)
                    rows = cursor.fetchall() if cursor.description else []
                    said.append(f"{cursor.description} {rows} {cursor.statusmessage}")
                except psycopg.Error as error:
                    said.append(f"{error.sqlstate} {_fields(error.diag)}")
        self.said.extend(map(self._masked, said))

    def _noted(self, method: str, path: str, **options: Any) -> Any:  # noqa: ANN401 - JSON
        options["headers"] = {
            "Authorization": f"Bearer {self.keys['alice']}",
            **(options.pop("headers", None) or {}),
        }
        reply = self.rest.request(method, path, **options)
        # the body is compared itself; its length hangs on the name of the dataset
        headers = sorted(
            f"{name}: {value}" for name, value in reply.headers.items() if name != "content-length"
        )
        self.said.append(
            self._masked(f"{method} {path} {reply.status_code} {headers} {reply.text}")
        )
        return reply.json() if reply.headers["content-type"].endswith("json") else reply.text

    def _masked(self, text: str) -> str:
        def place(found: re.Match[str]) -> str:
            return self.numbers.setdefault(found[0], f"<{len(self.numbers)}>")

        return _NUMBER.sub(place, text.replace(self.place.dataset, "<dataset>"))


@contextmanager
def world(opened: Opened, kind: str) -> Iterator[World]:
    """A dataset of this kind that nobody asked."""
    place, chance, foundation = opened.place(kind), Chance(), opened.foundation
    place.clock = NOON
    installation = replace(
        opened.asking.services,
        now=lambda: place.clock,
        trail=Trail(foundation.key, lambda: place.clock),
        entropy=chance,
    )
    asking = replace(opened.asking, services=installation)
    order = KeyOrder("alice", "os:op", datetime.now(UTC))
    create_key(foundation.journal, foundation.trail, order, lambda _: True)
    doors = gateway_api(
        foundation, Metrics(), policies=opened.policies, questions=query_api(asking)
    )
    with closing(Client(create_app(doors))) as rest:
        yield World(place, rest, {"alice": order.key.reveal()}, chance, asking)


def _fields(said: Any) -> list[str]:  # noqa: ANN401 - a diagnostic of psycopg
    names = ("severity", "sqlstate", "message_primary", "message_detail", "message_hint", "context")
    return [f"{name}: {getattr(said, name)}" for name in names]
