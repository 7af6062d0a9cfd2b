"""The rows of TPC-H as CSV files, by DuckDB's generator: `.e2e/tpch/bin/python tpch_data.py FOLDER`.

It runs in an environment of its own, since the generator exists for one version of DuckDB.
"""

import sys
from importlib.util import find_spec
from pathlib import Path

import duckdb

_SCALE = 0.01


def main() -> None:
    """Write one file for each table."""
    found = find_spec("duckdb_extension_tpch")
    if found is None or found.origin is None:
        raise SystemExit("duckdb-extension-tpch is not installed here: make yardsticks installs it")
    versions = Path(found.origin).parent / "extensions"
    generator = versions / f"v{duckdb.__version__}" / "tpch.duckdb_extension"
    with duckdb.connect() as connection:
        connection.execute(f"LOAD '{generator}'")
        connection.execute(f"CALL dbgen(sf = {_SCALE})")
        for (table,) in connection.execute("SELECT table_name FROM duckdb_tables()").fetchall():
            connection.execute(f"COPY {table} TO '{sys.argv[1]}/{table}.csv' (HEADER false)")


if __name__ == "__main__":
    main()
