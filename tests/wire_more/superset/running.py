"""Superset as a server on loopback, and its REST interface as somebody who is logged in."""

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import httpx
from wire_more.clients import HERE, client
from wire_more.running import RunningGateway

USER: Final = "dave"  # with whom `install.sh` made its database
_START_S: Final = 120.0
_ANSWER_S: Final = 60.0


@dataclass(frozen=True)
class Superset:
    """Somebody who is logged in, and what Superset knows of the clinic."""

    http: httpx.Client
    database: int
    datasets: Mapping[str, int]

    def get(self, path: str) -> Any:  # noqa: ANN401  # whatever it answers
        return _done(self.http.get(path))

    def post(self, path: str, said: Mapping[str, object]) -> Any:  # noqa: ANN401  # see above
        return _done(self.http.post(path, json=said))

    def dataset_of(self, sql: str, name: str) -> int:
        """A dataset that is a query."""
        said = {"database": self.database, "schema": "public", "table_name": name, "sql": sql}
        found: int = self.post("/dataset/", said)["id"]
        return found

    def rewrite(self, dataset: int, sql: str) -> None:
        """Another query for a dataset, which keeps its columns."""
        _done(self.http.put(f"/dataset/{dataset}", json={"sql": sql}))

    def chart(
        self, dataset: int, query: Mapping[str, object], result: str = "full"
    ) -> httpx.Response:
        """The data of a chart, never from memory."""
        return self.http.post(
            "/chart/data",
            json={
                "datasource": {"id": dataset, "type": "table"},
                "force": True,
                "queries": [{"row_limit": 10_000, "filters": [], "extras": {}, **query}],
                "result_format": "json",
                "result_type": result,
            },
        )

    def lab(self, sql: str) -> httpx.Response:
        """A query of SQL Lab."""
        said = {"database_id": self.database, "schema": "public", "sql": sql, "runAsync": False}
        more = {"queryLimit": 1000, "client_id": str(time.monotonic_ns())[-11:]}
        return self.http.post("/sqllab/execute/", json={**said, **more})


@contextmanager
def a_superset(gateway: RunningGateway, home: Path) -> Iterator[Superset]:
    """A running Superset that knows the gateway, and is gone afterwards."""
    shutil.copy(client("superset", "made.db"), home / "superset.db")
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    environment = {
        "PATH": "/usr/bin:/bin",
        "HOME": str(home),
        "LC_ALL": "C.UTF-8",
        "SUPERSET_CONFIG_PATH": str(HERE / "superset" / "superset_config.py"),
        "SUPERSET_FILE": str(home / "superset.db"),
        "SUPERSET_HOME": str(home),
        "FLASK_APP": "superset",
        "PYTHONDONTWRITEBYTECODE": "1",
    }
    program = str(client("superset", "bin", "superset"))
    command = [program, "run", "--port", str(port), "--with-threads"]
    with (home / "log").open("w") as log:
        process = subprocess.Popen(
            command, env=environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
    try:
        with httpx.Client(base_url=f"http://127.0.0.1:{port}/api/v1", timeout=_ANSWER_S) as http:
            _wait_until_it_answers(http, process, home / "log")
            yield _logged_in(http, gateway)
    finally:
        process.terminate()
        process.wait(timeout=30)


def message(answer: httpx.Response) -> str:
    """What somebody reads when there is no answer."""
    assert answer.status_code >= 400, answer.text
    said = answer.json()
    text: str = said["errors"][0]["message"] if "errors" in said else said["message"]
    return text


def _wait_until_it_answers(http: httpx.Client, process: subprocess.Popen[bytes], log: Path) -> None:
    deadline = time.monotonic() + _START_S
    while True:
        assert process.poll() is None, log.read_text()[-4000:]
        assert time.monotonic() < deadline, log.read_text()[-4000:]
        try:
            if http.get(http.base_url.join("/health")).status_code == 200:
                return
        except httpx.TransportError:
            pass
        time.sleep(0.2)


def _logged_in(http: httpx.Client, gateway: RunningGateway) -> Superset:
    who = {"username": USER, "password": USER, "provider": "db"}
    token = _done(http.post("/security/login", json=who))["access_token"]
    http.headers["Authorization"] = f"Bearer {token}"
    where = {"database_name": "clinic", "sqlalchemy_uri": gateway.url("postgresql+psycopg2")}
    assert _done(http.post("/database/test_connection/", json=where)) == {"message": "OK"}
    extra = {"extra": json.dumps({"allows_virtual_table_explore": True}), "expose_in_sqllab": True}
    database: int = _done(http.post("/database/", json={**where, **extra}))["id"]
    datasets = {}
    for table in ("visits", "patients"):
        said = {"database": database, "schema": "public", "table_name": table}
        datasets[table] = _done(http.post("/dataset/", json=said))["id"]
    return Superset(http, database, datasets)


def _done(answer: httpx.Response) -> Any:  # noqa: ANN401  # whatever it answers
    assert answer.is_success, f"{answer.request.url}: {answer.text[:2000]}"
    return answer.json()
