"""Events become log lines and counters; a line is one line, and says what the event says and no more."""

import importlib
import json
import re
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest
from fix_gateway import no_gateway
from warm_python import forks

import gateway
from gateway import events
from gateway.errors import Code
from gateway.events import Event, Level, Outcome
from gateway.telemetry.metrics import Metrics, log_and_count

pytestmark = pytest.mark.gateway

NASTY = 'a\nb\r\x1b[2J\x7f\x85\u2028\u202e\ud800 "x"=1 \\n {"event": "forged"} é'
_SAY = """
import importlib, logging, sys
from dataclasses import fields
import gateway
from gateway import events
from gateway.config import LogFormat
from gateway.telemetry.logs import log_events
NASTY = %r

emit = log_events(LogFormat(sys.argv[1]))
for module in sys.argv[2:]:
    importlib.import_module(module)
for kind in events.Event.__subclasses__():
    emit(kind(**{field.name: 7 if field.type is int else NASTY for field in fields(kind)}))
logging.getLogger("library").info("not to be seen")
logging.getLogger("library").warning("%%s", NASTY)
try:
    raise ValueError(NASTY)
except ValueError:
    logging.getLogger("library").exception(NASTY)
"""


_PACKAGE = Path(gateway.__file__).parent
# Events are told apart by name, so all of them are looked at, wherever they are written.
MODULES = [
    ".".join(("gateway", *path.relative_to(_PACKAGE).with_suffix("").parts))
    for path in _PACKAGE.rglob("*.py")
    if "(Event):" in path.read_text()
]
for _module in MODULES:
    importlib.import_module(_module)


def kinds() -> list[type[Event]]:
    return [kind for kind in Event.__subclasses__() if kind.__module__ in MODULES]


def said(log_format: str, script: str = _SAY % NASTY) -> list[str]:
    """What a process of its own writes to its log: setting logging up would change this one's."""
    with forks():
        done = subprocess.run(
            [sys.executable, "-c", script, log_format, *MODULES],
            env=no_gateway(),
            capture_output=True,
            timeout=60,
            check=False,
        )
    assert done.returncode == 0, done.stderr
    assert done.stdout == b""
    return done.stderr.decode().split("\n")


@pytest.fixture(scope="module", params=["json", "text"])
def lines(request: pytest.FixtureRequest) -> list[str]:
    return said(request.param)


def one_of(kind: type[Event]) -> Event:
    return kind(**{field.name: 7 if field.type is int else NASTY for field in fields(kind)})


def test_events_have_names_of_their_own() -> None:
    """No two kinds of event share a name, so a counter counts one thing."""
    names = [kind.name for kind in kinds()]
    assert len(set(names)) == len(names)
    assert len(names) >= 10
    for kind in kinds():
        assert isinstance(kind.level, Level)
        assert re.fullmatch(r"[a-z]+\.[a-z_]+", kind.name)
        assert not kind.__subclasses__()


def test_events_say_only_what_their_fields_are() -> None:
    """An event's fields are the complete list of what may be said: none has a mapping or an object."""
    for kind in kinds():
        for field in fields(kind):
            assert field.type in {str, int}, (kind, field.name)


def test_every_event_is_one_line_of_the_log(lines: list[str]) -> None:
    """Each event that is logged is there once; the ones that are only counted are not."""
    text = "\n".join(lines)
    for kind in kinds():
        assert text.count(kind.name) == (0 if kind.counted_only else 1), kind.name
    logged = sum(not kind.counted_only for kind in kinds())
    assert len(lines) == logged + 2 + 1  # two of a library; the end of the last line


def test_log_is_printable_whatever_is_said(lines: list[str]) -> None:
    """No name, no exception's text and no library's message moves a cursor or begins a line."""
    for line in lines:
        assert line.isprintable(), line
    assert not any(
        line.startswith("{") and json.loads(line).get("event") == "forged" for line in lines
    )


def test_log_keeps_what_libraries_warn_of_and_drops_the_rest(lines: list[str]) -> None:
    """Nothing that matters is lost, and nobody is told what does not."""
    text = "\n".join(lines)
    assert "not to be seen" not in text
    assert text.count("ValueError") == 1


def test_json_log_says_what_was_said() -> None:
    """For programs each line is a JSON object with the event's name, level, time and fields, unchanged."""
    found = {line["event"]: line for line in map(json.loads, filter(None, said("json")))}
    for kind in kinds():
        if kind.counted_only:
            continue
        line = found[kind.name]
        assert line["level"] == kind.level
        assert line["timestamp"].endswith("Z")
        for name, value in one_of(kind).said().items():
            assert line[name] == value
    assert "ValueError" in found[NASTY]["problem"]


def test_text_log_is_in_no_colour_when_nobody_looks() -> None:
    """A file or a pipe gets plain text."""
    assert "\x1b" not in "\n".join(said("text"))


def test_every_event_is_counted_under_its_name() -> None:
    """The metrics hear of every event, also of those that are too frequent for a log."""
    metrics = Metrics()
    heard: list[Event] = []
    emit = log_and_count(heard.append, metrics.count)
    for kind in kinds():
        emit(one_of(kind))
        emit(one_of(kind))
    text = metrics.text().decode()
    for kind in kinds():
        assert f'gateway_events_total{{event="{kind.name}"}} 2.0' in text
    assert len(heard) == 2 * len(kinds())
    assert "forged" not in text.replace("state.forged", "")


def test_questions_are_counted_by_what_became_of_them() -> None:
    """Every outcome is there from the start, and so is every code of the overlap; each is counted apart."""
    metrics = Metrics()
    assert set(_questions(metrics).values()) == {0.0}
    for outcome, code in (
        *((Outcome.ANSWERED, ""), (Outcome.REUSED, ""), (Outcome.REUSED, "")),
        *((Outcome.REFUSED, Code.DIFFERENCING), (Outcome.REFUSED, Code.NO_BOUND)),
        (Outcome.FAILED, Code.SOURCE_UNAVAILABLE),
    ):
        metrics.count(events.QuestionEnded(outcome, code))
    assert _questions(metrics) == {
        'questions_total{outcome="answered"}': 1.0,
        'questions_total{outcome="reused"}': 2.0,
        'questions_total{outcome="refused"}': 2.0,
        'questions_total{outcome="failed"}': 1.0,
        'overlap_refusals_total{code="GW401"}': 1.0,
        'overlap_refusals_total{code="GW402"}': 0.0,
        'overlap_refusals_total{code="GW403"}': 0.0,
        'overlap_refusals_total{code="GW404"}': 0.0,
        'overlap_refusals_total{code="GW405"}': 0.0,
    }


def test_questions_have_no_label_but_those_of_the_lists() -> None:
    """Whatever an event says, no series begins with it."""
    metrics = Metrics()
    before = set(_questions(metrics))
    metrics.count(events.QuestionEnded("forged", NASTY))
    metrics.count(events.QuestionEnded(NASTY, "GW499"))
    assert set(_questions(metrics)) == before
    assert set(_questions(metrics).values()) == {0.0}


def _questions(metrics: Metrics) -> dict[str, float]:
    lines = (
        line.removeprefix("gateway_").rpartition(" ")
        for line in metrics.text().decode().splitlines()
    )
    return {
        name: float(value)
        for name, _, value in lines
        if name.startswith(("questions_total", "overlap_refusals_total"))
    }


def test_metrics_of_two_gateways_are_apart() -> None:
    """Two gateways in one process, as in tests, do not share a counter."""
    one, other = Metrics(), Metrics()
    one.count(events.Stopping("x"))
    assert "gateway.stopping" in one.text().decode()
    assert "gateway.stopping" not in other.text().decode()
