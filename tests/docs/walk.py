"""The walk of one query: which function of the gateway calls which, in order, with file and line.

`traced` records the calls of the running thread. `table` keeps those that a reader follows: calls from
the pipeline or a stage into another file, of functions that have a body worth reading.
"""

import linecache
import sys
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import CodeType, FrameType
from typing import Final

ROOT: Final = Path(__file__).parents[2]
_GATEWAY: Final = str(ROOT / "gateway") + "/"
_PIPELINE: Final = "gateway/pipeline.py"
_STAGES: Final = "gateway/stages/"
_SHORT: Final = 3  # lines; shorter functions are accessors and conversions
_VALUES: Final = ("gateway/units.py", "gateway/budget/account.py", "gateway/policy/policy.py")


@dataclass(frozen=True)
class Call:
    """One function of the gateway that calls another."""

    caller: CodeType
    called: CodeType


@contextmanager
def traced() -> Iterator[list[Call]]:
    """The calls inside the block, each pair of functions once, in the order of their first calls."""
    calls: dict[Call, None] = {}
    found: list[Call] = []

    def profile(frame: FrameType, event: str, _: object) -> None:
        if event != "call" or not frame.f_code.co_filename.startswith(_GATEWAY):
            return
        above = frame.f_back
        while above is not None and not above.f_code.co_filename.startswith(_GATEWAY):
            above = above.f_back
        if above is not None:
            calls.setdefault(Call(above.f_code, frame.f_code))

    before = sys.getprofile()
    sys.setprofile(profile)
    try:
        yield found
    finally:
        sys.setprofile(before)
        found.extend(calls)


def table(calls: Iterable[Call]) -> str:
    """The rows of the walk in Markdown: the caller, the function, its file and line."""
    rows = ["| called by | function | where |", "|---|---|---|"]
    listed = set()
    for call in calls:
        if call.called not in listed and _is_followed(call):
            listed.add(call.called)
            where = f"{_file(call.called)}:{call.called.co_firstlineno}"
            rows.append(f"| {_stem(call.caller)} | `{call.called.co_qualname}` | `{where}` |")
    return "\n".join(rows) + "\n"


def _is_followed(call: Call) -> bool:
    caller, called, name = _file(call.caller), _file(call.called), call.called.co_qualname
    return (
        (caller == _PIPELINE or caller.startswith(_STAGES))
        and caller != called
        and called not in _VALUES
        and not name.rpartition(".")[2].startswith(("_", "<"))
        and "<locals>" not in name
        and _length(call.called) >= _SHORT
        and not _is_property(call.called)
    )


def _file(code: CodeType) -> str:
    return code.co_filename.removeprefix(f"{ROOT}/")


def _stem(code: CodeType) -> str:
    return Path(code.co_filename).stem


def _is_property(code: CodeType) -> bool:
    return linecache.getline(code.co_filename, code.co_firstlineno).strip() == "@property"


def _length(code: CodeType) -> int:
    lines = [line for _, _, line in code.co_lines() if line is not None]
    return max(lines) - min(lines) + 1
