"""How far answers over event tables are from the truth: the gateway, smartnoise-sql, OpenDP Polars and Tumult Analytics.

Everybody has the same (epsilon, delta) for the same number of questions, and is measured in one run. The error of a
question is the median over its cells of the root mean square of the relative error. Peers have the limits of least
simulated error for each question, chosen in hindsight; the gateway has one policy for each table. Beside it stands
the best clip of norms in hindsight at the same price, and the error of an earlier run of this bench.
"""

import argparse
import json
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, Final

from answers_data import plain
from answers_gateway import answering
from peers import OPENDP, SMARTNOISE, TUMULT, PeerMissingError, ask, installed
from sqlalchemy import URL
from utility_clips import Parts, best_clip, relative_error
from utility_data import NONE, TABLES, Table, load_postgres, parts, write
from utility_questions import DELTA, EPSILON, QUESTIONS, Question, policy, questions, rho

from gateway.errors import Refusal
from gateway.postgres_server import open_server

PEERS: Final = {"smartnoise": SMARTNOISE, "opendp": OPENDP, "tumult": TUMULT}
_ROOT: Final = Path(__file__).parents[1]
_BEFORE: Final = Path(__file__).with_name("utility_baseline.json")
_OF_CLIP, _OF_PEER, _OF_PEER_SEVERAL = 1.4, 1.0, 0.5
# of visits by key: how many times lower than before clipping was chosen privately
_LOWER: Final = {"category": 2.0, "month": 4.0, "year": 4.0}
_LIMIT_S: Final = 330.0  # for a peer, so that a run takes six minutes
_APART: Final = 0.15  # of the price: a first answer may buy a histogram at a tenth of it


@dataclass
class Line:
    """A question and its errors; what is not known is missing, and `problems` say why."""

    name: str
    cells: int
    clip: float  # the best in hindsight
    of_clip: float  # its error
    gateway: float | None = None
    peers: dict[str, float] = field(default_factory=dict)
    limits: dict[str, str] = field(default_factory=dict)
    problems: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    """A question with its truth."""

    question: Question
    parts: Parts
    cells: list[str]
    line: Line


def main() -> None:
    given = _arguments()
    top = Path(tempfile.mkdtemp(prefix="bench-utility-"))
    top.chmod(0o711)
    began = time.perf_counter()
    try:
        report = measure(top, given)
    finally:
        shutil.rmtree(top)
    report["seconds"] = round(time.perf_counter() - began)
    before = json.loads(given.before.read_text()) if given.before.is_file() else {"lines": []}
    if before["lines"] and before["scale"] != given.scale:
        print("the earlier figures are of another scale: not compared")
        before = {"lines": []}
    show(report, before)
    if given.json:
        given.json.write_text(_text(report))


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=int, default=5)
    parser.add_argument(
        "--only", default="", help="questions with this in their names: visits/month"
    )
    parser.add_argument("--scale", type=float, default=1.0, help="of the tables")
    parser.add_argument("--peers", default=",".join(PEERS), help="names with commas, or `none`")
    parser.add_argument(
        "--bounds", default="", help="a table's lines in the policy, instead of ours"
    )
    parser.add_argument("--patience", type=float, default=1.0, help="times the peers' time limits")
    parser.add_argument("--json", type=Path, help="a file to write the figures to")
    parser.add_argument("--before", type=Path, default=_BEFORE, help="such a file to compare with")
    return parser.parse_args()


def measure(top: Path, given: argparse.Namespace) -> dict[str, Any]:
    names = [] if given.peers == "none" else given.peers.split(",")
    urls = write(top, given.scale)
    wanted = [one for one in questions() if given.only in one.name]
    asked = [_with_truth(question, urls) for question in wanted]
    tables = [table for table in TABLES if any(one.question.table is table for one in asked)]
    with ExitStack() as stack:
        url = None
        if "smartnoise" in names:
            server = stack.enter_context(open_server(top / "server"))
            url = plain(load_postgres(server, top))
        pool = stack.enter_context(ThreadPoolExecutor(len(PEERS)))
        running = {name: pool.submit(_ask_peer, name, asked, top, url, given) for name in names}
        charged = {
            table.name: _ask_gateway(urls[table.name], table, asked, given) for table in tables
        }
        said = {name: future.result() for name, future in running.items()}
    return {
        "commit": _commit(),
        "repetitions": given.repetitions,
        "scale": given.scale,
        "epsilon": EPSILON,
        "delta": DELTA,
        "questions": QUESTIONS,
        "rho": rho(),
        "charged": charged,
        "peers": {**dict.fromkeys(PEERS, "not asked"), **said},
        "lines": [asdict(one.line) for one in asked],
    }


def _with_truth(question: Question, urls: Mapping[str, URL]) -> Asked:
    found = parts(urls[question.table.name], question.table, question.column)
    cells = question.cells(found.truth(question.measure))
    error, clip = best_clip(found, question.measure, rho(), cells)
    return Asked(question, found, cells, Line(question.name, len(cells), clip, error))


def _ask_gateway(url: URL, table: Table, asked: list[Asked], given: argparse.Namespace) -> float:
    """What a question was charged on average, in prices of one; its noise is held to the price of all."""
    charged, wanted = 0.0, 0.0
    with answering(url, policy(table, given.bounds)) as gateway:
        for one in (one for one in asked if one.question.table is table):
            try:
                answers = [gateway.ask(one.question.sql) for _ in range(given.repetitions)]
            except Refusal as refusal:
                one.line.problems["gateway"] = str(refusal)
                continue
            for answer in answers:
                charged += float(answer.charged.value)
                wanted += float(answer.price.value)
            cost = min(float(answer.rho or 0) for answer in answers)
            assert abs(cost / rho() - 1) < _APART, f"a question cost {cost}, not {rho()}"
            length = {"month": 7, "year": 4}.get(one.question.key)
            found = [
                {
                    (row[0] or NONE)[:length]: float(row[1])
                    for row in answer.rows
                    if row[1] is not None
                }
                for answer in answers
            ]
            one.line.gateway = _error(one, found)
    return charged / max(wanted, 1e-12)


def _ask_peer(
    name: str, asked: list[Asked], place: Path, url: str | None, given: argparse.Namespace
) -> str:
    """Its version, or why it has no figures."""
    try:
        python = installed(name, PEERS[name])
    except PeerMissingError as error:
        return f"not installed: {error}"
    orders = []
    for one in asked:
        order, limits = one.question.order(name, one.parts, one.cells)
        orders.append(order)
        one.line.limits[name] = str(limits)
    order = {
        "place": str(place),
        "url": url,
        "repetitions": given.repetitions,
        "questions": orders,
    }
    replies = ask(python, f"utility_{name}.py", order, _LIMIT_S * given.patience)
    version, *lines = [*replies.objects] or [{"version": name}]
    for one, line in zip(asked, lines, strict=False):
        if "answers" in line:
            one.line.peers[name] = _error(one, [one.question.shown(a) for a in line["answers"]])
        else:
            one.line.problems[name] = line["failed"]
    for one in asked[len(lines) :]:
        one.line.problems[name] = replies.problem or "no answer"
    return str(version["version"])


def _error(one: Asked, answers: list[dict[str, float]]) -> float:
    return relative_error(one.parts.truth(one.question.measure), answers, one.cells)


def _commit() -> str:
    git = shutil.which("git") or "git"
    try:
        return subprocess.run(
            [git, "rev-parse", "--short=8", "HEAD"],
            cwd=_ROOT,
            check=True,
            capture_output=True,
            text=True,
        ).stdout.strip()
    except (subprocess.SubprocessError, OSError):
        return "unknown"


def _text(report: Mapping[str, Any]) -> str:
    """JSON with each question on a line of its own, so that two files can be compared."""
    lines = ",\n".join(json.dumps(line) for line in report["lines"])
    head = json.dumps({name: said for name, said in report.items() if name != "lines"}, indent=1)
    return f'{head.removesuffix("}").rstrip()},\n "lines": [\n{lines}\n]}}\n'


def show(report: Mapping[str, Any], before: Mapping[str, Any]) -> None:
    """The table, and how many lines meet each goal."""
    print(
        f"commit {report['commit']}, {report['repetitions']} repetitions, scale {report['scale']:g},"
        f" {report['seconds']} s, {os.cpu_count()} cores, load {os.getloadavg()[0]:.1f}"
    )
    print(
        f"epsilon {report['epsilon']}, delta {report['delta']:g} for {report['questions']} questions:"
        f" rho {report['rho']:.5f} for each"
    )
    for name, said in report["peers"].items():
        print(f"{name}: {said}")
    for name, charged in report["charged"].items():
        print(f"{name}: the gateway charged {charged:.3f} of the price of its questions")
    if before["lines"]:
        print(f"before: commit {before['commit']}, {before['repetitions']} repetitions")
    print("\nmedian relative error in %")
    head = ("gateway", "before", "/ now", "best clip", "/ clip", *PEERS, "/ best peer")
    print(f"{'':<24}{'cells':>6}" + "".join(f"{one:>12}" for one in head) + "  goals missed")
    earlier = {line["name"]: line["gateway"] for line in before["lines"]}
    missed: dict[str, list[bool]] = {}
    for line in report["lines"]:
        ratios = _ratios(line, earlier.get(line["name"]))
        peers = "".join(_percent(line["peers"].get(name)) for name in PEERS)
        goals = _goals(line["name"], ratios)
        for goal, met in goals.items():
            missed.setdefault(goal, []).append(met)
        print(
            f"{line['name']:<24}{line['cells']:>6}{_percent(line['gateway'])}"
            f"{_percent(earlier.get(line['name']))}{_times(ratios['before'])}"
            f"{_percent(line['of_clip'])}{_times(ratios['clip'])}{peers}{_times(ratios['peer'])}"
            f"  {', '.join(goal for goal, met in goals.items() if not met)}"
        )
    print()
    for goal, all_met in missed.items():
        print(f"goal {goal}: met in {sum(all_met)} of {len(all_met)}")
    for line in report["lines"]:
        for name, problem in line["problems"].items():
            print(f"{line['name']}, {name}: {problem[:160]}")


def _ratios(line: Mapping[str, Any], earlier: float | None) -> dict[str, float | None]:
    gateway, best = line["gateway"], min(line["peers"].values(), default=None)
    if gateway is None:
        return {"before": None, "clip": None, "peer": None}
    return {
        "before": None if earlier is None else earlier / gateway,
        "clip": gateway / line["of_clip"],
        "peer": None if best is None else gateway / best,
    }


def _goals(name: str, ratios: Mapping[str, float | None]) -> dict[str, bool]:
    """Whether each goal that the line can tell of is met. In all tables people have several rows."""
    table, key, measure = name.split("/")
    clip, peer, before = ratios["clip"], ratios["peer"], ratios["before"]
    found = {}
    if clip is not None:
        found[f"{_OF_CLIP:g}x of the best clip"] = clip <= _OF_CLIP
    if peer is not None:
        found[f"{_OF_PEER:g}x of the best peer"] = peer <= _OF_PEER
        found[f"{_OF_PEER_SEVERAL:g}x of the best peer"] = peer <= _OF_PEER_SEVERAL
    if before is not None and table == "visits" and measure != "avg" and key in _LOWER:
        found[f"{_LOWER[key]:g}x lower by {key}"] = before >= _LOWER[key]
    return found


def _percent(error: float | None) -> str:
    return f"{'-':>12}" if error is None else f"{100 * error:12.2f}"


def _times(ratio: float | None) -> str:
    return f"{'-':>12}" if ratio is None else f"{ratio:12.2f}"


if __name__ == "__main__":
    main()
