-- title: between symmetric
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN SYMMETRIC 1980 AND 1950 AND income NOT BETWEEN SYMMETRIC 9 AND 5;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((((patients.birth_year >= 1980) and (patients.birth_year <= 1950)) or ((patients.birth_year >= 1950) and (patients.birth_year <= 1980))) and (not (((patients.income >= 9) and (patients.income <= 5)) or ((patients.income >= 5) and (patients.income <= 9)))))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.income

-- title: rows in brackets
SELECT COUNT(*) FROM patients WHERE (region, smoker) IN (('north', true), ('south', false)) OR (birth_year, smoker) <> (1950, true);
-- plan
-- _r1 release: m1 = count(*)
--   filter (((patients.region = 'north') and (patients.smoker = true)) or ((patients.region = 'south') and (patients.smoker = false)) or (patients.birth_year <> 1950) or (patients.smoker <> true))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.region
-- use filter patients.smoker

-- title: rows of a person in brackets
SELECT COUNT(*) FROM visits WHERE (patient_id, diagnosis) IN (SELECT patient_id, diagnosis FROM visits WHERE cost > 4000);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where ((visits.patient_id = visits_2.patient_id) and (visits.diagnosis = visits_2.diagnosis))
--       scan visits as visits [protected(patient), rows 10]
--       filter (visits_2.cost > 4000)
--         scan visits as visits_2 [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost
-- use filter visits.diagnosis

-- title: null-safe join on the unit key
SELECT p.region, SUM(v.cost) FROM patients p JOIN visits v ON (p.patient_id = v.patient_id OR (p.patient_id IS NULL AND v.patient_id IS NULL)) GROUP BY 1;
-- plan
-- _r1 release by k1 = p.region: m1 = sum(v.cost)
--   join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "sum" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost

-- title: null-safe join on the unit key in other words
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id IS NOT DISTINCT FROM p.patient_id AND cost > 100);
-- plan
-- _r1 release: m1 = count(*)
--   filter mark
--     mark mark where (v.patient_id = p.patient_id)
--       scan patients as p [protected(patient), rows 1]
--       filter (v.cost > 100)
--         scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: null-safe comparison of columns
SELECT COUNT(*) FILTER (WHERE v.diagnosis = p.name OR (p.name IS NULL AND v.diagnosis IS NULL)) FROM patients p JOIN visits v ON p.patient_id = v.patient_id;
-- plan
-- _r1 release: m1 = count(*) filter (where (v.diagnosis is not distinct from p.name))
--   join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--     scan patients as p [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.name
-- use filter visits.diagnosis

-- title: days with one digit
SELECT COUNT(*) FROM visits WHERE visit_date >= '2024-1-5' AND visit_date < DATE '2025-1-01';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.visit_date >= cast('2024-01-05' as date)) and (visits.visit_date < cast('2025-01-01' as date)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.visit_date

-- title: numbers beside texts
SELECT region || '-' || birth_year, COUNT(*) FROM patients GROUP BY 1;
-- plan
-- _r1 release by k1 = ((patients.region || '-') || cast(patients.birth_year as text)): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "?column?", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year
-- use group_by patients.region

-- title: texts with a separator
SELECT CONCAT_WS('/', region, name, birth_year), COUNT(*) FROM patients GROUP BY 1;
-- plan
-- _r1 release by k1 = substr(concat(case when (patients.region is null) then '' else ('/' || patients.region) end, case when (patients.name is null) then '' else ('/' || patients.name) end, case when (cast(patients.birth_year as text) is null) then '' else ('/' || cast(patients.birth_year as text)) end), 2): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "concat_ws", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year
-- use group_by patients.name
-- use group_by patients.region

-- title: a LIKE pattern in capitals by a function
SELECT COUNT(*) FROM patients WHERE UPPER(region::text) LIKE UPPER('%or%');
-- plan
-- _r1 release: m1 = count(*)
--   filter (upper(patients.region) like '%OR%')
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: a regular expression by a function
SELECT COUNT(*) FROM patients WHERE regexp_like(region, '^(north|south)$');
-- plan
-- _r1 release: m1 = count(*)
--   filter (patients.region in ('north', 'south'))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: OFFSET 0 in a subquery
SELECT COUNT(*) FROM (SELECT patient_id FROM patients WHERE 1=1 OFFSET 0) AS sub OFFSET 0;
-- plan
-- _r1 release: m1 = count(*)
--   project sub.patient_id = patients.patient_id
--     filter (1 = 1)
--       scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: concat_ws of a boolean
SELECT concat_ws('-', region, smoker) AS k, COUNT(*) FROM patients GROUP BY k;
-- plan
-- _r1 release by k1 = substr(concat(case when (patients.region is null) then '' else ('-' || patients.region) end, case when (case when patients.smoker then 't' when (not patients.smoker) then 'f' else cast(null as text) end is null) then '' else ('-' || case when patients.smoker then 't' when (not patients.smoker) then 'f' else cast(null as text) end) end), 2): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "k", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use group_by patients.smoker

-- title: a moment as seconds
SELECT COUNT(*) FROM visits WHERE admitted >= to_timestamp(1640995200);
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.admitted >= cast('2022-01-01 00:00:00' as timestamp without time zone))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted
