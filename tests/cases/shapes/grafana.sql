-- title: $__timeGroup
SELECT floor(extract(epoch from admitted)/86400)*86400 AS "time", count(*) AS value FROM visits WHERE admitted BETWEEN '2021-01-01T00:00:00Z' AND '2021-02-01T00:00:00Z' GROUP BY 1 ORDER BY 1

-- title: $__timeGroupAlias with text labels
SELECT date_trunc('month', visit_date)::timestamp AS "time", diagnosis AS metric, count(*) AS value FROM visits WHERE visit_date BETWEEN '2021-01-01' AND '2021-06-30' GROUP BY 1, 2 ORDER BY 1, 2

-- title: to_timestamp of an epoch
SELECT count(*) AS value FROM calls WHERE began >= to_timestamp(1640995200)

-- title: a variable
SELECT DISTINCT region AS __text, region AS __value FROM patients ORDER BY 1

-- title: a stat over now
SELECT count(*) FROM visits WHERE admitted > now() - '30 days'::interval

-- title: a ratio by group with empty groups
SELECT region, smoker, sum(income) / count(*) AS ratio FROM patients GROUP BY region, smoker ORDER BY 1, 2

-- title: a percentage
SELECT region, 100.0 * count(*) FILTER (WHERE smoker) / count(*) AS pct FROM patients GROUP BY region ORDER BY 1

-- title: a weekday by its name
SELECT to_char(visit_date, 'Dy') AS metric, count(*) FROM visits GROUP BY 1

-- title: the age of one argument
SELECT avg(extract(year from age(visit_date))) FROM visits

-- title: the time between
-- differs: values are rounded
SELECT avg(ended - began) FROM calls

-- title: a gap-filled series
SELECT s.day AS time, coalesce(v.n, 0) AS value FROM generate_series('2021-01-01'::date, '2021-01-10', '1 day') AS s(day)
LEFT JOIN (SELECT visit_date, count(*) AS n FROM visits GROUP BY 1) v ON v.visit_date = s.day ORDER BY 1
