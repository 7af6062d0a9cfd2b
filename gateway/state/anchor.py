"""The anchor file, and the check whether the state is behind it.

The anchor is outside the database and has the position that the state must never fall behind. After every commit,
and before its caller goes on, one signed line is appended: the position of the trail and the facts that the commit
changed (balances, limits). A state that was lost, restored from an older backup, truncated or rewritten is then
behind its anchor or disagrees with it, and is refused.

The file is filled with zeros in advance, so that a line costs one write and one fdatasync and does not change the
file's size; when it is full, it is rewritten with the facts that still count. A line that was torn by a crash is
the last one, and nobody acted upon it: it is overwritten.

INVARIANT: a caller of `advance` goes on only when its line is on the disk.
INVARIANT: of two lines about one fact the one with the higher `seq` counts, in whatever order several gateways
wrote them.
INVARIANT: nothing is read past a line that is not as it was written, and no such line is skipped: intact lines
behind it mean that the file was changed or damaged, and the anchor is refused.
INVARIANT: no query is answered on a state that is behind its anchor or has another history: an older state knows
fewer charges, and would spend the same budget again.
"""

import fcntl
import hashlib
import hmac
import json
import os
import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from sqlalchemy import Connection, func, select

from gateway.errors import Code, OperatorError
from gateway.state.tables import trail_records


@dataclass(frozen=True)
class Position:
    """The number of the last trail record and its chained MAC."""

    seq: int
    mac: str


GENESIS = Position(0, "0" * 64)


_CAPACITY = 256 * 1024
_ENCODE = json.JSONEncoder(separators=(",", ":")).encode
_MAC_LENGTH = 64


@dataclass(frozen=True)
class Fact:
    """A fact that was true as of `seq`."""

    seq: int
    value: Mapping[str, str | None]


@dataclass(frozen=True)
class AnchorContent:
    """The content of the anchor."""

    position: Position
    facts: Mapping[str, Fact]


class Anchor:
    """One anchor file; several processes may share it."""

    def __init__(self, path: Path, key: bytes) -> None:
        self.path = path
        self._key = hmac.digest(key, b"gateway anchor v1", hashlib.sha256)
        self._threads = threading.Lock()
        self._lock = -1
        self._file = -1
        self._end = 0
        self._spoiled = False
        self._position = GENESIS
        self._facts: dict[str, Fact] = {}

    def read(self) -> AnchorContent | None:
        """The content; None if nothing was ever anchored."""
        with self._alone():
            if not self._catch_up():
                return None
            return AnchorContent(self._position, dict(self._facts))

    def advance(self, position: Position, facts: Mapping[str, Mapping[str, str | None]]) -> None:
        """Make `position` and `facts` durable; raises OSError when that cannot be done."""
        with self._alone():
            exists = self._catch_up()
            line = self._line(
                position, {name: Fact(position.seq, fact) for name, fact in facts.items()}
            )
            if not exists or self._spoiled or self._end + len(line) >= _capacity(self._file):
                self._learn(position, facts)
                self._rewrite()
                return
            self._spoiled = (
                True  # after a failed sync nobody knows which parts of this file are on the disk
            )
            _write_all(self._file, line, self._end)
            os.fdatasync(self._file)
            self._spoiled = False
            self._end += len(line)
            self._learn(position, facts)

    def begin(self, anchored: AnchorContent, previous: Path | None = None) -> None:
        """Start the file anew from `anchored`, and keep the previous one as `previous`.

        Without `previous` there was none; if another gateway began one meanwhile, that one stays.
        """
        with self._alone():
            if previous is None and self._catch_up():
                return
            if previous is not None and self.path.exists():
                self.path.rename(previous)
            self._position, self._facts = anchored.position, dict(anchored.facts)
            self._rewrite()

    def close(self) -> None:
        with self._threads:
            self._close_file()
            if self._lock >= 0:
                os.close(self._lock)
                self._lock = -1

    def _close_file(self) -> None:
        if self._file >= 0:
            os.close(self._file)
            self._file = -1

    def _learn(self, position: Position, facts: Mapping[str, Mapping[str, str | None]]) -> None:
        if position.seq > self._position.seq:
            self._position = position
        for name, value in facts.items():
            known = self._facts.get(name)
            if known is None or known.seq <= position.seq:
                self._facts[name] = Fact(position.seq, value)

    def _catch_up(self) -> bool:
        """Read the lines that other processes appended, from the start if the file was replaced."""
        try:
            on_disk = self.path.stat()
        except FileNotFoundError:
            return False
        from_the_start = self._file < 0 or os.fstat(self._file).st_ino != on_disk.st_ino
        if from_the_start:
            self._close_file()
            self._file = os.open(self.path, os.O_RDWR | os.O_CLOEXEC)
            self._end, self._position, self._facts = 0, GENESIS, {}
        for line in self._lines_from(self._end):
            entry = self._parse(line)
            if entry is None:
                break
            position, facts = entry
            if position.seq > self._position.seq:
                self._position = position
            for name, fact in facts.items():
                known = self._facts.get(name)
                if known is None or known.seq <= fact.seq:
                    self._facts[name] = fact
            self._end += len(line)
        if self._end == 0:  # an anchor gets its name when it has a line
            raise OperatorError(
                Code.AUDIT_KEY_MISMATCH,
                f"no line of the anchor `{self.path}` was signed with this audit key",
                "start with the audit key that this anchor was made with",
            )
        if from_the_start:
            self._require_nothing_behind(self._end)
        return True

    def _require_nothing_behind(self, end: int) -> None:
        """Require that only zeros, or the rest of one torn line, follow the last good line."""
        behind = os.pread(self._file, _capacity(self._file) - end, end)
        for piece in behind.split(b"\n"):
            line = piece.lstrip(b"\0") + b"\n"
            if len(line) > _MAC_LENGTH and self._parse(line) is not None:
                self._close_file()
                raise OperatorError(
                    Code.TRAIL_BROKEN,
                    f"the anchor `{self.path}` was changed or damaged at byte {end}",
                    "restore the file, or see `gateway db restore`",
                )

    def _lines_from(self, offset: int) -> Iterator[bytes]:
        block = 4096
        pending = b""
        while chunk := os.pread(self._file, block, offset):
            offset += len(chunk)
            block = 1 << 16
            pending += chunk
            while (cut := pending.find(b"\n")) >= 0:
                yield pending[: cut + 1]
                pending = pending[cut + 1 :]
            if pending[:1] == b"\0":
                return

    def _line(self, position: Position, facts: Mapping[str, Fact]) -> bytes:
        payload = _ENCODE(
            {
                "seq": position.seq,
                "head": position.mac,
                "facts": {name: [fact.seq, fact.value] for name, fact in facts.items()},
            }
        ).encode()
        return self._mac(payload) + b" " + payload + b"\n"

    def _parse(self, line: bytes) -> tuple[Position, dict[str, Fact]] | None:
        payload = line[_MAC_LENGTH + 1 : -1]
        if not hmac.compare_digest(line[:_MAC_LENGTH], self._mac(payload)):
            return None
        said = json.loads(payload)
        facts = {name: Fact(seq, value) for name, (seq, value) in said["facts"].items()}
        return Position(said["seq"], said["head"]), facts

    def _mac(self, payload: bytes) -> bytes:
        return hmac.digest(self._key, payload, hashlib.sha256).hex().encode()

    def _rewrite(self) -> None:
        """Write one line with all facts into a new file, then rename it over the old one."""
        line = self._line(self._position, self._facts)
        fresh = self.path.with_name(self.path.name + ".new")
        file = os.open(fresh, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        try:
            _write_all(file, line.ljust(max(_CAPACITY, 4 * len(line)), b"\0"))
            os.fsync(file)
            fresh.rename(self.path)
            _sync_directory(self.path.parent)
        except OSError:
            os.close(file)
            raise
        self._close_file()
        self._file, self._end, self._spoiled = file, len(line), False

    @contextmanager
    def _alone(self) -> Iterator[None]:
        """One thread of one process at a time; the lock has a file of its own, which rewrites do not touch."""
        with self._threads:
            if self._lock < 0:
                beside = self.path.with_name(self.path.name + ".lock")
                self._lock = os.open(beside, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
            fcntl.flock(self._lock, fcntl.LOCK_EX)
            try:
                yield
            finally:
                fcntl.flock(self._lock, fcntl.LOCK_UN)


def _write_all(file: int, data: bytes, offset: int = 0) -> None:
    """Write all data; a full disk may accept a part of it before it fails."""
    view = memoryview(data)
    while view:
        written = os.pwrite(file, view, offset)
        view, offset = view[written:], offset + written


def _capacity(file: int) -> int:
    return os.fstat(file).st_size


def _sync_directory(directory: Path) -> None:
    handle = os.open(directory, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


_GATEWAYS_LOCK: Final = 0x6761_7465_0003
_RESTORE = "restore the newest backup with `gateway db restore FILE`, which charges what it lacks"


def last_position(connection: Connection) -> Position:
    """The position of the last trail record."""
    row = connection.execute(_LAST).one_or_none()
    return GENESIS if row is None else Position(row.seq, row.mac)


def is_behind(connection: Connection, anchored: Position) -> bool:
    """True if the state does not contain the anchored position: it is older, or has another history."""
    mac = connection.execute(
        select(trail_records.c.mac).where(trail_records.c.seq == anchored.seq)
    ).scalar_one_or_none()
    return anchored != GENESIS and mac != anchored.mac


def require_not_behind(connection: Connection, anchor: Anchor) -> None:
    anchored = anchor.read()
    if anchored is None:
        return
    at = anchored.position
    here = last_position(connection)
    if here.seq < at.seq:
        raise OperatorError(
            Code.STATE_BEHIND_ANCHOR,
            f"the state ends at trail record {here.seq}, but the anchor `{anchor.path}` records {at.seq}",
            _RESTORE,
        )
    if is_behind(connection, at):
        raise OperatorError(
            Code.STATE_BEHIND_ANCHOR,
            f"trail record {at.seq} differs from the one that the anchor `{anchor.path}` records",
            _RESTORE,
        )


def hold_state(connection: Connection) -> None:
    """Announce that a gateway uses this state, for as long as the connection lives."""
    connection.execute(select(func.pg_advisory_lock_shared(_GATEWAYS_LOCK)))


def hold_state_alone(connection: Connection) -> None:
    """Keep every gateway out until the connection is closed; refused while a gateway uses the state."""
    if not connection.execute(select(func.pg_try_advisory_lock(_GATEWAYS_LOCK))).scalar_one():
        raise OperatorError(
            Code.BACKUP_UNUSABLE, "a gateway is using this state", "stop it, then restore"
        )


_LAST = (
    select(trail_records.c.seq, trail_records.c.mac).order_by(trail_records.c.seq.desc()).limit(1)
)
