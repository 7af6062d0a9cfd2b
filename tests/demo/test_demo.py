"""The demo keeps its promises, as a process of its own."""

import json
import os
import re
import shutil
import signal
import socket
import stat
import subprocess
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
from demo.demos import ROOT, DemoDirectory, Serving, alive, in_order
from fix_postgres_server import twin_server

from gateway.errors import Code
from gateway.policy.yaml import parse_yaml

# What each stop asks, and the status it comes back with.
STOPS = [
    "anonymous: GET /readyz -> 200",
    "anonymous: GET /v1/budget -> 401",
    "a stranger: GET /v1/budget -> 401",
    "alice: GET /v1/budget -> 200",
    "alice: POST /v1/query -> 200",
    "alice: POST /v1/query -> 200",
    "alice: POST /v1/query -> 403",
    "alice: POST /v1/query at epsilon 0.5 -> 200",
    "alice: POST /v1/query at epsilon 1 -> 200",
    "alice: POST /v1/query at epsilon 0.5 -> 200",
    "alice: POST /v1/query at epsilon 0.5 -> 200",
    "alice: POST /v1/query -> 403",
    "bob: POST /v1/query at epsilon 0.1 -> 200",
    "bob: POST /v1/query -> 429",
    "alice: GET /v1/budget -> 200",
    "alice: GET /v1/audit -> 403",
    "carol: GET /v1/audit?limit=8 -> 200",
    "carol: GET /v1/audit/verify -> 200",
]
SUBJECTS = {"alice", "bob", "carol", "dave", "eve"}
_DIRECTLY = urllib.request.build_opener(urllib.request.ProxyHandler({}))


@pytest.fixture
def demo_directory(tmp_path: Path) -> Iterator[DemoDirectory]:
    """A place to run demos in, cleaned up wherever their servers kept the data."""
    directory = DemoDirectory(tmp_path)
    try:
        yield directory
    finally:
        directory.discard()


def ask(url: str, key: str | None = None) -> tuple[int, Any]:
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    request = urllib.request.Request(url, headers=headers)  # noqa: S310  # the demo's own URL
    try:
        with _DIRECTLY.open(request, timeout=10) as answer:
            return answer.status, json.load(answer)
    except urllib.error.HTTPError as refused:
        with refused:
            return refused.code, json.load(refused)


def limits(account: Mapping[str, Any]) -> tuple[float, float, float | None]:
    """Lifetime epsilon, delta, and the epsilon of a period of an account over REST."""
    window = account["window"]
    rate = None if window is None else window["epsilon_limit"]
    return account["epsilon_limit"], account["delta_limit"], rate


def declared() -> dict[str, tuple[float, float, float | None]]:
    """The same of the accounts that policies/clinic.yaml declares, read from its text alone."""
    text = (ROOT / "policies" / "clinic.yaml").read_bytes()
    policy: Any = parse_yaml(text, file="clinic.yaml", code=Code.POLICY_INVALID).plain()
    everyone = policy["privacy"]["budget"]
    team = policy["privacy"]["teams"]["cardiology"]
    (rule,) = (one for one in policy["access"] if one["id"] == "researchers-aggregate")
    own, delta = rule["budget"], float(everyone["delta"])
    researcher = (float(own["epsilon"]), delta, float(own["window"]["epsilon"]))
    return {
        "dataset:clinic": (float(everyone["epsilon"]), delta, None),
        "team:cardiology@clinic": (float(team["epsilon"]), delta, None),
        "analyst:alice@clinic": researcher,
        "analyst:bob@clinic": researcher,
    }


WIRE_STOPS = 3  # they have no path


def shown_tour(document: Path) -> list[str]:
    """The lines of the tour as a document shows them."""
    text = document.read_text()
    blocks = re.findall(r"^```text\n(.*?)^```", text, re.MULTILINE | re.DOTALL)
    return [quiet(line) for block in blocks for line in block.splitlines() if line]


def quiet(line: str) -> str:
    """The line without its noise, its moments and numbers of questions: no two tours print the same.

    Clips are chosen from noisy numbers, too, and so are the widths of columns of margins.
    """
    line = re.sub(r"-?[0-9][0-9,.]* (± [0-9,.]+|\[[0-9,. -]+\])", "# ± #", line)
    line = re.sub(r"(?<=[^ ]) {2,}", "  ", line)
    line = re.sub(r"norm of [0-9.]+", "norm of #", line)
    line = re.sub(r"((at most )?about [0-9.]+|less than 0.1) %", "a share", line)
    line = re.sub(r"(?<=concerns a share of them)(,|;| and) .*", " …", line)
    line = re.sub(r"[0-9-]{10} [0-9:]{5} UTC", "a moment", line)
    return re.sub(r"`[0-9a-f]{24}`", "`a question`", line)


def test_demo_plays_the_tour_and_leaves_everything_else_alone(
    demo_directory: DemoDirectory,
) -> None:
    """The tour comes back as promised and shown in the documents; the real settings stay untouched."""
    elsewhere = demo_directory.path / "real-home"
    done = demo_directory.run(
        "--exit",
        GATEWAY_HOME=str(elsewhere),
        GATEWAY_STATE_URL="postgresql://nobody:secret@127.0.0.1:1/nothing",
        GATEWAY_AUDIT_KEY_FILE=str(demo_directory.path / "no-such-key"),
        http_proxy="http://127.0.0.1:1",
    )
    assert (done.returncode, done.stderr) == (0, "")
    lines = done.stdout.splitlines()
    asked = [line.strip() for line in lines if re.search("(GET|POST) /.* -> ", line)]
    assert asked == STOPS
    numbered = [line.split(".")[0] for line in lines if re.match(r"\d+\. ", line)]
    assert numbered == [str(number) for number in range(1, len(STOPS) + WIRE_STOPS + 1)]
    for document in ("README.md", "docs/demo.md"):
        assert in_order(shown_tour(ROOT / document), [quiet(line) for line in lines]) is None
    notes = demo_directory.notes()
    assert stat.S_IMODE(demo_directory.notes_file.stat().st_mode) == 0o600
    assert set(notes) == {"rest_url", "pg_url", "home", "keys"}
    assert set(notes["keys"]) == SUBJECTS
    for name, key in notes["keys"].items():
        assert f"  {name:8}{key}" in lines
    assert any(line.startswith("try       curl ") for line in lines)
    assert "serving until Ctrl-C" not in done.stdout
    assert not elsewhere.exists()
    assert set(demo_directory.path.iterdir()) == {demo_directory.path / ".demo"}
    assert demo_directory.server_pid() is None


def test_tour_line_is_missed_when_it_is_not_there() -> None:
    """A document that shows a line the tour does not print, or in another order, is noticed."""
    lines = ["1. up", "2. ready", "3. gone"]
    assert in_order(["1. up", "3. gone"], lines) is None
    assert in_order(["1. up", "2. readier"], lines) == "2. readier"
    assert in_order(["3. gone", "1. up"], lines) == "1. up"


def test_demo_serves_until_it_is_told_to_end(demo_directory: DemoDirectory) -> None:
    """While it serves, keys work and accounts are the policy's; no second demo starts; SIGTERM ends it.

    A new limit of its policies is in force soon; an invalid file is told and changes nothing.
    """
    policies = demo_directory.path / "policies"
    shutil.copytree(ROOT / "policies", policies)
    with demo_directory.serving("--serve", GATEWAY_POLICIES=str(policies)) as demo:
        demo.wait_for("serving until Ctrl-C")
        notes = demo_directory.notes()
        url, keys = notes["rest_url"], notes["keys"]
        assert ask(f"{url}/readyz") == (200, {"status": "ready"})
        status, mine = ask(f"{url}/v1/budget", keys["alice"])
        assert (status, len(mine["accounts"])) == (200, 2)
        status, everybodys = ask(f"{url}/v1/budget", keys["dave"])
        assert status == 200
        assert {one["account"]: limits(one) for one in everybodys["accounts"]} == declared()
        assert ask(f"{url}/v1/budget", keys["eve"]) == (200, {"accounts": []})
        assert ask(f"{url}/v1/audit", keys["bob"])[0] == 403
        assert ask(f"{url}/v1/audit", keys["carol"])[0] == 200

        second = demo_directory.run("--exit")
        assert (second.returncode, second.stdout) == (2, "")
        (line, hint) = second.stderr.splitlines()
        assert line.startswith(f"gateway: {Code.HOME_UNUSABLE}: ")
        assert line.endswith(f"another demo is running in `{demo_directory.path / '.demo'}`")
        assert hint == "  hint: stop it first"
        assert ask(f"{url}/readyz")[0] == 200
        _follows_its_policies(demo, policies / "clinic.yaml", url, keys["dave"])

        server, twin = demo_directory.server_pid(), twin_server(demo.process.pid)
        assert server is not None
        assert alive(server)
        assert alive(twin)
        code, seconds = demo.end(signal.SIGTERM)
    assert code == 0
    assert seconds < 30  # a bound on waiting for ever; idle it takes one or two
    assert not alive(server)
    assert not alive(twin)
    assert demo_directory.server_pid() is None


def _follows_its_policies(demo: Serving, clinic: Path, url: str, key: str) -> None:
    text = clinic.read_text()
    before = f"epsilon: {declared()['dataset:clinic'][0]:g}"
    assert text.count(before) == 1

    def limit() -> float:
        _, found = ask(f"{url}/v1/budget", key)
        # the limit in prices of queries is another one, once it differs from that of the opening
        [everybody] = (one for one in found["accounts"] if one["account"] == "dataset:clinic")
        return float(everybody["promised"]["epsilon"])

    clinic.write_text(text.replace(before, "epsilon: 4321"))
    until = time.monotonic() + 20
    while limit() != 4321 and time.monotonic() < until:
        time.sleep(0.1)
    assert limit() == 4321
    clinic.write_text("gateway: 2")
    demo.wait_for("policies.rejected")
    assert limit() == 4321


def test_demo_serves_when_somebody_sits_at_the_terminal(demo_directory: DemoDirectory) -> None:
    """With a terminal as standard input it stays, and Ctrl-C ends it with exit code 0."""
    ours, theirs = os.openpty()
    with demo_directory.serving(stdin=theirs) as demo:
        demo.wait_for("serving until Ctrl-C")
        code, seconds = demo.end(signal.SIGINT)
    for file in (ours, theirs):
        os.close(file)
    assert code == 0
    assert seconds < 30  # a bound on waiting for ever; idle it takes one or two


def test_demo_begins_anew_when_the_last_one_was_killed(demo_directory: DemoDirectory) -> None:
    """A killed demo leaves files and its server behind; the next one ends and replaces them.

    Nobody sits at the terminal, so the next one ends after the tour without being told.
    """
    left, outside = demo_directory.path / ".demo" / "left-over", demo_directory.path / "outside"
    outside.mkdir()
    (outside / "kept").touch()
    with demo_directory.serving("--serve") as demo:
        demo.wait_for("serving until Ctrl-C")
        first, server = demo_directory.notes()["keys"], demo_directory.server_pid()
        demo.end(signal.SIGKILL)
    assert server is not None
    assert alive(server)
    left.mkdir()
    (left / "file").touch()
    (left.parent / "link").symlink_to(outside)
    done = demo_directory.run()
    assert (done.returncode, done.stderr) == (0, "")
    assert "intact: 39 records" in done.stdout
    assert not alive(server)
    assert not set(first.values()) & set(demo_directory.notes()["keys"].values())
    assert not left.exists()
    assert (outside / "kept").exists()


def test_demo_ends_soon_when_it_is_told_to_before_the_tour(demo_directory: DemoDirectory) -> None:
    """SIGTERM before anything is served ends everything within seconds, without a fuss."""
    with demo_directory.serving("--serve") as demo:
        demo.wait_for("loaded the sample clinic")
        code, seconds = demo.end(signal.SIGTERM)
        assert demo.process.stdout is not None
        said = demo.process.stdout.read()
    assert (code, said) == (1, "")
    assert seconds < 30  # a bound on waiting for ever; idle it takes one or two
    assert demo_directory.server_pid() is None


def test_demo_is_refused_when_its_port_is_taken(demo_directory: DemoDirectory) -> None:
    """A taken port is one line and exit code 2, and the last demo's files stay as they were."""
    (demo_directory.path / ".demo").mkdir()
    (demo_directory.path / ".demo" / "demo.json").write_text("{}")
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        done = demo_directory.run("--exit", "--rest-port", str(port))
    assert (done.returncode, done.stdout) == (2, "")
    (line, hint) = done.stderr.splitlines()
    assert line.startswith(f"gateway: {Code.PORT_TAKEN}: ")
    assert str(port) in line
    assert hint == "  hint: choose another --rest-port"
    assert demo_directory.notes() == {}


@pytest.mark.parametrize("in_the_way", ["file", "link"])
def test_demo_is_refused_when_its_directory_is_none(
    demo_directory: DemoDirectory, in_the_way: str
) -> None:
    """A file in the place of .demo, or a link that leads elsewhere, is one line and exit code 2."""
    place, elsewhere = demo_directory.path / ".demo", demo_directory.path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "kept").touch()
    if in_the_way == "file":
        place.touch()
    else:
        place.symlink_to(elsewhere)
    done = demo_directory.run("--exit")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.startswith(f"gateway: {Code.HOME_UNUSABLE}: ")
    assert len(done.stderr.splitlines()) == 2
    assert (elsewhere / "kept").exists()


def test_serving_is_not_awaited_for_ever_when_the_demo_ended() -> None:
    """Waiting for a line that never comes fails as soon as nothing more can come."""
    with (
        subprocess.Popen(["/bin/echo", "bye"], stdout=subprocess.PIPE, text=True) as process,
        pytest.raises(AssertionError, match="bye"),
    ):
        Serving(process).wait_for("hello")
