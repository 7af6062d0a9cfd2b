-- title: rollup of two keys
SELECT region, smoker, COUNT(*), SUM(income), AVG(income) FROM patients GROUP BY ROLLUP (region, smoker);

-- title: cube with grouping
SELECT region, smoker, GROUPING(region, smoker) AS g, COUNT(*) FROM patients GROUP BY CUBE (region, smoker) ORDER BY g, region, smoker;

-- title: a total with a name
SELECT CASE WHEN GROUPING(region) = 1 THEN 'all' ELSE region END AS r, COUNT(*) FROM patients GROUP BY ROLLUP (region) ORDER BY GROUPING(region), r;

-- title: grouping sets without a finest
SELECT region, smoker, COUNT(*), COUNT(DISTINCT patient_id) FROM patients GROUP BY GROUPING SETS ((region), (smoker), ());

-- title: a set twice
SELECT region, COUNT(*) FROM patients GROUP BY GROUPING SETS ((region), (region), (), ());

-- title: totals alone by having
SELECT region, smoker, COUNT(*) FROM patients GROUP BY CUBE (region, smoker) HAVING GROUPING(region) + GROUPING(smoker) >= 1 AND COUNT(*) > 5;

-- title: the bits of several keys
SELECT GROUPING(smoker, region), GROUPING(region, smoker, region), COUNT(*) FROM patients GROUP BY ROLLUP (region, smoker) ORDER BY 1, 3 DESC LIMIT 4;

-- title: grouping of a plain key
SELECT region, GROUPING(region) AS g, COUNT(*) FROM patients GROUP BY region HAVING GROUPING(region) = 0;

-- title: keys alone
SELECT region, GROUPING(region) FROM patients GROUP BY ROLLUP (region);

-- title: an expression that is not grouped in every set
SELECT birth_year / 10 AS decade, COUNT(*), COUNT(DISTINCT region) FROM patients GROUP BY ROLLUP (birth_year / 10) ORDER BY GROUPING(birth_year / 10), 1;

-- title: persons in several groups
SELECT diagnosis, COUNT(*), COUNT(DISTINCT patient_id), SUM(cost) FROM visits GROUP BY ROLLUP (diagnosis);

-- title: formatted months and their total
SELECT to_char(visit_date, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY ROLLUP (to_char(visit_date, 'YYYY-MM')) ORDER BY GROUPING(to_char(visit_date, 'YYYY-MM')), 1;

-- title: a share of the total above
SELECT region, n, ROUND(100.0 * n / MAX(n) OVER (), 1) AS share FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY ROLLUP (region)) t ORDER BY n DESC, region;

-- title: a window within each set
SELECT region, smoker, COUNT(*) AS n, SUM(COUNT(*)) OVER (PARTITION BY GROUPING(region, smoker)) AS total FROM patients GROUP BY CUBE (region, smoker);

-- title: sets over a join
SELECT r.capital, p.smoker, COUNT(*), SUM(p.income) FROM patients p JOIN regions r ON r.region = p.region GROUP BY ROLLUP (r.capital, p.smoker);

-- title: a key beside sets
SELECT region, smoker, GROUPING(smoker), COUNT(*) FROM patients GROUP BY region, GROUPING SETS ((smoker), ());

-- title: sets joined with another release
SELECT a.region, a.n, b.m FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY ROLLUP (region)) a LEFT JOIN (SELECT region, AVG(income) AS m FROM patients GROUP BY region) b ON b.region = a.region;

-- title: distinct rows of sets
SELECT DISTINCT smoker, COUNT(*) FROM patients GROUP BY GROUPING SETS ((smoker), (smoker), ());

-- title: a filtered count in sets
SELECT region, COUNT(*) FILTER (WHERE smoker), AVG(income) FILTER (WHERE birth_year > 1970) FROM patients GROUP BY ROLLUP (region) HAVING COUNT(*) FILTER (WHERE birth_year > 1970) > 0;

-- title: per person, then in sets
SELECT visits > 3 AS often, COUNT(*), SUM(visits) FROM (SELECT patient_id, COUNT(*) AS visits FROM visits GROUP BY patient_id) t GROUP BY ROLLUP (often);

-- title: found keys alone
SELECT diagnosis, GROUPING(diagnosis) FROM visits GROUP BY ROLLUP (diagnosis);

-- title: nothing but the total, twice
SELECT COUNT(*) FROM visits GROUP BY GROUPING SETS ((), ());

-- title: the total of nobody
SELECT region, COUNT(*) FROM patients WHERE birth_year > 2019 AND income < 0 GROUP BY ROLLUP (region) HAVING GROUPING(region) = 1;
