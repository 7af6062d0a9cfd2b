import tomllib
from pathlib import Path

import pytest
from deploy.dockerfile import argv, environment, problems, read
from laws import for_each

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "Dockerfile").read_text()
IGNORED = (ROOT / ".dockerignore").read_text()

BROKEN = {
    "COPY gateway ./gateway": ("COPY gatway ./gateway", "COPY of what is not there: gatway"),
    "COPY migrations ./migrations\n": ("", "not copied: migrations"),
    "setup.py README.md": ("README.md", "not copied: setup.py"),
    "COPY requirements.lock ./": ("COPY tests ./", "keeps out: tests"),
    "COPY --from=build": ("COPY --from=built", "unknown stage"),
    "--require-hashes ": ("", "without hashes"),
    "--no-deps --no-build-isolation .": (".", "without hashes"),
    "WORKDIR /src": ("RUN curl -O https://example.org/x", "downloads"),
    "WORKDIR /src\n": ("ADD x /src\n", "unknown instruction ADD"),
    "USER 10001:10001": ("USER 0:0", "no number other than root's"),
    "USER 10001:10001\n": ("", "no number other than root's: []"),
    "--uid 10001": ("--uid 10002", "no account is made"),
    "--mode=0700": ("--mode=0755", "does not belong"),
    "VOLUME /var/lib/gateway": ("VOLUME /data", "is not the volume"),
    "GATEWAY_HOME=/var/lib": ("GATEWAY_HOME=/srv", "is not the volume"),
    "GATEWAY_REST_HOST": ("GATEWAY_REST_ADDRESS", "no such setting"),
    "EXPOSE 8080 5433": ("EXPOSE 8080 5432", "listening on"),
    "GATEWAY_PG_PORT=5433": ("GATEWAY_PG_PORT=5434", "listening on"),
    "8080/healthz": ("8081/healthz", "asks elsewhere"),
    "/healthz'": ("/health'", "asks elsewhere"),
    'CMD ["python", "-c"': ('CMD ["curl", "-f"', "is no Python"),
    "FROM python:3.11-slim\n": ("FROM python:3.10-slim\n", "not a slim Python"),
    "FROM python:3.11-slim AS build": ("FROM debian AS build", "not a slim Python"),
}


def test_dockerfile_names_only_what_exists() -> None:
    """Every path, setting, port and account in the Dockerfile exists; it installs by hash alone."""
    assert problems(TEXT, IGNORED, ROOT) == []


@for_each("right", BROKEN)
def test_dockerfile_check_fails_when_the_file_is_broken(right: str) -> None:
    """Each kind of mistake is found: the check can fail."""
    wrong, expected = BROKEN[right]
    assert right in TEXT
    found = problems(TEXT.replace(right, wrong), IGNORED, ROOT)
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    ("right", "wrong", "expected"),
    [
        ("!gateway\n", "", "keeps out: gateway"),
        ("*\n", "", "not closed"),
        ("*\n", "*\n!.env\n", ".env"),
    ],
)
def test_dockerignore_check_fails_when_the_file_is_broken(
    right: str, wrong: str, expected: str
) -> None:
    """What is needed gets into the build context, and nothing else."""
    found = problems(TEXT, IGNORED.replace(right, wrong, 1), ROOT)
    assert any(expected in problem for problem in found), found


def test_dockerfile_starts_a_command_that_exists() -> None:
    """The container runs the project's own command, with arguments that it takes."""
    from gateway.cli import build_parser  # noqa: PLC0415  # only this test needs it

    program, *arguments = argv(read(TEXT))
    scripts = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]["scripts"]
    assert scripts[program] == "gateway.cli:main"
    build_parser().parse_args(arguments)


def test_dockerfile_check_reads_the_final_stage() -> None:
    """The settings of the image are read from the file, not assumed."""
    assert environment(read(TEXT))["GATEWAY_HOME"] == "/var/lib/gateway"
    assert argv(read(TEXT)) == ["gateway", "serve"]
