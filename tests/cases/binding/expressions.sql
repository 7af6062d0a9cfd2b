-- title: comparisons
SELECT COUNT(*) FROM patients WHERE birth_year >= 1950 AND birth_year < 2000 AND region <> 'north' AND income != 5;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.birth_year >= 1950) and (patients.birth_year < 2000) and (patients.region <> 'north') and (patients.income <> 5))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.income
-- use filter patients.region

-- title: between and in
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1980 AND region IN ('north', 'east') AND birth_year NOT IN (1960, 1961);
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.birth_year >= 1950) and (patients.birth_year <= 1980) and (patients.region in ('north', 'east')) and (not (patients.birth_year in (1960, 1961))))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.region

-- title: not between
SELECT COUNT(*) FROM patients WHERE income NOT BETWEEN 10 AND 20;
-- plan
-- _r1 release: m1 = count(*)
--   filter (not ((patients.income >= 10) and (patients.income <= 20)))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.income

-- title: nulls
SELECT COUNT(*) FROM patients WHERE income IS NOT NULL AND region IS NULL AND smoker IS TRUE AND NOT smoker IS FALSE;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.income is not null) and (patients.region is null) and (patients.smoker is true) and (not (patients.smoker is false)))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.income
-- use filter patients.region
-- use filter patients.smoker

-- title: distinct from
SELECT COUNT(*) FROM patients WHERE region IS DISTINCT FROM 'north' AND income IS NOT DISTINCT FROM 5;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.region is distinct from 'north') and (patients.income is not distinct from 5))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.income
-- use filter patients.region

-- title: a pattern with an escape of its own
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%a!%b\%' ESCAPE '!';
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.diagnosis like '%a\%b\\%')
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: patterns
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'flu%' OR diagnosis ILIKE '%cold' OR diagnosis NOT LIKE 'x_';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.diagnosis like 'flu%') or (visits.diagnosis ilike '%cold') or (visits.diagnosis not like 'x_'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: logic
SELECT COUNT(*) FROM patients WHERE (region = 'north' OR smoker) AND NOT (income > 5 OR income IS NULL);
-- plan
-- _r1 release: m1 = count(*)
--   filter (((patients.region = 'north') or patients.smoker) and (not ((patients.income > 5) or (patients.income is null))))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.income
-- use filter patients.region
-- use filter patients.smoker

-- title: arithmetic
SELECT SUM((income + 1) * 2 - income / 3), SUM(birth_year % 10), SUM(-income) FROM patients;
-- plan
-- _r1 release: m1 = sum((((patients.income + 1) * 2) - (patients.income / 3))); m2 = sum((patients.birth_year % 10)); m3 = sum((- patients.income))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum", "_r1"."m2" AS "sum", "_r1"."m3" AS "sum" FROM "_r1"
-- use aggregate patients.birth_year
-- use filter patients.birth_year
-- use aggregate patients.income

-- title: a power in brackets
SELECT SUM((birth_year ^ 2)) FROM patients;
-- plan
-- _r1 release: m1 = sum((patients.birth_year ^ 2))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum" FROM "_r1"
-- use aggregate patients.birth_year
-- use filter patients.birth_year

-- title: numbers
SELECT SUM(ABS(income)), SUM(ROUND(income, 2)), SUM(FLOOR(income)), SUM(CEIL(income)), SUM(CEILING(income)), SUM(MOD(birth_year, 7)), SUM(SIGN(income)), SUM(TRUNC(income)) FROM patients;
-- plan
-- _r1 release: m1 = sum(abs(patients.income)); m2 = sum(round(patients.income, 2)); m3 = sum(floor(patients.income)); m4 = sum(ceil(patients.income)); m5 = sum(ceiling(patients.income)); m6 = sum(mod(patients.birth_year, 7)); m7 = sum(sign(patients.income)); m8 = sum(trunc(patients.income))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum", "_r1"."m2" AS "sum", "_r1"."m3" AS "sum", "_r1"."m4" AS "sum", "_r1"."m5" AS "sum", "_r1"."m6" AS "sum", "_r1"."m7" AS "sum", "_r1"."m8" AS "sum" FROM "_r1"
-- use aggregate patients.birth_year
-- use filter patients.birth_year
-- use aggregate patients.income
-- use filter patients.income

-- title: roots and logarithms
SELECT AVG(SQRT(income)), AVG(LN(income)), AVG(LOG(income)), AVG(EXP(birth_year)), AVG(POWER(income, 2)) FROM patients;
-- plan
-- _r1 release: m1 = avg(sqrt(patients.income)); m2 = avg(ln(patients.income)); m3 = avg(log(patients.income)); m4 = avg(exp(patients.birth_year)); m5 = avg(power(patients.income, 2))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "avg", "_r1"."m3" AS "avg", "_r1"."m4" AS "avg", "_r1"."m5" AS "avg" FROM "_r1"
-- use aggregate patients.birth_year
-- use filter patients.birth_year
-- use aggregate patients.income
-- use filter patients.income

-- title: greatest and least
SELECT AVG(GREATEST(income, 10)), AVG(LEAST(income, 100, 50)) FROM patients;
-- plan
-- _r1 release: m1 = avg(greatest(patients.income, 10)); m2 = avg(least(patients.income, 100, 50))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "avg" FROM "_r1"
-- use aggregate patients.income
-- use filter patients.income

-- title: coalesce and nullif
SELECT AVG(COALESCE(income, 0)), COUNT(NULLIF(region, 'north')) FROM patients;
-- plan
-- _r1 release: m1 = avg(coalesce(patients.income, 0)); m2 = count(nullif(patients.region, 'north'))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "count" FROM "_r1"
-- use aggregate patients.income
-- use aggregate patients.region
-- use filter patients.region

-- title: text functions
SELECT COUNT(*) FROM visits WHERE LOWER(diagnosis) = 'flu' AND UPPER(diagnosis) = 'FLU' AND LENGTH(diagnosis) > 2 AND LEFT(diagnosis, 1) = 'f' AND RIGHT(diagnosis, 1) = 'u';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((lower(visits.diagnosis) = 'flu') and (upper(visits.diagnosis) = 'FLU') and (length(visits.diagnosis) > 2) and (left(visits.diagnosis, 1) = 'f') and (right(visits.diagnosis, 1) = 'u'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: trims
SELECT COUNT(*) FROM visits WHERE TRIM(diagnosis) = 'flu' AND TRIM(LEADING 'x' FROM diagnosis) = 'a' AND TRIM(TRAILING FROM diagnosis) = 'b' AND BTRIM(diagnosis) = 'c';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((btrim(visits.diagnosis) = 'flu') and (ltrim(visits.diagnosis, 'x') = 'a') and (rtrim(visits.diagnosis) = 'b') and (btrim(visits.diagnosis) = 'c'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: parts of texts
SELECT COUNT(*) FROM visits WHERE SUBSTRING(diagnosis FROM 1 FOR 3) = 'flu' AND SUBSTRING(diagnosis, 2) = 'lu' AND SUBSTR(diagnosis, 1, 1) = 'f' AND SPLIT_PART(diagnosis, '-', 1) = 'x';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((substr(visits.diagnosis, 1, 3) = 'flu') and (substr(visits.diagnosis, 2) = 'lu') and (substr(visits.diagnosis, 1, 1) = 'f') and (split_part(visits.diagnosis, '-', 1) = 'x'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: positions and replacements
SELECT COUNT(*) FROM visits WHERE POSITION('u' IN diagnosis) > 0 AND STRPOS(diagnosis, 'l') = 2 AND REPLACE(diagnosis, '-', '') = 'flu' AND STARTS_WITH(diagnosis, 'f');
-- plan
-- _r1 release: m1 = count(*)
--   filter ((position('u' in visits.diagnosis) > 0) and (strpos(visits.diagnosis, 'l') = 2) and (replace(visits.diagnosis, '-', '') = 'flu') and starts_with(visits.diagnosis, 'f'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: concatenation
SELECT diagnosis || '-x', COUNT(*) FROM visits GROUP BY diagnosis || '-x';
-- plan
-- _r1 release by k1 = (visits.diagnosis || '-x'): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "?column?", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.diagnosis

-- title: concat
SELECT CONCAT(diagnosis, '-', diagnosis), COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = concat(visits.diagnosis, '-', visits.diagnosis): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "concat", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.diagnosis

-- title: casts
SELECT SUM(CAST(cost AS integer)), SUM(birth.y::numeric(10, 2)) FROM visits CROSS JOIN (SELECT 1 AS y) AS birth;
-- plan
-- _s1 stage (c1 integer) SELECT "q"."c1" AS "c1" FROM (SELECT 1 AS y) AS "q"("c1")
-- _r1 release: m1 = sum(cast(visits.cost as integer)); m2 = sum(cast(birth_2.c1 as numeric(10,2)))
--   join on true [protected(patient), rows 10]
--     scan visits as visits [protected(patient), rows 10]
--     constant _s1 (birth_2.c1 integer) [released]
-- finishing SELECT "_r1"."m1" AS "sum", "_r1"."m2" AS "sum" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.cost

-- title: a cast to text as a key
SELECT birth_year::text, COUNT(*) FROM patients GROUP BY birth_year::text;
-- plan
-- _r1 release by k1 = cast(patients.birth_year as text): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "birth_year", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year

-- title: intervals
SELECT COUNT(*) FROM visits WHERE visit_date + INTERVAL '1 month' > DATE '2024-01-01' AND visit_date - INTERVAL '2' DAY < '2025-01-01';
-- plan
-- _r1 release: m1 = count(*)
--   filter (((visits.visit_date + interval '1 months 0 days 0 microseconds') > cast('2024-01-01' as date)) and ((visits.visit_date + interval '0 months -2 days 0 microseconds') < cast('2025-01-01 00:00:00' as timestamp without time zone)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.visit_date

-- title: compound intervals keep their parts
SELECT COUNT(*) FROM visits WHERE admitted < TIMESTAMP '2024-01-01 12:30:00' + INTERVAL '1 day 2 hours';
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.admitted < (cast('2024-01-01 12:30:00' as timestamp without time zone) + interval '0 months 1 days 7200000000 microseconds'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted

-- title: date arithmetic
SELECT AVG(DATE '2026-01-01' - visit_date), MIN(visit_date + 30) FROM visits;
-- plan
-- _r1 release: m1 = avg((cast('2026-01-01' as date) - visits.visit_date)); m2 = min((visits.visit_date + 30))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "min" FROM "_r1"
-- use aggregate visits.visit_date
-- use filter visits.visit_date

-- title: the current date is a constant
SELECT COUNT(*) FROM visits WHERE visit_date >= CURRENT_DATE - INTERVAL '30 days' AND admitted < LOCALTIMESTAMP;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.visit_date >= (current_date + interval '0 months -30 days 0 microseconds')) and (visits.admitted < localtimestamp))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted
-- use filter visits.visit_date

-- title: ages in whole years
SELECT AVG(EXTRACT(YEAR FROM AGE(DATE '2026-01-01', visit_date))) FROM visits;
-- plan
-- _r1 release: m1 = avg(extract(year from age(cast('2026-01-01' as date), visits.visit_date)))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.visit_date
-- use filter visits.visit_date

-- title: made dates
SELECT MAX(MAKE_DATE(birth_year, 1, 1)) FROM patients;
-- plan
-- _r1 release: m1 = max(make_date(patients.birth_year, 1, 1))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "max" FROM "_r1"
-- use aggregate patients.birth_year
-- use filter patients.birth_year

-- title: epoch
SELECT AVG(EXTRACT(EPOCH FROM admitted)), AVG(EXTRACT(DOW FROM visit_date)) FROM visits;
-- plan
-- _r1 release: m1 = avg(extract(epoch from visits.admitted)); m2 = avg(extract(dow from visits.visit_date))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "avg" FROM "_r1"
-- use aggregate visits.admitted
-- use aggregate visits.visit_date
-- use filter visits.visit_date

-- title: a date against a text
SELECT COUNT(*) FROM visits WHERE visit_date = '2024-02-29';
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.visit_date = cast('2024-02-29' as date))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.visit_date

-- title: a number against a text
SELECT COUNT(*) FROM patients WHERE birth_year = '1980';
-- plan
-- _r1 release: m1 = count(*)
--   filter (patients.birth_year = 1980)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year

-- title: a literal on the left
SELECT COUNT(*) FROM patients WHERE 1980 <= birth_year;
-- plan
-- _r1 release: m1 = count(*)
--   filter (1980 <= patients.birth_year)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year

-- title: boolean column alone
SELECT COUNT(*) FROM patients WHERE smoker;
-- plan
-- _r1 release: m1 = count(*)
--   filter patients.smoker
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.smoker

-- title: null in a case
SELECT SUM(CASE WHEN smoker THEN NULL ELSE income END) FROM patients;
-- plan
-- _r1 release: m1 = sum(case when patients.smoker then cast(null as numeric) else patients.income end)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum" FROM "_r1"
-- use aggregate patients.income
-- use aggregate patients.smoker
-- use filter patients.smoker

-- title: in with a computed value
SELECT COUNT(*) FROM patients WHERE birth_year IN (1980, 1990 + 1);
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.birth_year = 1980) or (patients.birth_year = (1990 + 1)))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year

-- title: a quote in a text
SELECT COUNT(*) FROM visits WHERE diagnosis = 'crohn''s';
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.diagnosis = 'crohn''s')
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: the moment is a constant
SELECT COUNT(*) FROM visits WHERE visit_date > NOW() - INTERVAL '1 year' AND admitted < CURRENT_TIMESTAMP;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.visit_date > (localtimestamp + interval '-12 months 0 days 0 microseconds')) and (visits.admitted < localtimestamp))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted
-- use filter visits.visit_date

-- title: any of an array
SELECT COUNT(*) FROM patients WHERE region = ANY(ARRAY['north', 'east']);
-- plan
-- _r1 release: m1 = count(*)
--   filter (patients.region in ('north', 'east'))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region

-- title: some of an array of a type
SELECT COUNT(*) FROM patients WHERE birth_year = SOME((ARRAY[1950, 1951])::integer[]);
-- plan
-- _r1 release: m1 = count(*)
--   filter (patients.birth_year in (1950, 1951))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year

-- title: any of an array in a string
SELECT COUNT(*) FROM visits WHERE diagnosis = ANY('{flu, "crohn''s, mild", NULL}');
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.diagnosis in ('flu', 'crohn''s, mild', cast(null as text)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: any of an array of dates in a string
SELECT COUNT(*) FROM visits WHERE visit_date = ANY('{2024-01-01,2024-02-01}'::date[]);
-- plan
-- _r1 release: m1 = count(*)
--   filter (visits.visit_date in (cast('2024-01-01' as date), cast('2024-02-01' as date)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.visit_date

-- title: any of an empty array
SELECT COUNT(*) FROM patients WHERE region = ANY('{}');
-- plan
-- _r1 release: m1 = count(*)
--   filter false
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: not any of an array
SELECT COUNT(*) FROM patients WHERE region <> ALL(ARRAY['north', 'east']) AND NOT birth_year = ANY(ARRAY[1950]);
-- plan
-- _r1 release: m1 = count(*)
--   filter ((not (patients.region in ('north', 'east'))) and (not (patients.birth_year in (1950))))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.region

-- title: in a list of rows
SELECT COUNT(*) FROM patients WHERE region IN (VALUES ('north'), ('east')) AND birth_year NOT IN (VALUES (1950), (1960));
-- plan
-- _r1 release: m1 = count(*)
--   filter ((patients.region in ('north', 'east')) and (not (patients.birth_year in (1950, 1960))))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.birth_year
-- use filter patients.region
