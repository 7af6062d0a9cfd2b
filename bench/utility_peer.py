"""The loop of a peer's script: an order from standard input, a line of JSON for each question as soon as it is answered."""

import json
import sys
from collections.abc import Callable
from importlib.metadata import version
from typing import Any, TypeAlias

Json: TypeAlias = dict[str, Any]
Answers: TypeAlias = list[dict[str, float]]


def answer_all(
    package: str, ask: Callable[[Json, Json], Answers], order: Json | None = None
) -> None:
    """`ask` gets the order and a question; why it cannot answer is written like an answer."""
    order = order or read_order()
    _write({"version": f"{package} {version(package)}"})
    for question in order["questions"]:
        try:
            _write({"answers": ask(order, question)})
        except Exception as error:  # noqa: BLE001  # it is a figure of the table
            said = str(error).strip().splitlines() or [""]
            _write({"failed": f"{type(error).__name__}: {said[0]}"})


def read_order() -> Json:
    order: Json = json.load(sys.stdin)
    return order


def _write(one: Json) -> None:
    print(json.dumps(one), flush=True)
