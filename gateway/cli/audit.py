"""`gateway audit tail | search | verify | export`."""

import argparse
import json
from contextlib import closing
from datetime import UTC, datetime

from gateway.admin.instance import Foundation, open_foundation
from gateway.cli.arguments import settings_from
from gateway.cli.output import print_table, print_warning
from gateway.errors import Code, OperatorError
from gateway.state.connections import without_limits
from gateway.trail.search import RecordFilter, all_records, json_line, latest_records
from gateway.trail.verify import Verdict


def run(arguments: argparse.Namespace) -> int:
    actions = {"tail": _tail, "search": _search, "verify": _verify, "export": _export}
    with open_foundation(settings_from(arguments), print_warning) as foundation:
        return actions[arguments.action](foundation, arguments)


def verdict_json(verdict: Verdict) -> dict[str, object]:
    return {
        "intact": verdict.intact,
        "records": verdict.records,
        "anchored": verdict.anchored,
        "problem": verdict.problem,
        "first_bad": verdict.first_bad,
    }


def _tail(foundation: Foundation, arguments: argparse.Namespace) -> int:
    return _print(foundation, RecordFilter(), arguments)


def _search(foundation: Foundation, arguments: argparse.Namespace) -> int:
    wanted = RecordFilter(
        subject=arguments.subject,
        kind=arguments.kind,
        dataset=arguments.dataset,
        query_id=arguments.query_id,
        since=_moment(arguments.since),
        until=_moment(arguments.until),
    )
    return _print(foundation, wanted, arguments)


def _print(foundation: Foundation, wanted: RecordFilter, arguments: argparse.Namespace) -> int:
    with foundation.engine.connect() as connection:
        records = latest_records(connection, arguments.lines, wanted)
    if arguments.json:
        for record in records:
            print(json_line(record))
    elif not records:
        print("no records match")
    else:
        print_table(
            ("seq", "at", "kind", "who", "dataset", "about"),
            [
                (
                    str(record["seq"]),
                    record["at"][:19],
                    record["kind"],
                    _shown(record.get("subject") or record.get("actor")),
                    _shown(record["dataset"]),
                    _shown(record.get("sql") or _about(record.get("about"))),
                )
                for record in records
            ],
        )
    return 0


def _verify(foundation: Foundation, arguments: argparse.Namespace) -> int:
    verdict = foundation.verify_trail()
    if arguments.json:
        print(json.dumps(verdict_json(verdict)))
    elif verdict.intact:
        anchored = f", anchored at {verdict.anchored}" if verdict.anchored is not None else ""
        print(
            f"the trail is intact: {verdict.records} records{anchored}; it agrees with the ledger"
        )
    if not verdict.intact:
        raise OperatorError(Code.TRAIL_BROKEN, verdict.problem or "")
    return 0


def _export(foundation: Foundation, arguments: argparse.Namespace) -> int:
    del arguments
    with foundation.engine.connect() as connection:
        without_limits(connection)
        with closing(all_records(connection)) as records:
            for record in records:
                print(json_line(record))
    return 0


def _moment(text: str | None) -> datetime | None:
    if text is None:
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"`{text}` is not a time", "write it like 2026-01-31T12:00"
        ) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _about(about: dict[str, str | None] | None) -> str:
    return " ".join(f"{name}={value}" for name, value in (about or {}).items() if value is not None)


def _shown(text: str | None) -> str:
    """One printable line, at most 60 characters wide, whatever an analyst wrote."""
    widest = 60
    line = "".join(sign if sign.isprintable() else "·" for sign in text or "")
    return line if len(line) <= widest else line[: widest - 1] + "…"
