-- title: count of everyone
SELECT COUNT(*) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: count of a constant is a count of rows
SELECT COUNT(1) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: count of a column
SELECT COUNT(income) FROM patients;
-- plan
-- _r1 release: m1 = count(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate patients.income

-- title: count of the unit key needs no use
SELECT COUNT(patient_id) FROM visits;
-- plan
-- _r1 release: m1 = count(visits.patient_id)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: count of persons
SELECT COUNT(DISTINCT patient_id) FROM visits;
-- plan
-- _r1 release: m1 = count(distinct visits.patient_id)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: count of distinct values
SELECT COUNT(DISTINCT diagnosis) FROM visits;
-- plan
-- _r1 release: m1 = count(distinct visits.diagnosis)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate visits.diagnosis

-- title: sum and average
SELECT SUM(cost), AVG(cost) FROM visits;
-- plan
-- _r1 release: m1 = sum(visits.cost); m2 = avg(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "sum", "_r1"."m2" AS "avg" FROM "_r1"
-- use aggregate visits.cost

-- title: sum of a constant
SELECT SUM(1) FROM patients;
-- plan
-- _r1 release: m1 = sum(1)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum" FROM "_r1"

-- title: minimum and maximum of numbers
SELECT MIN(income), MAX(income) FROM patients;
-- plan
-- _r1 release: m1 = min(patients.income); m2 = max(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "min", "_r1"."m2" AS "max" FROM "_r1"
-- use aggregate patients.income

-- title: minimum of a date
SELECT MIN(visit_date), MAX(admitted) FROM visits;
-- plan
-- _r1 release: m1 = min(visits.visit_date); m2 = max(visits.admitted)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "min", "_r1"."m2" AS "max" FROM "_r1"
-- use aggregate visits.admitted
-- use aggregate visits.visit_date

-- title: spread
SELECT VARIANCE(cost), VAR_POP(cost), VAR_SAMP(cost), STDDEV(cost), STDDEV_POP(cost), STDDEV_SAMP(cost) FROM visits;
-- plan
-- _r1 release: m1 = variance(visits.cost); m2 = var_pop(visits.cost); m3 = var_samp(visits.cost); m4 = stddev(visits.cost); m5 = stddev_pop(visits.cost); m6 = stddev_samp(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "variance", "_r1"."m2" AS "var_pop", "_r1"."m3" AS "var_samp", "_r1"."m4" AS "stddev", "_r1"."m5" AS "stddev_pop", "_r1"."m6" AS "stddev_samp" FROM "_r1"
-- use aggregate visits.cost

-- title: pairs
SELECT CORR(income, birth_year), COVAR_POP(income, birth_year), COVAR_SAMP(income, birth_year) FROM patients;
-- plan
-- _r1 release: m1 = corr(patients.income, patients.birth_year); m2 = covar_pop(patients.income, patients.birth_year); m3 = covar_samp(patients.income, patients.birth_year)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "corr", "_r1"."m2" AS "covar_pop", "_r1"."m3" AS "covar_samp" FROM "_r1"
-- use aggregate patients.birth_year
-- use aggregate patients.income

-- title: regression
SELECT REGR_SLOPE(income, birth_year), REGR_INTERCEPT(income, birth_year), REGR_R2(income, birth_year), REGR_COUNT(income, birth_year), REGR_AVGX(income, birth_year), REGR_SXY(income, birth_year) FROM patients;
-- plan
-- _r1 release: m1 = regr_slope(patients.income, patients.birth_year); m2 = regr_intercept(patients.income, patients.birth_year); m3 = regr_r2(patients.income, patients.birth_year); m4 = regr_count(patients.income, patients.birth_year); m5 = regr_avgx(patients.income, patients.birth_year); m6 = regr_sxy(patients.income, patients.birth_year)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "regr_slope", "_r1"."m2" AS "regr_intercept", "_r1"."m3" AS "regr_r2", "_r1"."m4" AS "regr_count", "_r1"."m5" AS "regr_avgx", "_r1"."m6" AS "regr_sxy" FROM "_r1"
-- use aggregate patients.birth_year
-- use aggregate patients.income

-- title: median
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY income) FROM patients;
-- plan
-- _r1 release: m1 = percentile_cont(0.5) within group (order by patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "percentile_cont" FROM "_r1"
-- use aggregate patients.income

-- title: discrete quartile, descending
SELECT PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY birth_year DESC) FROM patients;
-- plan
-- _r1 release: m1 = percentile_disc(0.25) within group (order by patients.birth_year desc)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "percentile_disc" FROM "_r1"
-- use aggregate patients.birth_year

-- title: most frequent value
SELECT MODE() WITHIN GROUP (ORDER BY diagnosis) FROM visits;
-- plan
-- _r1 release: m1 = mode() within group (order by visits.diagnosis)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "mode" FROM "_r1"
-- use aggregate visits.diagnosis

-- title: filter on an aggregate
SELECT COUNT(*) FILTER (WHERE region = 'north'), AVG(income) FILTER (WHERE birth_year > 1980) FROM patients;
-- plan
-- _r1 release: m1 = count(*) filter (where (patients.region = 'north')); m2 = avg(patients.income) filter (where (patients.birth_year > 1980))
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count", "_r1"."m2" AS "avg" FROM "_r1"
-- use filter patients.birth_year
-- use aggregate patients.income
-- use filter patients.region

-- title: persons in a case
SELECT COUNT(DISTINCT CASE WHEN cost > 100 THEN patient_id END) FROM visits;
-- plan
-- _r1 release: m1 = count(distinct visits.patient_id) filter (where (visits.cost > 100))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: conditional sum
SELECT SUM(CASE WHEN region = 'north' THEN income ELSE 0 END) FROM patients;
-- plan
-- _r1 release: m1 = sum(case when (patients.region = 'north') then patients.income else 0 end)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum" FROM "_r1"
-- use aggregate patients.income
-- use aggregate patients.region
-- use filter patients.region

-- title: conditional count
SELECT COUNT(CASE WHEN smoker THEN 1 END) FROM patients;
-- plan
-- _r1 release: m1 = count(case when patients.smoker then 1 else cast(null as integer) end)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate patients.smoker
-- use filter patients.smoker

-- title: arithmetic over aggregates
SELECT SUM(cost) / NULLIF(COUNT(*), 0) AS mean, ROUND(AVG(cost), 2) FROM visits;
-- plan
-- _r1 release: m1 = sum(visits.cost); m2 = count(*); m3 = avg(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" / NULLIF("_r1"."m2", 0) AS "mean", ROUND("_r1"."m3", 2) AS "round" FROM "_r1"
-- use aggregate visits.cost

-- title: the same aggregate twice is measured once
SELECT COUNT(*) AS a, COUNT(*) AS b, COUNT(*) * 2 FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "a", "_r1"."m1" AS "b", "_r1"."m1" * 2 AS "?column?" FROM "_r1"

-- title: distinct minimum is the minimum
SELECT MIN(DISTINCT income) FROM patients;
-- plan
-- _r1 release: m1 = min(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "min" FROM "_r1"
-- use aggregate patients.income

-- title: distinct maximum is the maximum
SELECT MAX(DISTINCT birth_year) FROM patients;
-- plan
-- _r1 release: m1 = max(patients.birth_year)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "max" FROM "_r1"
-- use aggregate patients.birth_year

-- title: ordered-set aggregate with a filter
SELECT PERCENTILE_CONT(0.9) WITHIN GROUP (ORDER BY cost) FILTER (WHERE diagnosis = 'flu') FROM visits;
-- plan
-- _r1 release: m1 = percentile_cont(0.9) within group (order by visits.cost) filter (where (visits.diagnosis = 'flu'))
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "percentile_cont" FROM "_r1"
-- use aggregate visits.cost
-- use filter visits.diagnosis

-- title: names of results are PostgreSQL's
SELECT COUNT(*), COUNT(*) + 1, CAST(COUNT(*) AS integer), CASE WHEN COUNT(*) > 5 THEN 1 END, COALESCE(SUM(income), 0) FROM patients;
-- plan
-- _r1 release: m1 = count(*); m2 = sum(patients.income)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count", "_r1"."m1" + 1 AS "?column?", CAST("_r1"."m1" AS INT) AS "count", CASE WHEN "_r1"."m1" > 5 THEN 1 END AS "case", COALESCE("_r1"."m2", 0) AS "coalesce" FROM "_r1"
-- use aggregate patients.income
