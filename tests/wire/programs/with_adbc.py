"""What a program does with ADBC: arguments are the URL; prints JSON."""

import json
import sys

import adbc_driver_postgresql.dbapi as adbc

REGIONS = "SELECT region, COUNT(*) AS n, AVG(CAST(birth_year AS double precision)) AS mean FROM patients GROUP BY region ORDER BY region"

with adbc.connect(sys.argv[1], autocommit=True) as connection:
    with connection.cursor() as cursor:
        cursor.execute(REGIONS)
        table = cursor.fetch_arrow_table()
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) AS n FROM patients WHERE region = $1", ("north",))
        bound = cursor.fetchall()
    with connection.cursor() as cursor:
        try:
            cursor.execute("SELECT * FROM patients")
            cursor.fetchall()
            refused = ""
        except adbc.Error as error:
            refused = str(error)
    with connection.cursor() as cursor:
        cursor.execute("SELECT COUNT(*) FROM visits")
        again = cursor.fetchone()[0] > 0
    objects = connection.adbc_get_objects(depth="tables").read_all().to_pylist()
    schema = connection.adbc_get_table_schema("visits")
    vendor = connection.adbc_get_info()["vendor_name"]
sys.stdout.write(
    json.dumps(
        {
            "regions": table["region"].to_pylist(),
            "counts": table["n"].to_pylist(),
            "kinds": {field.name: str(field.type) for field in table.schema},
            "bound": bound,
            "refused": refused,
            "again": again,
            "catalogs": sorted(one["catalog_name"] for one in objects),
            "tables": sorted(
                table["table_name"]
                for one in objects
                for schema in one["catalog_db_schemas"] or ()
                if schema["db_schema_name"] == "public"
                for table in schema["db_schema_tables"] or ()
                if table["table_type"] == "table"
            ),
            "columns": {field.name: str(field.type) for field in schema},
            "vendor": vendor,
        }
    )
)
