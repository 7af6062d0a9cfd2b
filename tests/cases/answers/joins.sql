-- title: persons with their visits
SELECT p.region, COUNT(*), SUM(v.cost), AVG(v.cost), COUNT(DISTINCT v.patient_id) FROM patients p JOIN visits v ON v.patient_id = p.patient_id GROUP BY p.region;

-- title: visits by what their persons are
SELECT p.smoker, v.diagnosis, COUNT(*) FROM visits v JOIN patients p USING (patient_id) GROUP BY 1, 2;

-- title: persons without visits are kept
SELECT p.region, COUNT(*) AS all_rows, COUNT(v.visit_id) AS visits FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY p.region;

-- title: persons without visits alone
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id WHERE v.visit_id IS NULL;

-- title: a condition in ON
SELECT COUNT(v.visit_id) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.cost > 2000 AND p.smoker;

-- title: a filter on both sides
SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = v.patient_id WHERE p.income > 50000 AND v.cost < 3000;

-- title: a public table by a key
SELECT r.capital, COUNT(*), AVG(p.income) FROM patients p JOIN regions r ON r.region = p.region GROUP BY r.capital;

-- title: a public table on the left side of what it lacks
SELECT c.chapter, COUNT(*) FROM visits v LEFT JOIN codes c ON c.code = v.diagnosis GROUP BY c.chapter;

-- title: a public number in a filter
SELECT COUNT(*) FROM patients p JOIN regions r ON r.region = p.region WHERE r.population >= 1000;

-- title: a public number in a sum
SELECT SUM(r.population) AS s, COUNT(*) FROM regions r;

-- title: public tables alone
SELECT r.region, r.capital, c.code FROM regions r CROSS JOIN codes c ORDER BY 1, 3 LIMIT 7;

-- title: three tables
SELECT r.capital, c.chapter, COUNT(*), SUM(v.cost) FROM patients p JOIN visits v ON v.patient_id = p.patient_id JOIN regions r ON r.region = p.region JOIN codes c ON c.code = v.diagnosis GROUP BY 1, 2;

-- title: values as a public table
SELECT w.label, COUNT(*) FROM patients p JOIN (VALUES ('north', 'cold'), ('south', 'warm'), ('east', 'cold')) AS w(region, label) ON w.region = p.region GROUP BY w.label;

-- title: a release joined to a public table
SELECT r.capital, t.n FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t RIGHT JOIN regions r ON r.region = t.region;

-- title: two releases joined
SELECT a.region, a.n, b.m, a.n * b.m AS both_ FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) a JOIN (SELECT region, AVG(income) AS m FROM patients GROUP BY region) b ON a.region IS NOT DISTINCT FROM b.region;

-- title: persons against a release
SELECT COUNT(*) FROM patients p JOIN (SELECT region, AVG(income) AS mean FROM patients GROUP BY region) m ON m.region = p.region WHERE p.income > m.mean;

-- title: per-person rows joined to persons
SELECT p.region, AVG(t.n), SUM(t.total) FROM patients p JOIN (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS total FROM visits GROUP BY patient_id) t ON t.patient_id = p.patient_id GROUP BY p.region;

-- title: persons joined to themselves
SELECT COUNT(*), SUM(a.income - b.birth_year) FROM patients a JOIN patients b ON a.patient_id = b.patient_id;

-- title: a join by commas
SELECT p.region, COUNT(*) FROM patients p, visits v WHERE p.patient_id = v.patient_id AND v.diagnosis = 'flu' GROUP BY p.region;

-- title: a natural join of public tables
SELECT region, capital FROM regions NATURAL JOIN (SELECT DISTINCT region FROM patients) t ORDER BY region;

-- title: a join above releases by name
SELECT region, n, population FROM regions JOIN (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t USING (region) ORDER BY region;

-- title: a list of a join by name
SELECT COUNT(*) FROM patients WHERE region IN (SELECT region FROM regions JOIN (SELECT region, COUNT(*) AS n FROM patients GROUP BY 1) t USING (region) WHERE n > 15);
