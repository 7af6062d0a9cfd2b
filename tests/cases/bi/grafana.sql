-- title: a time series of buckets
SELECT floor(extract(epoch from admitted)/2592000)*2592000 AS "time", count(*) AS "visits" FROM visits WHERE admitted BETWEEN '2020-01-01T00:00:00Z' AND '2026-12-31T00:00:00Z' GROUP BY time ORDER BY time

-- title: a time series by a metric
SELECT
  floor(extract(epoch from admitted)/31536000)*31536000 AS "time",
  diagnosis AS metric,
  sum(cost) AS value
FROM visits
WHERE
  admitted BETWEEN '2020-01-01T00:00:00Z' AND '2026-12-31T00:00:00Z'
GROUP BY 1,2
ORDER BY 1,2

-- title: buckets by date_trunc
SELECT date_trunc('month', admitted) AS "time", avg(cost) AS "cost" FROM visits WHERE admitted BETWEEN '2020-01-01T00:00:00Z' AND '2026-12-31T00:00:00Z' GROUP BY 1 ORDER BY 1

-- title: a filter of seconds
SELECT count(*) FROM visits WHERE extract(epoch from admitted) >= 1609459200 AND extract(epoch from admitted) <= 1672531200

-- title: the query builder
SELECT COUNT(*), region FROM public.patients GROUP BY region LIMIT 50

-- title: the query builder with an alias
SELECT AVG(income) AS "mean income", region FROM public.patients WHERE (smoker = true AND birth_year > 1950) GROUP BY region ORDER BY "mean income" DESC LIMIT 50

-- title: a variable of a dashboard
SELECT DISTINCT region FROM patients

-- title: a variable with text and value
SELECT region AS __text, region AS __value FROM patients GROUP BY region ORDER BY 1

-- title: a chained variable
SELECT diagnosis FROM visits JOIN patients USING (patient_id) WHERE region IN ('north','east') GROUP BY diagnosis ORDER BY diagnosis

-- title: a stat panel
SELECT now() IS NOT NULL AS "time", count(DISTINCT patient_id) AS "patients", round(avg(cost), 2) AS "mean cost" FROM visits

-- title: a table panel
SELECT region, count(*) FILTER (WHERE smoker) AS smokers, count(*) AS everybody, round(100.0 * count(*) FILTER (WHERE smoker) / nullif(count(*), 0), 1) AS percent FROM patients GROUP BY region ORDER BY everybody DESC

-- title: a time series with a window
SELECT month AS "time", sum(n) OVER (ORDER BY month) AS "so far" FROM (SELECT date_trunc('month', visit_date) AS month, count(*) AS n FROM visits GROUP BY 1) AS months ORDER BY 1
