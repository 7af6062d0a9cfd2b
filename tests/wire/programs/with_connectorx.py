"""What a program does with connectorx: arguments are the URL; prints JSON."""

import json
import sys

import connectorx as cx

REGIONS = "SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY region"

found = {}
for protocol in ("binary", "csv", "cursor", "simple"):
    table = cx.read_sql(sys.argv[1], REGIONS, return_type="arrow", protocol=protocol)
    found[protocol] = [table["region"].to_pylist(), table["n"].to_pylist()]
sys.stdout.write(json.dumps(found))
