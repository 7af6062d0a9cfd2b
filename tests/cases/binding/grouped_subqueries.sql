-- title: mean of each group of a public column
SELECT COUNT(*) FROM patients p JOIN regions r ON r.region = p.region WHERE p.income > (SELECT 0.5 * AVG(q.income) FROM patients q WHERE q.region = r.region);
-- plan
-- _r1 release by k1 = q.region: m1 = avg(q.income)
--   scan patients as q [protected(patient), rows 1]
-- _s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", 0.5 * "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = count(*)
--   filter (p.income > groups.c2)
--     left join on (groups.c1 = r.region) [protected(patient), rows 1]
--       join on (r.region = p.region) [protected(patient), rows 1] if unique (regions.region)
--         scan patients as p [protected(patient), rows 1]
--         scan regions as r [public]
--       constant _s1 (groups.c1 text, groups.c2 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income
-- use group_by patients.region
-- use join patients.region

-- title: the join that it is
SELECT COUNT(*) FROM patients p JOIN regions r ON r.region = p.region LEFT JOIN (SELECT q.region AS k, 0.5 * AVG(q.income) AS v FROM patients q GROUP BY q.region) groups ON groups.k = r.region WHERE p.income > groups.v;
-- plan
-- _r1 release by k1 = q.region: m1 = avg(q.income)
--   scan patients as q [protected(patient), rows 1]
-- _s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "k", 0.5 * "_r1"."m1" AS "v" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = count(*)
--   filter (p.income > groups_2.c2)
--     left join on (groups_2.c1 = r.region) [protected(patient), rows 1]
--       join on (r.region = p.region) [protected(patient), rows 1] if unique (regions.region)
--         scan patients as p [protected(patient), rows 1]
--         scan regions as r [public]
--       constant _s1 (groups_2.c1 text, groups_2.c2 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income
-- use group_by patients.region
-- use join patients.region

-- title: mean of each group of a protected column
SELECT COUNT(*) FROM patients p WHERE income > (SELECT AVG(q.income) FROM patients q WHERE q.region = p.region);
-- plan
-- _r1 release by k1 = q.region: m1 = avg(q.income)
--   scan patients as q [protected(patient), rows 1]
-- _s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = count(*)
--   filter (p.income > groups.c2)
--     left join on (groups.c1 = p.region) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       constant _s1 (groups.c1 text, groups.c2 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income
-- use filter patients.region
-- use group_by patients.region

-- title: count of each group is 0 without rows
SELECT SUM((SELECT COUNT(*) FROM patients q WHERE q.region = v.diagnosis)) FROM visits v;
-- plan
-- _r1 release by k1 = q.region: m1 = count(*)
--   scan patients as q [protected(patient), rows 1]
-- _s1 stage (c1 text, c2 bigint) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = sum(coalesce(groups.c2, cast(0 as bigint)))
--   left join on (groups.c1 = v.diagnosis) [protected(patient), rows 10]
--     scan visits as v [protected(patient), rows 10]
--     constant _s1 (groups.c1 text, groups.c2 bigint) [released]
-- finishing SELECT "_r2"."m1" AS "sum" FROM "_r2"
-- use group_by patients.region
-- use filter visits.diagnosis

-- title: expression that is no NULL without rows
SELECT AVG(p.income) FROM patients p WHERE (SELECT COALESCE(SUM(v.cost), -1) FROM visits v WHERE v.diagnosis = p.region) < 0;
-- plan
-- _r1 release by k1 = v.diagnosis: m1 = sum(v.cost)
--   scan visits as v [protected(patient), rows 10]
-- _s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", COALESCE("_r1"."m1", -1) AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = avg(p.income)
--   filter (case when (groups.c1 is null) then coalesce(cast(null as numeric), -1) else groups.c2 end < 0)
--     left join on (groups.c1 = p.region) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       constant _s1 (groups.c1 text, groups.c2 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "avg" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.region
-- use aggregate visits.cost
-- use group_by visits.diagnosis

-- title: several columns and conditions of its own
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT MAX(w.cost) FROM visits w JOIN codes c ON c.code = w.diagnosis WHERE w.cost > 10 AND v.diagnosis = w.diagnosis AND w.visit_date = v.visit_date AND c.chapter = 'J');
-- plan
-- _r1 release by k1 = w.diagnosis, k2 = w.visit_date: m1 = max(w.cost)
--   filter ((w.cost > 10) and (c.chapter = 'J'))
--     join on (c.code = w.diagnosis) [protected(patient), rows 10] if unique (codes.code)
--       scan visits as w [protected(patient), rows 10]
--       scan codes as c [public]
-- _s1 stage (c1 text, c2 date, c3 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2", "q"."c3" AS "c3" FROM (SELECT "_r1"."k1" AS "_t3", "_r1"."k2" AS "_t4", "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2", "c3")
-- _r2 release: m1 = count(*)
--   filter (v.cost > groups.c3)
--     left join on ((groups.c1 = v.diagnosis) and (groups.c2 = v.visit_date)) [protected(patient), rows 10]
--       scan visits as v [protected(patient), rows 10]
--       constant _s1 (groups.c1 text, groups.c2 date, groups.c3 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate visits.cost
-- use filter visits.cost
-- use filter visits.diagnosis
-- use group_by visits.diagnosis
-- use join visits.diagnosis
-- use filter visits.visit_date
-- use group_by visits.visit_date

-- title: grouped subquery within a subquery of one person
SELECT AVG((SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.diagnosis = v.diagnosis))) FROM patients p;
-- plan
-- _r1 release by k1 = w.diagnosis: m1 = avg(w.cost)
--   scan visits as w [protected(patient), rows 10]
-- _s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = avg(coalesce(by_person.m1, cast(0 as bigint)))
--   left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     per unit by_person.k1 = v.patient_id; by_person.m1 = count(*) [protected(patient), rows 1]
--       filter (v.cost > groups.c2)
--         left join on (groups.c1 = v.diagnosis) [protected(patient), rows 10]
--           scan visits as v [protected(patient), rows 10]
--           constant _s1 (groups.c1 text, groups.c2 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "avg" FROM "_r2"
-- use aggregate visits.cost
-- use filter visits.cost
-- use filter visits.diagnosis
-- use group_by visits.diagnosis

-- title: grouped subquery within EXISTS
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.diagnosis = v.diagnosis));
-- plan
-- _r1 release by k1 = w.diagnosis: m1 = avg(w.cost)
--   scan visits as w [protected(patient), rows 10]
-- _s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release: m1 = count(*)
--   filter mark
--     mark mark where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       filter (v.cost > groups.c2)
--         left join on (groups.c1 = v.diagnosis) [protected(patient), rows 10]
--           scan visits as v [protected(patient), rows 10]
--           constant _s1 (groups.c1 text, groups.c2 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate visits.cost
-- use filter visits.cost
-- use filter visits.diagnosis
-- use group_by visits.diagnosis

-- title: as a key
SELECT (SELECT COUNT(*) FROM patients q WHERE q.region = p.region) > 5 AS many, COUNT(*) FROM patients p GROUP BY 1;
-- plan
-- _r1 release by k1 = q.region: m1 = count(*)
--   scan patients as q [protected(patient), rows 1]
-- _s1 stage (c1 text, c2 bigint) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "q"("c1", "c2")
-- _r2 release by k1 = (coalesce(groups.c2, cast(0 as bigint)) > 5): m1 = count(*)
--   left join on (groups.c1 = p.region) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     constant _s1 (groups.c1 text, groups.c2 bigint) [released]
-- finishing SELECT "_r2"."k1" AS "many", "_r2"."m1" AS "count" FROM "_r2"
-- use filter patients.region
-- use group_by patients.region

-- title: in the list of a SELECT over public rows
SELECT region, (SELECT AVG(income) FROM patients p WHERE p.region = r.region) FROM regions r ORDER BY 2;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = avg(p.income)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT region, "_t1"."_t2" AS "avg" FROM "_p1" AS r LEFT JOIN (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "_t1" ON "_t1"."_t3" = r.region ORDER BY 2
-- use aggregate patients.income
-- use group_by patients.region

-- title: count beside public rows
SELECT r.*, (SELECT COUNT(*) FROM patients p WHERE p.region = r.region) AS n FROM regions r, codes WHERE code = 'x';
-- plan
-- _p1 fetch regions
-- _p2 fetch codes
-- _r1 release by k1 = p.region: m1 = count(*)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT r.*, COALESCE("_t1"."_t2", CAST(0 AS BIGINT)) AS n FROM "_p1" AS r CROSS JOIN "_p2" AS "codes" LEFT JOIN (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "_t1" ON "_t1"."_t3" = r.region WHERE code = 'x'
-- use group_by patients.region

-- title: star beside public rows
SELECT * FROM regions r, codes c WHERE population > (SELECT 10 * COUNT(*) FROM patients p WHERE p.region = r.region);
-- plan
-- _p1 fetch regions
-- _p2 fetch codes
-- _r1 release by k1 = p.region: m1 = count(*)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT "r".*, "c".* FROM "_p1" AS r CROSS JOIN "_p2" AS c LEFT JOIN (SELECT "_r1"."k1" AS "_t3", 10 * "_r1"."m1" AS "_t2" FROM "_r1") AS "_t1" ON "_t1"."_t3" = r.region WHERE population > COALESCE("_t1"."_t2", 10 * CAST(0 AS BIGINT))
-- use group_by patients.region

-- title: within IN over public rows
SELECT COUNT(*) FROM patients WHERE region IN (SELECT r.region FROM regions r WHERE r.population > (SELECT SUM(q.income) FROM patients q WHERE q.region = r.region AND q.birth_year > 1980));
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = q.region: m1 = sum(q.income)
--   filter (q.birth_year > 1980)
--     scan patients as q [protected(patient), rows 1]
-- _s1 stage (value text) SELECT "q"."c1" AS "value" FROM (SELECT r.region FROM "_p1" AS r LEFT JOIN (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "_t1" ON "_t1"."_t3" = r.region WHERE r.population > "_t1"."_t2") AS "q"("c1")
-- _r2 release: m1 = count(*)
--   filter (patients.region in _s1)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use filter patients.birth_year
-- use aggregate patients.income
-- use filter patients.region
-- use group_by patients.region

-- title: within an aggregate of public rows
SELECT SUM(population - (SELECT COUNT(*) FROM patients p WHERE p.region = r.region)) FROM regions r;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = count(*)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT SUM(population - COALESCE("_t1"."_t2", CAST(0 AS BIGINT))) AS "sum" FROM "_p1" AS r LEFT JOIN (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "_t1" ON "_t1"."_t3" = r.region
-- use group_by patients.region

-- title: beside released rows
SELECT t.region, t.n, (SELECT SUM(income) FROM patients p WHERE p.region = t.region) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _r2 release by k1 = p.region: m1 = sum(p.income)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT t.region, t.n, "_t1"."_t2" AS "sum" FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t LEFT JOIN (SELECT "_r2"."k1" AS "_t3", "_r2"."m1" AS "_t2" FROM "_r2") AS "_t1" ON "_t1"."_t3" = t.region
-- use aggregate patients.income
-- use group_by patients.region

-- title: the same value twice is joined once
SELECT region, (SELECT AVG(income) FROM patients p WHERE p.region = r.region) AS mean FROM regions r WHERE (SELECT AVG(income) FROM patients p WHERE p.region = r.region) > 100;
-- plan
-- _p1 fetch regions
-- _r1 release by k1 = p.region: m1 = avg(p.income)
--   scan patients as p [protected(patient), rows 1]
-- finishing SELECT region, "_t1"."_t2" AS mean FROM "_p1" AS r LEFT JOIN (SELECT "_r1"."k1" AS "_t3", "_r1"."m1" AS "_t2" FROM "_r1") AS "_t1" ON "_t1"."_t3" = r.region WHERE "_t1"."_t2" > 100
-- use aggregate patients.income
-- use group_by patients.region
