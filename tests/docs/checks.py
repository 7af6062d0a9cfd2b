"""Hold a document against the code: each checker takes the text, and says what is wrong with it."""

import argparse
import re
import tomllib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import fields
from pathlib import Path

from docs.markdown import anchors, code, fenced, links, rows, sections
from packaging.requirements import Requirement

import gateway.events
from gateway.auth.login_throttle import FailureLimits
from gateway.cli import build_parser
from gateway.cli.output import exit_code
from gateway.cli.parser import SETTING_OPTIONS
from gateway.config import Settings
from gateway.errors import HTTP, REASON, SQLSTATE, TITLE, Code, OperatorError, Reason
from gateway.events import Event
from gateway.telemetry.metrics import Metrics
from gateway.trail.record import RecordKind

ROOT = Path(__file__).parents[2]
Checker = Callable[[str], list[str]]

_REQUIREMENTS = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
_OPTION = re.compile(r"--[a-z][a-z-]+")
_COMMENT = "# "


def settings(text: str) -> list[str]:
    """A heading for each setting, with its default and its option."""
    known = {f"`GATEWAY_{name.upper()}`": name for name in Settings.model_fields}
    said = sections(text, 2)
    return [*_compare(said, known, "setting"), *_setting_lines(said, known)]


def _setting_lines(said: Mapping[str, str], known: Mapping[str, str]) -> Iterator[str]:
    for title, name in known.items():
        lines = said.get(title, "").strip()
        option = f"--{name.replace('_', '-')}"
        if (name in SETTING_OPTIONS) != (f"Option: `{option}`." in lines):
            yield f"{title}: option {option}"
        if (name not in SETTING_OPTIONS) != ("No option: " in lines):
            yield f"{title}: no option"
        if not lines.startswith(f"Default: {_default(name)}"):
            yield f"{title}: the default is {_default(name)}"
        if len(lines.split("\n\n")) < 2:
            yield f"{title}: nothing is said about it"


def _default(name: str) -> str:
    field = Settings.model_fields[name]
    if field.default_factory is not None:
        return "`~/.local/share/gateway`, for root `/var/lib/gateway`."
    default = field.default
    return "none." if default is None else f"`{getattr(default, 'value', default)}`."


def errors(text: str) -> list[str]:
    """A heading for each code, with title, reason, statuses, and what to do."""
    said = sections(text, 3)
    known = {f"{code}: {TITLE[code]}": code for code in Code}
    return [*_compare(said, known, "code"), *_error_lines(said, known)]


def _error_lines(said: Mapping[str, str], known: Mapping[str, Code]) -> Iterator[str]:
    for title, one in known.items():
        parts = said.get(title, "").strip().split("\n\n")
        facts = f"`{REASON[one]}` · HTTP {HTTP[one]} · SQLSTATE {SQLSTATE[one]}"
        if REASON[one] is Reason.OPERATION:
            facts += f" · exit code {exit_code(OperatorError(one))}"
        if parts[0] != facts:
            yield f"{one}: {facts}"
        begins = [part.partition("**: ")[0] for part in parts[1:]]
        if begins[:2] != ["**When", "**What to do"]:
            yield f"{one}: when it comes and what to do"


def commands(text: str) -> list[str]:
    """A heading for each command, its usage, and each of its options."""
    known = dict(_commands(build_parser()))
    said = {title: body for title, body in sections(text, 2).items() if title.startswith("gateway")}
    return [*_compare(said, known, "command"), *_command_lines(said, known)]


def _command_lines(
    said: Mapping[str, str], known: Mapping[str, argparse.ArgumentParser]
) -> Iterator[str]:
    for title, parser in known.items():
        body = said.get(title, "")
        listed = set(_OPTION.findall(" ".join(re.findall(r"^- (.+?):", body, re.MULTILINE))))
        listed |= set(_OPTION.findall(body.partition("Settings:")[2]))
        usage = " ".join(fenced(body))
        own, positional = set(), []
        for action in parser._actions:  # argparse tells nobody else
            if isinstance(action, argparse._HelpAction):
                continue
            own |= {option for option in action.option_strings if option.startswith("--")}
            positional += [] if action.option_strings else [action.metavar or action.dest]
        yield from (f"{title}: not described: {option}" for option in sorted(own - listed))
        yield from (f"{title}: has no {option}" for option in sorted(listed - own))
        yield from (
            f"{title}: its usage lacks {name}"
            for name in positional
            if str(name).upper() not in usage
        )
        for option in sorted(_own_options(parser)):
            short = option.replace("--lines", "-n")
            if f"{short} " not in f"{usage} ".replace("]", " "):
                yield f"{title}: its usage lacks {option}"
        yield from (
            f"{title}: its usage has {option}"
            for option in sorted(set(_OPTION.findall(usage)) - own)
        )
        if not usage.startswith(title):
            yield f"{title}: no usage"


def _own_options(parser: argparse.ArgumentParser) -> set[str]:
    """The options of a command itself, without those that are settings."""
    return {
        option
        for group in parser._action_groups
        if group.title != "settings"
        for action in group._group_actions
        if not isinstance(action, argparse._HelpAction)
        for option in action.option_strings
        if option.startswith("--")
    }


def _commands(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser]]:
    below = [a for a in parser._actions if isinstance(a, argparse._SubParsersAction)]
    if not below:
        yield parser.prog, parser
    for action in below:
        for one in action.choices.values():
            yield from _commands(one)


def events(text: str) -> list[str]:
    """A heading for each event with level and fields; and each metric that is exposed."""
    known = {f"`{event.name}`": event for event in _events()}
    said = sections(text, 3)
    return [*_compare(said, known, "event"), *_event_lines(said, known), *_metric_lines(text)]


def _event_lines(said: Mapping[str, str], known: Mapping[str, type[Event]]) -> Iterator[str]:
    for title, event in known.items():
        level = f"{event.level}{', counted only' if event.counted_only else ''}"
        names = ", ".join(f"`{field.name}`" for field in fields(event))
        if not said.get(title, "").strip().startswith(f"Level: {level}. Fields: {names}.\n\n"):
            yield f"{title}: Level: {level}. Fields: {names}."


def _metric_lines(text: str) -> Iterator[str]:
    metrics = Metrics()
    metrics.count(gateway.events.Committed(1, 1))
    lines = metrics.text().decode().splitlines()
    known = {re.split(r"[{ ]", line)[0] for line in lines if not line.startswith("#")}
    said = {cells[0].strip("`") for cells in rows(sections(text, 2).get("Metrics", ""))}
    yield from (f"metric not described: {name}" for name in sorted(known - said))
    yield from (f"no such metric: {name}" for name in sorted(said - known))


def _events() -> list[type[Event]]:
    return [
        one
        for one in vars(gateway.events).values()
        if isinstance(one, type) and issubclass(one, Event) and one is not Event
    ]


def dependencies(text: str) -> list[str]:
    """A heading for each dependency, below the kind it is of."""
    problems = []
    for kind, given in (
        ("Runtime", _REQUIREMENTS["dependencies"]),
        ("Test", _REQUIREMENTS["optional-dependencies"]["test"]),
    ):
        said = sections(sections(text, 2).get(kind, ""), 3)
        problems += _compare(said, [Requirement(one).name for one in given], f"{kind} dependency")
        problems += [f"{name}: nothing is said" for name, body in said.items() if not body.strip()]
    return problems


_COMMAND = "gateway/cli/__init__.py"  # more than a docstring is in it


def code_map(text: str) -> list[str]:
    """A line for each package and top-level module, and the order of the layers."""
    here = ROOT / "gateway"
    packages = {str(path.parent.relative_to(ROOT)) + "/" for path in here.rglob("__init__.py")}
    modules = {str(path.relative_to(ROOT)) for path in here.glob("*.py")}
    known = dict.fromkeys((packages | modules) - {"gateway/", "gateway/__init__.py"})
    lines = re.findall(r"^- `(gateway/[^`]*)`: \S", text, re.MULTILINE)
    return [*_compare(dict.fromkeys(lines, ""), known, "package"), *_layers(text)]


def files(text: str) -> list[str]:
    """A line for each file of the gateway."""
    here = ROOT / "gateway"
    found = {str(path.relative_to(ROOT)) for path in here.rglob("*.py")}
    known = {path for path in found if not path.endswith("__init__.py")}
    lines = re.findall(r"^- `(gateway/[^`]*)`: \S", text, re.MULTILINE)
    return list(_compare(dict.fromkeys(lines, ""), dict.fromkeys(known | {_COMMAND}), "file"))


def _layers(text: str) -> Iterator[str]:
    contracts = tomllib.loads((ROOT / "pyproject.toml").read_text())["tool"]["importlinter"]
    (layers,) = (one["layers"] for one in contracts["contracts"] if one["type"] == "layers")
    if list(fenced(sections(text, 2).get("Layers", ""))) != layers[1:]:
        yield "the layers are not those of the import contracts"


def kinds(text: str) -> list[str]:
    """A row for each kind of trail record."""
    said = {cells[0]: cells[1] for cells in rows(sections(text, 2).get("Records", ""))}
    return list(_compare(said, {f"`{kind}`": True for kind in RecordKind}, "kind"))


def throttling(text: str) -> list[str]:
    """The numbers of failed log-ins that are recorded."""
    limits = FailureLimits()
    wanted = {
        "from one address (IPv6: from one /64 network)": limits.address,
        "with one key's id": limits.name,
        "from everybody together": limits.together,
    }
    part = sections(text, 2).get("Failed log-ins", "")
    said = {cells[0]: cells[1] for cells in rows(part)}
    problems = [f"{who}: {most}" for who, most in wanted.items() if said.get(who) != str(most)]
    if f"window of {limits.window_s:.0f} seconds" not in part:
        problems.append(f"window of {limits.window_s:.0f} seconds")
    return problems


def start_refusals(text: str) -> list[str]:
    """Each code that can keep the gateway from starting has a row that leads to its heading."""
    never_at_start = {
        Code.SUBJECT_UNKNOWN,
        Code.KEY_UNKNOWN,
        Code.BACKUP_UNUSABLE,
        Code.TRAIL_BROKEN,
        Code.ARGUMENT_INVALID,
        Code.SOURCE_UNUSABLE,
    }
    wanted = {one for one in Code if REASON[one] is Reason.OPERATION} - never_at_start
    wanted.add(Code.ANCHOR_UNAVAILABLE)
    part = sections(text, 2).get("When the gateway does not start", "")
    said = {re.sub(r"\[(GW\d+)\].*", r"\1", cells[0]) for cells in rows(part)}
    return _compare(dict.fromkeys(said, ""), dict.fromkeys(wanted), "code")


def make_commands(text: str) -> list[str]:
    """Every `make …` that is named exists, and says what the Makefile's own help says of it."""
    makefile = (ROOT / "Makefile").read_text()
    targets = set(re.findall(r"^([a-z0-9]+):", makefile, re.MULTILINE))
    named = re.findall(r"(?:^|[`(] ?)make ([a-z0-9]+)", text, re.MULTILINE)
    return [f"no such target: make {name}" for name in named if name not in targets]


def gateway_commands(text: str) -> list[str]:
    """Every `gateway …` that is shown is a command with options that exist."""
    known = dict(_commands(build_parser()))
    groups = {" ".join(name.split()[:2]) for name in known}
    shown = [line.partition(f" {_COMMENT}")[0] for line in fenced(text)]
    shown += code(text)
    problems = []
    for line in shown:
        match = re.search(r"(?:^|[ /])(gateway(?: (?!gateway)[a-z]+)+)(.*)", line)
        if match is None or not _is_command(line, match.start(1)):
            continue
        words = match[1].split()
        name = next((n for n in (" ".join(words[:3]), " ".join(words[:2])) if n in known), None)
        if name is None:
            if " ".join(words[:2]) not in groups or len(words) > 2:
                problems.append(f"no such command: {match[1]}")
            continue
        options = set(_OPTION.findall(match[2]))
        own = {option for action in known[name]._actions for option in action.option_strings}
        problems += [f"{name} has no {option}" for option in sorted(options - own)]
    return problems


def _is_command(line: str, at: int) -> bool:
    """Whether what stands before is nothing, a variable, a path or another program that runs it."""
    before = line[:at].split()
    programs = {"docker", "compose", "exec", "gateway", "<container>"}
    return all("=" in word or word.endswith("/") or word in programs for word in before)


def variables(text: str) -> list[str]:
    """Every GATEWAY_ variable that is named is a setting."""
    known = {f"GATEWAY_{name.upper()}" for name in Settings.model_fields}
    named = set(re.findall(r"GATEWAY_[A-Z_]*[A-Z]", text))
    return [f"no such setting: {name}" for name in sorted(named - known)]


def codes(text: str) -> list[str]:
    """Every code that is named exists."""
    named = set(re.findall(r"\bGW\d+\b", text))
    return [f"no such code: {name}" for name in sorted(named - set(Code))]


def paths(text: str) -> list[str]:
    """Every path of the project that is named exists."""
    tops = "gateway|migrations|policies|deploy|bench|tests|docs"
    named = [span for span in code(text) if re.fullmatch(rf"(?:{tops})/[\w./-]*", span)]
    return [f"no such path: {name}" for name in named if not (ROOT / name).exists()]


def relative_links(text: str, where: Path) -> list[str]:
    """Every relative link leads to a file, and its fragment to a heading there."""
    problems = []
    for target in links(text):
        if re.match(r"[a-z]+:", target):
            continue
        path, _, fragment = target.partition("#")
        file = (where.parent / path).resolve() if path else where
        if not file.exists():
            problems.append(f"leads nowhere: {target}")
        elif fragment:
            there = text if file == where else file.read_text()
            if fragment not in anchors(there):
                problems.append(f"no such heading: {target}")
    return problems


def _compare(said: Iterable[str], known: Iterable[str], what: str) -> list[str]:
    said, known = set(said), set(known)
    return [
        *(f"{what} not described: {one}" for one in sorted(known - said)),
        *(f"no such {what}: {one}" for one in sorted(said - known)),
    ]
