-- title: the ends of whole numbers
SELECT MIN(birth_year), MAX(birth_year) FROM patients;

-- title: the ends of dates
SELECT MIN(visit_date) AS first, MAX(visit_date) AS last FROM visits;

-- title: the ends of each group
SELECT region, MIN(birth_year), MAX(birth_year), COUNT(*) FROM patients GROUP BY region ORDER BY region;

-- title: a quantile at a row
SELECT PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY birth_year) FROM patients;

-- title: a quantile from the other end
SELECT PERCENTILE_DISC(0.3) WITHIN GROUP (ORDER BY birth_year DESC) AS p FROM patients;

-- title: a quantile of dates
SELECT PERCENTILE_DISC(0.123) WITHIN GROUP (ORDER BY visit_date) FROM visits;

-- title: a quantile within a value that several rows have
SELECT PERCENTILE_CONT(0.41) WITHIN GROUP (ORDER BY birth_year) FROM patients;

-- title: several quantiles as an array
SELECT PERCENTILE_DISC(ARRAY[0.11, 0.3, 0.77]) WITHIN GROUP (ORDER BY birth_year) FROM patients;

-- title: several quantiles of dates as an array
SELECT PERCENTILE_DISC(ARRAY[0.9, 0.123]) WITHIN GROUP (ORDER BY visit_date) AS days FROM visits;

-- title: quantiles that are the ends
SELECT PERCENTILE_DISC(0) WITHIN GROUP (ORDER BY birth_year) AS low, PERCENTILE_CONT(0) WITHIN GROUP (ORDER BY birth_year DESC) AS high FROM patients;

-- title: several quantiles side by side
SELECT PERCENTILE_DISC(0.11) WITHIN GROUP (ORDER BY birth_year) AS low, MIN(birth_year), MAX(birth_year), PERCENTILE_CONT(0.77) WITHIN GROUP (ORDER BY birth_year) AS high FROM patients;

-- title: a quantile with a filter
SELECT PERCENTILE_DISC(0.4) WITHIN GROUP (ORDER BY birth_year) FILTER (WHERE smoker) AS smokers, COUNT(*) FILTER (WHERE smoker) FROM patients;

-- title: ends with a filter
SELECT MAX(visit_date) FILTER (WHERE diagnosis = 'flu') AS last, MIN(visit_date) FILTER (WHERE cost > 1000) AS first FROM visits;

-- title: ends of an expression
SELECT MIN(2026 - birth_year) AS youngest, MAX(2026 - birth_year) AS oldest FROM patients;

-- title: ends of a float
SELECT MIN(weight), MAX(weight) FROM visits;

-- title: a quantile of a float for each group
SELECT diagnosis, PERCENTILE_DISC(0.45) WITHIN GROUP (ORDER BY weight) FROM visits GROUP BY diagnosis ORDER BY 1;

-- title: the more frequent truth
SELECT MODE() WITHIN GROUP (ORDER BY smoker) FROM patients;

-- title: the most frequent region
SELECT MODE() WITHIN GROUP (ORDER BY region) AS most FROM patients;

-- title: the most frequent region of those who were asked
SELECT MODE() WITHIN GROUP (ORDER BY region) FILTER (WHERE birth_year > 1940) AS most, COUNT(*) FROM patients;

-- title: the most frequent answer in each region
SELECT region, MODE() WITHIN GROUP (ORDER BY smoker) FROM patients WHERE region IS NOT NULL GROUP BY region;

-- title: ends above which one goes on
SELECT MAX(last) - MIN(first) AS years FROM (SELECT region, MIN(birth_year) AS first, MAX(birth_year) AS last FROM patients GROUP BY region) t;

-- title: groups by what was chosen
SELECT region FROM patients GROUP BY region HAVING MIN(birth_year) < 1930 ORDER BY MAX(birth_year) DESC, region;

-- title: the oldest of each visit
SELECT MIN(p.birth_year), MAX(v.visit_date) FROM patients p JOIN visits v ON v.patient_id = p.patient_id;

-- title: the fewest visits of a person
SELECT MIN(n), MAX(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t;

-- title: ends of all and of each
SELECT region, MIN(birth_year) FROM patients GROUP BY GROUPING SETS ((region), ()) ORDER BY region, 2;

-- title: ends of a rollup
SELECT region, smoker, MAX(birth_year), COUNT(*), GROUPING(region, smoker) AS g FROM patients GROUP BY ROLLUP (region, smoker) ORDER BY g, region, smoker;
