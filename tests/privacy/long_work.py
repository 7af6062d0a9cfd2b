"""The work oracle for as long as it takes: `python -m privacy.long_work [LONGEST]`, from `tests`.

Every condition of `conditions` over every alphabet in both databases, and LIKE beside PostgreSQL's own for 100,000 pairs.
It prints what takes longest and what is neither within 2x nor within 20 µs of a row that does not match. It fails where
a row takes more than its budget; over texts of at most 200 characters also where a row is not that close.
"""

import random
import shutil
import sys
import tempfile
from pathlib import Path

from engines.extremes import Databases
from engines.likes import differing, pairs
from privacy.conditions import EVERY
from privacy.source_work import (
    ALPHABETS,
    LONGEST,
    Measured,
    asked,
    in_duckdb,
    in_postgresql,
    measure,
    rendered,
)
from sqlalchemy import StaticPool, create_engine

from gateway.postgres_server import Lease, open_server

_SHOWN = 12
_PAIRS = 100_000
CLOSE = 200
"""Over texts up to so long, a row that matches takes within 2x or within 20 µs of one that does not."""


def main(longest: int) -> int:
    """0 when no row takes more than its budget."""
    home = Path(tempfile.mkdtemp(prefix="work-"))
    home.chmod(0o711)
    try:
        with open_server(home / "server") as lease:
            wrong = _likes(lease) if longest == LONGEST else 0
            with in_duckdb() as here, in_postgresql(lease) as there:
                found = [
                    one
                    for engine in (here, there)
                    for one in measure(engine, list(EVERY), list(ALPHABETS), longest, best=5)
                ]
    finally:
        shutil.rmtree(home)
    refused = [one for one in EVERY if rendered(asked(one), longest, "duckdb") is None]
    return _said(found, refused, longest) + wrong


def _say(line: str) -> None:
    sys.stdout.write(line + "\n")
    sys.stdout.flush()


def _likes(lease: Lease) -> int:
    url = lease.address.url(
        user=lease.superuser, password=lease.superuser_password, database="postgres"
    )
    one = create_engine(url.set(drivername="postgresql+psycopg"))
    other = create_engine("duckdb:///:memory:", poolclass=StaticPool)
    with one.connect() as postgresql, other.connect() as duckdb:
        chosen = pairs(random.Random(3), _PAIRS)  # noqa: S311 - a seed, no secret
        wrong = differing(Databases(postgresql, duckdb), chosen)
    for engine in (one, other):
        engine.dispose()
    _say(f"LIKE: {len(chosen)} pairs, {len(wrong)} differ {wrong[:5]}")
    return int(bool(wrong))


def _said(found: list[Measured], refused: list[str], longest: int) -> int:
    over = [one for one in found if not one.is_within_budget]
    apart = {(one.expression, one.dialect) for one in found if not one.is_close}
    _say(f"{len(found)} measurements; refused for their plan: {len(refused)}")
    for sql in refused:
        _say(f"  refused {sql[:90]}")
    for dialect in ("duckdb", "postgresql"):
        _say(f"{dialect}: the longest, µs a row, matching and not")
        some = sorted(
            (one for one in found if one.dialect == dialect), key=lambda one: -one.matching
        )
        for one in some[:_SHOWN]:
            _say(
                f"  {one.matching * 1e6:7.1f} {one.other * 1e6:6.1f} {one.alphabet!r:20} {one.expression[:70]}"
            )
    _say(f"neither within 2x nor within 20 µs a row: {len(apart)}")
    for expression, dialect in sorted(apart):
        worst = max(
            (one for one in found if (one.expression, one.dialect) == (expression, dialect)),
            key=lambda one: one.spread,
        )
        _say(f"  {worst.spread * 1e6:6.1f} {dialect} {expression[:80]}")
    for one in over:
        _say(f"OVER THE BUDGET {one}")
    return int(bool(over) or (longest <= CLOSE and bool(apart)))


if __name__ == "__main__":
    sys.exit(main(int(sys.argv[1]) if len(sys.argv) > 1 else LONGEST))
