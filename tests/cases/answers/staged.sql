-- title: the series limit of Superset
SELECT date_trunc('month', visit_date) AS month, v.diagnosis, COUNT(*) AS n, SUM(cost) FROM visits v JOIN (SELECT diagnosis, COUNT(*) AS mme_inner__ FROM visits GROUP BY diagnosis ORDER BY mme_inner__ DESC, diagnosis LIMIT 3) series_limit ON v.diagnosis = series_limit.diagnosis GROUP BY date_trunc('month', visit_date), v.diagnosis ORDER BY n DESC LIMIT 10000;

-- title: the series limit of Superset by a sum within a period
SELECT EXTRACT(YEAR FROM visit_date) AS year, diagnosis AS diagnosis, SUM(cost) AS "SUM(cost)" FROM visits JOIN (SELECT diagnosis AS diagnosis__, SUM(cost) AS mme_inner__ FROM visits WHERE visit_date >= '2021-01-01' GROUP BY diagnosis ORDER BY mme_inner__ DESC LIMIT 2) AS anon_1 ON diagnosis = diagnosis__ WHERE visit_date >= '2021-01-01' GROUP BY 1, diagnosis;

-- title: the first groups as an IN, with the rest
SELECT CASE WHEN diagnosis IN (SELECT diagnosis FROM visits WHERE diagnosis IS NOT NULL GROUP BY diagnosis ORDER BY COUNT(*) DESC, diagnosis LIMIT 2) THEN diagnosis ELSE 'other' END AS d, COUNT(*) FROM visits WHERE diagnosis IS NOT NULL GROUP BY 1;

-- title: a CTE of aggregates against rows
WITH means AS (SELECT region, AVG(income) AS mean, STDDEV(birth_year) AS spread FROM patients GROUP BY region) SELECT p.region, COUNT(*), AVG(p.birth_year) FROM patients p JOIN means m ON m.region = p.region WHERE p.income > m.mean GROUP BY p.region;

-- title: a CTE of one row against rows
WITH total AS (SELECT AVG(cost) AS mean, COUNT(*) AS n FROM visits) SELECT diagnosis, COUNT(*) FILTER (WHERE cost > total.mean), COUNT(*) FROM visits CROSS JOIN total GROUP BY diagnosis;

-- title: a CTE of aggregates against rows and against itself
WITH t AS (SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis) SELECT SUM(v.cost), (SELECT MAX(n) FROM t) FROM visits v JOIN t ON t.diagnosis = v.diagnosis WHERE t.n = (SELECT MAX(n) FROM t);

-- title: costs above the mean
SELECT COUNT(*), SUM(cost) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits);

-- title: values beyond two deviations
SELECT COUNT(*) FROM visits WHERE weight > (SELECT AVG(weight) + STDDEV_POP(weight) FROM visits) OR weight < (SELECT AVG(weight) - STDDEV_POP(weight) FROM visits);

-- title: diagnoses that many have
SELECT diagnosis, AVG(cost) FROM visits WHERE diagnosis IN (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 35) GROUP BY diagnosis;

-- title: persons of regions that are above all
SELECT smoker, COUNT(*) FROM patients WHERE region IN (SELECT region FROM patients GROUP BY region HAVING AVG(income) > (SELECT AVG(income) FROM patients)) GROUP BY smoker;

-- title: before the middle year
SELECT region, COUNT(*) FROM patients WHERE birth_year < (SELECT PERCENTILE_DISC(0.41) WITHIN GROUP (ORDER BY birth_year) FROM patients) GROUP BY region;

-- title: the last year that there is
SELECT COUNT(*), SUM(cost) FROM visits WHERE visit_date > (SELECT MAX(visit_date) - 365 FROM visits);

-- title: in the most frequent region
SELECT COUNT(*), AVG(birth_year) FROM patients WHERE region = (SELECT MODE() WITHIN GROUP (ORDER BY region) FROM patients);

-- title: a distance to the mean, squared
SELECT AVG((birth_year - LEAST(GREATEST(m.mean, 1920), 2020)) * (birth_year - LEAST(GREATEST(m.mean, 1920), 2020))) FROM patients CROSS JOIN (SELECT ROUND(AVG(birth_year)) AS mean FROM patients) m;

-- title: a staged number as a column
SELECT region, ROUND(AVG(birth_year) - (SELECT AVG(birth_year) FROM patients), 6) AS off FROM patients GROUP BY region;

-- title: three stages, one in another
SELECT COUNT(*) FROM visits WHERE cost > (SELECT AVG(cost) FROM visits WHERE weight > (SELECT AVG(weight) FROM visits WHERE diagnosis IN (SELECT diagnosis FROM visits GROUP BY diagnosis HAVING COUNT(*) > 20)));

-- title: per person against a release
SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t WHERE total > (SELECT AVG(cost) * 3 FROM visits);

-- title: a bucket with ends that were released
SELECT birth_year >= (SELECT AVG(birth_year) FROM patients) AS younger, COUNT(*), STDDEV(birth_year) FROM patients GROUP BY 1;

-- title: groups of a release that are joined on two keys
SELECT p.region, p.smoker, COUNT(*) FROM patients p JOIN (SELECT region, smoker, AVG(birth_year) AS m FROM patients GROUP BY region, smoker) t ON t.region = p.region AND t.smoker = p.smoker WHERE p.birth_year <= t.m GROUP BY 1, 2;
