-- title: metadata
SELECT * FROM (SELECT * FROM "public"."patients") "Custom SQL Query" LIMIT 0

-- title: a sum
SELECT "patients"."region" AS "region", SUM("patients"."income") AS "sum:income:ok" FROM "public"."patients" "patients" GROUP BY 1

-- title: a truncated quarter
SELECT DATE_TRUNC( 'QUARTER', CAST("visits"."visit_date" AS TIMESTAMP) ) AS "tqr:visit_date:ok", COUNT(DISTINCT "visits"."patient_id") AS "ctd:patient_id:ok" FROM "public"."visits" "visits" GROUP BY 1

-- title: days from Sunday
SELECT (DATE_TRUNC( 'DAY', CAST("visits"."visit_date" AS TIMESTAMP) ) + (-EXTRACT(DOW FROM "visits"."visit_date") * INTERVAL '1 DAY')) AS "twk", SUM("visits"."cost") AS "sum:cost:ok" FROM "public"."visits" "visits" GROUP BY 1

-- title: a null-safe join of a level of detail
SELECT "t0"."region" AS "region", AVG("t1"."m") AS "m" FROM (SELECT "patients"."region" AS "region" FROM "public"."patients" "patients" GROUP BY 1) "t0"
INNER JOIN (SELECT "patients"."region" AS "region", AVG("patients"."income") AS "m" FROM "public"."patients" "patients" GROUP BY 1) "t1" ON ("t0"."region" IS NOT DISTINCT FROM "t1"."region") GROUP BY 1

-- title: a fixed level of detail per person
SELECT AVG("t0"."n") AS "avg" FROM (SELECT "visits"."patient_id" AS "patient_id", COUNT(1) AS "n" FROM "public"."visits" "visits" GROUP BY 1) "t0"

-- title: the range of a filter
-- differs: a value is chosen
SELECT MIN("patients"."income") AS "lo", MAX("patients"."income") AS "hi" FROM "public"."patients" "patients" HAVING (COUNT(1) > 0)

-- title: a count over nothing grouped
SELECT COUNT(1) AS "cnt" FROM "public"."patients" "patients" HAVING (COUNT(1) > 0)

-- title: a median
-- differs: a value is chosen
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY "patients"."income") AS "med" FROM "public"."patients" "patients"

-- title: LEFT of a text
SELECT LEFT("patients"."region", 1) AS "l", SUM(1) AS "n" FROM "public"."patients" "patients" GROUP BY 1

-- title: a contains filter
SELECT COUNT(1) FROM "public"."patients" "patients" WHERE (STRPOS("patients"."region", 'or') > 0)

-- title: the day of a date part
SELECT CAST(TRUNC(EXTRACT(MONTH FROM "visits"."visit_date")) AS INTEGER) AS "mn", SUM("visits"."cost") FROM "public"."visits" "visits" GROUP BY 1

-- title: an ISO date without zeros
SELECT COUNT(1) FROM "public"."visits" "visits" WHERE "visits"."visit_date" >= '2022-1-5'

-- title: a date difference
SELECT AVG((CAST("visits"."admitted" AS DATE) - "visits"."visit_date")) AS "d" FROM "public"."visits" "visits"
