"""The policies that paths on the command line mean: directories as a whole, files by themselves."""

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from gateway.policy.load import Reading, read_files, read_policies
from gateway.policy.subjects import FILE_NAME


def read_paths(
    paths: Iterable[Path], environment: Mapping[str, str] | None = os.environ
) -> list[Reading]:
    """A reading for each directory, and one for the files of each directory that were named alone."""
    readings: list[Reading] = []
    alone: dict[Path, list[Path]] = {}
    for path in paths:
        if path.is_dir():
            readings.append(read_policies(path, environment))
        else:
            alone.setdefault(path.parent, []).append(path)
    for directory, files in alone.items():
        subjects = directory / FILE_NAME
        wanted = subjects.exists() or any(file.name == FILE_NAME for file in files)
        policies = [file for file in files if file.name != FILE_NAME]
        readings.append(read_files(policies, directory, subjects if wanted else None, environment))
    return readings
