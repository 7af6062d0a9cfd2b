"""The program that DuckDB processes are forked from: DuckDB is loaded once, no file is open, no thread runs.

A new interpreter with DuckDB takes 165 to 300 ms and 40 MB; a fork of this one takes 18 ms and 8 MB. It is started by
itself, with no file descriptor of the gateway but its control socket, so that a fork inherits no lock and no
connection. It takes commands of a verb and the number of a process: fork (with the line of the new process), kill,
and slow.

INVARIANT: a process that is killed is its own child and not yet waited for, so its number means no other process.
INVARIANT: when the gateway ends, however it ends, the control socket closes and every process is killed. When this
program is killed itself, the kernel kills its processes.
"""

import ctypes
import gc
import os
import resource
import select
import signal
import socket
import struct
import sys
from contextlib import suppress
from pathlib import Path
from typing import Final, NoReturn

COMMAND: Final = struct.Struct("!cQ")
FORK: Final = b"f"
KILL: Final = b"k"
SLOW: Final = b"s"

_NICE: Final = 10
_LINE: Final = 200
"""Descriptors of a process that ends are closed from the lowest on: the line comes after those of its file."""
_PR_SET_PDEATHSIG: Final = 1
# the gateway ends them: a signal to the whole group must not end questions that may still be answered
_IGNORED: Final = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)


class Zygote:
    """The running processes by their numbers."""

    def __init__(self, control: socket.socket) -> None:
        self._control = control
        self._running: dict[int, int] = {}
        self._woken, self._waking = os.pipe()
        for end in (self._woken, self._waking):
            os.set_blocking(end, False)

    def serve(self) -> None:
        """Serve commands until the gateway closes its end."""
        signal.signal(signal.SIGCHLD, _nothing)
        signal.set_wakeup_fd(self._waking, warn_on_full_buffer=False)
        waiting = select.poll()
        for one in (self._control.fileno(), self._woken):
            waiting.register(one, select.POLLIN)
        while True:
            ready = [place for place, _ in waiting.poll()]
            if self._woken in ready:
                os.read(self._woken, 4096)
                self._reap()
            if self._control.fileno() in ready and not self._obey():
                break
        for pid in self._running.values():
            os.kill(pid, signal.SIGKILL)
        for pid in self._running.values():
            os.waitpid(pid, 0)

    def _obey(self) -> bool:
        """Run one command; False if the gateway has ended."""
        try:
            message, lines, _, _ = socket.recv_fds(self._control, COMMAND.size, 1)
        except ConnectionError:
            return False
        if len(message) < COMMAND.size:  # commands are shorter than what a socket divides
            return False
        verb, number = COMMAND.unpack(message)
        if verb == FORK:
            self._fork(number, lines[0])
        elif number in self._running:
            pid = self._running[number]
            if verb == KILL:
                os.kill(pid, signal.SIGKILL)
            elif verb == SLOW:
                _slow(pid)
        return True

    def _fork(self, number: int, line: int) -> None:
        mine = os.getpid()
        pid = os.fork()
        if pid == 0:
            _become_child(mine, line)
        os.close(line)
        self._running[number] = pid

    def _reap(self) -> None:
        numbers = {pid: number for number, pid in self._running.items()}
        with suppress(ChildProcessError):
            while (ended := os.waitpid(-1, os.WNOHANG)[0]) != 0:
                del self._running[numbers[ended]]


def _become_child(parent: int, line: int) -> NoReturn:
    status = 1
    try:
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        _die_with_parent(parent)
        os.dup2(line, _LINE)
        nowhere = os.open(os.devnull, os.O_RDWR)
        for standard in range(3):  # what a library prints may hold a value
            os.dup2(nowhere, standard)
        os.closerange(3, _LINE)
        os.closerange(_LINE + 1, _highest() + 1)
        _be_first_to_go()
        from gateway.engines.duckdb_process.child import serve  # noqa: PLC0415 - loaded by now

        with suppress(ConnectionError), socket.socket(fileno=_LINE) as talking:
            serve(talking)
        status = 0
    finally:
        os._exit(status)


def _highest() -> int:
    if sys.platform != "linux":
        return os.sysconf("SC_OPEN_MAX")
    return max(int(one.name) for one in Path("/proc/self/fd").iterdir())


def _die_with_parent(parent: int) -> None:
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGKILL, 0, 0, 0)
    if os.getppid() != parent:  # it ended before that
        os._exit(1)


def _be_first_to_go() -> None:
    """If memory is short the kernel kills this process and not the gateway. Its memory is never written to disk."""
    with suppress(OSError):
        Path("/proc/self/oom_score_adj").write_text("1000", encoding="ascii")
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))


def _slow(pid: int) -> None:
    """Give all threads of the process the lowest priority. It cannot be raised again."""
    tasks = [str(pid)]
    with suppress(OSError):
        tasks = [one.name for one in Path(f"/proc/{pid}/task").iterdir()]
    for task in tasks:
        with suppress(OSError):  # a thread may be gone
            os.setpriority(os.PRIO_PROCESS, int(task), _NICE)


def _nothing(*_: object) -> None:
    """Do nothing: with a handler, the signal wakes the loop."""


def main() -> None:
    """Import the libraries of the processes, then fork a process for each command."""
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    sys.modules["pandas"] = None  # type: ignore[assignment]  # DuckDB looks for it on disk at every statement
    import gateway.engines.duckdb_process.child  # noqa: F401, PLC0415 - loaded once, before any fork

    gc.collect()
    gc.freeze()
    with socket.socket(fileno=int(sys.argv[1])) as control:
        control.setblocking(True)
        Zygote(control).serve()


if __name__ == "__main__":
    main()
