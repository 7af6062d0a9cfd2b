-- title: a fingerprint
-- refused: GW110
SELECT "public"."patients"."region" AS "region", SUBSTRING("public"."patients"."name", 1, 1234) AS "substring" FROM "public"."patients" LIMIT 10000

-- title: distinct values of a field
SELECT "public"."patients"."region" AS "region" FROM "public"."patients" GROUP BY "public"."patients"."region" ORDER BY "public"."patients"."region" ASC LIMIT 1000

-- title: a share
SELECT CAST(SUM(CASE WHEN "public"."patients"."region" = 'north' THEN 1 ELSE 0.0 END) AS DOUBLE PRECISION) / NULLIF(CAST(COUNT(*) AS DOUBLE PRECISION), 0.0) AS "share" FROM "public"."patients"

-- title: weeks from Sunday
SELECT (CAST(DATE_TRUNC('week', CAST((CAST("public"."visits"."visit_date" AS timestamp) + INTERVAL '1 day') AS timestamp)) AS timestamp) + INTERVAL '-1 day') AS "visit_date", COUNT(*) AS "count" FROM "public"."visits" GROUP BY 1 ORDER BY 1 ASC

-- title: the day of the week
SELECT CAST(EXTRACT(DOW FROM "public"."visits"."visit_date") AS integer) + 1 AS "dow", COUNT(*) AS "count" FROM "public"."visits" GROUP BY 1 ORDER BY 1

-- title: the last 30 days
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE "public"."visits"."admitted" >= DATE_TRUNC('day', (NOW() + INTERVAL '-30 day')) AND "public"."visits"."admitted" < DATE_TRUNC('day', NOW())

-- title: cumulative count
SELECT "source"."visit_date" AS "visit_date", SUM("source"."count") OVER (ORDER BY "source"."visit_date" ASC ROWS UNBOUNDED PRECEDING) AS "cumcount" FROM (
  SELECT DATE_TRUNC('year', "public"."visits"."visit_date") AS "visit_date", COUNT(*) AS "count" FROM "public"."visits" GROUP BY 1
) AS "source" ORDER BY 1

-- title: bins of a number
SELECT FLOOR("public"."patients"."income" / 12500.0) * 12500.0 AS "income", COUNT(*) AS "count" FROM "public"."patients" GROUP BY 1 ORDER BY 1

-- title: a nested question with a limit
SELECT AVG("source"."sum") AS "avg" FROM (
  SELECT "public"."patients"."region" AS "region", SUM("public"."patients"."income") AS "sum" FROM "public"."patients" GROUP BY 1 ORDER BY 1 LIMIT 3
) AS "source"

-- title: datetimeDiff
-- differs: values are rounded
SELECT AVG(EXTRACT(EPOCH FROM ("public"."calls"."ended" - "public"."calls"."began")) / 60) AS "minutes" FROM "public"."calls"

-- title: contains, without case
SELECT COUNT(*) AS "count" FROM "public"."patients" WHERE (LOWER("public"."patients"."region") LIKE '%or%')

-- title: regexExtract
-- refused: GW106
SELECT SUBSTRING("public"."patients"."region" FROM '^(.)') AS "initial", COUNT(*) FROM "public"."patients" GROUP BY 1

-- title: the most frequent values of a field
SELECT "public"."visits"."diagnosis" AS "diagnosis", COUNT(*) AS "count" FROM "public"."visits" GROUP BY 1 ORDER BY 2 DESC, 1 ASC LIMIT 3
