"""The kinds of questions that neighbours are told apart by; the clinic is in `neighbouring`."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Shape:
    """One kind of question. `enumerated`: every answer has the same rows, by all that has no noise of its own."""

    name: str
    sql: str
    enumerated: bool = True
    subject: str = "alice"


SHAPES = (
    Shape("count", "SELECT COUNT(*) FROM patients"),
    Shape("count of rows", "SELECT COUNT(*) FROM visits"),
    Shape("count of people", "SELECT COUNT(DISTINCT patient_id) FROM visits"),
    Shape("count of values", "SELECT COUNT(DISTINCT diagnosis) FROM visits"),
    Shape("count of what is there", "SELECT COUNT(birth_year), COUNT(smoker) FROM patients"),
    Shape("sum with outliers", "SELECT SUM(cost) FROM visits"),
    Shape("average with outliers", "SELECT AVG(income), COUNT(*) FROM patients"),
    Shape("sum, count and average", "SELECT SUM(cost), COUNT(*), AVG(cost) FROM visits"),
    Shape("listed groups", "SELECT region, COUNT(*) FROM patients GROUP BY region"),
    Shape(
        "listed groups of dates",
        "SELECT EXTRACT(quarter FROM visit_date) AS q, COUNT(*) FROM visits GROUP BY 1",
    ),
    Shape("found groups", "SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis", False),
    Shape(
        "found groups with a sum",
        "SELECT diagnosis, SUM(cost) FROM visits GROUP BY diagnosis",
        False,
    ),
    Shape(
        "found groups of what is in no domain",
        "SELECT diagnosis, region, COUNT(*) FROM visits JOIN patients USING (patient_id) GROUP BY 1, 2",
        False,
    ),
    Shape("one person's group", "SELECT COUNT(*), AVG(income) FROM patients WHERE region = 'west'"),
    Shape("one person's filter", "SELECT COUNT(*) FROM visits WHERE diagnosis = 'only one'"),
    Shape("one person's NULLs", "SELECT COUNT(*) FROM patients WHERE birth_year IS NULL"),
    Shape("one person's outliers", "SELECT COUNT(*) FROM patients WHERE income >= 200000"),
    Shape(
        "join",
        "SELECT region, SUM(cost) FROM patients JOIN visits USING (patient_id) GROUP BY region",
    ),
    Shape(
        "join with what is public",
        "SELECT COUNT(*) FROM visits JOIN codes ON diagnosis = code WHERE chapter = 'rare'",
    ),
    Shape(
        "per person",
        "SELECT AVG(n), COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) AS t",
    ),
    Shape(
        "per person with a sum",
        "SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) AS t WHERE s > 9000",
    ),
    Shape(
        "who has rows",
        "SELECT COUNT(*) FROM patients AS p WHERE EXISTS"
        " (SELECT 1 FROM visits AS v WHERE v.patient_id = p.patient_id AND v.cost > 4999)",
    ),
    Shape(
        "having",
        "SELECT region, COUNT(*) AS n FROM patients GROUP BY region HAVING COUNT(*) > 1",
        False,
    ),
    Shape(
        "order and limit",
        "SELECT region FROM patients GROUP BY region ORDER BY COUNT(*), region LIMIT 1",
        False,
    ),
    Shape("presence of a group", "SELECT DISTINCT diagnosis FROM visits", False),
    Shape(
        "number of groups",
        "SELECT COUNT(*) FROM (SELECT diagnosis FROM visits GROUP BY 1) AS t",
        enumerated=False,
    ),
    Shape(
        "what could fail",
        "SELECT SUM(1 / (income - 200000)), AVG(SQRT(income - 100000)), AVG(income / birth_year) FROM patients",
    ),
    Shape(
        "one answer in another",
        "SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients)",
    ),
    Shape(
        "above the mean of each region",
        "SELECT COUNT(*) FROM patients p WHERE income > (SELECT AVG(q.income) FROM patients q WHERE q.region = p.region)",
    ),
    Shape(
        "a sum for each public row",
        "SELECT code, (SELECT SUM(cost) FROM visits WHERE diagnosis = code) AS spent FROM codes",
    ),
    Shape(
        "count with filters",
        "SELECT COUNT(*) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE income >= 200000) FROM patients",
    ),
    Shape(
        "twelve groups of three",
        "SELECT EXTRACT(month FROM visit_date) AS m, COUNT(*), SUM(cost), AVG(cost) FROM visits GROUP BY 1",
    ),
    Shape(
        "dates cut to months",
        "SELECT date_trunc('month', visit_date) AS m, COUNT(*) FROM visits GROUP BY 1",
        enumerated=False,
    ),
    Shape(
        "two tables one after the other",
        "SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM patients) AS t",
    ),
    Shape(
        "window over answers",
        "SELECT region, SUM(COUNT(*)) OVER (ORDER BY region) AS so_far FROM patients GROUP BY region",
    ),
    Shape(
        "window within a person",
        "SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY cost) AS n"
        " FROM visits) AS t WHERE n = 2",
    ),
    Shape(
        "arithmetic over aggregates",
        "SELECT 100.0 * COUNT(*) FILTER (WHERE smoker) / NULLIF(COUNT(*), 0) + 1 FROM patients",
    ),
    Shape(
        "buckets",
        "SELECT CASE WHEN income < 50000 THEN 'low' WHEN income < 200000 THEN 'middle' ELSE 'high' END AS b,"
        " COUNT(*) FROM patients GROUP BY 1",
        enumerated=False,
    ),
    Shape(
        "listed sets",
        "SELECT region, smoker, COUNT(*), SUM(income) FROM patients GROUP BY CUBE (region, smoker)",
    ),
    Shape(
        "sets with what does not add up",
        "SELECT EXTRACT(quarter FROM visit_date) AS q, COUNT(*), COUNT(DISTINCT patient_id) FROM visits"
        " GROUP BY ROLLUP (q)",
    ),
    Shape(
        "found sets",
        "SELECT diagnosis, COUNT(*), GROUPING(diagnosis) FROM visits GROUP BY ROLLUP (diagnosis)",
        enumerated=False,
    ),
    Shape("median with outliers", "SELECT MEDIAN(cost) FROM visits"),
    Shape(
        "quantiles with outliers",
        "SELECT percentile_disc(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY cost), COUNT(*) FROM visits",
    ),
    Shape("ends with outliers", "SELECT MIN(cost), MAX(visit_date) FROM visits"),
    Shape(
        "median of listed groups",
        "SELECT region, MEDIAN(income) FROM patients GROUP BY region",
    ),
    Shape(
        "ends of found groups",
        "SELECT diagnosis, MAX(cost) FROM visits GROUP BY diagnosis",
        enumerated=False,
    ),
    Shape(
        "most frequent of what is listed",
        "SELECT MODE() WITHIN GROUP (ORDER BY region), MODE() WITHIN GROUP (ORDER BY smoker) FROM patients",
    ),
    Shape("spreads with outliers", "SELECT VAR_POP(income), STDDEV_SAMP(birth_year) FROM patients"),
    Shape(
        "spreads of listed groups",
        "SELECT region, STDDEV_POP(income), COUNT(*) FROM patients GROUP BY region",
    ),
    Shape(
        "what two values have in common",
        "SELECT CORR(cost, birth_year), COVAR_SAMP(cost, birth_year)"
        " FROM patients JOIN visits USING (patient_id)",
    ),
    Shape(
        "a line through points",
        "SELECT REGR_SLOPE(income, birth_year), REGR_INTERCEPT(income, birth_year),"
        " REGR_COUNT(income, birth_year), REGR_SXX(income, birth_year) FROM patients",
    ),
    Shape("first places", "SELECT DP_TOP(region, 2), COUNT(*) FROM patients"),
    Shape(
        "ends of a quantile",
        "SELECT MEDIAN(cost) AS m, MIN(cost), DP_INTERVAL_LOW(m), DP_INTERVAL_HIGH(m) FROM visits",
    ),
    Shape(
        "names of the most frequent",
        "SELECT region FROM patients WHERE region IS NOT NULL"
        " GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2",
    ),
    Shape("own rows alone", "SELECT COUNT(*), AVG(income) FROM patients", subject="carol"),
    Shape(
        "own rows of a join",
        "SELECT SUM(cost) FROM visits JOIN patients USING (patient_id)",
        subject="carol",
    ),
    Shape(
        "nobody",
        "SELECT COUNT(*), SUM(income), AVG(income) FROM patients WHERE birth_year > 2019",
    ),
    Shape(
        "nobody in any group",
        "SELECT region, COUNT(*) FROM patients WHERE birth_year > 2019 GROUP BY region",
    ),
    Shape(
        "one answer's groups in another",
        "SELECT COUNT(*) FROM visits WHERE diagnosis IN"
        " (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 5)",
    ),
)

HANGING = Shape(
    "an error that hangs on noise", "SELECT 100 / (COUNT(*) - 61) FROM patients", enumerated=False
)

REFUSED = (
    "SELECT * FROM patients",
    "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id LIMIT",
    "SELECT income FROM patients WHERE region = 'west'",
    "SELECT SUM(patient_id) FROM patients",
    "SELECT SUM(DISTINCT income) FROM patients",
    "SELECT COUNT(*) FROM patients TABLESAMPLE SYSTEM (10)",
    "SELECT COUNT(*) FROM patients WHERE pg_sleep(1) IS NULL",
    "SELECT COUNT(*) FROM nobody",
    "SELECT COUNT(*) FROM patients WHERE income = 'many'",
    "SELECT MEDIAN(region) FROM patients",
    "SELECT a.region FROM patients a FULL JOIN patients b ON a.income = b.income",
    "SELECT 1 / COUNT(*) * 0 / 0 FROM patients",
    "DELETE FROM patients",
    "SELECT CAST(region AS integer), COUNT(*) FROM patients GROUP BY 1",
    "SELECT patient_id, COUNT(*) FROM visits GROUP BY patient_id",
    "SELECT COUNT(*) FROM patients WHERE income = (SELECT income FROM patients LIMIT 1)",
    "SELECT COUNT(*) FROM visits AS a JOIN visits AS b ON a.cost = b.cost",
    "SELECT AVG(EXP(birth_year)) FROM patients",
    "SELECT nothing FROM patients",
    "SELECT COUNT(*) FROM patients; SELECT 1",
    "COPY patients TO STDOUT",
    "",
)

# What costs nothing: known from the policy, from what is public, or provably empty.
FREE = (
    "SELECT 1 AS one, NULL AS nothing",
    "SELECT region FROM patients GROUP BY region",
    "SELECT * FROM codes",
    "SELECT COUNT(*) FROM codes WHERE chapter = 'rare'",
    "SELECT COUNT(*) FROM patients LIMIT 0",
    "SELECT income FROM patients WHERE false",
)
