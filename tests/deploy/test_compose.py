from pathlib import Path

import pytest
from deploy.compose import Compose, problems, wanted
from laws import for_each
from sqlalchemy.engine import make_url

from deploy import dockerfile
from gateway.config import load_settings
from gateway.sample.command import READER_PASSWORD
from gateway.sample.command import build_parser as sample_parser
from gateway.sample.postgres_loader import ReaderLogin

ROOT = Path(__file__).parents[2]
TEXT = (ROOT / "docker-compose.yml").read_text()
EXAMPLE = (ROOT / "deploy" / "example.env").read_text()
LOGINS = (ROOT / "deploy" / "state-logins.sql").read_text()
EXPOSED = dockerfile.exposed(dockerfile.read((ROOT / "Dockerfile").read_text()))

BROKEN = {
    "${STATE_OWNER_PASSWORD:?see deploy/example.env}@": ("${STATE_OWNER_PW:?x}@", "STATE_OWNER_PW"),
    "${STATE_SUPERUSER_PASSWORD:?see deploy/example.env}": ("hunter2", "a password in the file"),
    "${CLINIC_OWNER_PASSWORD:?see deploy/example.env}": (
        "${CLINIC_OWNER_PASSWORD}",
        "may be empty",
    ),
    "gateway_app:${STATE_APPLICATION_PASSWORD:?see deploy/example.env}": (
        "gateway_app:hunter2",
        "a password in GATEWAY_STATE_URL",
    ),
    "clinic_owner@source": ("clinic_owner:secret@source", "a password in command"),
    "GATEWAY_LOG_FORMAT": ("GATEWAY_LOGFORMAT", "no such setting"),
    "@state:5432": ("@stat:5432", "leads to no service"),
    'source:5432/clinic"': ('source:5432/klinik"', "no database klinik"),
    "networks: [front, state, source]": ("networks: [front, state]", "no network leads to source"),
    "gateway_owner:": ("gateway_app:", "owns the state"),
    "GATEWAY_LOG_FORMAT: json": (
        "GATEWAY_STATE_OWNER_URL: postgresql://x@state/gateway",
        "the owner's login",
    ),
    "migrate: {condition": ("migration: {condition", "waits for nobody"),
    "sample: {condition: service_completed_successfully}": (
        "sample: {condition: service_started}",
        "waits for nothing",
    ),
    'restart: "no"': ("restart: always", "which starts again"),
    "test: [CMD, pg_isready": ("command: [CMD, pg_isready", "health check that state has not"),
    "./deploy/state-logins.sql": ("./deploy/logins.sql", "mounts what is not there"),
    "/etc/gateway/policies:ro": ("/etc/gateway/policies", "may write to ./policies"),
    "- home:/var": ("- house:/var", "volume not declared: house"),
    "  home:\n": ("  home:\n  spare:\n", "volume of no use: spare"),
    '"127.0.0.1:8080:8080"': ('"8080:8080"', "open to the world"),
    "127.0.0.1:5433:5433": ("127.0.0.1:5433:5432", "nobody listens there"),
    "read_only: true": ("read_only: false", "may change its image"),
    "cap_drop: [ALL]": ("cap_drop: [MKNOD]", "keeps capabilities"),
    'security_opt: ["no-new-privileges:true"]\n': ("\n", "may gain privileges"),
    "state: {internal: true}": ("state:", "leads outside"),
    "CLINIC_URL:": ("CLINIC_DSN:", "clinic.yaml needs CLINIC_URL"),
}


@pytest.fixture
def compose() -> Compose:
    return Compose.read(TEXT)


def test_compose_names_only_what_exists() -> None:
    """Every setting, path, port, service and variable in the file exists, and no secret stands in it."""
    assert problems(TEXT, EXAMPLE, EXPOSED, ROOT) == []


@for_each("right", BROKEN)
def test_compose_check_fails_when_the_file_is_broken(right: str) -> None:
    """Each kind of mistake is found: the check can fail."""
    wrong, expected = BROKEN[right]
    assert right in TEXT
    found = problems(TEXT.replace(right, wrong), EXAMPLE, EXPOSED, ROOT)
    assert any(expected in problem for problem in found), found


@pytest.mark.parametrize(
    ("example", "expected"),
    [
        (
            EXAMPLE.replace("CLINIC_READER_PASSWORD=", ""),
            "not in example.env: CLINIC_READER_PASSWORD",
        ),
        (f"{EXAMPLE}SPARE=\n", "of no use in example.env: SPARE"),
        (EXAMPLE.replace("CLINIC_READER_PASSWORD=", "CLINIC_READER_PASSWORD=x"), "for everyone"),
    ],
)
def test_compose_check_fails_when_the_example_is_broken(example: str, expected: str) -> None:
    """The example lists the variables of the compose file, all of them, and gives no value away."""
    found = problems(TEXT, example, EXPOSED, ROOT)
    assert any(expected in problem for problem in found), found


def test_compose_runs_gateway_commands_that_exist(compose: Compose) -> None:
    """Every service of the gateway's entry point gives it arguments that it takes."""
    from gateway.cli import build_parser  # noqa: PLC0415  # only this test needs it

    commands = {
        name: service["command"]
        for name, service in compose.ours.items()
        if "entrypoint" not in service
    }
    assert commands == {"migrate": ["db", "upgrade"], "gateway": ["serve"]}
    for command in commands.values():
        build_parser().parse_args(command)


def test_compose_loads_the_sample_with_arguments_that_exist(compose: Compose) -> None:
    """The sample's loader takes the arguments, and gets its passwords from the environment."""
    sample = compose.services["sample"]
    assert sample["entrypoint"] == ["python", "-m", "gateway.sample"]
    chosen = sample_parser().parse_args(sample["command"])
    assert chosen.keep
    assert chosen.reader
    assert make_url(chosen.postgres).password is None
    assert {"PGPASSWORD", READER_PASSWORD} == set(sample["environment"])


def test_compose_check_of_commands_fails_when_a_word_does_not_exist(
    compose: Compose, capsys: pytest.CaptureFixture[str]
) -> None:
    """The parsers of the project turn down what they do not know: the checks above can fail."""
    from gateway.cli import build_parser  # noqa: PLC0415  # needed where commands are checked alone

    with pytest.raises(SystemExit):
        sample_parser().parse_args([*compose.services["sample"]["command"], "--nonsense"])
    with pytest.raises(SystemExit):
        build_parser().parse_args(["db", "upgrad"])


@pytest.mark.parametrize("service", ["migrate", "gateway"])
def test_compose_gives_settings_that_are_valid(
    compose: Compose, service: str, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """The gateway reads its settings from what the image and the service set."""
    monkeypatch.chdir(tmp_path)
    image = dockerfile.environment(dockerfile.read((ROOT / "Dockerfile").read_text()))
    for name, value in {**image, **compose.filled(service)}.items():
        if name.startswith("GATEWAY_"):
            monkeypatch.setenv(name, value)
    settings = load_settings()
    assert str(settings.home) == "/var/lib/gateway"
    assert settings.state_url is not None
    assert (settings.state_owner_url is not None) == (service == "migrate")
    mounts = [mount.split(":")[1] for mount in compose.services["gateway"]["volumes"]]
    assert mounts == [str(settings.home), str(settings.policies)]


def test_compose_logs_in_as_users_that_are_made(compose: Compose) -> None:
    """Every user in a URL is made: by the image, by the script of the state, or by the sample."""
    migrate, gateway = compose.filled("migrate"), compose.filled("gateway")
    for name in ("GATEWAY_STATE_URL", "GATEWAY_STATE_OWNER_URL"):
        assert f"CREATE ROLE {make_url(migrate[name]).username} LOGIN" in LOGINS
    assert make_url(gateway["CLINIC_URL"]).username == ReaderLogin.name
    loader = make_url(sample_parser().parse_args(compose.services["sample"]["command"]).postgres)
    assert loader.username == compose.services["source"]["environment"]["POSTGRES_USER"]


def test_compose_gives_the_script_the_variables_it_reads(compose: Compose) -> None:
    """The script of the state gets both passwords, and runs where the image looks for it."""
    state = compose.services["state"]
    read = {line.split()[2] for line in LOGINS.splitlines() if line.startswith("\\getenv")}
    assert read == {"STATE_OWNER_PASSWORD", "STATE_APPLICATION_PASSWORD"}
    assert read < set(state["environment"])
    assert any(
        ":/docker-entrypoint-initdb.d/state-logins.sql:" in each for each in state["volumes"]
    )


def test_example_holds_no_value() -> None:
    """Nobody starts with a password that stands in a repository."""
    assert wanted(EXAMPLE)
    assert not any(wanted(EXAMPLE).values())
