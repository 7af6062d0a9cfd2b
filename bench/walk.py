"""How much code one query runs: functions, files, and classes that pass between files.

A gateway serves the sample clinic over REST in this process, and `sys.setprofile` watches all of its threads. Three
requests are counted: a statement that nobody asked before, the same statement with `fresh`, and the same statement again,
which the release cache answers. A class counts where one of its instances is an argument or the result of a call between
two files of `gateway`; the receiver of a method does not count.
"""

import argparse
import os
import sys
import tempfile
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from types import FrameType
from typing import Any, Final

import httpx

import gateway
from gateway.admin.instance import open_foundation, operator_name
from gateway.admin.key_actions import create_key
from gateway.auth.key_store import KeyOrder
from gateway.cli.serve import serve
from gateway.config import SettingsConflict
from gateway.demo.run import DemoPaths, load_clinic
from gateway.frontends.rest.listen import StopSignal, bind_socket
from gateway.policy.subjects import load_subjects
from gateway.trail.record import utc_now

ROOT: Final = Path(__file__).parents[1]
_PACKAGE: Final = str(Path(gateway.__file__).parent) + os.sep
_SQL: Final = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"
_GOALS: Final = {"repeat": 300}
_GOAL_CLASSES: Final = 25
_START_S: Final = 60.0


@dataclass
class Watch:
    """What ran while it was on."""

    on: bool = False
    functions: set[tuple[str, str, int]] = field(default_factory=set)
    classes: Counter[str] = field(default_factory=Counter)
    hops: int = 0

    def profile(self, frame: FrameType, event: str, result: object) -> None:
        if not self.on or event not in {"call", "return"}:
            return
        code = frame.f_code
        if not code.co_filename.startswith(_PACKAGE):
            return
        caller = frame.f_back
        crosses = (
            caller is not None
            and caller.f_code.co_filename.startswith(_PACKAGE)
            and caller.f_code.co_filename != code.co_filename
        )
        if event == "return":
            if crosses:
                self._see(result)
            return
        if not code.co_name.startswith("<"):  # neither lambdas nor comprehensions
            self.functions.add((code.co_filename, code.co_name, code.co_firstlineno))
        if crosses:
            self.hops += 1
            names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
            for name in names:
                if name not in {"self", "cls"}:
                    self._see(frame.f_locals.get(name))

    def _see(self, value: object) -> None:
        kind = type(value)
        if str(getattr(kind, "__module__", "")).startswith("gateway"):
            self.classes[f"{kind.__module__}.{kind.__qualname__}"] += 1

    @property
    def files(self) -> set[str]:
        return {name for name, _, _ in self.functions}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--classes", action="store_true", help="list the classes of each request")
    parser.add_argument(
        "--functions", action="store_true", help="list the functions of each request"
    )
    given = parser.parse_args()
    watch = Watch()
    threading.setprofile(watch.profile)
    with _serving() as client:
        _ask(client, "SELECT COUNT(*) AS n FROM patients")  # what is made once for each gateway
        print(f"{'request':<10}{'functions':>10}{'files':>7}{'hops':>7}{'classes':>9}")
        for name, body in (
            ("new", {"sql": _SQL}),
            ("fresh", {"sql": _SQL, "fresh": True}),
            ("repeat", {"sql": _SQL}),
        ):
            if name == "repeat":
                _ask(client, **body)  # what is read from the state once, was read
            watch.functions, watch.classes, watch.hops = set(), Counter(), 0
            watch.on = True
            answer = _ask(client, **body)
            time.sleep(0.05)  # the end of a request is recorded after its last byte
            watch.on = False
            goal = f"  (goal {_GOALS[name]} functions)" if name in _GOALS else ""
            print(
                f"{name:<10}{len(watch.functions):>10}{len(watch.files):>7}{watch.hops:>7}"
                f"{len(watch.classes):>9}{goal}  reused: {answer['privacy'].get('reused')}",
                flush=True,
            )
            if given.classes:
                print(
                    "  "
                    + "\n  ".join(f"{many:>4} {one}" for one, many in watch.classes.most_common())
                )
            if given.functions:
                for file, function, line in sorted(watch.functions):
                    print(f"  {file.removeprefix(_PACKAGE)}:{line} {function}")
        print(f"goal: at most {_GOAL_CLASSES} classes between files")


def _ask(client: httpx.Client, sql: str, **more: object) -> dict[str, Any]:
    response = client.post("/v1/query", json={"sql": sql, **more})
    response.raise_for_status()
    found: dict[str, Any] = response.json()
    return found


@contextmanager
def _serving() -> Iterator[httpx.Client]:
    with tempfile.TemporaryDirectory(prefix="walk-") as directory:
        Path(directory).chmod(0o711)
        places = DemoPaths(Path(directory))
        load_clinic(places)
        os.environ["CLINIC_URL"] = places.url
        with (
            bind_socket("127.0.0.1", 0, "rest") as rest,
            bind_socket("127.0.0.1", 0, "wire") as wire,
        ):
            ports = rest.getsockname()[1], wire.getsockname()[1]
        settings = SettingsConflict(
            home=places.home, policies=ROOT / "policies", rest_port=ports[0], pg_port=ports[1]
        )
        with open_foundation(settings) as foundation:
            order = KeyOrder("alice", operator_name(), utc_now())
            known = load_subjects(settings.policies)
            create_key(foundation.journal, foundation.trail, order, known.__contains__)
        stop = StopSignal()
        server = threading.Thread(target=serve, args=(settings, stop), name="gateway")
        server.start()
        key = {"Authorization": f"Bearer {order.key.reveal()}"}
        try:
            with httpx.Client(
                base_url=f"http://127.0.0.1:{ports[0]}", headers=key, timeout=60
            ) as client:
                _wait_until_ready(client)
                yield client
        finally:
            stop.ask()
            server.join()


def _wait_until_ready(client: httpx.Client) -> None:
    until = time.monotonic() + _START_S
    while True:
        try:
            if client.get("/readyz").is_success:
                return
        except httpx.TransportError:
            pass
        if time.monotonic() > until:
            sys.exit("the gateway did not start")
        time.sleep(0.1)


if __name__ == "__main__":
    main()
