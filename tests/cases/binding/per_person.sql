-- title: sum of each person
SELECT AVG(total) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t;
-- plan
-- _r1 release: m1 = avg(t.total)
--   project t.patient_id = t_by_unit.k1, t.total = t_by_unit.m1
--     per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = sum(visits.cost) [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost

-- title: histogram of counts
SELECT n, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY n;
-- plan
-- _r1 release by k1 = t.n: m1 = count(*)
--   project t.patient_id = t_by_unit.k1, t.n = t_by_unit.m1
--     per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = count(*) [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "n", "_r1"."m1" AS "count" FROM "_r1"

-- title: per person with a having
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING SUM(cost) > 1000 AND COUNT(*) > 2) t;
-- plan
-- _r1 release: m1 = count(*)
--   project t.patient_id = t_by_unit.k1
--     filter ((t_by_unit.m1 > 1000) and (t_by_unit.m2 > 2))
--       per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = sum(visits.cost); t_by_unit.m2 = count(*) [protected(patient), rows 1]
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: per person and group
SELECT diagnosis, AVG(c) FROM (SELECT patient_id, diagnosis, COUNT(*) AS c FROM visits GROUP BY patient_id, diagnosis) t GROUP BY diagnosis;
-- plan
-- _r1 release by k1 = t.diagnosis: m1 = avg(t.c)
--   project t.patient_id = t_by_unit.k1, t.diagnosis = t_by_unit.k2, t.c = t_by_unit.m1
--     per unit t_by_unit.k1 = visits.patient_id, t_by_unit.k2 = visits.diagnosis; t_by_unit.m1 = count(*) [protected(patient), rows 10]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "diagnosis", "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by visits.diagnosis

-- title: per person by a CTE
WITH per AS (SELECT v.patient_id AS pid, MAX(v.cost) AS top FROM visits v GROUP BY v.patient_id) SELECT AVG(top), COUNT(DISTINCT pid) FROM per;
-- plan
-- _r1 release: m1 = avg(per_2.top); m2 = count(distinct per_2.pid)
--   project per_2.pid = per.pid, per_2.top = per.top
--     project per.pid = per_by_unit.k1, per.top = per_by_unit.m1
--       per unit per_by_unit.k1 = v.patient_id; per_by_unit.m1 = max(v.cost) [protected(patient), rows 1]
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "count" FROM "_r1"
-- use aggregate visits.cost

-- title: per person joined back
SELECT p.region, AVG(t.total) FROM patients p JOIN (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t ON t.patient_id = p.patient_id GROUP BY p.region;
-- plan
-- _r1 release by k1 = p.region: m1 = avg(t.total)
--   join on (t.patient_id = p.patient_id) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     project t.patient_id = t_by_unit.k1, t.total = t_by_unit.m1
--       per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = sum(visits.cost) [protected(patient), rows 1]
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost

-- title: a CTE used twice
WITH t AS (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id) SELECT COUNT(*) FROM t a JOIN t b ON a.patient_id = b.patient_id WHERE a.s > b.s;
-- plan
-- _r1 release: m1 = count(*)
--   filter (a.s > b.s)
--     join on (a.patient_id = b.patient_id) [protected(patient), rows 1]
--       project a.patient_id = t.patient_id, a.s = t.s
--         project t.patient_id = t_by_unit.k1, t.s = t_by_unit.m1
--           per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = sum(visits.cost) [protected(patient), rows 1]
--             scan visits as visits [protected(patient), rows 10]
--       project b.patient_id = t.patient_id, b.s = t.s
--         project t.patient_id = t_by_unit.k1, t.s = t_by_unit.m1
--           per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = sum(visits.cost) [protected(patient), rows 1]
--             scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: distinct per person
SELECT diagnosis, COUNT(*) FROM (SELECT DISTINCT patient_id, diagnosis FROM visits) d GROUP BY diagnosis;
-- plan
-- _r1 release by k1 = d.diagnosis: m1 = count(*)
--   per unit d.patient_id = visits.patient_id, d.diagnosis = visits.diagnosis [protected(patient), rows 10]
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "diagnosis", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.diagnosis

-- title: expressions over per-person aggregates
SELECT AVG(r) FROM (SELECT patient_id, SUM(cost) / COUNT(*) AS r, COUNT(DISTINCT diagnosis) AS d FROM visits GROUP BY patient_id) t WHERE d > 1;
-- plan
-- _r1 release: m1 = avg(t.r)
--   filter (t.d > 1)
--     project t.patient_id = t_by_unit.k1, t.r = (t_by_unit.m1 / t_by_unit.m2), t.d = t_by_unit.m3
--       per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = sum(visits.cost); t_by_unit.m2 = count(*); t_by_unit.m3 = count(distinct visits.diagnosis) [protected(patient), rows 1]
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost
-- use aggregate visits.diagnosis
-- use filter visits.diagnosis

-- title: first row of each person
SELECT diagnosis, COUNT(*) FROM (SELECT patient_id, diagnosis, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS rn FROM visits) t WHERE rn = 1 GROUP BY diagnosis;
-- plan
-- _r1 release by k1 = t.diagnosis: m1 = count(*)
--   filter (t.rn = 1)
--     project t.patient_id = visits.patient_id, t.diagnosis = visits.diagnosis, t.rn = window
--       window window = row_number() over (partition by visits.patient_id order by visits.visit_date)
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "diagnosis", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.diagnosis
-- use aggregate visits.visit_date
-- use filter visits.visit_date

-- title: gaps between rows of a person
SELECT AVG(gap) FROM (SELECT visit_date - LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date) AS gap FROM visits) t;
-- plan
-- _r1 release: m1 = avg(t.gap)
--   project t.gap = (visits.visit_date - window)
--     window window = lag(visits.visit_date) over (partition by visits.patient_id order by visits.visit_date)
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.visit_date

-- title: share of a person's total
SELECT AVG(share) FROM (SELECT cost / SUM(cost) OVER (PARTITION BY patient_id) AS share FROM visits) t;
-- plan
-- _r1 release: m1 = avg(t.share)
--   project t.share = (visits.cost / window)
--     window window = sum(visits.cost) over (partition by visits.patient_id)
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: running totals of a person
SELECT MAX(running) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM visits) t;
-- plan
-- _r1 release: m1 = max(t.running)
--   project t.running = window
--     window window = sum(visits.cost) over (partition by visits.patient_id order by visits.visit_date rows between unbounded preceding and current row)
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "max" FROM "_r1"
-- use aggregate visits.cost
-- use aggregate visits.visit_date

-- title: neighbours within a frame
SELECT AVG(a) FROM (SELECT AVG(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN 2 PRECEDING AND 1 FOLLOWING) AS a FROM visits) t;
-- plan
-- _r1 release: m1 = avg(t.a)
--   project t.a = window
--     window window = avg(visits.cost) over (partition by visits.patient_id order by visits.visit_date rows between 2 preceding and 1 following)
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use aggregate visits.visit_date

-- title: union of rows of persons
SELECT AVG(x) FROM (SELECT patient_id, cost AS x FROM visits UNION ALL SELECT patient_id, income FROM patients) u;
-- plan
-- _r1 release: m1 = avg(u.x)
--   union all as u [protected(patient), rows 11]
--     project union.patient_id = visits.patient_id, union.x = visits.cost
--       scan visits as visits [protected(patient), rows 10]
--     project union_2.patient_id = patients.patient_id, union_2.income = patients.income
--       scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use aggregate visits.cost

-- title: union without the unit in the list
SELECT AVG(x) FROM (SELECT cost AS x FROM visits UNION ALL SELECT income FROM patients) u;
-- plan
-- _r1 release: m1 = avg(u.x)
--   union all as u [protected(patient), rows 11]
--     project union.x = visits.cost
--       scan visits as visits [protected(patient), rows 10]
--     project union_2.income = patients.income
--       scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use aggregate visits.cost

-- title: rows without the unit in the list
SELECT AVG(x) FROM (SELECT cost * 2 AS x FROM visits WHERE cost > 5) t;
-- plan
-- _r1 release: m1 = avg(t.x)
--   project t.x = (visits.cost * 2)
--     filter (visits.cost > 5)
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: renamed columns
SELECT AVG(b) FROM (SELECT patient_id, income FROM patients) AS t(a, b);
-- plan
-- _r1 release: m1 = avg(t.income)
--   project t.patient_id = patients.patient_id, t.income = patients.income
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income

-- title: nested three deep
SELECT AVG(z) FROM (SELECT y + 1 AS z FROM (SELECT x * 2 AS y FROM (SELECT income AS x FROM patients) a) b) c;
-- plan
-- _r1 release: m1 = avg(c.z)
--   project c.z = (b.y + 1)
--     project b.y = (a.x * 2)
--       project a.x = patients.income
--         scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate patients.income

-- title: months of each person
SELECT AVG(n) FROM (SELECT patient_id, date_trunc('month', visit_date) AS month, COUNT(*) AS n FROM visits GROUP BY patient_id, date_trunc('month', visit_date)) t;
-- plan
-- _r1 release: m1 = avg(t.n)
--   project t.patient_id = t_by_unit.k1, t.month = t_by_unit.k2, t.n = t_by_unit.m1
--     per unit t_by_unit.k1 = visits.patient_id, t_by_unit.k2 = date_trunc('month', visits.visit_date); t_by_unit.m1 = count(*) [protected(patient), rows 10]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by visits.visit_date

-- title: different months of each person
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, date_trunc('month', visit_date) AS month FROM visits) t;
-- plan
-- _r1 release: m1 = count(*)
--   per unit t.patient_id = visits.patient_id, t.month = date_trunc('month', visits.visit_date) [protected(patient), rows 10]
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: boolean aggregates of each person
SELECT AVG(CASE WHEN dear THEN 1 ELSE 0 END), COUNT(*) FILTER (WHERE low) FROM (SELECT patient_id, BOOL_OR(cost > 100) FILTER (WHERE visit_date > DATE '2020-01-01') AS dear, EVERY(cost < 5) AS low FROM visits GROUP BY patient_id) t;
-- plan
-- _r1 release: m1 = avg(case when t.dear then 1 else 0 end); m2 = count(*) filter (where t.low)
--   project t.patient_id = t_by_unit.k1, t.dear = (t_by_unit.m1 = 1), t.low = (t_by_unit.m2 = 1)
--     per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = max(case when (visits.cost > 100) then 1 when (not (visits.cost > 100)) then 0 else cast(null as integer) end) filter (where (visits.visit_date > cast('2020-01-01' as date))); t_by_unit.m2 = min(case when (visits.cost < 5) then 1 when (not (visits.cost < 5)) then 0 else cast(null as integer) end) [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost
-- use aggregate visits.visit_date
-- use filter visits.visit_date

-- title: the end that a boolean aggregate is
SELECT AVG(CASE WHEN dear = 1 THEN 1 ELSE 0 END) FROM (SELECT patient_id, MAX(CASE WHEN cost > 100 THEN 1 WHEN NOT cost > 100 THEN 0 END) AS dear FROM visits GROUP BY patient_id) t;
-- plan
-- _r1 release: m1 = avg(case when (t.dear = 1) then 1 else 0 end)
--   project t.patient_id = t_by_unit.k1, t.dear = t_by_unit.m1
--     per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = max(case when (visits.cost > 100) then 1 when (not (visits.cost > 100)) then 0 else cast(null as integer) end) [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: groups of a boolean aggregate of each person
SELECT few, COUNT(*) FROM (SELECT patient_id, BOOL_AND(cost < 100) AS few FROM visits GROUP BY patient_id HAVING BOOL_OR(cost > 1)) t GROUP BY few;
-- plan
-- _r1 release by k1 = t.few: m1 = count(*)
--   project t.patient_id = t_by_unit.k1, t.few = (t_by_unit.m1 = 1)
--     filter (t_by_unit.m2 = 1)
--       per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = min(case when (visits.cost < 100) then 1 when (not (visits.cost < 100)) then 0 else cast(null as integer) end); t_by_unit.m2 = max(case when (visits.cost > 1) then 1 when (not (visits.cost > 1)) then 0 else cast(null as integer) end) [protected(patient), rows 1]
--         scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "few", "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost
-- use group_by visits.cost

-- title: boolean aggregate of a person beside the query around
SELECT region, COUNT(*) FROM patients p WHERE (SELECT BOOL_OR(v.cost > 100) FROM visits v WHERE v.patient_id = p.patient_id) GROUP BY region;
-- plan
-- _r1 release by k1 = p.region: m1 = count(*)
--   filter (by_person.m1 = 1)
--     left join on (p.patient_id = by_person.k1) [protected(patient), rows 1]
--       scan patients as p [protected(patient), rows 1]
--       per unit by_person.k1 = v.patient_id; by_person.m1 = max(case when (v.cost > 100) then 1 when (not (v.cost > 100)) then 0 else cast(null as integer) end) [protected(patient), rows 1]
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost
-- use filter visits.cost
