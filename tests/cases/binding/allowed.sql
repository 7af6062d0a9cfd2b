-- title: the regressions that are left
SELECT REGR_AVGY(income, birth_year), REGR_SXX(income, birth_year), REGR_SYY(income, birth_year) FROM patients;
-- plan
-- _r1 release: m1 = regr_avgy(patients.income, patients.birth_year); m2 = regr_sxx(patients.income, patients.birth_year); m3 = regr_syy(patients.income, patients.birth_year)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "regr_avgy", "_r1"."m2" AS "regr_sxx", "_r1"."m3" AS "regr_syy" FROM "_r1"
-- use aggregate patients.birth_year
-- use aggregate patients.income

-- title: lengths and trims by name
SELECT COUNT(*) FROM visits WHERE CHAR_LENGTH(diagnosis) > 2 AND LTRIM(diagnosis, 'x') = 'a' AND RTRIM(diagnosis) = 'b';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((char_length(visits.diagnosis) > 2) and (ltrim(visits.diagnosis, 'x') = 'a') and (rtrim(visits.diagnosis) = 'b'))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.diagnosis

-- title: the row after
SELECT AVG(gap) FROM (SELECT LEAD(visit_date, 2) OVER (PARTITION BY patient_id ORDER BY visit_date) - visit_date AS gap FROM visits) t;
-- plan
-- _r1 release: m1 = avg(t.gap)
--   project t.gap = (window - visits.visit_date)
--     window window = lead(visits.visit_date, 2) over (partition by visits.patient_id order by visits.visit_date)
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg" FROM "_r1"
-- use aggregate visits.visit_date

-- title: the ends of a frame
SELECT AVG(a), AVG(b), AVG(c) FROM (SELECT MIN(cost) OVER (PARTITION BY patient_id) AS a, MAX(cost) OVER (PARTITION BY patient_id ORDER BY visit_date DESC ROWS BETWEEN 1 FOLLOWING AND UNBOUNDED FOLLOWING) AS b, COUNT(*) OVER (PARTITION BY patient_id) AS c FROM visits) t;
-- plan
-- _r1 release: m1 = avg(t.a); m2 = avg(t.b); m3 = avg(t.c)
--   project t.a = window, t.b = window_2, t.c = window_3
--     window window_3 = count(*) over (partition by visits.patient_id)
--       window window_2 = max(visits.cost) over (partition by visits.patient_id order by visits.visit_date desc rows between 1 following and unbounded following)
--         window window = min(visits.cost) over (partition by visits.patient_id)
--           scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "avg", "_r1"."m3" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use aggregate visits.visit_date

-- title: every part of a moment
SELECT EXTRACT(YEAR FROM admitted), EXTRACT(QUARTER FROM admitted), EXTRACT(WEEK FROM admitted), EXTRACT(DAY FROM admitted), EXTRACT(HOUR FROM admitted), EXTRACT(MINUTE FROM admitted), EXTRACT(SECOND FROM admitted), COUNT(*) FROM visits GROUP BY 1, 2, 3, 4, 5, 6, 7;
-- plan
-- _r1 release by k1 = extract(year from visits.admitted), k2 = extract(quarter from visits.admitted), k3 = extract(week from visits.admitted), k4 = extract(day from visits.admitted), k5 = extract(hour from visits.admitted), k6 = extract(minute from visits.admitted), k7 = extract(second from visits.admitted): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "extract", "_r1"."k2" AS "extract", "_r1"."k3" AS "extract", "_r1"."k4" AS "extract", "_r1"."k5" AS "extract", "_r1"."k6" AS "extract", "_r1"."k7" AS "extract", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.admitted

-- title: every part of a date
SELECT EXTRACT(ISODOW FROM visit_date), EXTRACT(DOY FROM visit_date), EXTRACT(ISOYEAR FROM visit_date), EXTRACT(DECADE FROM visit_date), EXTRACT(CENTURY FROM visit_date), COUNT(*) FROM visits GROUP BY 1, 2, 3, 4, 5;
-- plan
-- _r1 release by k1 = extract(isodow from visits.visit_date), k2 = extract(doy from visits.visit_date), k3 = extract(isoyear from visits.visit_date), k4 = extract(decade from visits.visit_date), k5 = extract(century from visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "extract", "_r1"."k2" AS "extract", "_r1"."k3" AS "extract", "_r1"."k4" AS "extract", "_r1"."k5" AS "extract", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: every truncation
SELECT COUNT(*), COUNT(DISTINCT DATE_TRUNC('year', admitted)), COUNT(DISTINCT DATE_TRUNC('quarter', admitted)), COUNT(DISTINCT DATE_TRUNC('week', admitted)), COUNT(DISTINCT DATE_TRUNC('day', admitted)), COUNT(DISTINCT DATE_TRUNC('hour', admitted)), COUNT(DISTINCT DATE_TRUNC('minute', admitted)), COUNT(DISTINCT DATE_TRUNC('second', admitted)) FROM visits;
-- plan
-- _r1 release: m1 = count(*); m2 = count(distinct date_trunc('year', visits.admitted)); m3 = count(distinct date_trunc('quarter', visits.admitted)); m4 = count(distinct date_trunc('week', visits.admitted)); m5 = count(distinct date_trunc('day', visits.admitted)); m6 = count(distinct date_trunc('hour', visits.admitted)); m7 = count(distinct date_trunc('minute', visits.admitted)); m8 = count(distinct date_trunc('second', visits.admitted))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count", "_r1"."m2" AS "count", "_r1"."m3" AS "count", "_r1"."m4" AS "count", "_r1"."m5" AS "count", "_r1"."m6" AS "count", "_r1"."m7" AS "count", "_r1"."m8" AS "count" FROM "_r1"
-- use aggregate visits.admitted
-- use filter visits.admitted

-- title: every part of an age
SELECT AVG(EXTRACT(MONTH FROM AGE(DATE '2026-01-01', visit_date))), AVG(EXTRACT(DAY FROM AGE(DATE '2026-01-01', visit_date))) FROM visits;
-- plan
-- _r1 release: m1 = avg(extract(month from age(cast('2026-01-01' as date), visits.visit_date))); m2 = avg(extract(day from age(cast('2026-01-01' as date), visits.visit_date)))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "avg" FROM "_r1"
-- use aggregate visits.visit_date
-- use filter visits.visit_date

-- title: every test of a truth
SELECT COUNT(*) FROM patients WHERE smoker IS NOT TRUE AND smoker IS NOT FALSE AND smoker IS FALSE AND smoker IS TRUE AND name NOT ILIKE 'a%';
-- plan
-- _r1 release: m1 = count(*)
--   filter ((not (patients.smoker is true)) and (not (patients.smoker is false)) and (patients.smoker is false) and (patients.smoker is true) and (patients.name not ilike 'a%'))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.name
-- use filter patients.smoker

-- title: every unit of an interval
SELECT COUNT(*) FROM visits WHERE admitted + INTERVAL '1 year 2 mons 3 weeks 4 days 5 hours 6 mins 7 secs 8 microseconds' > admitted - INTERVAL '2 months 1 day 1 hour 3 minutes 4 seconds' AND admitted + INTERVAL '3' MONTH < admitted + INTERVAL '2 months';
-- plan
-- _r1 release: m1 = count(*)
--   filter (((visits.admitted + interval '14 months 25 days 18367000008 microseconds') > (visits.admitted + interval '-2 months -1 days -3784000000 microseconds')) and ((visits.admitted + interval '3 months 0 days 0 microseconds') < (visits.admitted + interval '2 months 0 days 0 microseconds')))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted

-- title: every distance of a day
SELECT TO_CHAR(visit_date, 'IYYY-IW'), TO_CHAR(visit_date, 'YYYY DDD'), TO_CHAR(admitted, 'YYYY-MM-DD HH24:MI:SS'), TO_CHAR(visit_date, 'FMMonth YYYY'), COUNT(*) FROM visits GROUP BY 1, 2, 3, 4;
-- plan
-- _r1 release by k1 = date_trunc('week', visits.visit_date), k2 = date_trunc('day', visits.visit_date), k3 = date_trunc('second', visits.admitted), k4 = date_trunc('month', visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR("_r1"."k1", 'IYYY-IW') AS "to_char", TO_CHAR("_r1"."k2", 'YYYY DDD') AS "to_char", TO_CHAR("_r1"."k3", 'YYYY-MM-DD HH24:MI:SS') AS "to_char", TO_CHAR("_r1"."k4", 'FMMonth YYYY') AS "to_char", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.admitted
-- use group_by visits.visit_date

-- title: hours and minutes as text
SELECT TO_CHAR(admitted, 'YYYY/MM/DD HH24'), TO_CHAR(admitted, 'Dy, DD Mon YYYY HH24:MI'), TO_CHAR(admitted, 'YYYY'), COUNT(*) FROM visits GROUP BY 1, 2, 3;
-- plan
-- _r1 release by k1 = date_trunc('hour', visits.admitted), k2 = date_trunc('minute', visits.admitted), k3 = date_trunc('year', visits.admitted): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR("_r1"."k1", 'YYYY/MM/DD HH24') AS "to_char", TO_CHAR("_r1"."k2", 'Dy, DD Mon YYYY HH24:MI') AS "to_char", TO_CHAR("_r1"."k3", 'YYYY') AS "to_char", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.admitted

-- title: numbers with a type of their own
SELECT COUNT(*) FROM visits WHERE weight > CAST(70.5 AS double precision) AND cost < 100::numeric AND visit_id < 7::bigint AND visit_id > -2147483648;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.weight > cast(70.5 as double precision)) and (visits.cost < cast(100 as numeric)) and (visits.visit_id < cast(7 as bigint)) and (visits.visit_id > -2147483648))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost
-- use filter visits.visit_id
-- use filter visits.weight

-- title: a power of a negative number
SELECT SUM((birth_year ^ (-1))), SUM(((-2) ^ birth_year)) FROM patients;
-- plan
-- _r1 release: m1 = sum((patients.birth_year ^ (-1))); m2 = sum(((-2) ^ patients.birth_year))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum", "_r1"."m2" AS "sum" FROM "_r1"
-- use aggregate patients.birth_year
-- use filter patients.birth_year

-- title: times as tools write them
SELECT COUNT(*) FROM visits WHERE admitted BETWEEN '2024-01-01T00:00:00.5Z' AND '2024-02-01T00:00:00Z' AND visit_date >= '2024-01-01T00:00:00Z' AND admitted < TO_TIMESTAMP('2024-01-31 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND visit_date < TO_DATE('2024-01-31', 'YYYY-MM-DD');
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.admitted >= cast('2024-01-01 00:00:00.500000' as timestamp without time zone)) and (visits.admitted <= cast('2024-02-01 00:00:00' as timestamp without time zone)) and (visits.visit_date >= cast('2024-01-01' as date)) and (visits.admitted < cast('2024-01-31 00:00:00' as timestamp without time zone)) and (visits.visit_date < cast('2024-01-31' as date)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted
-- use filter visits.visit_date

-- title: a date by a call
SELECT DATE(admitted) AS d, COUNT(*) FROM visits WHERE DATE(visit_date) > DATE('2024-01-01') GROUP BY DATE(admitted);
-- plan
-- _r1 release by k1 = cast(visits.admitted as date): m1 = count(*)
--   filter (visits.visit_date > cast('2024-01-01' as date))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "d", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.admitted
-- use filter visits.visit_date

-- title: the mean and the least of each person
SELECT AVG(a), AVG(b) FROM (SELECT patient_id, AVG(cost) AS a, MIN(visit_date - DATE '2020-01-01') AS b FROM visits GROUP BY patient_id) t;
-- plan
-- _r1 release: m1 = avg(t.a); m2 = avg(t.b)
--   project t.patient_id = t_by_unit.k1, t.a = t_by_unit.m1, t.b = t_by_unit.m2
--     per unit t_by_unit.k1 = visits.patient_id; t_by_unit.m1 = avg(visits.cost); t_by_unit.m2 = min((visits.visit_date - cast('2020-01-01' as date))) [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "avg" FROM "_r1"
-- use aggregate visits.cost
-- use aggregate visits.visit_date
