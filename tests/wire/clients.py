"""Where the clients are that do not come with the test tools."""

import os
import shutil
import subprocess
from collections.abc import Mapping
from typing import Final

E2E_PYTHON: Final = os.environ.get("E2E_PYTHON", "")  # set by `make e2e`
PSQL: Final = shutil.which("psql")
_PATIENCE_S: Final = 120


def run(command: list[str], environment: Mapping[str, str]) -> subprocess.CompletedProcess[str]:
    """A client as a process of its own, with nothing of ours in its environment."""
    return subprocess.run(
        command,
        env={
            "PATH": os.environ["PATH"],
            "HOME": "/nonexistent",
            "LC_ALL": "C.UTF-8",
            **environment,
        },
        capture_output=True,
        text=True,
        timeout=_PATIENCE_S,
        check=False,
        stdin=subprocess.DEVNULL,
    )
