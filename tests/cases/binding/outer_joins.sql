-- title: public groups with counts of persons
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = count(p.patient_id)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "region", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "count" FROM (SELECT "r"."region" AS "k1", COUNT(*) AS "n" FROM "_p1" AS r GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1"
-- use group_by patients.region

-- title: public groups with conditions on both sides
SELECT r.region, r.capital, COUNT(p.income) AS n, AVG(p.income) FROM regions r LEFT JOIN patients p ON p.region = r.region AND p.smoker WHERE r.population > 1000 GROUP BY 1, 2 HAVING COUNT(p.income) >= 0 ORDER BY n DESC, 1 LIMIT 3;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = count(p.income); m2 = avg(p.income)
--   filter p.smoker
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "region", "_t1"."k2" AS "capital", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "n", "_t2"."m2" AS "avg" FROM (SELECT "r"."region" AS "k1", "r"."capital" AS "k2", COUNT(*) AS "n" FROM "_p1" AS r WHERE "r"."population" > 1000 GROUP BY 1, 2) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1", "_r1"."m2" AS "m2" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1" WHERE COALESCE("_t2"."m1" * "_t1"."n", 0) >= 0 ORDER BY "n" DESC, 1 LIMIT 3
-- use aggregate patients.income
-- use group_by patients.region
-- use filter patients.smoker

-- title: public groups joined by name, and a share of all
SELECT region, COUNT(income) * 100.0 / SUM(COUNT(income)) OVER () AS share FROM regions LEFT JOIN patients USING (region) GROUP BY region;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = patients.region: m1 = count(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "region", COALESCE("_t2"."m1" * "_t1"."n", 0) * 100.0 / SUM(COALESCE("_t2"."m1" * "_t1"."n", 0)) OVER () AS "share" FROM (SELECT "regions"."region" AS "k1", COUNT(*) AS "n" FROM "_p1" AS "regions" GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1"
-- use aggregate patients.income
-- use group_by patients.region

-- title: public groups that are written, some of them twice
SELECT d.y, r.region, COUNT(p.patient_id) AS n, SUM(p.income) FILTER (WHERE p.smoker) AS s FROM (VALUES (1950), (1950), (1971)) AS d(y) CROSS JOIN regions r LEFT JOIN patients p ON p.birth_year = d.y AND p.region = r.region GROUP BY d.y, r.region ORDER BY 1, 2;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.birth_year, k2 = p.region: m1 = count(p.patient_id); m2 = sum(p.income) filter (where p.smoker)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "y", "_t1"."k2" AS "region", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "n", ("_t2"."m2" * "_t1"."n") AS "s" FROM (SELECT "d"."y" AS "k1", "r"."region" AS "k2", COUNT(*) AS "n" FROM (VALUES (1950), (1950), (1971)) AS d(y) CROSS JOIN "_p1" AS r GROUP BY 1, 2) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."k2" AS "j2", "_r1"."m1" AS "m1", "_r1"."m2" AS "m2" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1" AND "_t2"."j2" = "_t1"."k2" ORDER BY 1, 2
-- use group_by patients.birth_year
-- use aggregate patients.income
-- use group_by patients.region
-- use filter patients.smoker

-- title: public groups of a CTE beside rows of two tables
WITH years AS (SELECT generate_series(1950, 1953) AS y) SELECT y AS year, COUNT(v.visit_id) FROM years LEFT JOIN patients p ON p.birth_year = y LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY year;
-- plan
-- _r1 release by k1 = p.birth_year: m1 = count(v.visit_id)
--   left join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing WITH years AS (SELECT GENERATE_SERIES(1950, 1953) AS y) SELECT "_t1"."k1" AS "year", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "count" FROM (SELECT "years"."y" AS "k1", COUNT(*) AS "n" FROM years GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1"
-- use group_by patients.birth_year
-- use aggregate visits.visit_id

-- title: public groups in a subquery
SELECT t.region, n FROM (SELECT r.region, COUNT(p.patient_id) AS n FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region) t WHERE n < 30;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = count(p.patient_id)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT t.region, n FROM (SELECT "_t1"."k1" AS "region", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "n" FROM (SELECT "r"."region" AS "k1", COUNT(*) AS "n" FROM "_p1" AS r GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1") AS t WHERE n < 30
-- use group_by patients.region

-- title: public groups of a query with a column of the same name
SELECT g.region, COUNT(p.patient_id) FROM (SELECT region FROM regions WHERE population > 10) AS g LEFT JOIN patients p ON p.region = g.region GROUP BY g.region;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = count(p.patient_id)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "region", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "count" FROM (SELECT "g"."region" AS "k1", COUNT(*) AS "n" FROM (SELECT region FROM "_p1" AS "regions" WHERE population > 10) AS g GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1"
-- use group_by patients.region

-- title: public groups with constants beside the key
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region AND 1950 = p.birth_year AND (p.name = 'x' OR p.smoker) AND 1 = 1 GROUP BY r.region;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = count(p.patient_id)
--   filter ((1950 = p.birth_year) and ((p.name = 'x') or p.smoker) and (1 = 1))
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "region", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "count" FROM (SELECT "r"."region" AS "k1", COUNT(*) AS "n" FROM "_p1" AS r GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1"
-- use filter patients.birth_year
-- use filter patients.name
-- use group_by patients.region
-- use filter patients.smoker

-- title: public groups whose key is compared with a constant
SELECT s.y, COUNT(p.patient_id) FROM generate_series(1950, 1953) AS s(y) LEFT JOIN patients p ON p.birth_year = s.y AND p.birth_year = 1951 AND p.region = 'north' GROUP BY s.y;
-- plan
-- _r1 release by k1 = p.birth_year: m1 = count(p.patient_id)
--   filter ((p.birth_year = 1951) and (p.region = 'north'))
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_t1"."k1" AS "y", COALESCE("_t2"."m1" * "_t1"."n", 0) AS "count" FROM (SELECT "s"."y" AS "k1", COUNT(*) AS "n" FROM GENERATE_SERIES(1950, 1953) AS s(y) GROUP BY 1) AS "_t1" LEFT JOIN (SELECT "_r1"."k1" AS "j1", "_r1"."m1" AS "m1" FROM "_r1") AS "_t2" ON "_t2"."j1" = "_t1"."k1"
-- use filter patients.birth_year
-- use group_by patients.birth_year
-- use filter patients.region
