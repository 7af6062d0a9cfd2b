"""What an analyst does with polars: arguments are the URL and the engine; prints JSON."""

import json
import sys

import polars as pl

REGIONS = "SELECT region, COUNT(*) AS n, AVG(birth_year) AS mean, DATE '2024-02-29' AS day FROM patients GROUP BY region ORDER BY region"

url, engine = sys.argv[1:]
frame = pl.read_database_uri(REGIONS, url, engine=engine)
try:
    pl.read_database_uri("SELECT * FROM patients", url, engine=engine)
    refused = ""
except Exception as error:  # noqa: BLE001 - each engine has a kind of its own
    refused = str(error)
sys.stdout.write(
    json.dumps(
        {
            "regions": frame["region"].to_list(),
            "counts": frame["n"].to_list(),
            "kinds": {name: str(kind) for name, kind in frame.schema.items()},
            "refused": refused,
        }
    )
)
