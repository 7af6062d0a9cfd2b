-- title: a count of rows
-- Metabase:: userID: 1 queryType: MBQL queryHash: 9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08
SELECT COUNT(*) AS "count" FROM "public"."patients"

-- title: a count by category
SELECT "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."diagnosis" ORDER BY "public"."visits"."diagnosis" ASC

-- title: a timeseries by month
SELECT DATE_TRUNC('month', "public"."visits"."visit_date") AS "visit_date", COUNT(*) AS "count" FROM "public"."visits" GROUP BY DATE_TRUNC('month', "public"."visits"."visit_date") ORDER BY DATE_TRUNC('month', "public"."visits"."visit_date") ASC

-- title: a timeseries by month as a date
SELECT CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) AS "visit_date", SUM("public"."visits"."cost") AS "sum" FROM "public"."visits" GROUP BY CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) ASC

-- title: weeks that begin on Sunday
SELECT (CAST(DATE_TRUNC('week', (CAST("public"."visits"."admitted" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') AS "admitted", COUNT(*) AS "count" FROM "public"."visits" GROUP BY (CAST(DATE_TRUNC('week', (CAST("public"."visits"."admitted" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ORDER BY (CAST(DATE_TRUNC('week', (CAST("public"."visits"."admitted" AS timestamp) + INTERVAL '1 day')) AS timestamp) + INTERVAL '-1 day') ASC

-- title: days of the week
SELECT CAST(EXTRACT(dow FROM "public"."visits"."visit_date") AS integer) + 1 AS "visit_date", COUNT(*) AS "count" FROM "public"."visits" GROUP BY CAST(EXTRACT(dow FROM "public"."visits"."visit_date") AS integer) + 1 ORDER BY CAST(EXTRACT(dow FROM "public"."visits"."visit_date") AS integer) + 1 ASC

-- title: bins of a number
SELECT ((FLOOR((("public"."patients"."birth_year" - 1920) / 12.5)) * 12.5) + 1920) AS "birth_year", COUNT(*) AS "count" FROM "public"."patients" GROUP BY ((FLOOR((("public"."patients"."birth_year" - 1920) / 12.5)) * 12.5) + 1920) ORDER BY ((FLOOR((("public"."patients"."birth_year" - 1920) / 12.5)) * 12.5) + 1920) ASC

-- title: a nested question
SELECT "source"."diagnosis" AS "diagnosis", "source"."count" AS "count" FROM (SELECT "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count" FROM "public"."visits" GROUP BY "public"."visits"."diagnosis" ORDER BY "public"."visits"."diagnosis" ASC) AS "source" WHERE "source"."count" > 20 LIMIT 1048575

-- title: a nested question that is aggregated again
SELECT "source"."region" AS "region", AVG("source"."avg") AS "avg" FROM (SELECT "public"."patients"."region" AS "region", "public"."patients"."smoker" AS "smoker", AVG("public"."patients"."income") AS "avg" FROM "public"."patients" GROUP BY "public"."patients"."region", "public"."patients"."smoker" ORDER BY "public"."patients"."region" ASC, "public"."patients"."smoker" ASC) AS "source" GROUP BY "source"."region" ORDER BY "source"."region" ASC

-- title: a join
SELECT "Patients - Patient"."region" AS "Patients - Patient__region", SUM("public"."visits"."cost") AS "sum" FROM "public"."visits" LEFT JOIN "public"."patients" AS "Patients - Patient" ON "public"."visits"."patient_id" = "Patients - Patient"."patient_id" GROUP BY "Patients - Patient"."region" ORDER BY "sum" DESC, "Patients - Patient"."region" ASC

-- title: a join through a model
SELECT "source"."Patients__region" AS "Patients__region", COUNT(*) AS "count" FROM (SELECT "public"."visits"."visit_id" AS "visit_id", "public"."visits"."patient_id" AS "patient_id", "public"."visits"."cost" AS "cost", "Patients"."region" AS "Patients__region" FROM "public"."visits" INNER JOIN "public"."patients" AS "Patients" ON "public"."visits"."patient_id" = "Patients"."patient_id") AS "source" WHERE "source"."cost" > 1000 GROUP BY "source"."Patients__region" ORDER BY "source"."Patients__region" ASC

-- title: a share by a custom expression
SELECT CAST(SUM(CASE WHEN "public"."visits"."diagnosis" = 'flu' THEN 1 ELSE 0.0 END) AS double precision) / NULLIF(CAST(COUNT(*) AS double precision), 0.0) AS "Share of flu" FROM "public"."visits"

-- title: values of a field
SELECT "public"."visits"."diagnosis" AS "diagnosis" FROM "public"."visits" GROUP BY "public"."visits"."diagnosis" ORDER BY "public"."visits"."diagnosis" ASC LIMIT 1000

-- title: a search among the values of a field
SELECT "public"."visits"."diagnosis" AS "diagnosis" FROM "public"."visits" WHERE (LOWER("public"."visits"."diagnosis") LIKE '%flu%') GROUP BY "public"."visits"."diagnosis" ORDER BY "public"."visits"."diagnosis" ASC LIMIT 100

-- title: a filter between dates
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE ("public"."visits"."visit_date" >= CAST('2021-01-01' AS date)) AND ("public"."visits"."visit_date" < CAST('2023-01-01' AS date))

-- title: a filter that keeps nulls
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE ("public"."visits"."diagnosis" <> 'flu') OR ("public"."visits"."diagnosis" IS NULL)

-- title: a running count
SELECT DATE_TRUNC('year', "public"."visits"."visit_date") AS "visit_date", SUM(COUNT(*)) OVER (ORDER BY DATE_TRUNC('year', "public"."visits"."visit_date") ASC ROWS UNBOUNDED PRECEDING) AS "count" FROM "public"."visits" GROUP BY DATE_TRUNC('year', "public"."visits"."visit_date") ORDER BY DATE_TRUNC('year', "public"."visits"."visit_date") ASC

-- title: the value of the month before
SELECT DATE_TRUNC('year', "public"."visits"."visit_date") AS "visit_date", COUNT(*) AS "count", LAG(COUNT(*), 1) OVER (ORDER BY DATE_TRUNC('year', "public"."visits"."visit_date") ASC) AS "Previous" FROM "public"."visits" GROUP BY DATE_TRUNC('year', "public"."visits"."visit_date") ORDER BY DATE_TRUNC('year', "public"."visits"."visit_date") ASC

-- title: standard deviation and distinct values
SELECT STDDEV_POP("public"."patients"."birth_year") AS "stddev", count(distinct "public"."patients"."region") AS "count" FROM "public"."patients"

-- title: a pivot by several questions
SELECT "source"."region" AS "region", "source"."smoker" AS "smoker", "source"."pivot-grouping" AS "pivot-grouping", COUNT(*) AS "count" FROM (SELECT "public"."patients"."region" AS "region", "public"."patients"."smoker" AS "smoker", ABS(0) AS "pivot-grouping" FROM "public"."patients") AS "source" GROUP BY "source"."region", "source"."smoker", "source"."pivot-grouping" ORDER BY "source"."region" ASC, "source"."smoker" ASC, "source"."pivot-grouping" ASC

-- title: a filter bound by the driver
-- values: ["flu", "2021-01-01"]
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE ("public"."visits"."diagnosis" = $1) AND ("public"."visits"."visit_date" >= $2)

-- title: months in a zone for reports
SELECT DATE_TRUNC('month', ("public"."visits"."admitted" AT TIME ZONE 'UTC')) AS "admitted", COUNT(*) AS "count" FROM "public"."visits" GROUP BY DATE_TRUNC('month', ("public"."visits"."admitted" AT TIME ZONE 'UTC')) ORDER BY DATE_TRUNC('month', ("public"."visits"."admitted" AT TIME ZONE 'UTC')) ASC
