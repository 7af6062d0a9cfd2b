-- title: windows above
SELECT region, COUNT(*) AS n, RANK() OVER (ORDER BY COUNT(*) DESC) AS place, SUM(COUNT(*)) OVER () AS everybody FROM patients GROUP BY region;

-- title: a running total above
SELECT decade, n, SUM(n) OVER (ORDER BY decade) AS so_far FROM (SELECT birth_year / 10 * 10 AS decade, COUNT(*) AS n FROM patients GROUP BY 1) t ORDER BY decade;

-- title: the month before
SELECT m, n, n - LAG(n) OVER (ORDER BY m) AS change FROM (SELECT DATE_TRUNC('month', visit_date) AS m, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY m;

-- title: a moving mean above
SELECT y, AVG(s) OVER (ORDER BY y ROWS BETWEEN 1 PRECEDING AND 1 FOLLOWING) FROM (SELECT EXTRACT(YEAR FROM visit_date) AS y, SUM(cost) AS s FROM visits GROUP BY 1) t ORDER BY y;

-- title: an aggregate of a release
SELECT MAX(n), MIN(n), AVG(n), COUNT(*) FROM (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) t;

-- title: a grouping of a release
SELECT n >= 12 AS large, COUNT(*), SUM(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t GROUP BY 1;

-- title: a total under the groups
SELECT region, COUNT(*) FROM patients GROUP BY region UNION ALL SELECT 'total', COUNT(*) FROM patients;

-- title: two counts as rows
SELECT 'persons' AS what, COUNT(*) AS n FROM patients UNION ALL SELECT 'visits', COUNT(*) FROM visits ORDER BY what;

-- title: keys of one side alone
SELECT region FROM regions EXCEPT SELECT region FROM patients GROUP BY region;

-- title: keys of both sides
SELECT region FROM regions INTERSECT SELECT region FROM patients GROUP BY region ORDER BY 1;

-- title: a CTE that is used twice
WITH t AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) SELECT a.region, a.n, b.n AS largest FROM t a CROSS JOIN (SELECT MAX(n) AS n FROM t) b ORDER BY a.n, a.region;

-- title: CTEs in a chain
WITH base AS (SELECT * FROM visits WHERE cost IS NOT NULL), month AS (SELECT DATE_TRUNC('quarter', visit_date) AS q, cost FROM base), final AS (SELECT q, SUM(cost) AS s FROM month GROUP BY q) SELECT q, s, s > 50000 AS much FROM final ORDER BY q;

-- title: a recursive series beside a release
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 3) SELECT i, (SELECT COUNT(*) FROM patients) * i AS times FROM n ORDER BY i;

-- title: a series of months that are filled
SELECT g.y, COALESCE(t.n, 0) AS n FROM generate_series(2018, 2022) AS g(y) LEFT JOIN (SELECT EXTRACT(YEAR FROM visit_date)::integer AS y, COUNT(*) AS n FROM visits GROUP BY 1) t ON t.y = g.y ORDER BY g.y;

-- title: text made of a release
SELECT string_agg(region || '=' || n, ', ' ORDER BY region) FROM (SELECT region, COUNT(*) AS n FROM patients WHERE region IS NOT NULL GROUP BY region) t;

-- title: an object made of a release
SELECT json_object_agg(region, n ORDER BY region) FROM (SELECT region, COUNT(*) AS n FROM patients WHERE region IS NOT NULL GROUP BY region) t;

-- title: a percentile of a release
SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n), STDDEV(n), VARIANCE(n) FROM (SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year) t;

-- title: distinct values of a release
SELECT DISTINCT n FROM (SELECT birth_year, COUNT(*) AS n FROM patients GROUP BY birth_year) t ORDER BY n;

-- title: a pivot above
SELECT SUM(n) FILTER (WHERE region = 'north') AS north, SUM(n) FILTER (WHERE region = 'south') AS south FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;

-- title: a grouping with totals above
SELECT region, smoker, SUM(n) AS n FROM (SELECT region, smoker, COUNT(*) AS n FROM patients GROUP BY region, smoker) t GROUP BY ROLLUP (region, smoker);

-- title: a limit of a limit
SELECT * FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY n DESC, region LIMIT 4) t ORDER BY n, region LIMIT 2;

-- title: a Pareto of groups
SELECT diagnosis, SUM(cost) AS s, SUM(SUM(cost)) OVER (ORDER BY SUM(cost) DESC) AS c, 100 * SUM(cost) / SUM(SUM(cost)) OVER () AS p FROM visits GROUP BY diagnosis ORDER BY s DESC;

-- title: groups above the median of groups
SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis HAVING COUNT(*) >= (SELECT PERCENTILE_CONT(0.5) WITHIN GROUP (ORDER BY n) FROM (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY 1) t);

-- title: no rows and rows that are skipped
SELECT COUNT(*) FROM patients OFFSET 1;

-- title: two columns of one name
SELECT COUNT(*) AS count, SUM(income) AS count FROM patients;

-- title: names as the gateway's own
SELECT COUNT(*) AS "_r1", SUM(income) AS m1 FROM patients _r1;

-- title: a share of the largest
WITH a AS (SELECT * FROM patients WHERE smoker), b AS (SELECT region, AVG(income) AS m FROM a GROUP BY region), c AS (SELECT MAX(m) AS mm FROM b) SELECT b.region, b.m / c.mm AS share FROM b, c;

-- title: the number of groups
SELECT COUNT(*), COUNT(region) FROM (SELECT region, smoker FROM patients GROUP BY region, smoker) t;

-- title: rows of two tables of persons by kind
SELECT u.t, COUNT(*), SUM(x) FROM (SELECT patient_id, 'p' AS t, income AS x FROM patients UNION ALL SELECT patient_id, 'v', cost FROM visits) u GROUP BY u.t;
