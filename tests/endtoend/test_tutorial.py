"""docs/tutorial.md leads to an answer when somebody does what it says."""

import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import psycopg
import pytest
from fix_gateway import no_gateway
from fix_sample import plain
from sqlalchemy import URL

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "tutorial.md").read_text()
SCHEMA = (ROOT / "tests" / "cases" / "schemas" / "shop.sql").read_bytes()
ROWS = """
INSERT INTO regions SELECT i, 'region ' || i FROM generate_series(1, 4) i;
INSERT INTO customers SELECT i, i || '@example.org', 'n', 1940 + i % 70, (ARRAY['f', 'm', 'x'])[1 + i % 3], 1 + i % 4,
    i % 2 = 0, (ARRAY['private', 'business'])[1 + i % 2], TIMESTAMP '2022-01-01' + i * INTERVAL '1 hour'
    FROM generate_series(1, 20000) i;
INSERT INTO orders SELECT i, 1 + i % 20000, 'paid',
    (ARRAY['web', 'app', 'web', 'store', 'web', 'app', 'web'])[1 + i % 7], (i * 7 % 50000) / 100.0,
    DATE '2023-01-01' + (i * 31 % 730)::integer FROM generate_series(1, 60000) i;
"""
LOGIN = "postgresql://gateway_reader:change-me@127.0.0.1:5432/shop"


def blocks(language: str) -> list[str]:
    """The fenced blocks of the page in one language, in their order."""
    return re.findall(rf"^```{language}\n(.*?)^```", PAGE, re.MULTILINE | re.DOTALL)


def unused_ports(count: int) -> list[int]:
    """Ports that nobody listens on now."""
    with ExitStack() as stack:
        held = [stack.enter_context(socket.socket()) for _ in range(count)]
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]


@pytest.fixture
def shop(sample_database: URL) -> Iterator[psycopg.Connection]:
    """A shop with customers and orders, reached as its administrator."""
    with psycopg.connect(plain(sample_database), autocommit=True) as connection:
        connection.execute(SCHEMA)
        connection.execute(ROWS)
        yield connection
        connection.execute("DROP OWNED BY gateway_reader; DROP ROLE gateway_reader")


@pytest.mark.skipif(shutil.which("psql") is None, reason="psql is not installed")
def test_tutorial_leads_to_an_answer(
    shop: psycopg.Connection,
    sample_database: URL,
    tmp_path: Path,
) -> None:
    """The commands of the page, literally: only addresses of this machine are put in."""
    for statement in blocks("sql"):
        shop.execute(statement)
    reader = sample_database.set(username="gateway_reader", password="change-me")
    rest, wire = unused_ports(2)
    script = "\n".join(blocks("sh"))
    for ours, here in ((LOGIN, plain(reader)), ("5433", str(wire))):
        assert ours in script
        script = script.replace(ours, here)
    ended = subprocess.run(
        ["/bin/bash", "-e"],
        input=f"trap 'kill $(jobs -p)' EXIT\n{script}",
        cwd=tmp_path,
        env={
            **no_gateway(),
            "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
            "GATEWAY_HOME": str(tmp_path / "home"),
            "GATEWAY_REST_PORT": str(rest),
            "GATEWAY_PG_PORT": str(wire),
            "PGPASSFILE": str(tmp_path / "none"),
        },
        capture_output=True,
        text=True,
        timeout=150,
        check=False,
    )
    log = tmp_path / "gateway.log"
    said = f"{ended.stdout}\n{ended.stderr}\n{log.read_text() if log.exists() else ''}"
    assert ended.returncode == 0, said
    assert "lines to decide: search for `# decide:`" in ended.stdout
    # the amounts lie between 0 and 500; the ends have noise
    found = re.search(
        r"^orders.total: domain: (\{between: \[(-?\d+), (\d+)\]\}) ", ended.stdout, re.MULTILINE
    )
    assert found is not None, said
    assert -50 <= int(found[2]) <= 20
    assert 450 <= int(found[3]) <= 560
    line = f'      total: {{type: "numeric(10,2)", class: sensitive, domain: {found[1]}}}'
    assert f"\n+{line}\n" in ended.stdout
    assert f"\n{line}\n" in (tmp_path / "policies" / "shop.yaml").read_text()
    # the proposal counts them first, the search last
    told = re.findall(r"(\d+) lines to decide", ended.stderr)
    before, after = int(told[0]), int(told[-1])
    assert after == before - 2
    counts = {
        channel: (int(count), float(mean))
        for channel, count, mean in re.findall(
            r"^ (web|app|store) +\| +(\d+) \| +([0-9.]+)", ended.stdout, re.MULTILINE
        )
    }
    assert set(counts) == {"web", "app", "store"}, said
    assert counts["web"][0] == pytest.approx(60_000 * 4 / 7, rel=0.1)
    assert "analyst:alice@shop" in ended.stdout
