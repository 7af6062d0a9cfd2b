"""Python processes that have imported the gateway before they begin: a fork of one that imported it once.

A gateway needs a second of a processor for its imports, and the tests start a hundred. Under `forks()` a
`subprocess.Popen` of Python (`-m module`, `-c program`, a script) is no new program. A server that this process starts
at the first such call forks instead. What was forked has the arguments, the environment, the directory and the three
streams that `Popen` gives it. What the tests say of it holds for a new program too,
except how long the imports take: some tests of each command start a new program.

INVARIANT: what is forked is a child of the process that asked, with a pid of its own, so signals and `wait` work as after
`Popen`. It is forked twice, and the process that asked adopts orphans for that moment. INVARIANT: the server runs no
Python thread, and ends with the process that started it.
"""

import atexit
import ctypes
import gc
import json
import os
import runpy
import socket
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from types import ModuleType
from typing import Any, Final

_LENGTH: Final = 4
_STREAMS: Final = 3
_ADOPTS: Final = 36  # PR_SET_CHILD_SUBREAPER
_NAMES: Final = ("-m", "-c")


class WarmServer:
    """The server of this process, from the first fork on."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._line: socket.socket | None = None
        self._process: subprocess.Popen[bytes] | None = None

    def fork(self, order: dict[str, Any], streams: list[int]) -> int:
        """The pid of a new process."""
        with self._lock:
            line = self._line or self._begin()
            document = json.dumps(order).encode()
            with _adoption():
                socket.send_fds(line, [len(document).to_bytes(_LENGTH)], streams)
                line.sendall(document)
                return int.from_bytes(_exactly(line, _LENGTH))

    def _begin(self) -> socket.socket:
        ours, theirs = socket.socketpair()
        with theirs:
            self._process = subprocess.Popen(
                [sys.executable, __file__, str(theirs.fileno())],
                pass_fds=[theirs.fileno()],
                stdin=subprocess.DEVNULL,
                env={**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))},
            )
        self._line = ours
        return ours

    def end(self) -> None:
        with self._lock:
            if self._line is not None and self._process is not None:
                self._line.close()
                self._process.wait(30)
                self._line = self._process = None


server: Final = WarmServer()
_here = threading.local()


@contextmanager
def forks() -> Iterator[None]:
    """`Popen` of this thread starts Python as a fork of the server."""
    _here.wanted = True
    try:
        yield
    finally:
        _here.wanted = False


def install() -> None:
    """Let `Popen` ask the server where `forks()` says so."""
    module: Any = subprocess
    execute = module._fork_exec

    def start(
        args: list[str],
        programs: object,
        close: object,
        fds: tuple[int, ...],
        cwd: str | None,
        *rest: Any,  # noqa: ANN401  # as Popen gives them
    ) -> int:
        if not (getattr(_here, "wanted", False) and sys.platform == "linux"):
            pid: int = execute(args, programs, close, fds, cwd, *rest)
            return pid
        _here.wanted = False  # the server itself is a new program
        env, stdin, _, _, stdout, _, stderr, _, failures = rest[:9]
        if tuple(fds) != (failures,):
            raise ValueError("a fork keeps nothing open but its three streams")
        order = {
            "arguments": [os.fspath(one) for one in args],
            "cwd": os.fspath(cwd or os.getcwd()),  # noqa: PTH109  # a text
            "env": _texts(env),
        }
        streams = [
            given if given != -1 else own for own, given in enumerate((stdin, stdout, stderr))
        ]
        return server.fork(order, streams)

    module._fork_exec = start


@contextmanager
def _adoption() -> Iterator[None]:
    """Processes below this one that lose their parent become its children."""
    system = ctypes.CDLL(None)
    system.prctl(_ADOPTS, 1, 0, 0, 0)
    try:
        yield
    finally:
        system.prctl(_ADOPTS, 0, 0, 0, 0)


def _texts(env: list[bytes] | None) -> dict[str, str]:
    if env is None:
        return dict(os.environ)
    return dict(os.fsdecode(one).split("=", 1) for one in env)


def _exactly(line: socket.socket, size: int) -> bytes:
    read = b""
    while len(read) < size:
        more = line.recv(size - len(read))
        if not more:
            raise EOFError
        read += more
    return read


def _serve(line: socket.socket) -> tuple[dict[str, Any], list[int]] | None:
    """Fork until the line is closed, and nothing more; in a fork, what it is to do."""
    while True:
        try:
            start, streams, _, _ = socket.recv_fds(line, _LENGTH, _STREAMS)
            if not start:
                return None
            size = int.from_bytes(start + _exactly(line, _LENGTH - len(start)))
            order: dict[str, Any] = json.loads(_exactly(line, size))
        except (EOFError, KeyboardInterrupt, ConnectionError):
            return None
        pid = _fork()
        if pid == 0:
            line.close()
            return order, streams
        for one in streams:
            os.close(one)
        line.sendall(pid.to_bytes(_LENGTH))


def _fork() -> int:
    """As `os.fork`, but the new process is a child of the process that adopts orphans, and begins as such."""
    told, tell = os.pipe()
    adopted, adopt = os.pipe()
    between = os.fork()
    if between == 0:
        pid = os.fork()
        if pid == 0:
            for one in (told, tell, adopt):
                os.close(one)
            os.read(adopted, 1)
            os.close(adopted)
            return 0
        os.write(tell, pid.to_bytes(_LENGTH))
        os._exit(0)
    os.waitpid(between, 0)
    pid = int.from_bytes(os.read(told, _LENGTH))
    for one in (told, tell, adopted, adopt):
        os.close(one)
    return pid


def _become(order: dict[str, Any], streams: list[int]) -> None:
    """Be what `Popen` ordered."""
    for own, given in enumerate(streams):
        os.dup2(given, own)
    for given in streams:
        os.close(given)
    # what the server opened knows whether the server's own could be sought in
    sys.stdin = open(0, closefd=False)  # noqa: SIM115  # for as long as the process lives
    sys.stdout = open(1, "w", closefd=False)  # noqa: SIM115  # see above
    sys.stderr = open(2, "w", 1, errors="backslashreplace", closefd=False)  # noqa: SIM115  # see above
    os.environ.clear()
    os.environ.update(order["env"])
    os.chdir(order["cwd"])
    time.tzset()
    tempfile.tempdir = None
    _, *words = order["arguments"]
    sys.orig_argv = order["arguments"]
    first = "" if words[0] in _NAMES else os.path.dirname(words[0])  # noqa: PTH120  # as Python does
    more = order["env"].get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:0] = [first or order["cwd"], *filter(None, more)]


def _run(words: list[str]) -> None:
    match words:
        case ["-m", module, *_]:
            sys.argv = words[1:]
            runpy.run_module(module, run_name="__main__", alter_sys=True)
        case ["-c", program, *arguments]:
            sys.argv = ["-c", *arguments]
            sys.modules["__main__"] = main = ModuleType("__main__")
            exec(compile(program, "<string>", "exec"), main.__dict__)  # noqa: S102  # the program of a test
        case [script, *_]:
            sys.argv = words
            runpy.run_path(script, run_name="__main__")
        case _:
            raise ValueError(words)


def _code(words: list[str]) -> int:
    """Run the program and what Python runs at its end; the exit code.

    The destructors of libraries are left out: some wait for threads of theirs, which no fork has.
    """
    code: object = 0
    try:
        _run(words)
    except SystemExit as end:
        code = end.code
    except BaseException as error:  # noqa: BLE001  # as Python's own end of a program
        sys.excepthook(type(error), error, error.__traceback__)
        code = 1
    private: Any = (threading, atexit)
    private[0]._shutdown()
    private[1]._run_exitfuncs()
    if not isinstance(code, int | None):
        print(code, file=sys.stderr)  # noqa: T201  # as `sys.exit` does
        code = 1
    for stream in (sys.stdout, sys.stderr):
        with suppress(OSError, ValueError):
            stream.flush()
    return code or 0


def _main() -> None:
    gc.disable()
    import gateway.cli.serve  # noqa: F401, PLC0415  # what all that is forked shares

    gc.collect()
    gc.freeze()
    gc.enable()
    with socket.socket(fileno=int(sys.argv[1])) as line:
        ordered = _serve(line)
    if ordered is not None:
        _become(*ordered)
        arguments = ordered[0]["arguments"]
        del ordered
        os._exit(_code(arguments[1:] if arguments[0] == sys.executable else arguments))


if __name__ == "__main__":
    _main()
