-- title: filters beside each other in groups
SELECT region, COUNT(*) FILTER (WHERE birth_year < 1950) AS old, COUNT(*) FILTER (WHERE birth_year BETWEEN 1950 AND 1979) AS middle, COUNT(*) FILTER (WHERE birth_year > 1979) AS young FROM patients GROUP BY region ORDER BY region;

-- title: means of two kinds in groups
SELECT diagnosis, AVG(cost) FILTER (WHERE weight > 100) - AVG(cost) FILTER (WHERE weight <= 100) AS gap FROM visits GROUP BY diagnosis HAVING COUNT(cost) FILTER (WHERE weight > 100) > 5 AND COUNT(cost) FILTER (WHERE weight <= 100) > 5;

-- title: distinct persons of each kind
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE diagnosis = 'flu') AS flu, COUNT(DISTINCT patient_id) FILTER (WHERE cost > 2000) AS dear, COUNT(DISTINCT diagnosis) FILTER (WHERE cost > 2000) FROM visits;

-- title: a filter by what is public
SELECT COUNT(*) FILTER (WHERE r.population > 1000), COUNT(*) FILTER (WHERE r.population IS NULL), COUNT(*) FROM patients p LEFT JOIN regions r ON r.region = p.region;

-- title: years side by side
SELECT diagnosis, SUM(cost) FILTER (WHERE visit_date < '2022-01-01') AS before, SUM(cost) FILTER (WHERE visit_date >= '2022-01-01') AS after FROM visits GROUP BY diagnosis ORDER BY diagnosis;

-- title: a spread of those who smoke and of the others
SELECT STDDEV(birth_year) FILTER (WHERE smoker) AS one, STDDEV(birth_year) FILTER (WHERE NOT smoker) AS other, CORR(birth_year, birth_year) FILTER (WHERE smoker) FROM patients;

-- title: the change against the year before
SELECT y, s, s - LAG(s) OVER (ORDER BY y) AS change, ROUND(100 * s / SUM(s) OVER (), 3) AS share FROM (SELECT EXTRACT(YEAR FROM visit_date) AS y, SUM(cost) AS s FROM visits GROUP BY 1) t ORDER BY y;

-- title: places within regions
SELECT region, diagnosis, n, DENSE_RANK() OVER (PARTITION BY region ORDER BY n DESC) AS place FROM (SELECT region, diagnosis, COUNT(*) AS n FROM patients JOIN visits USING (patient_id) GROUP BY 1, 2) t;

-- title: the first of each region
SELECT region, diagnosis, n FROM (SELECT region, diagnosis, COUNT(*) AS n, ROW_NUMBER() OVER (PARTITION BY region ORDER BY COUNT(*) DESC, diagnosis) AS place FROM patients JOIN visits USING (patient_id) GROUP BY 1, 2) t WHERE place = 1;

-- title: a running mean of months
SELECT m, AVG(n) OVER (ORDER BY m ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS smooth FROM (SELECT DATE_TRUNC('quarter', visit_date) AS m, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY m;

-- title: a distribution that is added up
SELECT decade, ROUND(CUME_DIST() OVER (ORDER BY decade)::numeric, 4) AS c, SUM(n) OVER (ORDER BY decade) * 1.0 / SUM(n) OVER () AS p FROM (SELECT birth_year / 10 AS decade, COUNT(*) AS n FROM patients GROUP BY 1) t;

-- title: entropy of what is common
SELECT ROUND((-SUM(p * LN(p)))::numeric, 6) AS entropy FROM (SELECT COUNT(*) * 1.0 / SUM(COUNT(*)) OVER () AS p FROM visits GROUP BY diagnosis) t;

-- title: a chi-squared statistic of two columns
WITH n AS (SELECT region, smoker, COUNT(*) AS n FROM patients WHERE region IS NOT NULL AND smoker IS NOT NULL GROUP BY 1, 2), r AS (SELECT region, SUM(n) AS r FROM n GROUP BY 1), c AS (SELECT smoker, SUM(n) AS c FROM n GROUP BY 1), t AS (SELECT SUM(n) AS t FROM n) SELECT ROUND(SUM((n.n - r * c / t) * (n.n - r * c / t) / (r * c / t)), 6) FROM r CROSS JOIN c CROSS JOIN t JOIN n ON n.region = r.region AND n.smoker = c.smoker;

-- title: a table of two columns
SELECT region, SUM(n) FILTER (WHERE smoker) AS yes, SUM(n) FILTER (WHERE NOT smoker) AS no, SUM(n) AS everybody FROM (SELECT region, smoker, COUNT(*) AS n FROM patients GROUP BY 1, 2) t GROUP BY region ORDER BY region;

-- title: means of groups that are weighted
SELECT SUM(n * m) / SUM(n) AS mean, COUNT(*) FROM (SELECT region, COUNT(income) AS n, AVG(income) AS m FROM patients GROUP BY region) t;

-- title: a least-squares line over years
SELECT REGR_SLOPE(n, y), REGR_INTERCEPT(n, y) FROM (SELECT EXTRACT(YEAR FROM visit_date)::integer AS y, COUNT(*) AS n FROM visits GROUP BY 1) t;

-- title: a normalised mean
SELECT region, ROUND((AVG(birth_year) - MIN(AVG(birth_year)) OVER ()) / NULLIF(MAX(AVG(birth_year)) OVER () - MIN(AVG(birth_year)) OVER (), 0), 6) AS scaled FROM patients GROUP BY region;

-- title: union of yearly and monthly counts
SELECT 'year' AS what, EXTRACT(YEAR FROM visit_date) AS k, COUNT(*) AS n FROM visits GROUP BY 2 UNION ALL SELECT 'month', EXTRACT(MONTH FROM visit_date), COUNT(*) FROM visits GROUP BY 2 ORDER BY 1, 2;

-- title: what two lists have in common
SELECT diagnosis FROM visits WHERE cost > 2500 GROUP BY diagnosis INTERSECT SELECT diagnosis FROM visits WHERE weight > 150 GROUP BY diagnosis ORDER BY 1;

-- title: public codes that nobody has
SELECT code FROM codes EXCEPT SELECT diagnosis FROM visits GROUP BY diagnosis;

-- title: visits by how long after the first
SELECT (v.visit_date - f.first) / 365 AS years, COUNT(*), AVG(v.cost) FROM visits v JOIN (SELECT patient_id, MIN(visit_date) AS first FROM visits GROUP BY patient_id) f USING (patient_id) GROUP BY 1 ORDER BY 1;

-- title: persons by their dearest visit
SELECT FLOOR(top / 1000) AS thousand, COUNT(*) FROM (SELECT patient_id, MAX(cost) AS top FROM visits GROUP BY patient_id) t WHERE top IS NOT NULL GROUP BY 1 ORDER BY 1;

-- title: persons who had both
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.diagnosis = 'flu') AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.diagnosis = 'asthma');

-- title: a funnel of persons
SELECT COUNT(*) AS everybody, COUNT(*) FILTER (WHERE n >= 1) AS came, COUNT(*) FILTER (WHERE n >= 2) AS again, COUNT(*) FILTER (WHERE n >= 4) AS often FROM (SELECT p.patient_id, COUNT(v.visit_id) AS n FROM patients p LEFT JOIN visits v USING (patient_id) GROUP BY p.patient_id) t;

-- title: cohorts of first years and years later
SELECT EXTRACT(YEAR FROM f.first) AS cohort, EXTRACT(YEAR FROM v.visit_date) - EXTRACT(YEAR FROM f.first) AS later, COUNT(DISTINCT v.patient_id) AS persons FROM visits v JOIN (SELECT patient_id, MIN(visit_date) AS first FROM visits GROUP BY patient_id) f ON f.patient_id = v.patient_id GROUP BY 1, 2;

-- title: how a spread within persons is shared out
SELECT AVG(w), VAR_POP(w), COUNT(w) FROM (SELECT patient_id, MAX(weight) - MIN(weight) AS w FROM visits GROUP BY patient_id) t;

-- title: incomes in classes with their means
SELECT WIDTH_BUCKET(income, 0, 200000, 4) AS class, COUNT(*), ROUND(AVG(income)) AS mean, ROUND(AVG(birth_year), 1) AS born FROM patients WHERE income IS NOT NULL GROUP BY 1 ORDER BY 1;

-- title: an index against the first year
SELECT y, ROUND(100.0 * n / FIRST_VALUE(n) OVER (ORDER BY y), 1) AS index FROM (SELECT EXTRACT(YEAR FROM visit_date) AS y, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY y;

-- title: weekdays and seasons
SELECT CASE WHEN EXTRACT(MONTH FROM visit_date) IN (12, 1, 2) THEN 'winter' WHEN EXTRACT(MONTH FROM visit_date) < 6 THEN 'spring' WHEN EXTRACT(MONTH FROM visit_date) < 9 THEN 'summer' ELSE 'autumn' END AS season, EXTRACT(ISODOW FROM visit_date) > 5 AS weekend, COUNT(*), SUM(cost) FROM visits GROUP BY 1, 2;
