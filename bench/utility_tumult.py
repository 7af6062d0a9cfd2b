"""Tumult Analytics on the tables of `bench/utility.py`; runs in an environment of its own.

Its noise is Gaussian, under zCDP. Of every person `total` rows are kept, or `rows` in each of `groups` groups. A
question of Spark takes seconds, so all repetitions are one: the table has one copy for each, of other persons, and the
copy is part of the key. A person is in one copy, so each copy gets the noise that a question of its own would get.
"""

import os
import shutil
import sys
import tempfile
from functools import partial

os.environ["PYSPARK_PYTHON"] = sys.executable

from pyspark.sql import SparkSession  # type: ignore[import-not-found]
from pyspark.sql import functions as sql
from tmlt.analytics import (  # type: ignore[import-not-found]
    AddRowsWithID,
    KeySet,
    MaxGroupsPerID,
    MaxRowsPerGroupPerID,
    MaxRowsPerID,
    QueryBuilder,
    RhoZCDPBudget,
    Session,
)
from utility_peer import Answers, Json, answer_all


def main() -> None:
    place = tempfile.mkdtemp(prefix="bench-utility-")
    settings = {
        "spark.sql.warehouse.dir": place,
        "spark.sql.shuffle.partitions": "1",
        "spark.default.parallelism": "1",
        "spark.driver.host": "127.0.0.1",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
    }
    build = SparkSession.builder.master("local[1]")
    for name, value in settings.items():
        build = build.config(name, value)
    spark = build.getOrCreate()
    spark.sparkContext.setLogLevel("ERROR")
    try:
        answer_all("tmlt.analytics", partial(_ask, spark))
    finally:
        spark.stop()
        shutil.rmtree(place)


def _ask(spark: SparkSession, order: Json, question: Json) -> Answers:
    place, repetitions = order["place"], order["repetitions"]
    upper, measure = question["upper"], question["measure"]
    copies = spark.range(repetitions).withColumnRenamed("id", "copy")
    rows = spark.read.parquet(f"{place}/{question['table']}.parquet").crossJoin(copies)
    rows = rows.select(
        (sql.col("person_id") * repetitions + sql.col("copy")).alias("person"),
        sql.concat_ws(" ", sql.col("copy"), sql.col(f"by_{question['key']}")).alias("part"),
        sql.col("amount"),
    )
    session = Session.from_dataframe(
        privacy_budget=RhoZCDPBudget(question["rho"]),
        source_id="rows",
        dataframe=rows,
        protected_change=AddRowsWithID("person"),
    )
    query = QueryBuilder("rows")
    if question["total"]:
        query = query.enforce(MaxRowsPerID(question["total"]))
    else:
        query = query.enforce(MaxGroupsPerID("part", question["groups"]))
        query = query.enforce(MaxRowsPerGroupPerID("part", question["rows"]))
    parts = [f"{copy} {key}" for copy in range(repetitions) for key in question["keys"]]
    groups = query.groupby(KeySet.from_dict({"part": parts}))
    asked = {
        "count": lambda: groups.count(name="found"),
        "sum": lambda: groups.sum("amount", 0, upper, name="found"),
        "avg": lambda: groups.average("amount", 0, upper, name="found"),
    }[measure]()
    answers: Answers = [{} for _ in range(repetitions)]
    for row in session.evaluate(asked, session.remaining_privacy_budget).collect():
        copy, _, key = row["part"].partition(" ")
        answers[int(copy)][key] = float(row["found"])
    return answers


if __name__ == "__main__":
    main()
