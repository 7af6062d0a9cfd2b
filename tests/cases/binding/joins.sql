-- title: inner join on the person
SELECT p.region, SUM(v.cost) FROM patients p JOIN visits v ON p.patient_id = v.patient_id GROUP BY p.region;
-- plan
-- _r1 release by k1 = p.region: m1 = sum(v.cost)
--   join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "sum" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost

-- title: inner join the other way round
SELECT COUNT(*) FROM visits v INNER JOIN patients p ON v.patient_id = p.patient_id;
-- plan
-- _r1 release: m1 = count(*)
--   join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--     scan visits as v [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: join using the person
SELECT region, AVG(cost) FROM patients JOIN visits USING (patient_id) GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = avg(visits.cost)
--   join on (patients.patient_id = visits.patient_id) [protected(patient), rows 10]
--     scan patients as patients [protected(patient), rows 1]
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost

-- title: left join on the person
SELECT p.region, COUNT(v.visit_id) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.cost > 10 GROUP BY p.region;
-- plan
-- _r1 release by k1 = p.region: m1 = count(v.visit_id)
--   left join on ((v.patient_id = p.patient_id) and (v.cost > 10)) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use filter visits.cost
-- use aggregate visits.visit_id

-- title: persons of the far side
SELECT COUNT(DISTINCT v.patient_id) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id;
-- plan
-- _r1 release: m1 = count(distinct v.patient_id)
--   left join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: right join is a left join from the other side
SELECT COUNT(*) FROM visits v RIGHT JOIN patients p ON v.patient_id = p.patient_id;
-- plan
-- _r1 release: m1 = count(*)
--   left join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: comma join with the equality in WHERE
SELECT COUNT(*) FROM patients p, visits v WHERE p.patient_id = v.patient_id AND v.cost > 5;
-- plan
-- _r1 release: m1 = count(*)
--   filter (v.cost > 5)
--     join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: cross join with the equality in WHERE
SELECT COUNT(*) FROM patients p CROSS JOIN visits v WHERE v.patient_id = p.patient_id;
-- plan
-- _r1 release: m1 = count(*)
--   join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: join with a public table
SELECT r.capital, COUNT(*) FROM patients p JOIN regions r ON r.region = p.region GROUP BY r.capital;
-- plan
-- _r1 release by k1 = r.capital: m1 = count(*)
--   join on (r.region = p.region) [protected(patient), rows 1] if unique (regions.region)
--     scan patients as p [protected(patient), rows 1]
--     scan regions as r [public]
-- finishing SELECT "_r1"."k1" AS "capital", "_r1"."m1" AS "count" FROM "_r1"
-- use join patients.region

-- title: public table first
SELECT r.capital, COUNT(*) FROM regions r JOIN patients p ON r.region = p.region GROUP BY r.capital;
-- plan
-- _r1 release by k1 = r.capital: m1 = count(*)
--   join on (r.region = p.region) [protected(patient), rows 1] if unique (regions.region)
--     scan regions as r [public]
--     scan patients as p [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "capital", "_r1"."m1" AS "count" FROM "_r1"
-- use join patients.region

-- title: left join with a public table
SELECT r.capital, AVG(p.income) FROM patients p LEFT JOIN regions r ON r.region = p.region GROUP BY 1;
-- plan
-- _r1 release by k1 = r.capital: m1 = avg(p.income)
--   left join on (r.region = p.region) [protected(patient), rows 1] if unique (regions.region)
--     scan patients as p [protected(patient), rows 1]
--     scan regions as r [public]
-- finishing SELECT "_r1"."k1" AS "capital", "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use join patients.region

-- title: public table kept by a right join
SELECT COUNT(*) FROM regions r RIGHT JOIN patients p ON r.region = p.region;
-- plan
-- _r1 release: m1 = count(*)
--   left join on (r.region = p.region) [protected(patient), rows 1] if unique (regions.region)
--     scan patients as p [protected(patient), rows 1]
--     scan regions as r [public]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use join patients.region

-- title: public table by comma
SELECT r.capital, COUNT(*) FROM patients p, regions r WHERE p.region = r.region AND r.population > 1000 GROUP BY r.capital;
-- plan
-- _r1 release by k1 = r.capital: m1 = count(*)
--   filter (r.population > 1000)
--     join on (p.region = r.region) [protected(patient), rows 1] if unique (regions.region)
--       scan patients as p [protected(patient), rows 1]
--       scan regions as r [public]
-- finishing SELECT "_r1"."k1" AS "capital", "_r1"."m1" AS "count" FROM "_r1"
-- use join patients.region

-- title: three tables
SELECT r.capital, SUM(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.patient_id JOIN regions r ON r.region = p.region GROUP BY r.capital;
-- plan
-- _r1 release by k1 = r.capital: m1 = sum(v.cost)
--   join on (r.region = p.region) [protected(patient), rows 10] if unique (regions.region)
--     join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
--     scan regions as r [public]
-- finishing SELECT "_r1"."k1" AS "capital", "_r1"."m1" AS "sum" FROM "_r1"
-- use join patients.region
-- use aggregate visits.cost

-- title: self join on the person
SELECT COUNT(*) FROM patients a JOIN patients b ON a.patient_id = b.patient_id WHERE a.income > b.birth_year;
-- plan
-- _r1 release: m1 = count(*)
--   filter (a.income > b.birth_year)
--     join on (a.patient_id = b.patient_id) [protected(patient), rows 1]
--       scan patients as a [protected(patient), rows 1]
--       scan patients as b [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.income

-- title: join in brackets
SELECT COUNT(*) FROM (patients p JOIN visits v ON p.patient_id = v.patient_id) JOIN regions r ON r.region = p.region;
-- plan
-- _r1 release: m1 = count(*)
--   join on (r.region = p.region) [protected(patient), rows 10] if unique (regions.region)
--     join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
--     scan regions as r [public]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use join patients.region

-- title: join with a list of constants
SELECT w.label, COUNT(*) FROM patients p JOIN (VALUES ('north', 'cold'), ('south', 'warm')) AS w(region, label) ON w.region = p.region GROUP BY w.label;
-- plan
-- _s1 stage (c1 text, c2 text) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (VALUES ('north', 'cold'), ('south', 'warm')) AS "q"("c1", "c2")
-- _r1 release by k1 = w.c2: m1 = count(*)
--   join on (w.c1 = p.region) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     constant _s1 (w.c1 text, w.c2 text) [released]
-- finishing SELECT "_r1"."k1" AS "label", "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: join with one released row
SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT AVG(income) AS a FROM patients) m WHERE p.income > m.a;
-- plan
-- _r1 release: m1 = avg(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- _s1 stage (c1 numeric) SELECT "q"."c1" AS "c1" FROM (SELECT "_r1"."m1" AS "a" FROM "_r1") AS "q"("c1")
-- _r2 release: m1 = count(*)
--   filter (p.income > m_2.c1)
--     join on true [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       constant _s1 (m_2.c1 numeric) [released]
-- finishing SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income

-- title: top groups by a join
SELECT p.region, COUNT(*) FROM patients p JOIN (SELECT region AS region__, COUNT(*) AS mme_inner__ FROM patients GROUP BY region ORDER BY mme_inner__ DESC LIMIT 2) AS anon_1 ON p.region = anon_1.region__ GROUP BY p.region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _s1 stage (c1 text, c2 bigint) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "_r1"."k1" AS "region__", "_r1"."m1" AS "mme_inner__" FROM "_r1" ORDER BY mme_inner__ DESC LIMIT 2) AS "q"("c1", "c2")
-- _r2 release by k1 = p.region: m1 = count(*)
--   join on (p.region = anon_1_2.c1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     constant _s1 (anon_1_2.c1 text, anon_1_2.c2 bigint) [released]
-- finishing SELECT "_r2"."k1" AS "region", "_r2"."m1" AS "count" FROM "_r2"
-- use filter patients.region
-- use group_by patients.region

-- title: join of two groupings above
SELECT a.region, a.n, b.m FROM (SELECT region, COUNT(*) n FROM patients GROUP BY region) a FULL JOIN (SELECT region, AVG(income) m FROM patients GROUP BY region) b ON a.region = b.region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _r2 release by k1 = patients.region: m1 = avg(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT a.region, a.n, b.m FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS a FULL JOIN (SELECT "_r2"."k1" AS "region", "_r2"."m1" AS "m" FROM "_r2") AS b ON a.region = b.region
-- use aggregate patients.income
-- use group_by patients.region

-- title: join of a grouping with a public table above
SELECT r.capital, t.n FROM (SELECT region, COUNT(*) n FROM patients GROUP BY region) t NATURAL JOIN regions r;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing SELECT r.capital, t.n FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t NATURAL JOIN "_p1" AS r
-- use group_by patients.region

-- title: qualified by the schema
SELECT "public"."patients"."region", COUNT(*) FROM "public"."patients" GROUP BY "public"."patients"."region";
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: join through a far side
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id LEFT JOIN visits w ON w.patient_id = v.patient_id;
-- plan
-- _r1 release: m1 = count(*)
--   left join on (w.patient_id = v.patient_id) [protected(patient), rows 100]
--     left join on (v.patient_id = p.patient_id) [protected(patient), rows 10]
--       scan patients as p [protected(patient), rows 1]
--       scan visits as v [protected(patient), rows 10]
--     scan visits as w [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
