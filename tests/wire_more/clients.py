"""Where the clients are that do not come with the test tools, and how one is run.

`make e2e` says by `E2E_CLIENTS` where `install.sh` put them. A client that is not there fails its tests.
"""

import json
import os
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
CLIENTS: Final = os.environ.get("E2E_CLIENTS", "")
JDBC_DRIVER: Final = Path("/usr/share/java/postgresql.jar")  # where Debian has it
_PATIENCE_S: Final = 240.0


def client(*place: str) -> Path:
    """A file that `install.sh` made."""
    found = Path(CLIENTS).absolute().joinpath(*place)
    assert found.exists(), f"{'/'.join(place)} is not installed: run tests/wire_more/install.sh"
    return found


def program(name: str) -> str:
    """A program of the machine."""
    found = shutil.which(name)
    assert found is not None, f"{name} is not installed: run tests/wire_more/install.sh as root"
    return found


def run(
    command: Sequence[object],
    environment: Mapping[str, str],
    *,
    given: str = "",
    cwd: Path | None = None,
    fails: bool = False,
) -> str:
    """What a client printed; it has to end as it should."""
    done = subprocess.run(
        [str(one) for one in command],
        env=dict(environment),
        input=given,
        cwd=cwd,
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
    )
    assert (done.returncode != 0) is fails, f"{done.stdout[-4000:]}\n{done.stderr[-8000:]}"
    return done.stdout


def told(output: str) -> dict[str, list[list[str]]]:
    """Facts by what they are about: a line is its subject and fields, with tabs between them."""
    facts: dict[str, list[list[str]]] = {}
    for line in output.splitlines():
        about, *fields = line.split("\t")
        facts.setdefault(about, []).append(fields)
    return facts


def read(output: str) -> Any:  # noqa: ANN401  # whatever a program printed as JSON
    return json.loads(output)
