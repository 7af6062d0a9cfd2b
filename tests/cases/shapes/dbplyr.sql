-- title: a count
SELECT COUNT(*) AS "n" FROM "patients"

-- title: a count by a group
SELECT "region", COUNT(*) AS "n" FROM "patients" GROUP BY "region"

-- title: a summary with a missing value warning switched off
-- differs: values are rounded
SELECT "region", AVG("income") AS "m", STDDEV_SAMP("income") AS "s" FROM "patients" GROUP BY "region"

-- title: a mutate and a filter
SELECT "region", COUNT(*) AS "n" FROM (
  SELECT "patients".*, "income" / 1000.0 AS "k" FROM "patients"
) AS "q01" WHERE ("k" > 50.0) GROUP BY "region"

-- title: paste0 of two columns as a key
SELECT "g", COUNT(*) AS "n" FROM (
  SELECT "patients".*, CONCAT_WS('', "region", '/', "smoker"::text) AS "g" FROM "patients"
) AS "q01" GROUP BY "g"

-- title: head of a table
-- refused: GW110
SELECT "patients".* FROM "patients" LIMIT 6

-- title: the columns of a table
SELECT * FROM "patients" AS "q01" WHERE (0 = 1)

-- title: columns of a query
SELECT * FROM (SELECT * FROM "patients") AS "q01" WHERE (0 = 1)

-- title: a share of all by a window
SELECT "region", "n", "n" / SUM("n") OVER () AS "share" FROM (
  SELECT "region", COUNT(*) AS "n" FROM "patients" GROUP BY "region"
) AS "q01"

-- title: n_distinct
SELECT COUNT(DISTINCT "patient_id") AS "n" FROM "visits"

-- title: n_distinct of two columns
-- refused: GW106
SELECT COUNT(DISTINCT ROW("region", "smoker")) AS "n" FROM "patients"

-- title: the first row of each person by slice_max
-- refused: GW106
SELECT "diagnosis", COUNT(*) AS "n" FROM (
  SELECT "visits".*, RANK() OVER (PARTITION BY "patient_id" ORDER BY "visit_date" DESC) AS "col01" FROM "visits"
) AS "q01" WHERE ("col01" <= 1) GROUP BY "diagnosis"

-- title: case_when
SELECT "age_band", COUNT(*) AS "n" FROM (
  SELECT "patients".*, CASE
WHEN ("birth_year" < 1950) THEN 'old'
WHEN ("birth_year" < 1980) THEN 'middle'
ELSE 'young'
END AS "age_band" FROM "patients"
) AS "q01" GROUP BY "age_band"

-- title: quantiles by group
-- differs: a value is chosen
SELECT "region", PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "birth_year") AS "median" FROM "patients" GROUP BY "region"

-- title: a semi join
SELECT COUNT(*) AS "n" FROM (
  SELECT "LHS".* FROM "patients" AS "LHS" WHERE EXISTS (
    SELECT 1 FROM "visits" AS "RHS" WHERE ("LHS"."patient_id" = "RHS"."patient_id")
  )
) AS "q01"

-- title: an anti join
SELECT COUNT(*) AS "n" FROM "patients" AS "LHS" WHERE NOT EXISTS (
  SELECT 1 FROM "visits" AS "RHS" WHERE ("LHS"."patient_id" = "RHS"."patient_id")
)

-- title: a join with suffixes
SELECT "region", AVG("cost") AS "m" FROM (
  SELECT "LHS"."patient_id" AS "patient_id", "region", "cost"
  FROM "patients" AS "LHS" INNER JOIN "visits" AS "RHS" ON ("LHS"."patient_id" = "RHS"."patient_id")
) AS "q01" GROUP BY "region"

-- title: a nested paste with numbers
SELECT COUNT(*) AS "n" FROM "patients" WHERE ("region" || 1 = 'north1')

-- title: between
SELECT COUNT(*) AS "n" FROM "patients" WHERE ("birth_year" BETWEEN 1950.0 AND 1960.0)

-- title: in
SELECT COUNT(*) AS "n" FROM "patients" WHERE ("region" IN ('north', 'south'))

-- title: str_detect
SELECT COUNT(*) AS "n" FROM "patients" WHERE (REGEXP_LIKE("region", '^n'))

-- title: str_detect by the operator
SELECT COUNT(*) AS "n" FROM "patients" WHERE ("region" ~ '^n')

-- title: str_to_title
SELECT INITCAP("region") AS "r", COUNT(*) AS "n" FROM "patients" GROUP BY 1

-- title: year and month of lubridate
SELECT EXTRACT(YEAR FROM "visit_date") AS "y", EXTRACT(MONTH FROM "visit_date") AS "m", COUNT(*) AS "n" FROM "visits" GROUP BY 1, 2

-- title: wday with a label
SELECT TO_CHAR("visit_date", 'Day') AS "wday", COUNT(*) AS "n" FROM "visits" GROUP BY TO_CHAR("visit_date", 'Day')

-- title: month with a label
SELECT TO_CHAR("visit_date", 'Mon') AS "month", COUNT(*) AS "n" FROM "visits" GROUP BY TO_CHAR("visit_date", 'Mon')

-- title: floor_date
SELECT DATE_TRUNC('month', "visit_date") AS "m", COUNT(*) AS "n" FROM "visits" GROUP BY 1

-- title: a quintile
-- differs: boundaries are chosen
SELECT "tile", COUNT(*) AS "n" FROM (
  SELECT "patients".*, NTILE(5) OVER (ORDER BY "income") AS "tile" FROM "patients"
) AS "q01" GROUP BY "tile"

-- title: percent_rank
-- refused: GW112
SELECT COUNT(*) AS "n" FROM (
  SELECT "patients".*, PERCENT_RANK() OVER (ORDER BY "income") AS "p" FROM "patients"
) AS "q01" WHERE ("p" > 0.9)

-- title: cumulative counts
SELECT "birth_year", "n", SUM("n") OVER (ORDER BY "birth_year" ROWS UNBOUNDED PRECEDING) AS "total" FROM (
  SELECT "birth_year", COUNT(*) AS "n" FROM "patients" GROUP BY "birth_year"
) AS "q01"

-- title: coalesce and if_else
SELECT AVG(COALESCE("income", 0.0)) AS "m", SUM(CASE WHEN ("smoker") THEN 1.0 WHEN NOT ("smoker") THEN 0.0 END) AS "s" FROM "patients"

-- title: cor
SELECT CORR("birth_year", "income") AS "r" FROM "patients"

-- title: distinct groups
SELECT DISTINCT "region" FROM "patients"

-- title: sample rows
-- refused: GW110
SELECT "patients".* FROM "patients" ORDER BY RANDOM() LIMIT 5
