-- title: all regions, zeros too
-- dataset: listed
SELECT r.region, COUNT(p.patient_id) AS n FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region ORDER BY r.region

-- title: spending deciles
-- differs: boundaries are chosen
SELECT decile, COUNT(*), AVG(total) FROM (
  SELECT total, NTILE(10) OVER (ORDER BY total) AS decile FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) s
) t GROUP BY decile ORDER BY decile

-- title: the share of those above a percent rank
-- refused: GW112
SELECT COUNT(*) FROM (SELECT patient_id, PERCENT_RANK() OVER (ORDER BY income) AS pr FROM patients) t WHERE pr >= 0.9

-- title: cume_dist
-- refused: GW112
SELECT COUNT(*) FROM (SELECT patient_id, CUME_DIST() OVER (ORDER BY income) AS cd FROM patients) t WHERE cd <= 0.5

-- title: intersect of persons
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis = 'flu' INTERSECT SELECT patient_id FROM visits WHERE diagnosis = 'asthma') t

-- title: latest row by DISTINCT ON
SELECT diagnosis, COUNT(*) FROM (SELECT DISTINCT ON (patient_id) patient_id, diagnosis FROM visits ORDER BY patient_id, visit_date DESC, visit_id) t GROUP BY diagnosis

-- title: concat_ws of a group
SELECT CONCAT_WS('-', region, smoker) AS k, COUNT(*) FROM patients GROUP BY k

-- title: initcap of a listed column
SELECT INITCAP(region), AVG(income) FROM patients GROUP BY INITCAP(region)

-- title: a date without zeros
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN '2021-1-5' AND '2021-12-31'

-- title: underscores in a number
SELECT COUNT(*) FROM patients WHERE income >= 50_000 AND income < 1_00_000

-- title: a text with a number
SELECT region || ' ' || birth_year AS k, COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1952 GROUP BY 1

-- title: a text with a number that is released
SELECT region || ': ' || COUNT(*) AS line FROM patients GROUP BY region

-- title: rows in brackets
SELECT COUNT(*) FROM patients WHERE (region, birth_year) IN (('north', 1960), ('south', 1970))

-- title: a row in brackets with IN of a query
-- refused: GW105
SELECT COUNT(*) FROM patients WHERE (region, smoker) IN (SELECT region, true FROM regions)

-- title: coalesce of a char
-- refused: GW105
SELECT coalesce(CAST(region AS char(2)), '??') AS r, COUNT(*) FROM patients GROUP BY 1

-- title: a difference of timestamps as an interval
-- differs: an end is chosen
SELECT MAX(ended - began) FROM calls

-- title: a difference of timestamps in hours
-- differs: values are rounded
SELECT AVG(EXTRACT(EPOCH FROM ended - began) / 3600) FROM calls WHERE ended > began

-- title: age of one argument in a key
SELECT EXTRACT(YEAR FROM AGE(DATE '2026-01-01', visit_date)) AS years, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1

-- title: SIMILAR TO
SELECT COUNT(*) FROM patients WHERE region SIMILAR TO '(north|south)'

-- title: LIKE ANY
SELECT COUNT(*) FROM patients WHERE region LIKE ANY (ARRAY['n%', 's%'])

-- title: LIKE ALL
SELECT COUNT(*) FROM patients WHERE region NOT LIKE ALL (ARRAY['n%', 's%'])

-- title: BETWEEN SYMMETRIC
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN SYMMETRIC 1980 AND 1950

-- title: EXPLAIN of an answered statement
-- refused: GW104
EXPLAIN SELECT COUNT(*) FROM patients

-- title: an existence
SELECT EXISTS (SELECT 1 FROM patients)

-- title: an existence of a condition
-- refused: GW118
SELECT EXISTS (SELECT 1 FROM patients WHERE name = 'Anna')

-- title: grouped by a computed bucket
SELECT width_bucket(birth_year, 1920, 2020, 10) AS b, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1

-- title: grouped by least
SELECT LEAST(n, 3) AS n, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY 1 ORDER BY 1

-- title: a mode
SELECT MODE() WITHIN GROUP (ORDER BY region) FROM patients

-- title: an aggregate of an array
-- refused: GW118
SELECT ARRAY_AGG(DISTINCT region) FROM patients

-- title: booleans
-- refused: GW106
SELECT BOOL_OR(smoker), BOOL_AND(smoker) FROM patients

-- title: a difference to the mean
SELECT COUNT(*) FILTER (WHERE income > m.mean) FROM patients, (SELECT AVG(income) AS mean FROM patients) m

-- title: a moving average over months
SELECT month, AVG(n) OVER (ORDER BY month ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) FROM (SELECT date_trunc('month', visit_date) AS month, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY 1

-- title: a retention of persons
SELECT EXTRACT(YEAR FROM v.visit_date) - EXTRACT(YEAR FROM f.first) AS year, COUNT(DISTINCT v.patient_id) FROM visits v JOIN (SELECT patient_id, MIN(visit_date) AS first FROM visits GROUP BY patient_id) f ON f.patient_id = v.patient_id GROUP BY 1 ORDER BY 1

-- title: a position in a text
SELECT AVG(POSITION('o' IN region)) FROM patients

-- title: a position in a text without values
-- refused: GW301
SELECT AVG(POSITION('a' IN name)) FROM patients

-- title: the sum of lengths per group
-- refused: GW301
SELECT region, SUM(LENGTH(name)) FROM patients GROUP BY region

-- title: lengths that are clamped
SELECT SUM(LEAST(LENGTH(name), 20)) FROM patients

-- title: every function in one
-- differs: a value is chosen
SELECT COUNT(*), COUNT(income), AVG(income), MIN(income), MAX(income), STDDEV(income) FROM patients WHERE smoker IS NOT NULL

-- title: a cast of a boolean
SELECT AVG(smoker::int) FROM patients

-- title: rows beside totals
SELECT COALESCE(region, 'all') AS region, COUNT(*) FROM patients GROUP BY ROLLUP (region) ORDER BY 2 DESC

-- title: the hour of a moment
SELECT EXTRACT(HOUR FROM began) AS hour, COUNT(*) FROM calls GROUP BY 1 ORDER BY 1

-- title: a top of two groups
SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY n DESC FETCH FIRST 2 ROWS ONLY

-- title: an average of averages
SELECT AVG(m) FROM (SELECT region, AVG(income) AS m FROM patients GROUP BY region) t

-- title: a weighted mean
SELECT SUM(cost * weight) / SUM(weight) FROM visits

-- title: a sum of a product of constants
SELECT SUM(cost * 1.19) AS gross FROM visits

-- title: GREATEST of dates
SELECT COUNT(*) FROM visits WHERE GREATEST(visit_date, DATE '2021-01-01') = DATE '2021-01-01'

-- title: make_interval
-- refused: GW106
SELECT COUNT(*) FROM visits WHERE visit_date > CURRENT_DATE - make_interval(days => 3650)

-- title: to_char of a number
SELECT to_char(AVG(income), '999,999.00') FROM patients

-- title: format of released numbers
SELECT format('%s: %s', region, COUNT(*)) FROM patients GROUP BY region

-- title: iif as a filter
SELECT SUM(CASE WHEN smoker IS NULL THEN 1 END) FROM patients

-- title: a lateral of the last visit
SELECT AVG(l.cost) FROM patients p CROSS JOIN LATERAL (SELECT v.cost FROM visits v WHERE v.patient_id = p.patient_id ORDER BY v.visit_date DESC, v.visit_id LIMIT 1) l

-- title: NOT IN with a query
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE diagnosis = 'flu')

-- title: a self join on the person
SELECT COUNT(DISTINCT a.patient_id) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND b.visit_date > a.visit_date WHERE a.diagnosis = 'flu'

-- title: UNION of results
SELECT 'patients' AS t, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits', COUNT(*) FROM visits

-- title: VALUES joined
SELECT x.label, COUNT(*) FROM patients p JOIN (VALUES ('north', 'N'), ('south', 'S')) AS x(region, label) ON x.region = p.region GROUP BY x.label
