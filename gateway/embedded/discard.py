"""Remove a home that was made to be thrown away, with the database that may lie far from it."""

import shutil
from pathlib import Path

from gateway.embedded.files import usable
from gateway.embedded.lease import open_server
from gateway.embedded.locks import exclusively, unheld
from gateway.embedded.places import open_home, recorded_place
from gateway.errors import Code, OperatorError

_WAIT_S = 15.0


def discard_home(home: Path, programs_bin: Path | None = None) -> None:
    """Forget everything below `home`; refused while a gateway uses it."""
    if not home.exists():
        return
    with usable(home):
        kept = open_home(home)
        with exclusively(kept.start_lock, _WAIT_S):
            if not unheld(kept.lease_lock):
                raise OperatorError(
                    Code.HOME_UNUSABLE, f"a gateway works on `{home}`", "stop it first"
                )
        if (recorded_place(kept).data / "postmaster.pid").exists():
            open_server(home, programs_bin).close()  # a killed gateway left its server behind
        shutil.rmtree(recorded_place(kept).path, ignore_errors=True)
        shutil.rmtree(home)
