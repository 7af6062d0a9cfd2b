-- title: the mean of each person's total
SELECT AVG(total), SUM(total), COUNT(*) FROM (SELECT patient_id, SUM(cost) AS total FROM visits GROUP BY patient_id) t;

-- title: how many have how many visits
SELECT n, COUNT(*) AS persons FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t GROUP BY n ORDER BY n;

-- title: persons with much
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY patient_id HAVING SUM(cost) > 5000 AND COUNT(*) >= 2) t;

-- title: the least and the most of each person
SELECT AVG(top - low), SUM(top), SUM(low) FROM (SELECT patient_id, MAX(cost) AS top, MIN(cost) AS low FROM visits GROUP BY patient_id) t;

-- title: the first visit of each person
SELECT diagnosis, COUNT(*) FROM (SELECT patient_id, diagnosis, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS place FROM visits) t WHERE place = 1 GROUP BY diagnosis;

-- title: the days between visits
SELECT AVG(visit_date - before), COUNT(before) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date) AS before FROM visits) t;

-- title: running totals of each person
SELECT SUM(running) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM visits) t;

-- title: places of each person's visits
SELECT r, COUNT(*), SUM(cost) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date DESC) AS r FROM visits) t GROUP BY r ORDER BY r;

-- title: visits above the person's own mean
SELECT COUNT(*) FROM (SELECT cost, AVG(cost) OVER (PARTITION BY patient_id) AS mean FROM visits) t WHERE cost > mean;

-- title: distinct diagnoses of each person
SELECT AVG(kinds) FROM (SELECT patient_id, COUNT(DISTINCT diagnosis) AS kinds FROM visits GROUP BY patient_id) t;

-- title: persons by distinct diagnosis
SELECT diagnosis, COUNT(*) FROM (SELECT DISTINCT patient_id, diagnosis FROM visits) d GROUP BY diagnosis;

-- title: by person and month, then months
SELECT month, COUNT(*) AS persons, SUM(n) AS visits FROM (SELECT patient_id, DATE_TRUNC('month', visit_date) AS month, COUNT(*) AS n FROM visits GROUP BY 1, 2) t GROUP BY month ORDER BY month;

-- title: features of a person with filters
SELECT SUM(flus), SUM(rest) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE diagnosis = 'flu') AS flus, COUNT(*) FILTER (WHERE diagnosis <> 'flu') AS rest FROM visits GROUP BY patient_id) t;

-- title: whether a person ever
SELECT ever, COUNT(*) FROM (SELECT patient_id, MAX(CASE WHEN diagnosis = 'asthma' THEN 1 ELSE 0 END) AS ever FROM visits GROUP BY patient_id) t GROUP BY ever;

-- title: persons and visits in one column
SELECT AVG(x), COUNT(*) FROM (SELECT patient_id, cost AS x FROM visits UNION ALL SELECT patient_id, income FROM patients) u;

-- title: twice the same table
SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits) u;

-- title: a feature in a CTE that is used twice
WITH per AS (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) SELECT a.n, COUNT(*) FROM per a JOIN per b ON a.patient_id = b.patient_id WHERE a.n = b.n GROUP BY a.n;

-- title: the year of each person's first visit
SELECT EXTRACT(YEAR FROM first) AS year, COUNT(*) FROM (SELECT patient_id, MIN(visit_date) AS first FROM visits GROUP BY patient_id) t GROUP BY 1 ORDER BY 1;

-- title: the next visit's diagnosis
SELECT diagnosis, next, COUNT(*) FROM (SELECT diagnosis, LEAD(diagnosis) OVER (PARTITION BY patient_id ORDER BY visit_date) AS next FROM visits) t GROUP BY 1, 2;

-- title: thirds of each person's visits
SELECT COUNT(third), COUNT(mean) FILTER (WHERE mean > 100.5) FROM (SELECT patient_id, SUM(cost / 3) AS third, AVG(cost / 7) AS mean FROM visits GROUP BY patient_id) t WHERE third > 500.25;

-- title: running thirds of each person
SELECT COUNT(*) FROM (SELECT SUM(cost / 3) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS running FROM visits) t WHERE running > 500.25;
