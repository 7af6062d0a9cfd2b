-- title: a tool's outer select star
SELECT * FROM (SELECT region, COUNT(*) AS c FROM patients GROUP BY region) AS t LIMIT 1000;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT * FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "c" FROM "_r1") AS t LIMIT 1000
-- use group_by patients.region

-- title: a virtual table over rows
SELECT region AS region, COUNT(*) AS count FROM (SELECT * FROM patients) AS virtual_table GROUP BY region ORDER BY count DESC LIMIT 1000;
-- plan
-- _r1 release by k1 = virtual_table.region: m1 = count(*)
--   project virtual_table.patient_id = patients.patient_id, virtual_table.region = patients.region, virtual_table.birth_year = patients.birth_year, virtual_table.income = patients.income, virtual_table.smoker = patients.smoker, virtual_table.name = patients.name
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY count DESC LIMIT 1000
-- use group_by patients.region

-- title: a source in quotes
SELECT "source"."region" AS "region", COUNT(*) AS "count" FROM (SELECT "public"."patients"."region" AS "region" FROM "public"."patients" WHERE "public"."patients"."birth_year" > 1980) AS "source" GROUP BY "source"."region" ORDER BY "source"."region" ASC;
-- plan
-- _r1 release by k1 = source.region: m1 = count(*)
--   project source.region = patients.region
--     filter (patients.birth_year > 1980)
--       scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY "_r1"."k1" ASC
-- use filter patients.birth_year
-- use group_by patients.region

-- title: custom names with blanks
SELECT SUM("Custom SQL Query"."cost") AS "sum:cost:ok" FROM (SELECT cost FROM visits) "Custom SQL Query" HAVING (COUNT(1) > 0);
-- plan
-- _r1 release: m1 = sum("Custom SQL Query".cost); m2 = count(*)
--   project "Custom SQL Query".cost = visits.cost
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "sum:cost:ok" FROM "_r1" WHERE ("_r1"."m2" > 0)
-- use aggregate visits.cost

-- title: dollar table nesting
SELECT "$Table"."region", COUNT(1) AS "a0" FROM (SELECT "_"."region", "_"."income" FROM "public"."patients" "_") "$Table" GROUP BY "$Table"."region";
-- plan
-- __r1 release by k1 = "$Table".region: m1 = count(*)
--   project "$Table".region = _.region, "$Table".income = _.income
--     scan patients as _ [protected(patient), rows 1]
-- finishing SELECT "__r1"."k1" AS "region", "__r1"."m1" AS "a0" FROM "__r1"
-- use group_by patients.region

-- title: comments before and within
/* from a tool */ SELECT region, /* the key */ COUNT(*) -- how many
FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: a grouping of a grouping
SELECT MAX(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT MAX(n) FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t
-- use group_by patients.region

-- title: a chain of CTEs
WITH a AS (SELECT * FROM patients WHERE birth_year > 1980), b AS (SELECT region, AVG(income) AS m FROM a GROUP BY region), c AS (SELECT MAX(m) AS top FROM b) SELECT b.region, b.m / c.top FROM b CROSS JOIN c;
-- plan
-- _r1 release by k1 = a_2.region: m1 = avg(a_2.income)
--   project a_2.patient_id = a.patient_id, a_2.region = a.region, a_2.birth_year = a.birth_year, a_2.income = a.income, a_2.smoker = a.smoker, a_2.name = a.name
--     project a.patient_id = patients.patient_id, a.region = patients.region, a.birth_year = patients.birth_year, a.income = patients.income, a.smoker = patients.smoker, a.name = patients.name
--       filter (patients.birth_year > 1980)
--         scan patients as patients [protected(patient), rows 1]
-- finishing WITH b AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "m" FROM "_r1"), c AS (SELECT MAX(m) AS top FROM b) SELECT b.region, b.m / c.top FROM b CROSS JOIN c
-- use filter patients.birth_year
-- use aggregate patients.income
-- use group_by patients.region

-- title: a CTE named like its table
WITH patients AS (SELECT * FROM patients WHERE smoker) SELECT COUNT(*) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   project patients_3.patient_id = patients.patient_id, patients_3.region = patients.region, patients_3.birth_year = patients.birth_year, patients_3.income = patients.income, patients_3.smoker = patients.smoker, patients_3.name = patients.name
--     project patients.patient_id = patients_2.patient_id, patients.region = patients_2.region, patients.birth_year = patients_2.birth_year, patients.income = patients_2.income, patients.smoker = patients_2.smoker, patients.name = patients_2.name
--       filter patients_2.smoker
--         scan patients as patients_2 [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.smoker

-- title: a CTE nobody uses costs nothing
WITH unused AS (SELECT region, COUNT(*) FROM patients GROUP BY region) SELECT COUNT(*) FROM visits;
-- plan
-- _r1 release: m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: a materialized CTE
WITH a AS MATERIALIZED (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) SELECT * FROM a ORDER BY n;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH a AS MATERIALIZED (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") SELECT * FROM a ORDER BY n
-- use group_by patients.region

-- title: a CTE with column names
WITH a(x, y) AS (SELECT region, income FROM patients) SELECT x, AVG(y) FROM a GROUP BY x;
-- plan
-- _r1 release by k1 = a_2.x: m1 = avg(a_2.y)
--   project a_2.x = a.region, a_2.y = a.income
--     project a.region = patients.region, a.income = patients.income
--       scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "x", "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use group_by patients.region

-- title: a CTE of a grouping used twice is released once
WITH a AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) SELECT x.region, x.n - y.n FROM a x, a y WHERE x.region <> y.region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH a AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") SELECT x.region, x.n - y.n FROM a AS x, a AS y WHERE x.region <> y.region
-- use group_by patients.region

-- title: equal questions are released once
SELECT 'all' AS what, COUNT(*) FROM patients UNION ALL SELECT 'again', COUNT(*) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT 'all' AS "what", "_r1"."m1" AS "count" FROM "_r1" UNION ALL SELECT 'again' AS "?column?", "_r1"."m1" AS "count" FROM "_r1"

-- title: union of groupings
SELECT region, COUNT(*) FROM patients GROUP BY region UNION ALL SELECT 'total', COUNT(*) FROM patients ORDER BY 2 DESC;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _r2 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" UNION ALL SELECT 'total' AS "?column?", "_r2"."m1" AS "count" FROM "_r2" ORDER BY 2 DESC
-- use group_by patients.region

-- title: except above releases
SELECT region FROM patients GROUP BY region EXCEPT SELECT region FROM regions;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" EXCEPT SELECT region FROM "_p1" AS "regions"
-- use group_by patients.region

-- title: intersect above releases
SELECT region FROM patients GROUP BY region INTERSECT SELECT 'north';
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" INTERSECT SELECT 'north'
-- use group_by patients.region

-- title: brackets around everything
((SELECT COUNT(*) FROM patients));
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing ((SELECT "_r1"."m1" AS "count" FROM "_r1"))

-- title: values beside a release
SELECT v.x, t.n FROM (VALUES (1), (2)) AS v(x) CROSS JOIN (SELECT COUNT(*) AS n FROM patients) AS t;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT v.x, t.n FROM (VALUES (1), (2)) AS v(x) CROSS JOIN (SELECT "_r1"."m1" AS "n" FROM "_r1") AS t

-- title: lateral above a release
SELECT t.region, l.double FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t CROSS JOIN LATERAL (SELECT t.n * 2 AS double) l;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT t.region, l.double FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t CROSS JOIN LATERAL (SELECT t.n * 2 AS double) AS l
-- use group_by patients.region

-- title: a recursive query beside a release
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 5) SELECT s.n, t.c FROM s CROSS JOIN (SELECT COUNT(*) AS c FROM patients) t;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s WHERE n < 5) SELECT s.n, t.c FROM s CROSS JOIN (SELECT "_r1"."m1" AS "c" FROM "_r1") AS t

-- title: series beside a release
SELECT g.d, t.n FROM generate_series(1, 3) AS g(d) LEFT JOIN (SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year) t ON t.birth_year = g.d;
-- plan
-- _r1 release by k1 = patients.birth_year: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT g.d, t.n FROM GENERATE_SERIES(1, 3) AS g(d) LEFT JOIN (SELECT "_r1"."k1" AS "birth_year", "_r1"."m1" AS "n" FROM "_r1") AS t ON t.birth_year = g.d
-- use group_by patients.birth_year

-- title: a correlated subquery over a release
SELECT t.region, (SELECT r.capital FROM regions r WHERE r.region = t.region) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing SELECT t.region, (SELECT r.capital FROM "_p1" AS r WHERE r.region = t.region) FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t
-- use group_by patients.region

-- title: anything above a release
SELECT string_agg(region, ',' ORDER BY n DESC), array_agg(n), percentile_cont(0.5) WITHIN GROUP (ORDER BY n), regexp_replace(min(region), 'n', 'm') FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT STRING_AGG(region, ',' ORDER BY n DESC), ARRAY_AGG(n), PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n), REGEXP_REPLACE(MIN(region), 'n', 'm') FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t
-- use group_by patients.region

-- title: a public table alone
SELECT * FROM regions WHERE population > 1000 ORDER BY region LIMIT 10;
-- plan
-- _p1 fetch regions
-- finishing SELECT * FROM "_p1" AS "regions" WHERE population > 1000 ORDER BY region LIMIT 10

-- title: public tables joined
SELECT r.region, c.chapter FROM regions r LEFT JOIN codes c ON c.code = r.region;
-- plan
-- _p1 fetch regions
-- _p2 fetch codes
-- finishing SELECT r.region, c.chapter FROM "_p1" AS r LEFT JOIN "_p2" AS c ON c.code = r.region

-- title: an empty probe
SELECT * FROM patients LIMIT 0;
-- plan
-- _e1 empty patients
-- finishing SELECT * FROM "_e1" AS "patients" LIMIT 0

-- title: an empty probe by a false condition
SELECT * FROM (SELECT patient_id, income FROM patients) AS t WHERE 1 = 0;
-- plan
-- _e1 empty patients
-- finishing SELECT * FROM (SELECT patient_id, income FROM "_e1" AS "patients") AS t WHERE 1 = 0

-- title: a privilege probe
SELECT TRUE FROM "public"."patients" WHERE 1 <> 1 LIMIT 0;
-- plan
-- _e1 empty patients
-- finishing SELECT TRUE FROM "_e1" AS "patients" WHERE 1 <> 1 LIMIT 0

-- title: an empty probe of a grouping
SELECT region, COUNT(*) FROM patients WHERE FALSE GROUP BY region;
-- plan
-- _e1 empty patients
-- finishing SELECT region, COUNT(*) FROM "_e1" AS "patients" WHERE FALSE GROUP BY region
