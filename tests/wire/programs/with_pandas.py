"""What an analyst does with pandas: arguments are the URL; prints JSON."""

import json
import sys

import pandas as pd  # type: ignore[import-untyped]  # its stubs are a package of their own
import sqlalchemy

REGIONS = "SELECT region, COUNT(*) AS n, AVG(birth_year) AS mean FROM patients GROUP BY region ORDER BY region"

engine = sqlalchemy.create_engine(sys.argv[1].replace("postgresql:", "postgresql+psycopg:"))
whole = pd.read_sql(REGIONS, engine)
bound = pd.read_sql(
    sqlalchemy.text("SELECT COUNT(*) AS n FROM patients WHERE region = :region"),
    engine,
    params={"region": "north"},
)
chunks = pd.concat(
    pd.read_sql_query(REGIONS, engine.connect().execution_options(stream_results=True), chunksize=2)
)
days = pd.read_sql(
    "SELECT date_trunc('year', visit_date) AS year, SUM(cost) AS cost FROM visits GROUP BY 1 ORDER BY 1",
    engine,
    parse_dates=["year"],
)
try:
    pd.read_sql_table("patients", engine)
    refused = ""
except pd.errors.DatabaseError as error:
    refused = str(error)
sys.stdout.write(
    json.dumps(
        {
            "regions": [one if isinstance(one, str) else None for one in whole["region"]],
            "counts": whole["n"].tolist(),
            "kinds": {name: str(kind) for name, kind in whole.dtypes.items() if name == "n"},
            "bound": bound["n"].tolist(),
            "chunks": chunks["n"].tolist(),
            "years": [str(day.year) for day in days["year"]],
            "refused": refused,
        }
    )
)
