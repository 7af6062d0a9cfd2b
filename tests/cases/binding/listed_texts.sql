-- title: regular expression over listed values
SELECT COUNT(*) FROM patients WHERE region ~ '^(n|s).*th$';
-- plan
-- _r1 release: m1 = count(*)
--   filter (patients.region in ('north', 'south'))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: regular expression that does not match, without case
SELECT COUNT(*) FROM patients WHERE region !~* 'ST';
-- plan
-- _r1 release: m1 = count(*)
--   filter (not (patients.region in ('east', 'west')))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: regular expression of an expression
SELECT COUNT(*) FILTER (WHERE upper(region) ~ '^[^A-N]\w{3,4}$') FROM patients;
-- plan
-- _r1 release: m1 = count(*) filter (where (patients.region in ('south', 'west')))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: regular expression that nothing matches
SELECT COUNT(*) FILTER (WHERE NOT region ~ 'xyz') FROM patients;
-- plan
-- _r1 release: m1 = count(*) filter (where (not case when (patients.region is null) then cast(null as boolean) else false end))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: similar to
SELECT COUNT(*) FROM patients WHERE region SIMILAR TO '%(or|ou)th' AND region NOT SIMILAR TO 's_uth';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.region in ('north', 'south')) and (not (patients.region in ('south'))))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: like any and like all
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE ANY (ARRAY['flu%', '%cold']) AND diagnosis NOT LIKE ALL ('{%x,asthma}');
-- plan
-- _r1 release: m1 = count(*)
--   filter (((visits.diagnosis like 'flu%') or (visits.diagnosis like '%cold')) and (visits.diagnosis not like '%x') and (visits.diagnosis not like 'asthma'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: capitals of listed values
SELECT INITCAP(region), COUNT(*) FROM patients GROUP BY 1;
-- plan
-- _r1 release by k1 = case when (patients.region = 'north') then 'North' when (patients.region = 'east') then 'East' when (patients.region = 'south') then 'South' when (patients.region = 'west') then 'West' else cast(null as text) end: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "initcap", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: least and greatest listed value
SELECT smoker, MIN(region), MAX(UPPER(region)) FILTER (WHERE birth_year > 1950) FROM patients GROUP BY smoker;
-- plan
-- _r1 release by k1 = patients.smoker: m1 = min(case when (patients.region = 'north') then 2 when (patients.region = 'east') then 1 when (patients.region = 'south') then 3 when (patients.region = 'west') then 4 else cast(null as integer) end); m2 = max(case when (patients.region = 'north') then 2 when (patients.region = 'east') then 1 when (patients.region = 'south') then 3 when (patients.region = 'west') then 4 else cast(null as integer) end) filter (where (patients.birth_year > 1950))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "smoker", (CASE "_r1"."m1" WHEN 1 THEN 'east' WHEN 2 THEN 'north' WHEN 3 THEN 'south' WHEN 4 THEN 'west' END) AS "min", (CASE "_r1"."m2" WHEN 1 THEN 'EAST' WHEN 2 THEN 'NORTH' WHEN 3 THEN 'SOUTH' WHEN 4 THEN 'WEST' END) AS "max" FROM "_r1"
-- use filter patients.birth_year
-- use aggregate patients.region
-- use filter patients.region
-- use group_by patients.smoker
