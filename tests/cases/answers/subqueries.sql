-- title: above the mean
SELECT COUNT(*) FROM patients WHERE income > (SELECT AVG(income) FROM patients);

-- title: above a mean that was rounded
SELECT COUNT(*), AVG(income) FROM patients WHERE income > (SELECT ROUND(AVG(income)) FROM patients WHERE smoker);

-- title: in the large groups
SELECT region, AVG(income) FROM patients WHERE region IN (SELECT region FROM patients GROUP BY region HAVING COUNT(*) > 15) GROUP BY region;

-- title: in the top groups
SELECT diagnosis, SUM(cost) FROM visits WHERE diagnosis IN (SELECT diagnosis FROM visits GROUP BY diagnosis ORDER BY COUNT(*) DESC, diagnosis LIMIT 2) GROUP BY diagnosis;

-- title: not in the small groups
SELECT COUNT(*) FROM patients WHERE region NOT IN (SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region HAVING COUNT(*) < 15);

-- title: in nothing
SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM patients GROUP BY region HAVING COUNT(*) > 100000);

-- title: in a public list
SELECT COUNT(*), SUM(cost) FROM visits WHERE diagnosis IN (SELECT code FROM codes WHERE chapter = 'respiratory');

-- title: not in a public list
SELECT COUNT(*) FROM visits WHERE diagnosis NOT IN (SELECT code FROM codes);

-- title: a public maximum
SELECT COUNT(*) FROM patients WHERE birth_year > (SELECT MAX(population) FROM regions);

-- title: persons that exist elsewhere
SELECT region, COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > 3000) GROUP BY region;

-- title: persons that do not exist elsewhere
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.diagnosis = 'flu');

-- title: persons among persons
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE diagnosis = 'asthma');

-- title: persons not among persons
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits);

-- title: exists as a key
SELECT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.weight > 150) AS heavy, COUNT(*) FROM patients p GROUP BY 1;

-- title: a public table that has a row
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM regions r WHERE r.region = p.region AND r.capital IS NOT NULL);

-- title: a share of everybody
SELECT region, COUNT(*) * 100.0 / (SELECT COUNT(*) FROM patients) AS share FROM patients GROUP BY region;

-- title: scalars beside each other
SELECT (SELECT COUNT(*) FROM patients) AS persons, (SELECT SUM(cost) FROM visits) AS spent, (SELECT COUNT(*) FROM regions) AS regions;

-- title: a scalar in HAVING
SELECT region, AVG(income) FROM patients GROUP BY region HAVING AVG(income) > (SELECT AVG(income) FROM patients);

-- title: a staged number within another
SELECT COUNT(*) FROM patients WHERE birth_year >= (SELECT AVG(birth_year)::integer FROM patients WHERE income > (SELECT AVG(income) FROM patients));

-- title: a staged truth
SELECT COUNT(*) FROM patients WHERE (SELECT COUNT(*) > 5 FROM visits);

-- title: a staged value in a sum
SELECT SUM(CASE WHEN birth_year > (SELECT AVG(birth_year) FROM patients) THEN 1 ELSE 0 END) FROM patients;

-- title: a staged cross join
SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT AVG(income) AS mean FROM patients) m WHERE p.income > m.mean;

-- title: a list with what was counted
SELECT COUNT(*) FROM patients WHERE birth_year IN ((SELECT MAX(population) FROM regions), 1925, 1962);

-- title: a lateral-free nest of four
SELECT MAX(n) FROM (SELECT n FROM (SELECT region, COUNT(*) AS n FROM (SELECT * FROM patients WHERE smoker) a GROUP BY region) b WHERE n > 1) c;

-- title: above the mean of the region
SELECT COUNT(*), SUM(birth_year) FROM patients p WHERE income > (SELECT 1.1 * AVG(q.income) FROM patients q WHERE q.region = p.region);

-- title: above the mean of the diagnosis in the year
SELECT diagnosis, COUNT(*) FROM visits v JOIN codes c ON c.code = v.diagnosis WHERE cost > (SELECT AVG(w.cost) FROM visits w WHERE w.diagnosis = c.code AND w.visit_date >= '2021-01-01') GROUP BY diagnosis;

-- title: a count of no rows is 0
SELECT COUNT(*), SUM(GREATEST(LEAST((SELECT COUNT(*) FROM visits w WHERE w.diagnosis = v.diagnosis), 500), 0)) FROM visits v WHERE (SELECT COUNT(*) FROM patients q WHERE q.region = v.diagnosis) = 0;

-- title: a sum of no rows in place of NULL
SELECT COUNT(*) FROM visits v WHERE (SELECT COALESCE(SUM(q.income), -1) FROM patients q WHERE q.region = v.diagnosis) = -1;

-- title: NULL where there is no group
SELECT COUNT(*) FROM visits v WHERE (SELECT SUM(q.income) FROM patients q WHERE q.region = v.diagnosis) IS NULL;

-- title: visits above the mean of their diagnosis, of each person
SELECT AVG(n) FROM (SELECT (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.diagnosis = v.diagnosis)) AS n FROM patients p) t;

-- title: sums beside public rows
SELECT r.region, (SELECT SUM(p.income) FROM patients p WHERE p.region = r.region) AS income, (SELECT COUNT(*) FROM patients p WHERE p.region = r.region AND p.smoker) * 2 AS twice FROM regions r ORDER BY r.region;

-- title: public rows by what is below them
SELECT region FROM regions r WHERE population < (SELECT SUM(p.birth_year) FROM patients p WHERE p.region = r.region) ORDER BY 1;

-- title: public codes that are dear, beside all columns
SELECT * FROM codes c, regions r WHERE (SELECT AVG(v.cost) FROM visits v WHERE v.diagnosis = c.code) > 100 ORDER BY 1, 2, 3, 4, 5;

-- title: in the public codes that are dear
SELECT COUNT(*) FROM visits WHERE diagnosis IN (SELECT c.code FROM codes c WHERE (SELECT AVG(v.cost) FROM visits v WHERE v.diagnosis = c.code) > (SELECT AVG(u.cost) FROM visits u));
