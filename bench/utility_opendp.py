"""OpenDP Polars on the tables of `bench/utility.py`; runs in an environment of its own.

Of every person `total` rows are kept. Groups cannot be sampled: `truncate_num_groups` fails in this version. The noise
is Gaussian. An average is the middle of the domain plus the sum of distances from it, divided by the count.
"""

from typing import Final

import opendp.prelude as dp
import polars as pl
from opendp.extras.polars import Margin, dp_len
from utility_peer import Answers, Json, answer_all

_MOST_ROWS: Final = 1_000_000  # of a cell: nothing but a limit against overflow


def main() -> None:
    dp.enable_features("contrib")
    answer_all("opendp", _ask)


def _ask(order: Json, question: Json) -> Answers:
    """Answers that are independent of each other, each for the price of one."""
    rows = pl.scan_parquet(f"{order['place']}/{question['table']}.parquet")
    key, measure, keys = f"by_{question['key']}", question["measure"], question["keys"]
    loss = {"rho": question["rho"]} | ({} if keys else {"delta": question["delta"]})
    context = dp.Context.compositor(
        data=rows,
        privacy_unit=dp.unit_of(contributions=1, identifier=pl.col("person_id")),
        privacy_loss=dp.loss_of(**loss),
        split_evenly_over=1,
        margins=[Margin(by=[key], max_length=_MOST_ROWS)],
    )
    query = context.query().truncate_per_group(question["total"])
    middle = question["middle"]
    measures = []
    if measure != "sum" or not keys:
        measures.append(dp_len(signed=True).alias("rows"))
    if measure == "sum":
        measures.append(pl.col("amount").fill_null(0).dp.sum((0, question["upper"])).alias("total"))
    if measure == "avg":
        bounds = (-middle, question["upper"] - middle)
        measures.append(pl.col("centred").fill_null(0).dp.sum(bounds).alias("total"))
    query = query.group_by(key).agg(*measures)
    if keys:
        query = query.with_keys(pl.LazyFrame({key: keys}))
    release = query.resolve()
    answers = (release(rows).collect().to_dicts() for _ in range(order["repetitions"]))
    return [{row[key]: _value(row, measure, middle) for row in one} for one in answers]


def _value(row: Json, measure: str, middle: int) -> float:
    if measure == "avg":
        return float(middle + row["total"] / max(row["rows"], 1))
    return float(row["rows" if measure == "count" else "total"])


if __name__ == "__main__":
    main()
