-- title: mean of a difference of times
SELECT EXTRACT(hour FROM AVG(admitted - visit_date)) AS late FROM visits;
-- plan
-- _r1 release: m1 = avg((extract(epoch from visits.admitted) - extract(epoch from visits.visit_date)))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT EXTRACT(HOUR FROM JUSTIFY_HOURS(MAKE_INTERVAL(0, 0, 0, CAST(TRUNC(TRUNC("_r1"."m1" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) AS INT), 0, 0, "_r1"."m1" * CAST(1 AS DOUBLE PRECISION) - TRUNC(TRUNC("_r1"."m1" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) * CAST(86400 AS DOUBLE PRECISION)))) AS "late" FROM "_r1"
-- use aggregate visits.admitted
-- use aggregate visits.visit_date

-- title: percentiles of a difference of times
SELECT MEDIAN(now() - admitted), PERCENTILE_DISC(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY admitted - visit_date DESC) FROM visits;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by (extract(epoch from localtimestamp) - extract(epoch from visits.admitted))); m2 = percentile_disc(0.1) within group (order by (extract(epoch from visits.admitted) - extract(epoch from visits.visit_date)) desc); m3 = percentile_disc(0.9) within group (order by (extract(epoch from visits.admitted) - extract(epoch from visits.visit_date)) desc)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT JUSTIFY_HOURS(MAKE_INTERVAL(0, 0, 0, CAST(TRUNC(TRUNC("_r1"."m1" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) AS INT), 0, 0, "_r1"."m1" * CAST(1 AS DOUBLE PRECISION) - TRUNC(TRUNC("_r1"."m1" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) * CAST(86400 AS DOUBLE PRECISION))) AS "median", ARRAY[JUSTIFY_HOURS(MAKE_INTERVAL(0, 0, 0, CAST(TRUNC(TRUNC("_r1"."m2" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) AS INT), 0, 0, "_r1"."m2" * CAST(1 AS DOUBLE PRECISION) - TRUNC(TRUNC("_r1"."m2" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) * CAST(86400 AS DOUBLE PRECISION))), JUSTIFY_HOURS(MAKE_INTERVAL(0, 0, 0, CAST(TRUNC(TRUNC("_r1"."m3" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) AS INT), 0, 0, "_r1"."m3" * CAST(1 AS DOUBLE PRECISION) - TRUNC(TRUNC("_r1"."m3" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) * CAST(86400 AS DOUBLE PRECISION)))] AS "percentile_disc" FROM "_r1"
-- use aggregate visits.admitted
-- use aggregate visits.visit_date

-- title: count and sum of differences of times with a filter
SELECT COUNT(admitted - visit_date), SUM((admitted - visit_date)) FILTER (WHERE cost > 5) FROM visits;
-- plan
-- _r1 release: m1 = count((extract(epoch from visits.admitted) - extract(epoch from visits.visit_date))); m2 = sum((extract(epoch from visits.admitted) - extract(epoch from visits.visit_date))) filter (where (visits.cost > 5))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count", JUSTIFY_HOURS(MAKE_INTERVAL(0, 0, 0, CAST(TRUNC(TRUNC("_r1"."m2" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) AS INT), 0, 0, "_r1"."m2" * CAST(1 AS DOUBLE PRECISION) - TRUNC(TRUNC("_r1"."m2" * CAST(1 AS DOUBLE PRECISION)) / CAST(86400 AS DOUBLE PRECISION)) * CAST(86400 AS DOUBLE PRECISION))) AS "sum" FROM "_r1"
-- use aggregate visits.admitted
-- use filter visits.cost
-- use aggregate visits.visit_date
