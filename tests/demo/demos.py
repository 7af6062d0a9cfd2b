"""Run the real `gateway demo` as a process, look at what it leaves, and clean up after it."""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from warm_python import forks

from gateway.postgres_server import discard_home
from gateway.postgres_server.directories import find_directory, open_home

ROOT = Path(__file__).parents[2]
COMMAND = Path(sys.executable).with_name("gateway")
_PATIENCE_S = 30.0


@dataclass(frozen=True)
class DemoDirectory:
    """A directory in which demos are run."""

    path: Path

    @property
    def home(self) -> Path:
        return self.path / ".demo" / "home"

    @property
    def notes_file(self) -> Path:
        return self.path / ".demo" / "demo.json"

    def notes(self) -> Mapping[str, Any]:
        found: dict[str, Any] = json.loads(self.notes_file.read_text())
        return found

    def server_pid(self) -> int | None:
        """The embedded server's process, when there is one."""
        if not self.home.exists():
            return None
        announced = find_directory(open_home(self.home)).data / "postmaster.pid"
        try:
            return int(announced.read_text().split("\n")[0])
        except FileNotFoundError:
            return None

    def environment(self, **more: str) -> dict[str, str]:
        """Ours without the gateway's settings, and with the policies of the project."""
        kept = {name: value for name, value in os.environ.items() if "GATEWAY" not in name}
        return {**kept, "GATEWAY_POLICIES": str(ROOT / "policies"), **more}

    def run(self, *options: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """A demo from its start to its end, with nobody at the terminal."""
        with forks():
            return subprocess.run(
                [str(COMMAND), "demo", "--rest-port", "0", "--pg-port", "0", *options],
                cwd=self.path,
                env=self.environment(**environment),
                stdin=subprocess.DEVNULL,
                capture_output=True,
                text=True,
                timeout=_PATIENCE_S,
                check=False,
            )

    @contextmanager
    def serving(
        self, *options: str, stdin: int = subprocess.DEVNULL, **environment: str
    ) -> Iterator["Serving"]:
        """A demo that is meant to stay; killed at the end should it still be there."""
        with forks():
            process = subprocess.Popen(
                [str(COMMAND), "demo", "--rest-port", "0", "--pg-port", "0", *options],
                cwd=self.path,
                env=self.environment(**environment),
                stdin=stdin,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                text=True,
            )
        with process:
            try:
                yield Serving(process)
            finally:
                with suppress(ProcessLookupError):
                    process.kill()

    def discard(self) -> None:
        discard_home(self.home)


@dataclass(frozen=True)
class Serving:
    """A running demo."""

    process: subprocess.Popen[str]

    def wait_for(self, text: str) -> Self:
        """Read what it prints until this comes."""
        assert self.process.stdout is not None
        seen = []
        for line in self.process.stdout:
            seen.append(line)
            if text in line:
                return self
        raise AssertionError(f"the demo ended before `{text}`:\n{''.join(seen)}")

    def end(self, signal: int) -> tuple[int, float]:
        """Send a signal; the exit code, and how many seconds it took to come."""
        began = time.monotonic()
        self.process.send_signal(signal)
        return self.process.wait(_PATIENCE_S), time.monotonic() - began


def in_order(wanted: Sequence[str], lines: Sequence[str]) -> str | None:
    """The first of the wanted lines that does not follow those before it."""
    left = iter(lines)
    for one in wanted:
        if not any(one == line for line in left):
            return one
    return None


def alive(pid: int) -> bool:
    """Whether this process is there, and more than a body that nobody has claimed."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"
