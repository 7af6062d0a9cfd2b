"""Other libraries that a bench compares the gateway with: each in an environment of its own, in a process of its own.

An environment is made once, below `.e2e/peers`, by pip from PyPI. `make clean` removes it. A peer that cannot be
installed, or that ends, is a text that says why; its figures are missing then.
"""

import json
import os
import shutil
import signal
import subprocess
import venv
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

SMARTNOISE: Final = ("smartnoise-sql==1.0.10", "psycopg2-binary==2.9.11")
OPENDP: Final = ("opendp[polars]==0.16.0",)
TUMULT: Final = ("tmlt.analytics==0.21.0",)
_BELOW: Final = Path(__file__).parents[1] / ".e2e" / "peers"
_INSTALL_S: Final = 600


class PeerMissingError(Exception):
    """A peer that cannot be installed."""


@dataclass(frozen=True)
class Replies:
    """The objects that a peer wrote, one for each line, and why it ended early, or nothing."""

    objects: list[Any]
    problem: str


def installed(name: str, requirements: tuple[str, ...]) -> str:
    """The Python of the environment that has these."""
    place = _BELOW / name
    python, marker = place / "bin" / "python", place / "installed"
    wanted = "\n".join(requirements)
    if marker.is_file() and marker.read_text() == wanted:
        return str(python)
    shutil.rmtree(place, ignore_errors=True)
    install = [str(python), "-m", "pip", "--disable-pip-version-check", "install", "-q"]
    try:
        venv.create(place, with_pip=True)
        subprocess.run(
            [*install, *requirements],
            check=True,
            capture_output=True,
            text=True,
            timeout=_INSTALL_S,
        )
    except (subprocess.SubprocessError, OSError) as error:
        raise PeerMissingError(last_words(error)) from error
    marker.write_text(wanted)
    return str(python)


def ask(python: str, script: str, order: Mapping[str, object], limit_s: float) -> Replies:
    """What the script of this directory writes for an order; what it wrote before the limit counts."""
    process = subprocess.Popen(
        [python, str(Path(__file__).with_name(script))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,  # so that what it starts ends with it
    )
    problem = ""
    try:
        written, errors = process.communicate(json.dumps(order), limit_s)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGTERM)
        written, errors = process.communicate()
        problem = f"stopped after {limit_s:.0f} s"
    if process.returncode and not problem:
        problem = f"ended: {''.join(errors.strip().splitlines()[-1:])}"
    lines = (line for line in written.splitlines() if line.startswith(("{", "[")))
    return Replies([json.loads(line) for line in lines if line.endswith(("}", "]"))], problem)


def last_words(error: Exception) -> str:
    """The last line of what a process said, or of the error."""
    said = str(getattr(error, "stderr", "") or error).strip().splitlines()[-1:]
    return f"{type(error).__name__}: {''.join(said)}"
