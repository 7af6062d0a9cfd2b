"""The program of a DuckDB process: it opens one file for reading and runs one statement after the other.

It takes an `OPEN` frame with the file and its settings, and gives `READY` with what the file is: device, inode, time
and size. Then each `RUN` gives `ROWS`, any number of them, and `END`. What fails gives `FAILED` with the class of the
error: what DuckDB says about it may hold a value, so its text goes nowhere.

INVARIANT: the file is open for reading alone, under settings that no statement can change. Nothing outside of it can
be opened, except in the directories that the source's URL allows: views over Parquet files read these, and no
statement of the gateway names a file. Nothing is written to disk: there is no directory for temporary files.
"""

import resource
import socket
from pathlib import Path
from typing import Any, Final

import duckdb

from gateway.engines.duckdb_process.frames import (
    HEADER,
    FrameKind,
    decode,
    decode_parameters,
    encode,
    encode_rows,
    read_header,
)

ZONE: Final = "TimeZone"
UTC_NAME: Final = "UTC"
_FEW_ROWS: Final = 256
_MANY_ROWS: Final = 4096
_BESIDE_BYTES: Final = 4 << 30
"""Addresses beside DuckDB's own memory: the program, stacks of threads, the file's pages."""
_DIRECTORIES: Final = "allowed_directories"
_CLOSED: Final = {
    "temp_directory": "",
    "autoinstall_known_extensions": "false",
    "autoload_known_extensions": "false",
}
_UNITS: Final = {"bytes": 1, "KiB": 1 << 10, "MiB": 1 << 20, "GiB": 1 << 30, "TiB": 1 << 40}


def serve(line: socket.socket) -> None:
    """Serve statements until the other side closes the line."""
    received = _receive(line)
    if received is None:
        return
    try:
        connection, identity = _open(decode(received[1]))
    except (duckdb.Error, OSError, ValueError, KeyError) as error:
        line.sendall(encode(FrameKind.FAILED, type(error).__name__))
        return
    line.sendall(encode(FrameKind.READY, identity))
    while (received := _receive(line)) is not None:
        _, payload = received
        try:
            _run(line, connection, decode(payload))
        except (duckdb.Error, MemoryError, TypeError, KeyError, OverflowError) as error:
            line.sendall(encode(FrameKind.FAILED, type(error).__name__))
        else:
            line.sendall(encode(FrameKind.END, None))


def _open(document: Any) -> tuple[duckdb.DuckDBPyConnection, list[int]]:  # noqa: ANN401
    path, config = document["path"], dict(document["config"])
    zone = config.pop(ZONE, UTC_NAME)
    before = file_identity(path)
    directories = config.pop(_DIRECTORIES, "")
    connection = duckdb.connect(path, read_only=True, config={**config, **_CLOSED})
    # what views of the file make of a time with a zone; nothing that the gateway renders depends on it
    connection.execute(f"SET {ZONE} = '{zone}'")
    if directories:  # before the lock on access, which then leaves these alone
        connection.execute(f"SET {_DIRECTORIES} = [$1]", [directories])
    connection.execute("SET enable_external_access = false")
    _search(connection, document["search_path"])
    if file_identity(path) != before:
        raise OSError("the file was replaced while it was opened")
    most = _memory_limit(connection)
    if "memory_limit" not in config:  # else each process would take most of what there is
        most //= document["places"]
        connection.execute(f"SET memory_limit = '{most // 1024}KiB'")
    connection.execute("SET lock_configuration = true")
    _limit(resource.RLIMIT_AS, most + _BESIDE_BYTES)
    return connection, before


def _search(connection: duckdb.DuckDBPyConnection, wanted: list[str]) -> None:
    """Look names up in these schemas. One that does not exist is left out, as PostgreSQL does."""
    found = connection.execute(
        "SELECT schema_name FROM duckdb_schemas() WHERE database_name = current_database()"
    ).fetchall()
    there = {name for (name,) in found}
    path = ",".join(f'"{name}"' for name in wanted if name in there)
    if path:
        connection.execute(f"SET search_path = '{path.replace(chr(39), chr(39) * 2)}'")


def _memory_limit(connection: duckdb.DuckDBPyConnection) -> int:
    """In bytes, of a text like `18.8 GiB`."""
    found = connection.execute("SELECT current_setting('memory_limit')").fetchone()
    number, unit = str(None if found is None else found[0]).split()
    return int(float(number) * _UNITS[unit])


def file_identity(path: str) -> list[int]:
    """The identity of a file: a file that replaces it has another one."""
    found = Path(path).stat()
    return [found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size]


def _limit(what: int, soft: int) -> None:
    _, hard = resource.getrlimit(what)
    least = soft if hard == resource.RLIM_INFINITY else min(soft, hard)
    resource.setrlimit(what, (least, least))


def _run(line: socket.socket, connection: duckdb.DuckDBPyConnection, document: Any) -> None:  # noqa: ANN401
    connection.execute(document["sql"], decode_parameters(document["parameters"]))
    many = _FEW_ROWS
    while rows := connection.fetchmany(many):
        line.sendall(encode_rows(rows))
        many = _MANY_ROWS


def _receive(line: socket.socket) -> tuple[FrameKind, bytes] | None:
    header = _exactly(line, HEADER.size)
    if header is None:
        return None
    length, kind = read_header(header)
    payload = _exactly(line, length)
    return None if payload is None else (kind, payload)


def _exactly(line: socket.socket, size: int) -> bytes | None:
    there = bytearray(size)
    view, done = memoryview(there), 0
    while done < size:
        got = line.recv_into(view[done:])
        if not got:
            return None
        done += got
    return bytes(there)
