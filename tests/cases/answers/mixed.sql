-- title: a list of names with quotes, line ends and backslashes
SELECT COUNT(*) FROM patients WHERE name IN (SELECT name FROM patients GROUP BY name HAVING COUNT(*) > 10);

-- title: a key in a list above
SELECT region FROM patients GROUP BY region HAVING region IN (SELECT region FROM regions WHERE population IS NOT NULL);

-- title: a public value for each group
SELECT region, n, (SELECT MAX(population) FROM regions r WHERE r.region = t.region) AS most FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;

-- title: the last visit of each person
SELECT COUNT(*), SUM(v.cost) FROM visits v JOIN (SELECT patient_id, MAX(visit_date) AS last FROM visits GROUP BY patient_id) l ON l.patient_id = v.patient_id AND v.visit_date = l.last;

-- title: within days of each person's first visit
SELECT v.diagnosis, SUM(v.cost) FROM visits v JOIN (SELECT patient_id, MIN(visit_date) AS d FROM visits GROUP BY patient_id) f ON f.patient_id = v.patient_id WHERE v.visit_date <= f.d + 400 GROUP BY 1;

-- title: pairs of visits of one person
SELECT COUNT(*) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.visit_id <> b.visit_id;

-- title: persons who spent nothing
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id) t ON t.patient_id = p.patient_id WHERE COALESCE(t.s, 0) = 0;

-- title: what some persons spent
SELECT COUNT(t.s), SUM(t.s) FROM patients p LEFT JOIN (SELECT patient_id, SUM(cost) AS s FROM visits WHERE cost > 4000 GROUP BY patient_id) t USING (patient_id);

-- title: how often persons come who may never come
SELECT n, COUNT(*) FROM (SELECT p.patient_id, COUNT(v.visit_id) AS n FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY p.patient_id) t GROUP BY n;

-- title: totals of persons by region
SELECT region, SUM(total) FROM (SELECT p.patient_id, p.region, SUM(v.cost) AS total FROM patients p JOIN visits v USING (patient_id) GROUP BY p.patient_id, p.region) t GROUP BY region;

-- title: the last two visits of each person
WITH ranked AS (SELECT v.*, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date DESC) AS rn FROM visits v) SELECT diagnosis, AVG(cost) FROM ranked WHERE rn <= 2 GROUP BY diagnosis;

-- title: the visits beside each visit
SELECT SUM(c) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id, diagnosis) AS c FROM visits) t;

-- title: persons of whom something is unknown
SELECT COUNT(*) FILTER (WHERE m IS NULL), COUNT(*) FROM (SELECT patient_id, MAX(weight) AS m FROM visits GROUP BY patient_id) t;

-- title: persons with more visits than two
SELECT SUM(CASE WHEN n > 2 THEN total ELSE 0 END) FROM (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY patient_id) t;

-- title: persons in each year
SELECT y, COUNT(DISTINCT patient_id) FROM (SELECT patient_id, EXTRACT(YEAR FROM visit_date) AS y FROM visits) t GROUP BY y;

-- title: persons and years with several visits
SELECT COUNT(*) FROM (SELECT patient_id, EXTRACT(YEAR FROM visit_date) AS y FROM visits GROUP BY 1, 2 HAVING COUNT(*) > 1) t;

-- title: three tables and a public one that lacks rows
SELECT p.smoker, c.chapter, COUNT(DISTINCT p.patient_id) FROM patients p JOIN visits v USING (patient_id) LEFT JOIN codes c ON c.code = v.diagnosis GROUP BY 1, 2;

-- title: a group that is large enough exists
SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t WHERE t.n > 30);

-- title: the largest region alone
SELECT region, COUNT(*) FROM patients WHERE region = (SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 1) GROUP BY region;

-- title: the last year that was released
SELECT COUNT(*) FROM visits WHERE visit_date >= (SELECT MAX(m) - INTERVAL '1 year' FROM (SELECT DATE_TRUNC('month', visit_date) AS m FROM visits GROUP BY 1) t);

-- title: a list of dates
SELECT COUNT(*) FROM visits WHERE visit_date IN (SELECT visit_date FROM visits GROUP BY 1 ORDER BY COUNT(*) DESC, 1 LIMIT 3);

-- title: a list of moments
SELECT COUNT(*) FROM visits WHERE admitted IN (SELECT admitted FROM visits WHERE cost < 900 GROUP BY admitted);

-- title: a list of floating numbers
SELECT COUNT(*) FROM visits WHERE weight IN (SELECT weight FROM visits WHERE weight < 100 GROUP BY weight);

-- title: a list of cents
SELECT COUNT(*) FROM visits WHERE cost IN (SELECT cost FROM visits WHERE cost < 900 GROUP BY cost);

-- title: a list of truths
SELECT COUNT(*) FROM patients WHERE smoker IN (SELECT smoker FROM patients GROUP BY smoker HAVING COUNT(*) > 10);

-- title: the top and the rest
(SELECT region, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY n DESC, 1 LIMIT 2) UNION ALL (SELECT 'rest', SUM(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY 1 ORDER BY n DESC, 1 OFFSET 2) t);

-- title: counts that are one by union
SELECT COUNT(*) AS n FROM patients UNION SELECT COUNT(*) FROM patients;

-- title: a share of two releases
SELECT x.region, x.n::numeric / y.n AS share FROM (SELECT region, COUNT(*) AS n FROM patients WHERE smoker GROUP BY region) x LEFT JOIN (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) y USING (region);

-- title: months of a year as JSON
SELECT date_part('year', m) AS y, jsonb_agg(n ORDER BY m) FROM (SELECT date_trunc('month', visit_date) AS m, COUNT(*) AS n FROM visits GROUP BY 1) t GROUP BY 1 ORDER BY 1;

-- title: a total by rollup above
SELECT CASE WHEN GROUPING(region) = 1 THEN 'all' ELSE region END AS r, SUM(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t GROUP BY ROLLUP (region);

-- title: casts of what was measured
SELECT COUNT(*)::int2, AVG(birth_year)::int, SUM(birth_year)::text::int, SUM(income)::money FROM patients;

-- title: ratios of sums and of means
SELECT SUM(cost) / SUM(weight) AS ratio, AVG(cost) / AVG(weight) AS means FROM visits WHERE cost IS NOT NULL;

-- title: a number that is like text
SELECT COUNT(*) FROM patients WHERE birth_year::text LIKE '19%';

-- title: a division that leaves nothing over
SELECT COUNT(*) FROM patients WHERE income / 7 = ROUND(income / 7, 0);

-- title: a truth that is unknown
SELECT COUNT(*) FROM patients WHERE (smoker OR income > 100000) IS UNKNOWN;

-- title: rounded halves
SELECT ROUND(weight / 2) AS a, (weight / 2)::integer AS b, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: rounded thousands
SELECT ROUND(cost, -3) AS c, (cost / 1000)::integer AS d, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: a remainder below nothing
SELECT -(birth_year % 3) AS k, (birth_year - 1970) / 7 AS q, (birth_year - 1970) % 7 AS r, COUNT(*) FROM patients GROUP BY 1, 2, 3;

-- title: roots and logarithms as keys
SELECT SQRT(weight) AS s, LN(weight) AS l, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: a third of an income as a key
SELECT income / 3 AS k, COUNT(*) FROM patients GROUP BY 1;

-- title: moments as numbers
SELECT EXTRACT(EPOCH FROM admitted) AS e, EXTRACT(SECOND FROM admitted) AS s, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: the greatest of texts
SELECT GREATEST(region, name) AS g, LEAST(region, name) AS l, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: windows of every kind above
SELECT n, LAG(n) OVER (ORDER BY n), NTILE(2) OVER (ORDER BY n), FIRST_VALUE(n) OVER (ORDER BY n DESC), PERCENT_RANK() OVER (ORDER BY n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t ORDER BY n;
