"""`python -m gateway.sample`: load the sample clinic, say what was loaded and how fast."""

import argparse
import os
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pydantic import SecretStr

from gateway.errors import Code, OperatorError
from gateway.sample.clinic import DEFAULT_SEED, LARGEST_SCALE, SMALLEST_SCALE, Clinic
from gateway.sample.duckdb_loader import load_into_duckdb
from gateway.sample.postgres_loader import Existing, ReaderLogin, load_into_postgres

READER_PASSWORD = "CLINIC_READER_PASSWORD"  # noqa: S105  # the name of a variable


def build_parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m gateway.sample",
        description="Load a clinic of invented people: patients, visits and regions.",
        epilog="A password for PostgreSQL is better given in PGPASSWORD than in the URL, where every "
        f"user of the machine can read it. {READER_PASSWORD} holds the one of clinic_reader.",
    )
    target = parser.add_mutually_exclusive_group(required=True)
    target.add_argument("--duckdb", metavar="PATH", type=Path, help="write a DuckDB file")
    target.add_argument(
        "--postgres", metavar="URL", help="load into this database, postgresql://user@host/database"
    )
    parser.add_argument(
        "--scale",
        metavar="F",
        type=_scale,
        default=1.0,
        help="times 20,000 patients and 120,000 visits (default 1)",
    )
    parser.add_argument(
        "--seed", metavar="N", type=_seed, default=DEFAULT_SEED, help="another seed, other people"
    )
    existing = parser.add_mutually_exclusive_group()
    existing.add_argument(
        "--replace", action="store_true", help="overwrite the file or the three tables"
    )
    existing.add_argument(
        "--keep", action="store_true", help="be content when they are there already"
    )
    parser.add_argument(
        "--reader",
        action="store_true",
        help="PostgreSQL: also make the read-only login clinic_reader",
    )
    return parser


def main(arguments: Sequence[str] | None = None) -> int:
    parser = build_parser()
    chosen = parser.parse_args(arguments)
    if chosen.reader and chosen.postgres is None:
        parser.error("--reader needs --postgres")
    clinic = Clinic.at_scale(chosen.scale, chosen.seed)
    started = time.monotonic()
    try:
        loaded = _load(clinic, chosen)
    except OperatorError as error:
        print(f"{error}" + (f" ({error.hint})" if error.hint else ""), file=sys.stderr)  # noqa: T201  # a command
        return 1
    except KeyboardInterrupt:
        print("stopped; nothing was loaded", file=sys.stderr)  # noqa: T201  # a command
        return 1
    seconds = time.monotonic() - started
    print(  # noqa: T201  # a command
        f"{clinic.patients:,} patients and {clinic.visits:,} visits in {seconds:.1f} s"
        if loaded
        else "the sample was there already; it was kept"
    )
    return 0


def _load(clinic: Clinic, chosen: argparse.Namespace) -> bool:
    if chosen.postgres is not None:
        existing = Existing.REFUSE
        if chosen.replace or chosen.keep:
            existing = Existing.REPLACE if chosen.replace else Existing.KEEP
        reader = _reader() if chosen.reader else None
        return load_into_postgres(clinic, chosen.postgres, existing=existing, reader=reader)
    path: Path = chosen.duckdb
    if chosen.keep and path.is_file():
        return False
    load_into_duckdb(clinic, path, replace=chosen.replace)
    return True


def _reader() -> ReaderLogin:
    password = os.environ.get(READER_PASSWORD, "")
    if not password:
        raise OperatorError(
            Code.ARGUMENT_INVALID, f"--reader needs a password in the variable {READER_PASSWORD}"
        )
    return ReaderLogin(SecretStr(password))


def _scale(text: str) -> float:
    problem = f"must be a number from {SMALLEST_SCALE:g} to {LARGEST_SCALE:g}"
    try:
        scale = float(text)
    except ValueError:
        raise argparse.ArgumentTypeError(problem) from None
    if not SMALLEST_SCALE <= scale <= LARGEST_SCALE:  # NaN is not in there either
        raise argparse.ArgumentTypeError(problem)
    return scale


def _seed(text: str) -> int:
    problem = "must be a whole number from 0 to 2^64 - 1"
    try:
        seed = int(text)
    except ValueError:
        raise argparse.ArgumentTypeError(problem) from None
    if not 0 <= seed < 2**64:
        raise argparse.ArgumentTypeError(problem)
    return seed
