-- title: median by its name
SELECT MEDIAN(income) FROM patients;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "median" FROM "_r1"
-- use aggregate patients.income

-- title: median of each group, cast and renamed
SELECT region, MEDIAN(birth_year)::int, median(income) + 1 AS more, "median"(income) FROM patients GROUP BY region HAVING median(income) > 0 ORDER BY median(birth_year) DESC;
-- plan
-- _r1 release by k1 = patients.region: m1 = percentile_cont(0.5) within group (order by patients.birth_year); m2 = percentile_cont(0.5) within group (order by patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", CAST("_r1"."m1" AS INT) AS "median", "_r1"."m2" + 1 AS "more", "_r1"."m2" AS "median" FROM "_r1" WHERE "_r1"."m2" > 0 ORDER BY "_r1"."m1" DESC
-- use aggregate patients.birth_year
-- use aggregate patients.income
-- use group_by patients.region

-- title: median with a filter
SELECT MEDIAN(income) FILTER (WHERE smoker) AS smokers, MEDIAN(income) FROM patients;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by patients.income) filter (where patients.smoker); m2 = percentile_cont(0.5) within group (order by patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "smokers", "_r1"."m2" AS "median" FROM "_r1"
-- use aggregate patients.income
-- use filter patients.smoker

-- title: median of what was released
SELECT MEDIAN(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) AS "median" FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t
-- use group_by patients.region

-- title: median and the low end of its interval
SELECT MEDIAN(income) AS m, DP_INTERVAL_LOW(m) AS lo FROM patients;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by patients.income) with its low end
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "m", "_r1"."l1" AS "lo" FROM "_r1"
-- use aggregate patients.income

-- title: several fractions
SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY income) FROM patients;
-- plan
-- _r1 release: m1 = percentile_cont(0.1) within group (order by patients.income); m2 = percentile_cont(0.9) within group (order by patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT ARRAY["_r1"."m1", "_r1"."m2"] AS "percentile_cont" FROM "_r1"
-- use aggregate patients.income

-- title: several fractions within each other
SELECT percentile_disc(ARRAY[ARRAY[0, 0.5], ARRAY[0.9, 1]]) WITHIN GROUP (ORDER BY visit_date DESC) FILTER (WHERE cost > 10) AS days FROM visits;
-- plan
-- _r1 release: m1 = percentile_disc(0) within group (order by visits.visit_date desc) filter (where (visits.cost > 10)); m2 = percentile_disc(0.5) within group (order by visits.visit_date desc) filter (where (visits.cost > 10)); m3 = percentile_disc(0.9) within group (order by visits.visit_date desc) filter (where (visits.cost > 10)); m4 = percentile_disc(1) within group (order by visits.visit_date desc) filter (where (visits.cost > 10))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT ARRAY[ARRAY["_r1"."m1", "_r1"."m2"], ARRAY["_r1"."m3", "_r1"."m4"]] AS "days" FROM "_r1"
-- use filter visits.cost
-- use aggregate visits.visit_date

-- title: the most frequent values
SELECT region, DP_TOP(smoker, 2) FILTER (WHERE birth_year > 1950), COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = mode() within group (order by patients.smoker) filter (where (patients.birth_year > 1950)); m2 = dp_top(2) within group (order by patients.smoker) filter (where (patients.birth_year > 1950)); m3 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", ARRAY["_r1"."m1", "_r1"."m2"] AS "dp_top", "_r1"."m3" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use group_by patients.region
-- use aggregate patients.smoker

-- title: the most frequent values as rows, and the mode
SELECT unnest(DP_TOP(region, 3)) AS region, MODE() WITHIN GROUP (ORDER BY region) AS most FROM patients;
-- plan
-- _r1 release: m1 = mode() within group (order by patients.region); m2 = dp_top(2) within group (order by patients.region); m3 = dp_top(3) within group (order by patients.region)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT UNNEST(ARRAY["_r1"."m1", "_r1"."m2", "_r1"."m3"]) AS "region", "_r1"."m1" AS "most" FROM "_r1"
-- use aggregate patients.region

-- title: a constant beside a date is a text
SELECT visit_date || '!' AS day, COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = (cast(visits.visit_date as text) || '!'): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "day", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: a constant beside a number is a text, on either side
SELECT '#' || birth_year || 'x' AS year, COUNT(*) FROM patients GROUP BY 1;
-- plan
-- _r1 release by k1 = (('#' || cast(patients.birth_year as text)) || 'x'): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "year", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year
