"""What is forked with the gateway imported is a Python process as `Popen` starts it."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from warm_python import forks

pytestmark = pytest.mark.gateway

_TELLS = """
import json, os, sys
print(json.dumps([sys.argv, os.getcwd(), os.environ.get("SAID"), os.getppid(), sys.stdin.read(),
                  "gateway.app" in sys.modules, sorted(map(int, os.listdir("/proc/self/fd")))[:3]]))
print("complaint", file=sys.stderr)
sys.exit(3)
"""


def test_fork_is_what_popen_orders(tmp_path: Path) -> None:
    """Arguments, directory, environment, streams, exit code and parent are those of a new program."""
    with forks():
        done = subprocess.run(
            [sys.executable, "-c", _TELLS, "one", "two"],
            cwd=tmp_path,
            env={"SAID": "a=b"},
            input="read",
            capture_output=True,
            text=True,
            check=False,
        )
    assert (done.returncode, done.stderr) == (3, "complaint\n")
    told = json.loads(done.stdout)
    assert told == [
        ["-c", "one", "two"],
        str(tmp_path),
        "a=b",
        os.getpid(),
        "read",
        True,
        [0, 1, 2],
    ]


def test_fork_is_gone_when_it_was_killed() -> None:
    """A signal reaches it, and `wait` tells which one."""
    with forks():
        process = subprocess.Popen(
            [sys.executable, "-c", "import time; print('up', flush=True); time.sleep(60)"],
            stdout=subprocess.PIPE,
            text=True,
        )
    with process:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        process.kill()
    assert process.returncode == -signal.SIGKILL
    assert not Path(f"/proc/{process.pid}").exists()


def test_fork_is_refused_when_it_would_keep_more_open() -> None:
    """A descriptor that `Popen` was told to pass is not lost unnoticed."""
    with forks(), pytest.raises(ValueError, match="three streams"):
        subprocess.run([sys.executable, "-c", ""], pass_fds=[0], check=True)


def test_process_is_a_new_program_when_no_fork_is_asked_for() -> None:
    """The negative control: outside of `forks()` nothing is imported before the program begins."""
    program = "import sys; print('gateway.app' in sys.modules)"
    for wanted in ("True", "False"):
        command = [sys.executable, "-c", program]
        if wanted == "True":
            with forks():
                done = subprocess.run(command, capture_output=True, text=True, check=True)
        else:
            done = subprocess.run(command, capture_output=True, text=True, check=True)
        assert done.stdout == f"{wanted}\n"
