-- title: exists on the person
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > 100);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       filter (v.cost > 100)
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: not exists on the person
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT * FROM visits v WHERE v.patient_id = p.patient_id);
-- plan
-- _r1 release: m1 = count(*)
--   filter (not mark)
--     mark mark where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: exists with a comparison of both sides
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > p.income);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where ((v.patient_id = p.patient_id) and (v.cost > p.income))
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.income
-- use filter visits.cost

-- title: exists within an OR
SELECT COUNT(*) FROM patients p WHERE region = 'north' OR EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);
-- plan
-- _r1 release: m1 = count(*)
--   filter ((p.region = 'north') or mark)
--     mark mark where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: exists as a key
SELECT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id) AS has, COUNT(*) FROM patients p GROUP BY 1;
-- plan
-- _r1 release by k1 = mark: m1 = count(*)
--   mark mark where (v.patient_id = p.patient_id)
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "has", "_r1"."m1" AS "count" FROM "_r1"

-- title: exists over a public table
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM regions r WHERE r.region = p.region AND r.population > 1000);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where (r.region = p.region)
--       scan patients as p [protected(patient), rows 1]
--       filter (r.population > 1000)
--         scan regions as r [public]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: exists within exists
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.cost > v.cost));
-- plan
-- _r1 release: m1 = count(*)
--   filter mark_2
--     mark mark_2 where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       filter mark
--         mark mark where ((w.patient_id = v.patient_id) and (w.cost > v.cost))
--           scan visits as v [protected(patient), rows 10]
--           scan visits as w [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: in on the person
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE cost > 100);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where (patients.patient_id = visits.patient_id)
--       scan patients as patients [protected(patient), rows 1]
--       filter (visits.cost > 100)
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: not in on the person
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits);
-- plan
-- _r1 release: m1 = count(*)
--   filter (not mark)
--     mark mark where (patients.patient_id = visits.patient_id)
--       scan patients as patients [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: in over a grouping by person
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY patient_id HAVING COUNT(*) > 3);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where (patients.patient_id = inner.patient_id)
--       scan patients as patients [protected(patient), rows 1]
--       project inner.patient_id = inner_by_unit.k1
--         filter (inner_by_unit.m1 > 3)
--           per unit inner_by_unit.k1 = visits.patient_id; inner_by_unit.m1 = count(*) [protected(patient), rows 1]
--             scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: in another column with the person
SELECT COUNT(*) FROM visits v WHERE v.cost IN (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id AND w.diagnosis = 'flu');
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where ((w.patient_id = v.patient_id) and (v.cost = w.cost))
--       scan visits as v [protected(patient), rows 10]
--       filter (w.diagnosis = 'flu')
--         scan visits as w [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost
-- use filter visits.diagnosis

-- title: in over a released grouping
SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM patients GROUP BY region HAVING COUNT(*) > 100);
-- plan
-- _r1 release by k1 = patients_2.region: m1 = count(*)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value text) SELECT "q"."c1" AS "value" FROM (SELECT "_r1"."k1" AS "region" FROM "_r1" WHERE "_r1"."m1" > 100) AS "q"("c1")
-- _r2 release: m1 = count(*)
--   filter (patients.region in _s1)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use filter patients.region
-- use group_by patients.region

-- title: not in over a released grouping
SELECT COUNT(*) FROM patients WHERE region NOT IN (SELECT region FROM patients GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1);
-- plan
-- _r1 release by k1 = patients_2.region: m1 = count(*)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value text) SELECT "q"."c1" AS "value" FROM (SELECT "_r1"."k1" AS "region" FROM "_r1" ORDER BY "_r1"."m1" DESC LIMIT 1) AS "q"("c1")
-- _r2 release: m1 = count(*)
--   filter (not (patients.region in _s1))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use filter patients.region
-- use group_by patients.region

-- title: in over a public table
SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM regions WHERE population > 1000);
-- plan
-- _p1 fetch regions
-- _s1 stage (value text) SELECT "q"."c1" AS "value" FROM (SELECT region FROM "_p1" AS "regions" WHERE population > 1000) AS "q"("c1")
-- _r1 release: m1 = count(*)
--   filter (patients.region in _s1)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: scalar subquery over an aggregate
SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients);
-- plan
-- _r1 release: m1 = avg(patients_2.income)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value numeric) SELECT (SELECT "_r1"."m1" AS "avg" FROM "_r1") AS "value"
-- _r2 release: m1 = count(*)
--   filter (patients.income > value_of(_s1))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income

-- title: scalar subquery over a public table
SELECT COUNT(*) FROM patients WHERE birth_year > (SELECT MAX(population) FROM regions);
-- plan
-- _p1 fetch regions
-- _s1 stage (value integer) SELECT (SELECT MAX(population) FROM "_p1" AS "regions") AS "value"
-- _r1 release: m1 = count(*)
--   filter (patients.birth_year > value_of(_s1))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year

-- title: scalar subquery in the list
SELECT region, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM patients) AS share FROM patients GROUP BY region;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _r2 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."k1" AS "region", "_r2"."m1" * 100.0 / (SELECT "_r1"."m1" AS "count" FROM "_r1") AS "share" FROM "_r2"
-- use group_by patients.region

-- title: scalar subquery in having
SELECT region, AVG(income) FROM patients GROUP BY region HAVING AVG(income) > (SELECT AVG(income) FROM patients);
-- plan
-- _r1 release: m1 = avg(patients_2.income)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _r2 release by k1 = patients.region: m1 = avg(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."k1" AS "region", "_r2"."m1" AS "avg" FROM "_r2" WHERE "_r2"."m1" > (SELECT "_r1"."m1" AS "avg" FROM "_r1")
-- use aggregate patients.income
-- use group_by patients.region

-- title: aggregates side by side
SELECT (SELECT COUNT(*) FROM patients) AS a, (SELECT SUM(cost) FROM visits) AS b;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _r2 release: m1 = sum(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT (SELECT "_r1"."m1" AS "count" FROM "_r1") AS a, (SELECT "_r2"."m1" AS "sum" FROM "_r2") AS b
-- use aggregate visits.cost

-- title: exists over a released relation
SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM patients GROUP BY region HAVING COUNT(*) > 5);
-- plan
-- _r1 release by k1 = patients_2.region: m1 = count(*)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value boolean) SELECT EXISTS(SELECT 1 AS "?column?" FROM "_r1" WHERE "_r1"."m1" > 5) AS "value"
-- _r2 release: m1 = count(*)
--   filter value_of(_s1)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use group_by patients.region

-- title: limit from an aggregate
SELECT region, COUNT(*) FROM patients GROUP BY region LIMIT (SELECT MIN(population) FROM regions);
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" LIMIT (SELECT MIN(population) FROM "_p1" AS "regions")
-- use group_by patients.region

-- title: three stages
SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients WHERE birth_year > (SELECT AVG(birth_year)::integer FROM patients));
-- plan
-- _r1 release: m1 = avg(patients_3.birth_year)
--   scan patients as patients_3 [protected(patient), rows 1]
-- _s1 stage (value integer) SELECT (SELECT CAST("_r1"."m1" AS INT) AS "avg" FROM "_r1") AS "value"
-- _r2 release: m1 = avg(patients_2.income)
--   filter (patients_2.birth_year > value_of(_s1))
--     scan patients as patients_2 [protected(patient), rows 1]
-- _s2 stage (value numeric) SELECT (SELECT "_r2"."m1" AS "avg" FROM "_r2") AS "value"
-- _r3 release: m1 = count(*)
--   filter (patients.income > value_of(_s2))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r3"."m1" AS "count" FROM "_r3"
-- use aggregate patients.birth_year
-- use filter patients.birth_year
-- use aggregate patients.income
-- use filter patients.income

-- title: two exists that compare pairs of rows
SELECT COUNT(*), SUM(v.cost) FROM visits v WHERE EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.visit_date <> v.visit_date) AND NOT EXISTS (SELECT 1 FROM visits x WHERE x.patient_id = v.patient_id AND x.diagnosis <> v.diagnosis AND x.cost > 1000);
-- plan
-- _r1 release: m1 = count(*); m2 = sum(v.cost)
--   filter (mark and (not mark_2))
--     mark mark_2 where ((x.patient_id = v.patient_id) and (x.diagnosis <> v.diagnosis))
--       mark mark where ((w.patient_id = v.patient_id) and (w.visit_date <> v.visit_date))
--         scan visits as v [protected(patient), rows 10]
--         scan visits as w [protected(patient), rows 10]
--       filter (x.cost > 1000)
--         scan visits as x [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count", "_r1"."m2" AS "sum" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost
-- use filter visits.diagnosis
-- use filter visits.visit_date
