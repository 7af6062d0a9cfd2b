"""Settings: where they come from, what is refused, and that no secret is ever repeated."""

import os
from pathlib import Path

import pytest

from gateway.config import Settings, default_home, load_settings
from gateway.errors import Code, OperatorError

SECRET = "s3cr3t-Pa55"


@pytest.fixture(autouse=True)
def nowhere(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty directory without a `.env`, and an environment without settings."""
    monkeypatch.chdir(tmp_path)
    for name in list(os.environ):
        if name.upper().startswith("GATEWAY_"):
            monkeypatch.delenv(name)
    return tmp_path


def problem(**options: object) -> OperatorError:
    with pytest.raises(OperatorError) as caught:
        load_settings(**options)
    assert caught.value.code is Code.SETTING_INVALID
    assert "\n" not in str(caught.value)
    assert caught.value.__cause__ is None
    assert caught.value.__suppress_context__
    return caught.value


def test_settings_have_the_defaults_of_the_contract() -> None:
    """Nothing has to be set."""
    settings = load_settings()
    assert (settings.rest_host, settings.rest_port) == ("127.0.0.1", 8080)
    assert (settings.pg_host, settings.pg_port) == ("127.0.0.1", 5433)
    assert settings.statement_timeout == 30
    assert settings.state_url is None
    assert settings.home == default_home()


def test_option_wins_over_environment_and_environment_over_file(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--option`, then `GATEWAY_…`, then `.env`, then the default."""
    (nowhere / ".env").write_text(
        "GATEWAY_REST_PORT=1001\nGATEWAY_PG_PORT=1002\nGATEWAY_WORKERS=3\nOTHER=ignored\n"
    )
    monkeypatch.setenv("GATEWAY_PG_PORT", "2002")
    monkeypatch.setenv("GATEWAY_WORKERS", "4")
    monkeypatch.setenv("GATEWAY_UNKNOWN", "ignored")
    settings = load_settings(workers=5, rest_host=None)
    assert (settings.rest_port, settings.pg_port, settings.workers) == (1001, 2002, 5)
    assert settings.rest_host == "127.0.0.1"


def test_paths_are_those_of_where_the_gateway_was_started(
    nowhere: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A relative path does not move when the process does, and `~` is the user's home."""
    settings = load_settings(home="state", policies="p", audit_anchor="~/anchor")
    monkeypatch.chdir("/")
    assert settings.home == nowhere / "state"
    assert settings.policies == nowhere / "p"
    assert settings.audit_anchor == Path.home() / "anchor"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("rest_port", value) for value in ("-1", "65536", "http", "80.5", "", "1e3", "٨٠٨٠")),
        *(("pg_port", value) for value in ("99999999999999999999", "0x50")),
        *(("workers", value) for value in ("0", "257", "many")),
        *(("statement_timeout", value) for value in ("0", "-1", "nan", "inf", "86401", "soon")),
        ("log_format", "xml"),
        *(("state_url", value) for value in ("nonsense", "mysql://u@h/d", "sqlite://", "", "://")),
        ("state_url", "postgresql://u:p@h:port/d"),
    ],
)
def test_setting_that_cannot_be_read_is_one_line_that_names_the_variable(
    monkeypatch: pytest.MonkeyPatch, name: str, value: str
) -> None:
    """Whether from the environment or an option, the error says which variable and which rule."""
    variable = f"GATEWAY_{name.upper()}"
    monkeypatch.setenv(variable, value)
    assert str(problem()).startswith(f"GW801: a setting is not valid: {variable}: ")
    monkeypatch.delenv(variable)
    assert f"{variable}: " in str(problem(**{name: value}))


@pytest.mark.parametrize(
    ("options", "said"),
    [
        ({"tls_cert": "a.pem"}, "GATEWAY_TLS_CERT and GATEWAY_TLS_KEY go together"),
        ({"tls_key": "a.pem"}, "GATEWAY_TLS_CERT and GATEWAY_TLS_KEY go together"),
        ({"audit_key": SECRET, "audit_key_file": "k"}, "not both"),
        ({"state_owner_url": "postgresql://u@h/d"}, "needs GATEWAY_STATE_URL"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(
    options: dict[str, object], said: str
) -> None:
    """The error names both."""
    assert said in problem(**options).detail


@pytest.mark.parametrize(
    "url",
    [
        f"mysql://user:{SECRET}@host/db",
        f"postgresql://user:{SECRET}",
        f"user:{SECRET}@host",
        f"postgresql://user:p@{SECRET}:{SECRET}/x@host/db",
        f"postgresql://user@host:{SECRET}/db",
        f"postgresql//user:{SECRET}@host/db",
        f"{SECRET}",
        f"postgresql+{SECRET}://",
        f"{SECRET}://user@host/db",
    ],
)
@pytest.mark.parametrize("name", ["state_url", "state_owner_url"])
def test_error_never_repeats_a_part_of_a_secret(
    monkeypatch: pytest.MonkeyPatch, name: str, url: str
) -> None:
    """However a URL is mistyped, the password is in no message."""
    monkeypatch.setenv(f"GATEWAY_{name.upper()}", url)
    try:
        settings = load_settings()
    except OperatorError as error:
        for said in (str(error), repr(error), error.detail, error.hint):
            assert SECRET not in said  # the error is what is looked at
    else:
        assert SECRET not in repr(settings)


def test_secrets_are_in_no_repr(monkeypatch: pytest.MonkeyPatch) -> None:
    """Printing or logging the settings shows none of them; asking for them does."""
    monkeypatch.setenv("GATEWAY_AUDIT_KEY", SECRET)
    url = f"postgresql://u:{SECRET}@h/d"
    settings = load_settings(state_url=url, state_owner_url=url)
    for said in (repr(settings), str(settings), str(settings.model_dump()), f"{settings!r}"):
        assert SECRET not in said
    assert settings.model_dump_json().count(SECRET) == 0
    assert settings.audit_key is not None
    assert settings.audit_key.get_secret_value() == SECRET


def test_env_file_that_is_no_text_is_one_clear_error(nowhere: Path) -> None:
    """A `.env` of another encoding, or a directory of that name, is said."""
    (nowhere / ".env").write_bytes(b"GATEWAY_HOME=\xff\xfe\n")
    assert ".env" in problem().detail


def test_settings_are_frozen() -> None:
    """What was read at the start stays."""
    settings = Settings()
    with pytest.raises(ValueError, match="frozen"):
        settings.rest_port = 1


@pytest.mark.parametrize("base", [None, "/data"])
def test_home_is_the_users_data_directory(
    monkeypatch: pytest.MonkeyPatch, base: str | None
) -> None:
    """An ordinary user's home follows XDG; root's is where other OS users can pass."""
    monkeypatch.setattr(os, "geteuid", lambda: 1000)
    monkeypatch.setenv("HOME", "/home/u")
    monkeypatch.delenv("XDG_DATA_HOME", raising=False)
    if base is not None:
        monkeypatch.setenv("XDG_DATA_HOME", base)
    assert default_home() == Path(base or "/home/u/.local/share") / "gateway"
    monkeypatch.setattr(os, "geteuid", lambda: 0)
    assert default_home() == Path("/var/lib/gateway")
