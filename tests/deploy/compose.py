"""Read a compose file, and say what in it does not exist in the project or gives too much away."""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ruamel.yaml import YAML
from sqlalchemy.engine import make_url

from gateway.config import Settings

VARIABLE = re.compile(r"\$\{(?P<name>\w+)(?P<rest>[^}]*)\}")
CONDITIONS = frozenset({"service_healthy", "service_completed_successfully"})
OURS = "privacy-gateway:local"

Yaml = Any  # whatever stands in the file


@dataclass(frozen=True)
class Compose:
    """The text, for its variables, and what it says."""

    text: str
    loaded: Yaml

    @classmethod
    def read(cls, text: str) -> "Compose":
        return cls(text, YAML(typ="safe", pure=True).load(text))

    @property
    def services(self) -> dict[str, Yaml]:
        return dict(self.loaded["services"])

    @property
    def ours(self) -> dict[str, Yaml]:
        """The services that run the project's image."""
        return {
            name: service for name, service in self.services.items() if service["image"] == OURS
        }

    def filled(self, service: str) -> dict[str, str]:
        """The environment of a service as it is when every password is `secret`."""
        given = self.services[service].get("environment", {})
        return {name: VARIABLE.sub("secret", str(value)) for name, value in given.items()}


def wanted(example: str) -> dict[str, str]:
    """The variables of an env file and their values."""
    lines = [line for line in example.splitlines() if line and not line.startswith("#")]
    return dict(line.split("=", 1) for line in lines)


def problems(text: str, example: str, exposed: set[str], root: Path) -> list[str]:
    compose = Compose.read(text)
    return [
        *_variables(compose, example),
        *_settings(compose),
        *_urls(compose),
        *_order(compose),
        *_mounts(compose, root),
        *_doors(compose, exposed),
        *_powers(compose),
        *_policies(compose, root),
    ]


def _variables(compose: Compose, example: str) -> Iterator[str]:
    used = {match["name"]: match["rest"] for match in VARIABLE.finditer(compose.text)}
    given = wanted(example)
    yield from (f"not in example.env: {name}" for name in sorted(used.keys() - given.keys()))
    yield from (f"of no use in example.env: {name}" for name in sorted(given.keys() - used.keys()))
    yield from (f"has a value for everyone: {name}" for name, value in given.items() if value)
    for match in VARIABLE.finditer(compose.text):
        if not match["rest"].startswith(":?"):
            yield f"may be empty: {match['name']}"
    for service in compose.services.values():
        for name, value in service.get("environment", {}).items():
            if "PASSWORD" in name and not VARIABLE.fullmatch(str(value)):
                yield f"a password in the file: {name}"


def _settings(compose: Compose) -> Iterator[str]:
    fields = {f"GATEWAY_{name.upper()}" for name in Settings.model_fields}
    for name, service in compose.services.items():
        for variable in service.get("environment", {}):
            if variable.startswith("GATEWAY_") and variable not in fields:
                yield f"{name}: no such setting: {variable}"


def _urls(compose: Compose) -> Iterator[str]:
    """Every URL leads to a database of a service that can be reached, with a password from outside."""
    for name, service in compose.services.items():
        raw = service.get("environment", {})
        found = [(key, value) for key, value in raw.items() if "://" in str(value)]
        found += [("command", word) for word in service.get("command", []) if "://" in word]
        for key, value in found:
            url = make_url(VARIABLE.sub("secret", value))
            if url.password not in {None, "secret"} or (key == "command" and url.password):
                yield f"{name}: a password in {key}"
            host = compose.services.get(url.host or "")
            if host is None:
                yield f"{name}: {key} leads to no service: {url.host}"
            elif not set(host["networks"]) & set(service["networks"]):
                yield f"{name}: no network leads to {url.host}"
            elif host["environment"]["POSTGRES_DB"] != url.database:
                yield f"{name}: {url.host} has no database {url.database}"
    given = compose.filled("migrate")
    owner, application = (
        make_url(given[name]).username for name in ("GATEWAY_STATE_OWNER_URL", "GATEWAY_STATE_URL")
    )
    if owner == application:
        yield "the application's login owns the state"
    if "GATEWAY_STATE_OWNER_URL" in compose.services["gateway"]["environment"]:
        yield "the gateway has the owner's login"
    if (
        compose.services["gateway"]["environment"]["GATEWAY_STATE_URL"]
        != (compose.services["migrate"]["environment"]["GATEWAY_STATE_URL"])
    ):
        yield "the gateway uses another state than was migrated"


def _order(compose: Compose) -> Iterator[str]:
    for name, service in compose.services.items():
        for before, how in service.get("depends_on", {}).items():
            first = compose.services.get(before)
            if first is None:
                yield f"{name} waits for nobody: {before}"
            elif how["condition"] not in CONDITIONS:
                yield f"{name} waits for nothing: {how['condition']}"
            elif how["condition"] == "service_healthy" and "test" not in first.get(
                "healthcheck", {}
            ):
                yield f"{name} waits for a health check that {before} has not"
            elif how["condition"] != "service_healthy" and first.get("restart") != "no":
                yield f"{name} waits for the end of {before}, which starts again"
    needed = {"migrate", "sample", "state", "source"}
    if set(compose.services["gateway"]["depends_on"]) != needed:
        yield "the gateway does not wait for all of them"


def _mounts(compose: Compose, root: Path) -> Iterator[str]:
    declared, used = set(compose.loaded["volumes"]), set()
    for name, service in compose.services.items():
        for mount in service.get("volumes", []):
            source, target, *mode = mount.split(":")
            if not target.startswith("/"):
                yield f"{name}: no absolute path: {target}"
            if not source.startswith("."):
                used.add(source)
            elif not (root / source).exists():
                yield f"{name}: mounts what is not there: {source}"
            elif mode != ["ro"]:
                yield f"{name}: may write to {source}"
    yield from (f"volume not declared: {name}" for name in sorted(used - declared))
    yield from (f"volume of no use: {name}" for name in sorted(declared - used))
    networks = {network for service in compose.services.values() for network in service["networks"]}
    yield from (f"network: {name}" for name in sorted(networks ^ set(compose.loaded["networks"])))


def _doors(compose: Compose, exposed: set[str]) -> Iterator[str]:
    for name, service in compose.services.items():
        for port in service.get("ports", []):
            host, _, inside = str(port).rpartition(":")
            if not host.startswith("127.0.0.1:"):
                yield f"{name}: open to the world: {port}"
            if inside not in exposed:
                yield f"{name}: nobody listens there: {port}"
    for name in ("state", "source"):
        if compose.loaded["networks"][name] != {"internal": True}:
            yield f"network {name}: leads outside"


def _powers(compose: Compose) -> Iterator[str]:
    for name, service in compose.services.items():
        if "no-new-privileges:true" not in service.get("security_opt", []):
            yield f"{name}: may gain privileges"
    for name, service in compose.ours.items():
        if service.get("read_only") is not True or service.get("cap_drop") != ["ALL"]:
            yield f"{name}: may change its image or keeps capabilities"
        if "/tmp" not in service.get("tmpfs", []):  # noqa: S108  # inside a container
            yield f"{name}: has nowhere to write"


def _policies(compose: Compose, root: Path) -> Iterator[str]:
    given = compose.services["gateway"]["environment"]
    for path in sorted((root / "policies").glob("*.yaml")):
        for match in VARIABLE.finditer(path.read_text()):
            if match["name"] not in given:
                yield f"{path.name} needs {match['name']}"
