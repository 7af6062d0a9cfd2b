"""Does what it reads with psqlODBC, step by step, and prints what came of each step as JSON.

A step is the name of what is to be done and what it takes: a new connection with options of the driver, a function
of the catalog, or a statement with its parameters.
"""

import decimal
import json
import os
import sys
import threading
from collections.abc import Callable
from datetime import date, datetime
from typing import Any

import pyodbc  # type: ignore[import-not-found]  # installed where this runs

_DRIVER = {
    "Driver": "{PostgreSQL Unicode}",
    "Server": os.environ["PGHOST"],
    "Port": os.environ["PGPORT"],
    "Database": os.environ["PGDATABASE"],
    "Uid": os.environ["PGUSER"],
    "Pwd": os.environ["PGPASSWORD"],
}
_READ: dict[str, Callable[[str], object]] = {
    "decimal": decimal.Decimal,
    "date": date.fromisoformat,
    "moment": datetime.fromisoformat,
}


def connect(options: dict[str, str], *, autocommit: bool = True) -> Any:  # noqa: ANN401  # the driver's own
    said = ";".join(f"{name}={value}" for name, value in {**_DRIVER, **options}.items())
    return pyodbc.connect(said, autocommit=autocommit)


def value(given: object) -> object:
    """A parameter; what JSON cannot say is a pair of its kind and its text."""
    return _READ[given[0]](given[1]) if isinstance(given, list) else given


def plain(one: object) -> object:
    return one if one is None or isinstance(one, int | float | str) else str(one)


def rows(cursor: Any) -> dict[str, object]:  # noqa: ANN401  # see above
    if cursor.description is None:
        return {"rows": None}
    shape = [[name, kind.__name__] for name, kind, *_ in cursor.description]
    found = [[plain(one) for one in row] for row in cursor.fetchall()]
    results = [found]
    while cursor.nextset():
        results.append([[plain(one) for one in row] for row in cursor.fetchall()])
    return {"shape": shape, "rows": found, "results": results}


def do(connection: Any, step: list[Any]) -> dict[str, object]:  # noqa: ANN401  # see above
    name, *given = step
    cursor = connection.cursor()
    if name == "execute":
        return rows(cursor.execute(given[0], *(value(one) for one in given[1:])))
    if name == "fetch":
        cursor.execute(given[0])
        return {"rows": [[plain(one) for one in row] for row in cursor.fetchmany(given[1])]}
    if name == "cancel":
        threading.Timer(0.3, cursor.cancel).start()
        return rows(cursor.execute(given[0]))
    if name in {"commit", "rollback"}:
        getattr(connection, name)()
        return {}
    return rows(getattr(cursor, name)(**given[0]))


def main() -> None:
    told: list[dict[str, object]] = []
    connection = connect({})
    for step in json.load(sys.stdin):
        try:
            if step[0] == "connect":
                connection.close()
                connection = connect(step[1], autocommit=step[2])
                told.append({})
            else:
                told.append(do(connection, step))
        except pyodbc.Error as error:
            told.append({"error": [str(one) for one in error.args]})
    connection.close()
    json.dump(told, sys.stdout)


main()
