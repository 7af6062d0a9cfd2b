"""What a test starts, as a mark of every test.

`unit` starts nothing, `server` a PostgreSQL (a twin, a state, a source), `gateway` a whole gateway or another process.
A test is of the kind that its fixtures or its folder say; one that starts something by itself carries the mark.

INVARIANT: a unit test starts no process; one that tries fails. See `test_unit_test_fails_when_it_starts_a_process`.
"""

import functools
import subprocess
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Final

import pytest

KINDS: Final = ("unit", "server", "gateway")
_SERVERS: Final = frozenset({"home", "sample_server", "shared_home", "state_server", "twin"})
_GATEWAYS: Final = frozenset({"open_gateway", "serve", "served"})
_FOLDERS_OF_SERVERS: Final = frozenset({"engines", "postgres_server", "twin"})
_FOLDERS_OF_GATEWAYS: Final = frozenset({"crash", "demo", "endtoend", "wire", "wire_more"})
_ROOT: Final = Path(__file__).parent


class UnitGuard:
    """Knows the unit test that runs, and lets its thread start no process."""

    def __init__(self) -> None:
        self.test = ""

    @contextmanager
    def watching(self, item: pytest.Item) -> Iterator[None]:
        self.test = item.nodeid if item.get_closest_marker("unit") else ""
        try:
            yield
        finally:
            self.test = ""

    def install(self) -> None:
        start = subprocess.Popen.__init__

        @functools.wraps(start)
        def guarded(popen: Any, *args: Any, **options: Any) -> None:  # noqa: ANN401  # as Popen takes them
            self.refuse()
            start(popen, *args, **options)

        subprocess.Popen.__init__ = guarded  # type: ignore[method-assign,assignment]  # for this process of tests

    def refuse(self) -> None:
        # threads of a session's fixtures may restart their servers at any time
        if self.test and threading.current_thread() is threading.main_thread():
            raise AssertionError(f"{self.test} starts a process: mark it `server` or `gateway`")


unit_guard = UnitGuard()


def mark_kind(item: pytest.Item) -> None:
    """Mark a test by what it starts, unless it says so itself."""
    if not any(item.get_closest_marker(kind) for kind in KINDS):
        item.add_marker(_kind(item))


@functools.cache
def _folder(path: Path) -> str:
    return path.relative_to(_ROOT).parts[0]


def _kind(item: pytest.Item) -> str:
    fixtures = set(getattr(item, "fixturenames", ()))
    folder = _folder(item.path)
    if folder in _FOLDERS_OF_GATEWAYS or fixtures & _GATEWAYS:
        return "gateway"
    return "server" if folder in _FOLDERS_OF_SERVERS or fixtures & _SERVERS else "unit"
