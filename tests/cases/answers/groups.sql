-- title: by one key
SELECT region, COUNT(*), SUM(income), AVG(income) FROM patients GROUP BY region;

-- title: by two keys
SELECT region, smoker, COUNT(*), AVG(birth_year) FROM patients GROUP BY region, smoker;

-- title: by text with quotes, braces and umlauts
SELECT name, COUNT(*) AS n FROM patients GROUP BY name ORDER BY name COLLATE "C" NULLS FIRST;

-- title: by diagnosis
SELECT diagnosis, COUNT(*), SUM(cost), COUNT(DISTINCT patient_id) FROM visits GROUP BY diagnosis;

-- title: by truth
SELECT smoker, COUNT(*) FROM patients GROUP BY smoker;

-- title: by an expression of truth
SELECT birth_year < 1970 AS elder, COUNT(*), AVG(income) FROM patients GROUP BY birth_year < 1970;

-- title: by whether it is known
SELECT income IS NULL, smoker IS NOT NULL, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: by decade
SELECT birth_year / 10 * 10 AS decade, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: by decade, below a year
SELECT (birth_year - 1970) / 10 AS decade, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: by a bucket of incomes
SELECT FLOOR(income / 25000) * 25000 AS bucket, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: by a number with decimals
SELECT cost, COUNT(*) FROM visits WHERE cost < 1500 GROUP BY cost ORDER BY cost;

-- title: by a floating number
SELECT weight, COUNT(*) FROM visits GROUP BY weight;

-- title: by a floating expression
SELECT weight / 2 AS half, COUNT(*) FROM visits GROUP BY 1;

-- title: by a date
SELECT visit_date, COUNT(*), SUM(cost) FROM visits GROUP BY visit_date ORDER BY visit_date;

-- title: by a moment
SELECT admitted, COUNT(*) FROM visits GROUP BY admitted ORDER BY admitted;

-- title: by a case
SELECT CASE WHEN income < 50000 THEN 'low' WHEN income < 150000 THEN 'middle' WHEN income IS NULL THEN 'unknown' ELSE 'high' END AS class, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: by a case of a key that formats above
SELECT CASE region WHEN 'north' THEN 'N' ELSE COALESCE(region, '?') END AS r, COUNT(*) FROM patients GROUP BY region ORDER BY 2;

-- title: by coalesced text
SELECT COALESCE(region, 'nowhere') AS region_, COUNT(*) FROM patients GROUP BY COALESCE(region, 'nowhere');

-- title: by parts of text
SELECT LEFT(diagnosis, 3) AS begins, LENGTH(diagnosis) AS long, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: by upper and lower text
SELECT UPPER(diagnosis), LOWER(diagnosis), COUNT(*) FROM visits WHERE LEFT(diagnosis, 1) <> 'Ä' GROUP BY 1, 2;

-- title: by text that was joined
SELECT region || '/' || COALESCE(name, '-') AS who, COUNT(*) FROM patients GROUP BY 1;

-- title: keys alone
SELECT region, smoker FROM patients GROUP BY region, smoker;

-- title: distinct keys
SELECT DISTINCT diagnosis FROM visits ORDER BY diagnosis;

-- title: having on a count
SELECT region, COUNT(*) FROM patients GROUP BY region HAVING COUNT(*) > 12;

-- title: having on what is not shown
SELECT diagnosis FROM visits GROUP BY diagnosis HAVING SUM(cost) > 20000 AND COUNT(DISTINCT patient_id) >= 4;

-- title: having on a key
SELECT region, COUNT(*) FROM patients GROUP BY region HAVING region <> 'north' OR region IS NULL;

-- title: the largest groups
SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY n DESC, region LIMIT 3;

-- title: the groups after the first
SELECT region, COUNT(*) AS n FROM patients GROUP BY region ORDER BY n DESC OFFSET 1 FETCH NEXT 2 ROWS ONLY;

-- title: in the order of a mean
SELECT region, AVG(income) AS m FROM patients GROUP BY region ORDER BY AVG(income) DESC NULLS LAST;

-- title: in the order of what is not shown
SELECT diagnosis FROM visits GROUP BY diagnosis ORDER BY SUM(cost) DESC, diagnosis;

-- title: in the order of an expression
SELECT region, SUM(income) AS s FROM patients GROUP BY region ORDER BY -SUM(income), region;

-- title: with ties
SELECT smoker, COUNT(*) AS n FROM patients GROUP BY smoker ORDER BY n DESC FETCH FIRST 1 ROW WITH TIES;

-- title: a key twice
SELECT region AS a, region AS b, COUNT(*) FROM patients GROUP BY region, region;

-- title: a constant key
SELECT 1 AS one, COUNT(*) FROM patients GROUP BY 1;

-- title: a key that depends on nothing of persons
SELECT region, COUNT(*) FROM patients WHERE smoker GROUP BY region HAVING TRUE ORDER BY region NULLS FIRST;

-- title: three keys
SELECT region, smoker, birth_year > 1970 AS young, COUNT(*) FROM patients GROUP BY 1, 2, 3;

-- title: a share of each group
SELECT region, ROUND(100.0 * COUNT(*) FILTER (WHERE smoker) / COUNT(*), 1) AS percent FROM patients GROUP BY region ORDER BY region;
