-- title: the ends of an interval beside its count
SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS lo, DP_INTERVAL_HIGH(n) AS hi FROM patients GROUP BY region ORDER BY lo;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "lo", "_r1"."h1" AS "hi" FROM "_r1" ORDER BY lo
-- use group_by patients.region

-- title: the end of an interval of an aggregate, without a name
SELECT DP_INTERVAL_LOW(COUNT(*)), dp_interval_high(AVG(income)) FROM patients;
-- plan
-- _r1 release: m1 = count(*); m2 = avg(patients.income)
--   intervals of m1; m2
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."l1" AS "dp_interval_low", "_r1"."h2" AS "dp_interval_high" FROM "_r1"
-- use aggregate patients.income

-- title: the ends of an interval of a ratio
SELECT region, SUM(cost) / COUNT(DISTINCT v.patient_id) AS each, DP_INTERVAL_LOW(each), DP_INTERVAL_HIGH(each) FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY region;
-- plan
-- _r1 release by k1 = p.region: m1 = sum(v.cost); m2 = count(distinct v.patient_id)
--   intervals of (m1 / m2)
--   join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--     scan visits as v [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" / "_r1"."m2" AS "each", "_r1"."l1" AS "dp_interval_low", "_r1"."h1" AS "dp_interval_high" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost

-- title: the end of an interval in HAVING, ORDER BY and a window
SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY DP_INTERVAL_LOW(n) DESC) AS place FROM patients GROUP BY region HAVING DP_INTERVAL_LOW(COUNT(*)) > 10 ORDER BY DP_INTERVAL_HIGH(n) - DP_INTERVAL_LOW(n);
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", RANK() OVER (ORDER BY "_r1"."l1" DESC) AS "place" FROM "_r1" WHERE "_r1"."l1" > 10 ORDER BY "_r1"."h1" - "_r1"."l1"
-- use group_by patients.region

-- title: the ends of an interval of a derived table's column
SELECT *, DP_INTERVAL_LOW(n) AS lo, DP_INTERVAL_HIGH(n * 2) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t WHERE DP_INTERVAL_LOW(n) > 5;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1; (m1 * 2)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "t"."region", "t"."n", "t"."_t1" AS lo, "t"."_t2" AS "dp_interval_high" FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "_t1", "_r1"."h2" AS "_t2" FROM "_r1") AS t WHERE "t"."_t1" > 5
-- use group_by patients.region

-- title: the end of an interval several levels in
SELECT a.m, DP_INTERVAL_LOW(a.m) AS lo FROM (SELECT b.n AS m FROM (SELECT * FROM (SELECT COUNT(*) AS n FROM patients) c) b) a;
-- plan
-- _r1 release: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT a.m, "a"."_t1" AS lo FROM (SELECT b.n AS m, "b"."_t2" AS "_t1" FROM (SELECT "c"."n", "c"."_t3" AS "_t2" FROM (SELECT "_r1"."m1" AS "n", "_r1"."l1" AS "_t3" FROM "_r1") AS c) AS b) AS a

-- title: the end of an interval of a CTE that is read once
WITH a AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) SELECT region, DP_INTERVAL_LOW(n) AS lo FROM a ORDER BY DP_INTERVAL_LOW(n);
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH a AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "_t2" FROM "_r1") SELECT region, "a"."_t2" AS lo FROM a ORDER BY "a"."_t2"
-- use group_by patients.region

-- title: the end of an interval of a CTE that is read twice
WITH a AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) SELECT *, DP_INTERVAL_LOW(n) AS lo FROM a WHERE n > (SELECT AVG(n) FROM a);
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH "_t1" AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "_t2" FROM "_r1"), a AS (SELECT "region", "n" FROM "_t1") SELECT "a"."region", "a"."n", "a"."_t2" AS lo FROM "_t1" AS "a" WHERE n > (SELECT AVG(n) FROM a)
-- use group_by patients.region

-- title: the end of an interval of a joined row
SELECT r.capital, t.n, DP_INTERVAL_LOW(t.n) AS lo FROM regions r LEFT JOIN (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t ON t.region = r.region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing SELECT r.capital, t.n, "t"."_t1" AS lo FROM "_p1" AS r LEFT JOIN (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "_t1" FROM "_r1") AS t ON t.region = r.region
-- use group_by patients.region

-- title: the ends of intervals of two releases
SELECT a.n, b.m, DP_INTERVAL_LOW(a.n) AS x, DP_INTERVAL_LOW(b.m) AS y FROM (SELECT COUNT(*) AS n FROM patients) a CROSS JOIN (SELECT COUNT(*) AS m FROM visits) b;
-- plan
-- _r1 release: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- _r2 release: m1 = count(*)
--   intervals of m1
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT a.n, b.m, "a"."_t1" AS x, "b"."_t2" AS y FROM (SELECT "_r1"."m1" AS "n", "_r1"."l1" AS "_t1" FROM "_r1") AS a CROSS JOIN (SELECT "_r2"."m1" AS "m", "_r2"."l1" AS "_t2" FROM "_r2") AS b

-- title: an aggregate of ends of intervals
SELECT MIN(DP_INTERVAL_LOW(n)), COUNT(*) FILTER (WHERE DP_INTERVAL_LOW(n) > 10) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT MIN("t"."_t1") AS "min", COUNT(*) FILTER(WHERE "t"."_t1" > 10) AS "count" FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "_t1" FROM "_r1") AS t
-- use group_by patients.region

-- title: the end of an interval in a UNION
SELECT 'patients' AS what, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS lo FROM patients UNION ALL SELECT 'others', COUNT(*), DP_INTERVAL_LOW(COUNT(*)) FROM visits;
-- plan
-- _r1 release: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- _r2 release: m1 = count(*)
--   intervals of m1
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT 'patients' AS "what", "_r1"."m1" AS "n", "_r1"."l1" AS "lo" FROM "_r1" UNION ALL SELECT 'others' AS "?column?", "_r2"."m1" AS "count", "_r2"."l1" AS "dp_interval_low" FROM "_r2"

-- title: the end of an interval that rows of persons are compared with
SELECT COUNT(*) FROM patients WHERE income > (SELECT DP_INTERVAL_HIGH(AVG(income)) FROM patients);
-- plan
-- _r1 release: m1 = avg(patients_2.income)
--   intervals of m1
--   scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value double precision) SELECT (SELECT "_r1"."h1" AS "dp_interval_high" FROM "_r1") AS "value"
-- _r2 release: m1 = count(*)
--   filter (patients.income > value_of(_s1))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income

-- title: groups that are surely large, joined with rows of persons
WITH large AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region HAVING DP_INTERVAL_LOW(n) > 10) SELECT AVG(income) FROM patients WHERE region IN (SELECT region FROM large);
-- plan
-- _r1 release by k1 = patients_2.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value text) WITH large AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1" WHERE "_r1"."l1" > 10) SELECT "q"."c1" AS "value" FROM (SELECT region FROM large) AS "q"("c1")
-- _r2 release: m1 = avg(patients.income)
--   filter (patients.region in _s1)
--     scan patients as patients [protected(patient), rows 1]
-- finishing WITH large AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1" WHERE "_r1"."l1" > 10) SELECT "_r2"."m1" AS "avg" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.region
-- use group_by patients.region

-- title: the end of an interval where no row comes
SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) FROM patients GROUP BY region LIMIT 0;
-- plan
-- _e1 empty patients
-- finishing SELECT region, COUNT(*) AS n, CAST(NULL AS DOUBLE PRECISION) AS "dp_interval_low" FROM "_e1" AS "patients" GROUP BY region LIMIT 0

-- title: the end of an interval by the name of a column of the table
SELECT region, SUM(income) AS income, DP_INTERVAL_LOW(income) AS lo FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = sum(patients.income)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "income", "_r1"."l1" AS "lo" FROM "_r1"
-- use aggregate patients.income
-- use group_by patients.region

-- title: the end of an interval beside DISTINCT
SELECT DISTINCT region, COUNT(*) AS n, DP_INTERVAL_LOW(n) AS lo FROM patients GROUP BY region ORDER BY lo, region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT DISTINCT "_r1"."k1" AS "region", "_r1"."m1" AS "n", "_r1"."l1" AS "lo" FROM "_r1" ORDER BY lo, region
-- use group_by patients.region

-- title: both ends of a quantile of each group
SELECT region, percentile_disc(0.9) WITHIN GROUP (ORDER BY income DESC) AS p, DP_INTERVAL_LOW(p) AS lo, DP_INTERVAL_HIGH(p) AS hi FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = percentile_disc(0.9) within group (order by patients.income desc) with its low and high end
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "p", "_r1"."l1" AS "lo", "_r1"."h1" AS "hi" FROM "_r1"
-- use aggregate patients.income
-- use group_by patients.region

-- title: an end of what a quantile becomes needs both of its own
SELECT DP_INTERVAL_HIGH(200000 - m) FROM (SELECT MEDIAN(income) AS m, COUNT(*) AS n FROM patients) t;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by patients.income) with its low and high end; m2 = count(*)
--   intervals of (200000 + (-1 * m1))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "t"."_t1" AS "dp_interval_high" FROM (SELECT "_r1"."m1" AS "m", "_r1"."m2" AS "n", "_r1"."h1" AS "_t1" FROM "_r1") AS t
-- use aggregate patients.income

-- title: the ends of the smallest and the largest value are there anyway
SELECT MIN(income) AS m, DP_INTERVAL_HIGH(m) AS hi, DP_INTERVAL_LOW(MAX(birth_year)) AS lo FROM patients;
-- plan
-- _r1 release: m1 = min(patients.income); m2 = max(patients.birth_year)
--   intervals of m1; m2
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "m", "_r1"."h1" AS "hi", "_r1"."l2" AS "lo" FROM "_r1"
-- use aggregate patients.birth_year
-- use aggregate patients.income

-- title: equal quantiles are one, with the ends of either
SELECT a.m, DP_INTERVAL_LOW(a.m), DP_INTERVAL_HIGH(b.m) FROM (SELECT MEDIAN(income) AS m FROM patients) a, (SELECT MEDIAN(income) AS m FROM patients) b;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by patients.income) with its low and high end
--   intervals of m1
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT a.m, "a"."_t1" AS "dp_interval_low", "b"."_t2" AS "dp_interval_high" FROM (SELECT "_r1"."m1" AS "m", "_r1"."l1" AS "_t1" FROM "_r1") AS a, (SELECT "_r1"."m1" AS "m", "_r1"."h1" AS "_t2" FROM "_r1") AS b
-- use aggregate patients.income
