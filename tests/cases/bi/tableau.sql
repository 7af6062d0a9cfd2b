-- title: a sum by a dimension
SELECT "visits"."diagnosis" AS "diagnosis",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- title: a count of rows
SELECT "visits"."diagnosis" AS "diagnosis",
  COUNT("visits"."visit_id") AS "cnt:visits_36A1:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- title: a total without a dimension
SELECT SUM("visits"."cost") AS "sum:cost:ok",
  AVG("visits"."cost") AS "avg:cost:ok"
FROM "public"."visits" "visits"
HAVING (COUNT(1) > 0)

-- title: a sum of ones
SELECT SUM(1) AS "sum:Number of Records:ok"
FROM "public"."visits" "visits"
HAVING (COUNT(1) > 0)

-- title: the members of a dimension
SELECT "visits"."diagnosis" AS "diagnosis"
FROM "public"."visits" "visits"
GROUP BY 1
ORDER BY 1 ASC NULLS FIRST

-- title: a month, truncated
SELECT DATE_TRUNC( 'MONTH', CAST("visits"."visit_date" AS DATE) ) AS "tmn:visit_date:ok",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- title: the parts of a date
SELECT CAST(TRUNC(EXTRACT(YEAR FROM "visits"."visit_date")) AS INTEGER) AS "yr:visit_date:ok",
  CAST(TRUNC(EXTRACT(QUARTER FROM "visits"."visit_date")) AS INTEGER) AS "qr:visit_date:ok",
  COUNT(1) AS "cnt:visit_id:ok"
FROM "public"."visits" "visits"
GROUP BY 1,
  2

-- title: a filter by year
SELECT "visits"."diagnosis" AS "diagnosis",
  COUNT(1) AS "cnt:visit_id:ok"
FROM "public"."visits" "visits"
WHERE (CAST(TRUNC(EXTRACT(YEAR FROM "visits"."visit_date")) AS INTEGER) IN (2021, 2022))
GROUP BY 1

-- title: a filter by members with null
SELECT "visits"."diagnosis" AS "diagnosis",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
WHERE (("visits"."diagnosis" IN ('asthma', 'flu')) OR ("visits"."diagnosis" IS NULL))
GROUP BY 1

-- title: a filter by a range of dates
SELECT DATE_TRUNC( 'QUARTER', CAST("visits"."visit_date" AS DATE) ) AS "tqr:visit_date:ok",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
WHERE (("visits"."visit_date" >= (DATE '2021-01-01')) AND ("visits"."visit_date" <= (DATE '2022-12-31')))
GROUP BY 1

-- title: a filter on a measure
SELECT "visits"."diagnosis" AS "diagnosis",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
GROUP BY 1
HAVING (SUM("visits"."cost") >= 20000.)

-- title: the top members of a dimension
SELECT "visits"."diagnosis" AS "diagnosis",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
  INNER JOIN (
  SELECT "visits"."diagnosis" AS "diagnosis",
    SUM("visits"."cost") AS "$__alias__0"
  FROM "public"."visits" "visits"
  GROUP BY 1
  ORDER BY 2 DESC NULLS LAST
  LIMIT 3
) "t0" ON ("visits"."diagnosis" = "t0"."diagnosis")
GROUP BY 1

-- title: the top members of a dimension with nulls
-- refused: GW116
SELECT "visits"."diagnosis" AS "diagnosis",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
  INNER JOIN (
  SELECT "visits"."diagnosis" AS "diagnosis",
    SUM("visits"."cost") AS "$__alias__0"
  FROM "public"."visits" "visits"
  GROUP BY 1
  ORDER BY 2 DESC NULLS LAST
  LIMIT 3
) "t0" ON ("visits"."diagnosis" IS NOT DISTINCT FROM "t0"."diagnosis")
GROUP BY 1

-- title: a join of two tables
SELECT "patients"."region" AS "region",
  COUNT(DISTINCT "visits"."patient_id") AS "ctd:patient_id:ok",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
  INNER JOIN "public"."patients" "patients" ON ("visits"."patient_id" = "patients"."patient_id")
GROUP BY 1

-- title: a level of detail
SELECT "t0"."region" AS "region",
  AVG("t0"."measure") AS "avg:per_person:ok"
FROM (
  SELECT "patients"."region" AS "region",
    "visits"."patient_id" AS "patient_id",
    COUNT(1) AS "measure"
  FROM "public"."visits" "visits"
    INNER JOIN "public"."patients" "patients" ON ("visits"."patient_id" = "patients"."patient_id")
  GROUP BY 1,
    2
) "t0"
GROUP BY 1

-- title: a group of members
SELECT (CASE WHEN ("visits"."diagnosis" IN ('flu', 'FLU-like')) THEN 'flu of all kinds' ELSE "visits"."diagnosis" END) AS "Diagnosis (group)",
  COUNT(1) AS "cnt:visit_id:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- title: a calculated field
SELECT "visits"."diagnosis" AS "diagnosis",
  (CASE WHEN COUNT(1) = 0 THEN NULL ELSE CAST(SUM("visits"."cost") AS DOUBLE PRECISION) / COUNT(1) END) AS "usr:Calculation_1:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- title: a bin
SELECT FLOOR("patients"."birth_year"::FLOAT / 10) * 10 AS "birth_year (bin)",
  COUNT(1) AS "cnt:patient_id:ok"
FROM "public"."patients" "patients"
GROUP BY 1

-- title: custom SQL
SELECT "Custom SQL Query"."region" AS "region",
  SUM("Custom SQL Query"."n") AS "sum:n:ok"
FROM (
  select region, smoker, count(*) as n from patients group by region, smoker
) "Custom SQL Query"
GROUP BY 1

-- title: a probe of custom SQL
SELECT *
FROM (
  select region, smoker, count(*) as n from patients group by region, smoker
) "Custom SQL Query"
LIMIT 0

-- title: whether a table is there
SELECT 1 AS "COL" FROM "public"."visits" WHERE 1 = 0

-- title: the top members of a dimension with nulls as older versions write it
-- refused: GW116
SELECT "visits"."diagnosis" AS "diagnosis",
  SUM("visits"."cost") AS "sum:cost:ok"
FROM "public"."visits" "visits"
  INNER JOIN (
  SELECT "visits"."diagnosis" AS "diagnosis",
    SUM("visits"."cost") AS "$__alias__0"
  FROM "public"."visits" "visits"
  GROUP BY 1
  ORDER BY 2 DESC NULLS LAST
  LIMIT 3
) "t0" ON (("visits"."diagnosis" = "t0"."diagnosis") OR (("visits"."diagnosis" IS NULL) AND ("t0"."diagnosis" IS NULL)))
GROUP BY 1

-- title: a week, truncated
-- refused: GW117
SELECT DATE_TRUNC( 'DAY', CAST("visits"."visit_date" AS DATE) ) + (-EXTRACT(DOW FROM "visits"."visit_date") * INTERVAL '1 DAY') AS "twk:visit_date:ok",
  COUNT(1) AS "cnt:visit_id:ok"
FROM "public"."visits" "visits"
GROUP BY 1

-- title: an attribute
SELECT "patients"."region" AS "region",
  (CASE WHEN MIN("patients"."birth_year") = MAX("patients"."birth_year") THEN MIN("patients"."birth_year") ELSE NULL END) AS "attr:birth_year:ok"
FROM "public"."patients" "patients"
GROUP BY 1
