-- title: group by a column
SELECT region, COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: group by an ordinal
SELECT region, COUNT(*) FROM patients GROUP BY 1 ORDER BY 2 DESC;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 2 DESC
-- use group_by patients.region

-- title: group by an alias
SELECT birth_year / 10 * 10 AS decade, COUNT(*) FROM patients GROUP BY decade;
-- plan
-- _r1 release by k1 = ((patients.birth_year / 10) * 10): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "decade", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year

-- title: an alias equal to a column means the column
SELECT UPPER(region) AS region, COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT UPPER("_r1"."k1") AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: group by an expression and format it above
SELECT UPPER(region) || '!', COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT UPPER("_r1"."k1") || '!' AS "?column?", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: group by two
SELECT region, smoker, AVG(income) FROM patients GROUP BY region, smoker;
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker: m1 = avg(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use group_by patients.region
-- use group_by patients.smoker

-- title: group by a bracketed list
SELECT region, smoker, COUNT(*) FROM patients GROUP BY (region, smoker);
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: having
SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis HAVING COUNT(*) > 100 AND AVG(cost) < 50;
-- plan
-- _r1 release by k1 = visits.diagnosis: m1 = count(*); m2 = avg(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "diagnosis", "_r1"."m1" AS "count" FROM "_r1" WHERE "_r1"."m1" > 100 AND "_r1"."m2" < 50
-- use aggregate visits.cost
-- use group_by visits.diagnosis

-- title: having without a key
SELECT COUNT(*) FROM patients HAVING COUNT(*) > 0;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1" WHERE "_r1"."m1" > 0

-- title: having as a tool writes it
SELECT region AS region, SUM(1) AS "sum" FROM patients GROUP BY region HAVING (COUNT(1) > 0);
-- plan
-- _r1 release by k1 = patients.region: m1 = sum(1); m2 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "sum" FROM "_r1" WHERE ("_r1"."m2" > 0)
-- use group_by patients.region

-- title: keys alone
SELECT region FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1"
-- use group_by patients.region

-- title: distinct keys
SELECT DISTINCT region, smoker FROM patients;
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: distinct with an order
SELECT DISTINCT region AS column_values FROM patients ORDER BY column_values LIMIT 100;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "column_values" FROM "_r1" ORDER BY column_values LIMIT 100
-- use group_by patients.region

-- title: distinct above a grouping
SELECT DISTINCT COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT DISTINCT "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: distinct on above a grouping
SELECT DISTINCT ON (region) region, COUNT(*) FROM patients GROUP BY region, smoker ORDER BY region, COUNT(*) DESC;
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT DISTINCT ON (region) "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY region, "_r1"."m1" DESC
-- use group_by patients.region
-- use group_by patients.smoker

-- title: rollup
SELECT region, smoker, COUNT(*) FROM patients GROUP BY ROLLUP (region, smoker);
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1, k2), (k1), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: cube
SELECT region, smoker, COUNT(*) FROM patients GROUP BY CUBE (region, smoker);
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1, k2), (k1), (k2), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: grouping sets
SELECT region, smoker, COUNT(*) FROM patients GROUP BY GROUPING SETS ((region), (smoker), ());
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1), (k2), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: a key beside a rollup
SELECT region, smoker, COUNT(*) FROM patients GROUP BY region, ROLLUP (smoker);
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1, k2), (k1): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: which grouping set
SELECT region, GROUPING(region), COUNT(*) FROM patients GROUP BY ROLLUP (region);
-- plan
-- _r1 release by k1 = patients.region sets (k1), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."g1" AS "grouping", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: which grouping set, of several keys
SELECT region, smoker, GROUPING(region, smoker) AS g, GROUPING(smoker, region, smoker) AS h, COUNT(*) FROM patients GROUP BY CUBE (region, smoker);
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1, k2), (k1), (k2), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", ("_r1"."g1" * 2 + "_r1"."g2") AS "g", ("_r1"."g2" * 4 + "_r1"."g1" * 2 + "_r1"."g2") AS "h", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: which grouping set, in order and having
SELECT CASE WHEN GROUPING(region) = 1 THEN 'all' ELSE region END AS r, COUNT(*) FROM patients GROUP BY ROLLUP (region) HAVING GROUPING(region) = 0 OR COUNT(*) > 5 ORDER BY GROUPING(region) DESC, region;
-- plan
-- _r1 release by k1 = patients.region sets (k1), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT CASE WHEN "_r1"."g1" = 1 THEN 'all' ELSE "_r1"."k1" END AS "r", "_r1"."m1" AS "count" FROM "_r1" WHERE "_r1"."g1" = 0 OR "_r1"."m1" > 5 ORDER BY "_r1"."g1" DESC, "_r1"."k1"
-- use group_by patients.region

-- title: which grouping set, of one
SELECT region, GROUPING(region) FROM patients GROUP BY region ORDER BY GROUPING(region), region;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", CAST(0 AS INT) AS "grouping" FROM "_r1" ORDER BY CAST(0 AS INT), region
-- use group_by patients.region

-- title: which grouping set, of an expression
SELECT birth_year / 10 AS decade, COUNT(*) FROM patients GROUP BY ROLLUP (decade) ORDER BY GROUPING(birth_year / 10), 1;
-- plan
-- _r1 release by k1 = (patients.birth_year / 10) sets (k1), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "decade", "_r1"."m1" AS "count" FROM "_r1" ORDER BY "_r1"."g1", 1
-- use group_by patients.birth_year

-- title: a window over grouping sets
SELECT region, smoker, COUNT(*), rank() OVER (PARTITION BY GROUPING(region, smoker) ORDER BY COUNT(*) DESC) FROM patients GROUP BY ROLLUP (region, smoker);
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1, k2), (k1), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."m1" AS "count", RANK() OVER (PARTITION BY ("_r1"."g1" * 2 + "_r1"."g2") ORDER BY "_r1"."m1" DESC) AS "rank" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: a grouping set twice
SELECT region, COUNT(*) FROM patients GROUP BY GROUPING SETS ((region), (region), ());
-- plan
-- _r1 release by k1 = patients.region sets (k1), (k1), (): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: grouping sets in brackets
SELECT region, smoker, GROUPING(region) * 2 + GROUPING(smoker) AS level, AVG(income) FROM patients GROUP BY GROUPING SETS (CUBE (region, smoker), ROLLUP (region));
-- plan
-- _r1 release by k1 = patients.region, k2 = patients.smoker sets (k1, k2), (k1), (k2), (), (k1), (): m1 = avg(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."k2" AS "smoker", "_r1"."g1" * 2 + "_r1"."g2" AS "level", "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use group_by patients.region
-- use group_by patients.smoker

-- title: case buckets
SELECT CASE WHEN birth_year < 1950 THEN 'old' WHEN birth_year < 1990 THEN 'middle' ELSE 'young' END AS age, COUNT(*) FROM patients GROUP BY 1;
-- plan
-- _r1 release by k1 = case when (patients.birth_year < 1950) then 'old' when (patients.birth_year < 1990) then 'middle' else 'young' end: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "age", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year

-- title: simple case buckets
SELECT CASE region WHEN 'north' THEN 'N' WHEN 'south' THEN 'S' END AS r, COUNT(*) FROM patients GROUP BY r;
-- plan
-- _r1 release by k1 = case when (patients.region = 'north') then 'N' when (patients.region = 'south') then 'S' else cast(null as text) end: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "r", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: width buckets
SELECT WIDTH_BUCKET(income, 0, 200000, 20) AS bucket, COUNT(*) FROM patients GROUP BY bucket ORDER BY bucket;
-- plan
-- _r1 release by k1 = width_bucket(patients.income, 0, 200000, 20): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "bucket", "_r1"."m1" AS "count" FROM "_r1" ORDER BY bucket
-- use group_by patients.income

-- title: months
SELECT DATE_TRUNC('month', visit_date) AS month, COUNT(*) FROM visits GROUP BY month ORDER BY month;
-- plan
-- _r1 release by k1 = date_trunc('month', visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT CAST("_r1"."k1" AS TIMESTAMPTZ) AS "month", "_r1"."m1" AS "count" FROM "_r1" ORDER BY month
-- use group_by visits.visit_date

-- title: month numbers
SELECT EXTRACT(MONTH FROM visit_date) AS m, AVG(cost) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = extract(month from visits.visit_date): m1 = avg(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "m", "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use group_by visits.visit_date

-- title: parts of a date
SELECT DATE_PART('year', admitted), COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = cast(extract(year from visits.admitted) as double precision): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "date_part", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.admitted

-- title: months as text are formatted above
SELECT TO_CHAR(visit_date, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY TO_CHAR(visit_date, 'YYYY-MM') ORDER BY 1;
-- plan
-- _r1 release by k1 = date_trunc('month', visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR("_r1"."k1", 'YYYY-MM') AS "month", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 1
-- use group_by visits.visit_date

-- title: quarters as text are formatted above
SELECT TO_CHAR(visit_date, 'YYYY-"Q"Q'), COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = date_trunc('quarter', visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR("_r1"."k1", 'YYYY-"Q"Q') AS "to_char", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: days as text are formatted above
SELECT TO_CHAR(admitted, 'YYYY-MM-DD'), SUM(cost) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = date_trunc('day', visits.admitted): m1 = sum(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR("_r1"."k1", 'YYYY-MM-DD') AS "to_char", "_r1"."m1" AS "sum" FROM "_r1"
-- use group_by visits.admitted
-- use aggregate visits.cost

-- title: order by an aggregate that is not shown
SELECT region FROM patients GROUP BY region ORDER BY AVG(income) DESC NULLS LAST LIMIT 2 OFFSET 1;
-- plan
-- _r1 release by k1 = patients.region: m1 = avg(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" ORDER BY "_r1"."m1" DESC NULLS LAST LIMIT 2 OFFSET 1
-- use aggregate patients.income
-- use group_by patients.region

-- title: order by a key that is not shown
SELECT COUNT(*) FROM patients GROUP BY region ORDER BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1" ORDER BY "_r1"."k1"
-- use group_by patients.region

-- title: fetch first
SELECT region, COUNT(*) FROM patients GROUP BY region ORDER BY 2 DESC FETCH FIRST 3 ROWS ONLY;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 2 DESC FETCH FIRST 3 ROWS ONLY
-- use group_by patients.region

-- title: windows above a grouping
SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC), COUNT(*) * 100.0 / SUM(COUNT(*)) OVER () AS share FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", RANK() OVER (ORDER BY "_r1"."m1" DESC) AS "rank", "_r1"."m1" * 100.0 / SUM("_r1"."m1") OVER () AS "share" FROM "_r1"
-- use group_by patients.region

-- title: a named window above a grouping
SELECT region, SUM(COUNT(*)) OVER w FROM patients GROUP BY region WINDOW w AS (ORDER BY region);
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", SUM("_r1"."m1") OVER w AS "sum" FROM "_r1" WINDOW w AS (ORDER BY "_r1"."k1")
-- use group_by patients.region

-- title: group by the empty list
SELECT COUNT(*) FROM patients GROUP BY ();
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: a table's star of keys
SELECT r.*, COUNT(*) FROM (SELECT region FROM patients) AS r GROUP BY r.region;
-- plan
-- _r1 release by k1 = r.region: m1 = count(*)
--   project r.region = patients.region
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: months that were made below
WITH base AS (SELECT date_trunc('month', visit_date) AS month, cost FROM visits), again AS (SELECT month, cost FROM base) SELECT month, SUM(cost), MAX(month) AS latest FROM again GROUP BY month ORDER BY month;
-- plan
-- _r1 release by k1 = again_2.month: m1 = sum(again_2.cost); m2 = max(again_2.month)
--   project again_2.month = again.month, again_2.cost = again.cost
--     project again.month = base_2.month, again.cost = base_2.cost
--       project base_2.month = base.month, base_2.cost = base.cost
--         project base.month = date_trunc('month', visits.visit_date), base.cost = visits.cost
--           scan visits as visits [protected(patient), rows 10]
-- finishing SELECT CAST("_r1"."k1" AS TIMESTAMPTZ) AS "month", "_r1"."m1" AS "sum", CAST("_r1"."m2" AS TIMESTAMPTZ) AS "latest" FROM "_r1" ORDER BY month
-- use aggregate visits.cost
-- use aggregate visits.visit_date
-- use filter visits.visit_date
-- use group_by visits.visit_date

-- title: the most frequent keys
SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2;
-- plan
-- _r1 release: m1 = mode() within group (order by patients.region); m2 = dp_top(2) within group (order by patients.region)
--   filter (patients.region is not null)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT CAST(UNNEST(ARRAY["_r1"."m1", "_r1"."m2"]) AS TEXT) AS "region" FROM "_r1"
-- use filter patients.region
-- use group_by patients.region

-- title: the most frequent key by its alias
SELECT p.region AS r FROM patients p WHERE p.region IS NOT NULL GROUP BY r ORDER BY COUNT(p.region) DESC NULLS LAST FETCH FIRST ROW ONLY;
-- plan
-- _r1 release: m1 = mode() within group (order by p.region)
--   filter (p.region is not null)
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "r" FROM "_r1"
-- use aggregate patients.region
-- use filter patients.region
-- use group_by patients.region

-- title: the most frequent keys that may be NULL
SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" ORDER BY "_r1"."m1" DESC LIMIT 2
-- use group_by patients.region

-- title: days of the week by their names
SELECT to_char(visit_date, 'Day'), COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = extract(isodow from visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR(CAST('2023-12-31' AS DATE) + CAST("_r1"."k1" AS INT), 'Day') AS "to_char", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: months by their names, padded with nothing
SELECT to_char(visit_date, 'FMMonth') AS m, AVG(cost) FROM visits GROUP BY m ORDER BY m;
-- plan
-- _r1 release by k1 = extract(month from visits.visit_date): m1 = avg(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR(CAST('2023-12-01' AS TIMESTAMP) + CAST("_r1"."k1" AS INT) * INTERVAL '1 MONTH', 'FMMonth') AS "m", "_r1"."m1" AS "avg" FROM "_r1" ORDER BY m
-- use aggregate visits.cost
-- use group_by visits.visit_date

-- title: quarters without a year
SELECT to_char(visit_date, 'Q'), COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = extract(quarter from visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR(CAST('2023-12-01' AS TIMESTAMP) + 3 * CAST("_r1"."k1" AS INT) * INTERVAL '1 MONTH', 'Q') AS "to_char", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: months truncated of a date and cast to a local time
SELECT date_trunc('month', visit_date)::timestamp AS m, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;
-- plan
-- _r1 release by k1 = date_trunc('month', cast(visits.visit_date as timestamp without time zone)): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "m", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 1
-- use group_by visits.visit_date

-- title: bins of one length
SELECT date_bin('6 hours', admitted, '2020-01-01 01:00'), COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = date_bin('0 days 21600000000 microseconds', visits.admitted, cast('1970-01-01 01:00:00' as timestamp without time zone)): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "date_bin", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.admitted
