-- title: by region
SELECT region, COUNT(*), SUM(income), AVG(income) FROM patients GROUP BY region;

-- title: by region and truth
SELECT region, smoker, COUNT(*), SUM(income) FROM patients GROUP BY region, smoker;

-- title: by year of birth
SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year ORDER BY birth_year;

-- title: by decade
SELECT birth_year / 10 * 10 AS decade, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY 1;

-- title: by a whole number below nothing
SELECT (birth_year - 1970) / 10 AS d, (birth_year - 1970) % 3 AS r, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: by bucket
SELECT WIDTH_BUCKET(income, 0, 200000, 20) AS bucket, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: by floor
SELECT FLOOR(income / 25000) * 25000 AS bucket, COUNT(*), SUM(birth_year) FROM patients GROUP BY 1;

-- title: by rounded cost
SELECT ROUND(cost, -3) AS k, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by a floating number
SELECT weight, COUNT(*) FROM visits GROUP BY weight;

-- title: by day
SELECT visit_date, COUNT(*), SUM(cost) FROM visits GROUP BY visit_date ORDER BY visit_date;

-- title: by month
SELECT DATE_TRUNC('month', visit_date) AS month, COUNT(*), SUM(cost) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by month as text
SELECT TO_CHAR(visit_date, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by iso week
SELECT EXTRACT(ISOYEAR FROM visit_date) AS y, EXTRACT(WEEK FROM visit_date) AS w, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: by weekday and hour
SELECT EXTRACT(DOW FROM visit_date) AS d, EXTRACT(HOUR FROM admitted) AS h, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: by a day of the month and a quarter
SELECT EXTRACT(DAY FROM visit_date) AS d, EXTRACT(QUARTER FROM visit_date) AS q, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: by day of a moment
SELECT admitted::date AS d, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by a shifted day
SELECT visit_date + 7 AS later, visit_date - INTERVAL '1 month' AS before, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: by case
SELECT CASE WHEN birth_year < 1950 THEN 'old' WHEN birth_year < 1990 THEN 'middle' WHEN birth_year > 2019 THEN 'nobody' ELSE 'young' END AS age, COUNT(*) FROM patients GROUP BY 1;

-- title: by coalesced region in capitals
SELECT UPPER(COALESCE(region, 'nowhere')) AS r, COUNT(*) FROM patients GROUP BY 1;

-- title: by public column
SELECT r.capital, COUNT(*) FROM patients p JOIN regions r ON r.region = p.region GROUP BY r.capital;

-- title: by whether it is known
SELECT income IS NULL AS unknown, smoker IS NOT NULL AS known, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: by region within a filter
SELECT region, COUNT(*) AS n FROM patients WHERE region IN ('north', 'east') AND smoker GROUP BY region;

-- title: by year within a period
SELECT EXTRACT(YEAR FROM visit_date) AS y, COUNT(*) FROM visits WHERE visit_date BETWEEN '2021-01-01' AND '2023-06-30' GROUP BY 1;

-- title: by the year of a first visit
SELECT EXTRACT(YEAR FROM first) AS year, COUNT(*) FROM (SELECT patient_id, MIN(visit_date) AS first FROM visits GROUP BY patient_id) t GROUP BY 1;

-- title: by how many visits
SELECT n, COUNT(*) AS persons FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY n;

-- title: having more than nothing
SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year HAVING COUNT(*) > 0 ORDER BY birth_year;

-- title: the largest of all
SELECT birth_year / 20 AS k, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY n DESC, k LIMIT 3;

-- title: rollup of listed keys
SELECT region, smoker, GROUPING(region, smoker), COUNT(*), SUM(income), AVG(income) FROM patients GROUP BY ROLLUP (region, smoker) HAVING COUNT(*) > 0;

-- title: cube of listed keys with grouping
SELECT region, smoker, GROUPING(region, smoker) AS g, COUNT(*), SUM(income) FROM patients GROUP BY CUBE (region, smoker) ORDER BY g, region, smoker;

-- title: totals of listed keys, with what does not add up
SELECT region, birth_year / 10 AS decade, GROUPING(region, birth_year / 10), COUNT(*), COUNT(DISTINCT birth_year), COUNT(DISTINCT patient_id) FROM patients GROUP BY CUBE (region, birth_year / 10);

-- title: totals of persons in several groups
SELECT extract(year from visit_date) AS y, GROUPING(extract(year from visit_date)), COUNT(*), COUNT(DISTINCT patient_id), SUM(cost) FROM visits GROUP BY ROLLUP (y);

-- title: totals of listed keys and of found ones
SELECT region, name, GROUPING(region, name), COUNT(*) FROM patients GROUP BY GROUPING SETS ((region), (name), ());

-- title: a listed set twice
SELECT region, COUNT(*) FROM patients GROUP BY GROUPING SETS ((region), (region), (), ());

-- title: spreads of listed months
SELECT DATE_TRUNC('month', visit_date) AS month, COUNT(*), COALESCE(VAR_POP(weight), 0) AS v, COALESCE(STDDEV_POP(weight), 0) AS s FROM visits GROUP BY 1 ORDER BY 1;

-- title: lines of listed years
SELECT EXTRACT(YEAR FROM visit_date) AS year, REGR_COUNT(weight, EXTRACT(MONTH FROM visit_date)), COALESCE(COVAR_POP(weight, EXTRACT(MONTH FROM visit_date)), 0) AS c FROM visits GROUP BY 1 ORDER BY 1;

-- title: the most frequent region
SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1;

-- title: the most frequent regions, in their order
SELECT p.region AS "The Most" FROM patients p WHERE p.region IS NOT NULL GROUP BY 1 ORDER BY COUNT(p.region) DESC FETCH FIRST 4 ROWS ONLY;

-- title: the more frequent truth, as a key
SELECT smoker FROM patients WHERE smoker IS NOT NULL GROUP BY smoker ORDER BY COUNT(1) DESC LIMIT 2;

-- title: the most frequent years of a join
SELECT birth_year AS year FROM (SELECT p.birth_year FROM patients p JOIN visits v USING (patient_id) WHERE p.income < 260000 AND birth_year IN (1925, 1962, 1999, 1945, 1982)) t GROUP BY year ORDER BY COUNT(*) DESC LIMIT 5;

-- title: sums of the most frequent regions
SELECT region, COUNT(*), SUM(income) FROM patients WHERE region IN (SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2) GROUP BY region ORDER BY region;

-- title: a join with the most frequent regions
WITH top AS (SELECT region AS r FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 3) SELECT region, COUNT(*) AS n FROM patients JOIN top ON r = region GROUP BY region ORDER BY n DESC;

-- title: capitals of the most frequent regions
SELECT r.capital, t.region FROM (SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 3) t JOIN regions r ON r.region = t.region ORDER BY t.region;

-- title: groups of the most frequent region
SELECT smoker, COUNT(*) FROM patients WHERE region = (SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1) GROUP BY smoker;

-- title: public groups with counts of persons
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region;

-- title: public groups with conditions on both sides
SELECT r.region, r.capital, COUNT(p.income) AS n, AVG(p.income) FROM regions r LEFT JOIN patients p ON p.region = r.region AND p.smoker WHERE r.population > 1000 GROUP BY 1, 2 HAVING COUNT(p.income) >= 0 ORDER BY n DESC, 1 LIMIT 3;

-- title: public groups joined by name, and a share of all
SELECT region, COUNT(income) * 100.0 / SUM(COUNT(income)) OVER () AS share FROM regions LEFT JOIN patients USING (region) GROUP BY region;

-- title: public groups that are written, some of them twice
SELECT d.y, r.region, COUNT(p.patient_id) AS n, COALESCE(SUM(p.income) FILTER (WHERE p.smoker), 0) AS s FROM (VALUES (1950), (1950), (1971)) AS d(y) CROSS JOIN regions r LEFT JOIN patients p ON p.birth_year = d.y AND p.region = r.region GROUP BY d.y, r.region ORDER BY 1, 2;

-- title: public groups of a CTE beside rows of two tables
WITH years AS (SELECT generate_series(1950, 1953) AS y) SELECT y AS year, COUNT(v.visit_id) FROM years LEFT JOIN patients p ON p.birth_year = y LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY year;

-- title: public groups in a subquery
SELECT t.region, n FROM (SELECT r.region, COUNT(p.patient_id) AS n FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region) t WHERE n < 30;

-- title: public groups of a query with a column of the same name
SELECT g.region, COUNT(p.patient_id) FROM (SELECT region FROM regions WHERE population > 10) AS g LEFT JOIN patients p ON p.region = g.region GROUP BY g.region

-- title: public groups with constants beside the key
SELECT r.region, COUNT(p.patient_id), AVG(p.income) FROM regions r LEFT JOIN patients p ON p.region = r.region AND p.smoker = true AND 'north' <> p.region AND 1 = 1 GROUP BY r.region;

-- title: public years of one region
SELECT s.y, COUNT(p.patient_id) FROM generate_series(1950, 1959) AS s(y) LEFT JOIN patients p ON p.birth_year = s.y AND p.region = 'north' GROUP BY s.y;

-- title: public years of which one has partners
SELECT s.y, COUNT(p.patient_id) FROM generate_series(1950, 1959) AS s(y) LEFT JOIN patients p ON p.birth_year = s.y AND p.birth_year = 1951 GROUP BY s.y;

-- title: years beside a condition that narrows them
SELECT birth_year, COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1959 AND birth_year <> 1951 GROUP BY birth_year;
