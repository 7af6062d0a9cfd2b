"""pgAdmin 4 in its own environment: it connects to the gateway and opens every node of its tree.

Run as a script with port and key on standard input, as JSON. Prints what the nodes are called, and what failed.
"""

import builtins
import contextlib
import io
import json
import os
import sys
import tempfile
from http import HTTPStatus
from importlib import import_module
from pathlib import Path
from typing import Any

ABOVE_TABLES = (
    *("aggregate", "collation", "domain", "fts_configuration", "fts_dictionary", "fts_parser"),
    *("fts_template", "foreign_table", "function", "mview", "operator", "procedure", "sequence"),
    *("table", "trigger_function", "type", "view"),
)
OF_DATABASE = (
    *("cast", "event_trigger", "extension", "foreign_data_wrapper", "language", "publication"),
    *("subscription", "schema", "catalog"),
)
OF_TABLE = ("column", "constraints", "index", "rule", "trigger", "row_security_policy", "partition")
ABOUT = ("obj", "sql", "stats", "dependency", "dependent")


def application() -> Any:  # noqa: ANN401  # of an environment that is not here
    """The app as its desktop starts it, with a home of its own."""
    package = import_module("pgadmin4")
    place, home = Path(next(iter(package.__path__))), tempfile.mkdtemp(prefix="pgadmin-")
    sys.path.insert(0, str(place))
    os.chdir(place)
    vars(builtins)["SERVER_MODE"] = False  # where it looks for it
    config = import_module("config")

    settings = {
        **dict.fromkeys(
            ("SERVER_MODE", "MASTER_PASSWORD_REQUIRED", "UPGRADE_CHECK_ENABLED"), False
        ),
        **dict.fromkeys(("USE_OS_SECRET_STORAGE", "WTF_CSRF_ENABLED"), False),
        "CONSOLE_LOG_LEVEL": 50,
        "DATA_DIR": home,
        "LOG_FILE": f"{home}/log",
        "SQLITE_PATH": f"{home}/own.db",
        "SESSION_DB_PATH": f"{home}/sessions",
        "STORAGE_DIR": f"{home}/storage",
        "AZURE_CREDENTIAL_CACHE_DIR": f"{home}/azure",
        "KERBEROS_CCACHE_DIR": f"{home}/kerberos",
    }
    for name, value in settings.items():
        setattr(config, name, value)
    app = import_module("pgadmin").create_app()
    app.config["WTF_CSRF_ENABLED"] = False
    app.PGADMIN_INT_KEY, app.PGADMIN_RUNTIME = "", False
    app.run_before_app_start()
    return app


class Tree:
    """The tree as the browser asks for it, node by node."""

    def __init__(self, client: Any) -> None:  # noqa: ANN401  # of Flask
        self.client = client
        self.failed: list[str] = []
        self.seen: dict[str, list[str]] = {}

    def asked(self, answer: Any, what: str) -> dict[str, Any]:  # noqa: ANN401  # of Flask
        said = answer.get_json(silent=True)
        refused = isinstance(said, dict) and said.get("success") not in {None, 1}
        if answer.status_code != HTTPStatus.OK or refused:
            self.failed.append(
                f"{what}: {answer.status_code} {answer.get_data(as_text=True)[:300]}"
            )
            return {}
        return said if isinstance(said, dict) else {}

    def nodes(self, kind: str, path: str, of: str) -> list[dict[str, Any]]:
        answer = self.client.get(f"/browser/{kind}/nodes/{path}/")
        said = self.asked(answer, f"{kind} of {of}")
        found = said.get("data") or said.get("result") or []
        nodes = found if isinstance(found, list) else [found]
        self.seen[f"{kind} of {of}"] = [node["label"] for node in nodes]
        return nodes

    def about(self, kind: str, path: str, of: str, parts: tuple[str, ...] = ABOUT) -> None:
        for part in parts:
            self.asked(self.client.get(f"/browser/{kind}/{part}/{path}"), f"{part} of {of}")

    def open(self, port: int, key: str) -> None:
        server = {
            "name": "gateway",
            "host": "127.0.0.1",
            "port": port,
            "db": "clinic",
            "username": "alice",
            "password": key,
            "save_password": 0,
            "connect_now": True,
            "connection_params": [{"name": "sslmode", "value": "prefer", "keyword": "sslmode"}],
        }
        made = self.client.post("/browser/server/obj/1/", json=server)
        number = (self.asked(made, "server").get("node") or {}).get("_id", 1)
        connected = self.client.post(f"/browser/server/connect/1/{number}", data={"password": key})
        self.asked(connected, "connect")
        path = f"1/{number}"
        for kind in ("role", "tablespace"):
            self.nodes(kind, path, "server")
        for database in self.nodes("database", path, "server"):
            self._database(f"{path}/{database['_id']}", database["label"])
            self._dashboard(f"{number}/{database['_id']}")

    def _database(self, path: str, name: str) -> None:
        self.asked(self.client.post(f"/browser/database/connect/{path}"), f"connect {name}")
        self.about("database", path, name, ("obj", "sql", "stats"))
        for kind in OF_DATABASE:
            for node in self.nodes(kind, path, name):
                if kind == "schema":
                    self._schema(f"{path}/{node['_id']}", node["label"])

    def _schema(self, path: str, name: str) -> None:
        self.about("schema", path, name, ("obj", "sql"))
        for kind in ABOVE_TABLES:
            for node in self.nodes(kind, path, name):
                if kind == "table":
                    of, below = f"{name}.{node['label']}", f"{path}/{node['_id']}"
                    self.about("table", below, of)
                    for part in OF_TABLE:
                        self.nodes(part, below, of)

    def _dashboard(self, path: str) -> None:
        for part in ("activity", "locks", "prepared"):
            self.asked(self.client.get(f"/dashboard/{part}/{path}"), f"dashboard {part}")
        charts = "session_stats,tps_stats,ti_stats,to_stats,bio_stats"
        stats = self.client.get(f"/dashboard/dashboard_stats/{path}?chart_names={charts}")
        self.asked(stats, "dashboard stats")


def main() -> None:
    given = json.load(sys.stdin)
    with contextlib.redirect_stdout(io.StringIO()):
        tree = Tree(application().test_client())
        tree.client.get("/browser/")
        tree.open(given["port"], given["key"])
    sys.stdout.write(json.dumps({"seen": tree.seen, "failed": tree.failed}))


if __name__ == "__main__":
    main()
