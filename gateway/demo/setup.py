"""Demo setup: sample data, policies in force, and a key for each sample subject."""

import fcntl
import json
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from gateway.admin.instance import Foundation, operator_name
from gateway.admin.key_actions import create_key
from gateway.app import open_policies
from gateway.auth.issue import KeyOrder
from gateway.config import Settings
from gateway.errors import Code, OperatorError
from gateway.events import Emit
from gateway.policy.in_force import CurrentPolicies
from gateway.policy.subjects import Subject, load_subjects
from gateway.postgres_server import discard_home
from gateway.sample import Clinic, load_into_duckdb


@dataclass(frozen=True)
class DemoPaths:
    """The files of the demo, which git ignores."""

    directory: Path

    @property
    def home(self) -> Path:
        return self.directory / "home"

    @property
    def clinic(self) -> Path:
        return self.directory / "clinic.duckdb"

    @property
    def url(self) -> str:
        """The clinic as a policy names it."""
        return f"duckdb:///{self.clinic}"

    @property
    def notes(self) -> Path:
        return self.directory / "demo.json"


@contextmanager
def lock_directory(places: DemoPaths) -> Iterator[None]:
    """Create the directory and keep other demos out of it; the kernel releases the lock if the process is
    killed.
    """
    try:
        mode = 0o711 if os.geteuid() == 0 else 0o700
        places.directory.mkdir(mode=mode, exist_ok=True)
        # a link would lead `clear_demo` to files that are not ours
        flags = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
        held = os.open(places.directory, flags)
    except OSError as error:
        raise _unusable(places, error) from None
    try:
        _lock(held, places)
        yield
    finally:
        os.close(held)


def clear_demo(places: DemoPaths, programs_bin: Path | None) -> None:
    """Remove the last demo."""
    discard_home(places.home, programs_bin)
    try:
        for left in places.directory.iterdir():
            if left.is_dir() and not left.is_symlink():
                shutil.rmtree(left)
            else:
                left.unlink()
    except OSError as error:
        raise _unusable(places, error) from None


def load_clinic(places: DemoPaths) -> Clinic:
    """Write the sample clinic as a DuckDB file."""
    clinic = Clinic()
    load_into_duckdb(clinic, places.clinic)
    return clinic


def policies_of(ground: Foundation, places: DemoPaths, emit: Emit) -> CurrentPolicies:
    """The policies in force, with the clinic as their source; their accounts are open."""
    return open_policies(ground, emit, {**os.environ, "CLINIC_URL": places.url})


def make_keys(ground: Foundation, now: datetime) -> dict[str, str]:
    """A key for every subject of the policies."""
    subjects: Mapping[str, Subject] = load_subjects(ground.settings.policies)
    keys = {}
    for name in subjects:
        order = KeyOrder(name, operator_name(), now)
        create_key(ground.journal, ground.trail, order, subjects.__contains__)
        keys[name] = order.key.reveal()
    return keys


def write_notes(
    places: DemoPaths, url: str, wire: str, keys: Mapping[str, str], settings: Settings
) -> None:
    """Write URLs and keys for people and scripts; readable by the owner alone."""
    home = str(settings.home)
    notes = {"rest_url": url, "pg_url": wire, "home": home, "keys": dict(keys)}
    file = os.open(places.notes, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    with os.fdopen(file, "w") as handle:
        json.dump(notes, handle, indent=2)
        handle.write("\n")


def _lock(held: int, places: DemoPaths) -> None:
    try:
        fcntl.flock(held, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        raise OperatorError(
            Code.HOME_UNUSABLE, f"another demo is running in `{places.directory}`", "stop it first"
        ) from None


def _unusable(places: DemoPaths, error: OSError) -> OperatorError:
    return OperatorError(
        Code.HOME_UNUSABLE,
        f"`{places.directory}`: {error.strerror or error}",
        "run the demo in a directory that you may write to",
    )
