"""Read a Dockerfile line by line, and say what in it does not exist in the project."""

import json
import re
import shlex
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from gateway.config import Settings

KNOWN = frozenset(
    {
        *("FROM", "ENV", "RUN", "WORKDIR", "COPY", "USER", "VOLUME", "EXPOSE", "HEALTHCHECK"),
        *("ENTRYPOINT", "CMD"),
    }
)
DOWNLOADS = re.compile(r"\b(curl|wget|git|apt-get|apk)\b|https?://(?!127\.0\.0\.1)")


@dataclass(frozen=True)
class Line:
    """One instruction, with its continuation lines joined; `stage` counts the FROMs so far."""

    stage: int
    name: str
    rest: str

    @property
    def words(self) -> list[str]:
        return json.loads(self.rest) if self.rest.startswith("[") else shlex.split(self.rest)


def read(text: str) -> list[Line]:
    lines: list[Line] = []
    stage = 0
    joined = re.sub(r"\\\n", " ", re.sub(r"^\s*#.*\n", "", text, flags=re.MULTILINE))
    for line in joined.splitlines():
        if not line.strip():
            continue
        name, _, rest = line.strip().partition(" ")
        stage += name == "FROM"
        lines.append(Line(stage, name, rest.strip()))
    return lines


def environment(lines: list[Line]) -> dict[str, str]:
    """What the final image sets."""
    last = lines[-1].stage
    words = [
        word for line in lines if line.name == "ENV" and line.stage == last for word in line.words
    ]
    return dict(word.split("=", 1) for word in words)


def exposed(lines: list[Line]) -> set[str]:
    return {port for line in lines if line.name == "EXPOSE" for port in line.words}


def argv(lines: list[Line]) -> list[str]:
    """What a container runs when it is told nothing."""
    last = {line.name: line.words for line in lines}
    return [*last["ENTRYPOINT"], *last["CMD"]]


def problems(text: str, ignored: str, root: Path) -> list[str]:
    lines = read(text)
    return [
        *(f"unknown instruction {line.name}" for line in lines if line.name not in KNOWN),
        *_copies(lines, ignored, root),
        *_build(lines, root),
        *_user(lines),
        *_settings(lines),
        *_health(lines),
    ]


def _copies(lines: list[Line], ignored: str, root: Path) -> Iterator[str]:
    stages = {line.rest.split()[-1] for line in lines if line.name == "FROM"}
    admitted = {line[1:] for line in ignored.splitlines() if line.startswith("!")}
    if "*" not in ignored.splitlines():
        yield "the build context is not closed"
    copied = set()
    for line in lines:
        if line.name != "COPY":
            continue
        options = [word for word in line.words if word.startswith("--")]
        sources = [word for word in line.words if not word.startswith("--")][:-1]
        for option in options:
            if option.removeprefix("--from=") not in stages:
                yield f"COPY from unknown stage: {option}"
        for source in () if options else sources:
            copied.add(source)
            if not (root / source).exists():
                yield f"COPY of what is not there: {source}"
            if source not in admitted:
                yield f"COPY of what .dockerignore keeps out: {source}"
    yield from (f"admitted for nothing: {name}" for name in sorted(admitted - copied))
    project = tomllib.loads((root / "pyproject.toml").read_text())["project"]
    needed = {
        "pyproject.toml",
        project["readme"],
        *project["license-files"],
        "gateway",
        "migrations",
    }
    needed |= {name for name in ("setup.py", "MANIFEST.in") if (root / name).exists()}
    yield from (f"needed by the build, not copied: {name}" for name in sorted(needed - copied))


def _build(lines: list[Line], root: Path) -> Iterator[str]:
    runs = [line.rest for line in lines if line.name == "RUN"]
    installs = [run for run in runs if "pip install" in run]
    yield from (f"downloads: {run}" for run in runs if DOWNLOADS.search(run))
    for run in installs:
        safe = (
            "--no-deps --no-build-isolation ." in run
            or "--require-hashes -r requirements.lock" in run
        )
        if not safe:
            yield f"installs without hashes: {run}"
    if len(installs) != 2:
        yield "the lock file, then the project: two installations"
    python = tomllib.loads((root / "pyproject.toml").read_text())["project"]["requires-python"]
    for line in lines:
        if line.name != "FROM":
            continue
        version = re.fullmatch(r"python:3\.(\d+)-slim( AS \w+)?", line.rest)
        if version is None or int(version[1]) < int(python.removeprefix(">=3.")):
            yield f"not a slim Python that the project runs on: {line.rest}"


def _user(lines: list[Line]) -> Iterator[str]:
    last = lines[-1].stage
    if last < 2:
        yield "one stage holds what is needed for the build alone"
    users = [line.rest for line in lines if line.name == "USER" and line.stage == last]
    if len(users) != 1 or re.fullmatch(r"[1-9]\d*:[1-9]\d*", users[0]) is None:
        yield f"the final user is no number other than root's: {users}"
        return
    uid, gid = users[0].split(":")
    made = " ".join(line.rest for line in lines if line.name == "RUN" and line.stage == last)
    if f"--uid {uid} " not in made or f"--gid {gid} gateway" not in made:
        yield f"no account is made for {users[0]}"
    home = environment(lines).get("GATEWAY_HOME")
    volumes = [line.rest for line in lines if line.name == "VOLUME"]
    if volumes != [home] or f"--home-dir {home} " not in made:
        yield f"the home {home} is not the volume {volumes}, or not the user's"
    if f"--owner=gateway --group=gateway --mode=0700 {home}" not in made:
        yield f"the home {home} does not belong to the user"


def _settings(lines: list[Line]) -> Iterator[str]:
    set_here = environment(lines)
    fields = {f"GATEWAY_{name.upper()}" for name in Settings.model_fields}
    for name in set_here:
        if name.startswith("GATEWAY_") and name not in fields:
            yield f"no such setting: {name}"
    ports = {set_here.get("GATEWAY_REST_PORT", "8080"), set_here.get("GATEWAY_PG_PORT", "5433")}
    if exposed(lines) != ports:
        yield f"exposed {sorted(exposed(lines))}, listening on {sorted(ports)}"


def _health(lines: list[Line]) -> Iterator[str]:
    checks = [line.rest for line in lines if line.name == "HEALTHCHECK"]
    port = environment(lines).get("GATEWAY_REST_PORT", "8080")
    for check in checks:
        _, _, command = check.partition("CMD ")
        program = json.loads(command)
        if f"http://127.0.0.1:{port}/healthz" not in program[-1]:
            yield f"the health check asks elsewhere: {program[-1]}"
        if program[:2] != ["python", "-c"]:
            yield f"the health check is no Python: {program[0]}"
        else:
            compile(program[-1], "HEALTHCHECK", "exec")
    if len(checks) != 1:
        yield "no health check"
