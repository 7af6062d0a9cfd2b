-- title: sum of each person
SELECT AVG((SELECT SUM(v.cost) FROM visits v WHERE v.patient_id = p.patient_id)) FROM patients p;
-- plan
-- _r1 release: m1 = avg(by_person.m1)
--   left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     per unit by_person.k1 = v.patient_id; by_person.m1 = sum(v.cost) [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost

-- title: count of each person is 0 without rows
SELECT region, AVG((SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id AND cost > 100)) FROM patients p GROUP BY region;
-- plan
-- _r1 release by k1 = p.region: m1 = avg(coalesce(by_person.m1, cast(0 as bigint)))
--   left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     per unit by_person.k1 = v.patient_id; by_person.m1 = count(*) [protected(patient), rows 1]
--       filter (v.cost > 100)
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by patients.region
-- use filter visits.cost

-- title: expression over several aggregates of a person
SELECT COUNT(*) FROM patients p WHERE COALESCE((SELECT MAX(cost) - MIN(cost) FROM visits v WHERE v.patient_id = p.patient_id), 0) < 100;
-- plan
-- _r1 release: m1 = count(*)
--   filter (coalesce((by_person.m1 - by_person.m2), 0) < 100)
--     left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       per unit by_person.k1 = v.patient_id; by_person.m1 = max(v.cost); by_person.m2 = min(v.cost) [protected(patient), rows 1]
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: aggregate of a person beside a column of the query around
SELECT COUNT(*) FROM patients p WHERE (SELECT MAX(v.cost) - p.birth_year FROM visits v WHERE p.patient_id = v.patient_id) > 0;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((by_person.m1 - p.birth_year) > 0)
--     left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       per unit by_person.k1 = v.patient_id; by_person.m1 = max(v.cost) [protected(patient), rows 1]
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use aggregate visits.cost
-- use filter visits.cost

-- title: count of groups is NULL without rows
SELECT SUM((SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id GROUP BY v.patient_id)) FROM patients p;
-- plan
-- _r1 release: m1 = sum(by_person.m1)
--   left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     per unit by_person.k1 = v.patient_id; by_person.m1 = count(*) [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "sum" FROM "_r1"

-- title: column of the one row of a person
SELECT (SELECT region FROM patients p WHERE p.patient_id = v.patient_id) AS region, COUNT(*) FROM visits v GROUP BY 1;
-- plan
-- _r1 release by k1 = of_person.c1: m1 = count(*)
--   left join on (v.patient_id = of_person.k1) [protected(patient), rows 10]
--     scan visits as v [protected(patient), rows 10]
--     project of_person.k1 = p.patient_id, of_person.c1 = p.region
--       scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: last value of a person
SELECT (SELECT diagnosis FROM visits v WHERE v.patient_id = p.patient_id ORDER BY visit_date DESC, visit_id LIMIT 1) AS last, COUNT(*) FROM patients p GROUP BY 1;
-- plan
-- _r1 release by k1 = of_person.c1: m1 = count(*)
--   left join on (p.patient_id = of_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     project of_person.k1 = v.patient_id, of_person.c1 = v.diagnosis
--       filter (place = 1)
--         window place = row_number() over (partition by v.patient_id order by v.visit_date desc, v.visit_id)
--           scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "last", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.diagnosis
-- use aggregate visits.visit_date
-- use filter visits.visit_date
-- use aggregate visits.visit_id
-- use filter visits.visit_id

-- title: value of a person in a list of protected rows
SELECT n, COUNT(*) FROM (SELECT p.patient_id, (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id) AS n FROM patients p) t GROUP BY n;
-- plan
-- _r1 release by k1 = t.n: m1 = count(*)
--   project t.patient_id = p.patient_id, t.n = coalesce(by_person.m1, cast(0 as bigint))
--     left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       per unit by_person.k1 = v.patient_id; by_person.m1 = count(*) [protected(patient), rows 1]
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "n", "_r1"."m1" AS "count" FROM "_r1"

-- title: correlated subquery within EXISTS
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost = (SELECT MAX(w.cost) FROM visits w WHERE w.patient_id = v.patient_id));
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       filter (v.cost = by_person.m1)
--         left join on (v.patient_id = by_person.k1) [protected(patient), rows 10]
--           scan visits as v [protected(patient), rows 10]
--           per unit by_person.k1 = w.patient_id; by_person.m1 = max(w.cost) [protected(patient), rows 1]
--             scan visits as w [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: lateral last row of a person
SELECT p.region, AVG(l.cost) FROM patients p CROSS JOIN LATERAL (SELECT v.cost FROM visits v WHERE v.patient_id = p.patient_id ORDER BY v.visit_date DESC, v.visit_id LIMIT 1) l GROUP BY p.region;
-- plan
-- _r1 release by k1 = p.region: m1 = avg(of_person.c1)
--   join on (p.patient_id = of_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     project of_person.k1 = v.patient_id, of_person.c1 = v.cost
--       filter (place = 1)
--         window place = row_number() over (partition by v.patient_id order by v.visit_date desc, v.visit_id)
--           scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost
-- use aggregate visits.visit_date
-- use filter visits.visit_date
-- use aggregate visits.visit_id
-- use filter visits.visit_id

-- title: lateral rows with names of their own keep persons without rows
SELECT p.region, COUNT(*), COUNT(l.d) FROM patients p LEFT JOIN LATERAL (SELECT v.cost, v.diagnosis FROM visits v WHERE v.patient_id = p.patient_id ORDER BY 1 DESC, v.visit_id LIMIT 1) l(c, d) ON true GROUP BY p.region;
-- plan
-- _r1 release by k1 = p.region: m1 = count(*); m2 = count(of_person.c2)
--   left join on (p.patient_id = of_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     project of_person.k1 = v.patient_id, of_person.c1 = v.cost, of_person.c2 = v.diagnosis
--       filter (place = 1)
--         window place = row_number() over (partition by v.patient_id order by v.cost desc, v.visit_id)
--           scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count", "_r1"."m2" AS "count" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost
-- use filter visits.cost
-- use aggregate visits.diagnosis
-- use aggregate visits.visit_id
-- use filter visits.visit_id

-- title: lateral rows by a comma
SELECT COUNT(*) FROM patients p, LATERAL (SELECT * FROM visits v WHERE v.patient_id = p.patient_id AND cost > 100) l;
-- plan
-- _r1 release: m1 = count(*)
--   join on (p.patient_id = of_person.k1) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     project of_person.k1 = v.patient_id, of_person.c1 = v.visit_id, of_person.c2 = v.patient_id, of_person.c3 = v.diagnosis, of_person.c4 = v.cost, of_person.c5 = v.visit_date, of_person.c6 = v.admitted, of_person.c7 = v.weight
--       filter (v.cost > 100)
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: lateral aggregate keeps persons without rows
SELECT COUNT(*), AVG(t.s) FROM patients p CROSS JOIN LATERAL (SELECT SUM(cost) AS s FROM visits v WHERE v.patient_id = p.patient_id) t;
-- plan
-- _r1 release: m1 = count(*); m2 = avg(of_person.c1)
--   left join on (p.patient_id = of_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     project of_person.k1 = by_person.k1, of_person.c1 = by_person.m1
--       per unit by_person.k1 = v.patient_id; by_person.m1 = sum(v.cost) [protected(patient), rows 1]
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count", "_r1"."m2" AS "avg" FROM "_r1"
-- use aggregate visits.cost

-- title: lateral aggregate with a condition
SELECT COUNT(*) FROM patients p JOIN LATERAL (SELECT SUM(cost) AS s FROM visits v WHERE v.patient_id = p.patient_id) t ON t.s > 500;
-- plan
-- _r1 release: m1 = count(*)
--   filter (of_person.c1 > 500)
--     left join on (p.patient_id = of_person.k1) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       project of_person.k1 = by_person.k1, of_person.c1 = by_person.m1
--         per unit by_person.k1 = v.patient_id; by_person.m1 = sum(v.cost) [protected(patient), rows 1]
--           scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: distinct on the unit key
SELECT AVG(cost) FROM (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits ORDER BY patient_id, visit_date DESC, visit_id) t;
-- plan
-- _r1 release: m1 = avg(t.cost)
--   project t.patient_id = visits.patient_id, t.cost = visits.cost
--     filter (place = 1)
--       window place = row_number() over (partition by visits.patient_id order by visits.visit_date desc, visits.visit_id)
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use aggregate visits.visit_date
-- use filter visits.visit_date
-- use aggregate visits.visit_id
-- use filter visits.visit_id

-- title: distinct on a place of the list and a second key
SELECT diagnosis, COUNT(*) FROM (SELECT DISTINCT ON (1, diagnosis) patient_id, diagnosis, cost FROM visits ORDER BY 1, diagnosis, cost DESC, visit_id) t GROUP BY 1;
-- plan
-- _r1 release by k1 = t.diagnosis: m1 = count(*)
--   project t.patient_id = visits.patient_id, t.diagnosis = visits.diagnosis, t.cost = visits.cost
--     filter (place = 1)
--       window place = row_number() over (partition by visits.patient_id, visits.diagnosis order by visits.cost desc, visits.visit_id)
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "diagnosis", "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost
-- use filter visits.diagnosis
-- use group_by visits.diagnosis
-- use aggregate visits.visit_id
-- use filter visits.visit_id
