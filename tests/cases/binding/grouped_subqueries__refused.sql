-- title: compared by more than equality
-- code: GW113
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.diagnosis = v.diagnosis AND w.cost < v.cost);

-- title: the person and another column
-- code: GW113
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.patient_id = v.patient_id AND w.diagnosis = v.diagnosis);

-- title: the unit key against a column that is none
-- code: GW113
SELECT COUNT(*) FROM visits v WHERE v.cost > (SELECT AVG(w.cost) FROM visits w WHERE w.patient_id = v.visit_id);

-- title: the unit key against a public column
-- code: GW113
SELECT r.region, (SELECT SUM(income) FROM patients p WHERE p.patient_id = r.population) FROM regions r;

-- title: an expression is compared
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE p.income > (SELECT AVG(q.income) FROM patients q WHERE q.birth_year + 1 = p.birth_year);

-- title: a column of the query around within the aggregate
-- code: GW113
SELECT r.region, (SELECT SUM(p.income + r.population) FROM patients p WHERE p.region = r.region) FROM regions r;

-- title: a column of the query around beside the aggregate
-- code: GW113
SELECT r.region, (SELECT SUM(p.income) + r.population FROM patients p WHERE p.region = r.region) FROM regions r;

-- title: rows of persons in place of an aggregate
-- code: GW113
SELECT r.region, (SELECT p.income FROM patients p WHERE p.region = r.region) FROM regions r;

-- title: one of several groups
-- code: GW113
SELECT r.region, (SELECT SUM(p.income) FROM patients p WHERE p.region = r.region GROUP BY p.smoker) FROM regions r;

-- title: a condition on the group
-- code: GW113
SELECT r.region, (SELECT SUM(p.income) FROM patients p WHERE p.region = r.region HAVING COUNT(*) > 5) FROM regions r;

-- title: two levels out
-- code: GW113
SELECT r.region FROM regions r WHERE r.region IN (SELECT c.chapter FROM codes c WHERE c.code > (SELECT MAX(v.diagnosis) FROM visits v WHERE v.diagnosis = r.region));

-- title: exists for each public row
-- code: GW113
SELECT r.region FROM regions r WHERE EXISTS (SELECT SUM(p.income) FROM patients p WHERE p.region = r.region);

-- title: in for each public row
-- code: GW113
SELECT r.region FROM regions r WHERE r.population IN (SELECT SUM(p.income) FROM patients p WHERE p.region = r.region);

-- title: beside groups of public rows
-- code: GW113
SELECT r.region, (SELECT COUNT(*) FROM patients p WHERE p.region = r.region) FROM regions r GROUP BY r.region;

-- title: in the join of public rows
-- code: GW113
SELECT r.region FROM regions r JOIN codes c ON c.code = r.region AND r.population > (SELECT COUNT(*) FROM patients p WHERE p.region = r.region);

-- title: star beside columns that are one
-- code: GW113
SELECT * FROM regions r JOIN regions s USING (region) WHERE r.population > (SELECT COUNT(*) FROM patients p WHERE p.region = r.region);

-- title: commas beside a right join
-- code: GW113
SELECT r.region FROM codes c, regions r RIGHT JOIN codes d ON d.code = r.region WHERE r.population > (SELECT COUNT(*) FROM patients p WHERE p.region = r.region);

-- title: beside the groups of persons
-- code: GW113
SELECT p.region, SUM(p.income), (SELECT SUM(q.income) FROM patients q WHERE q.region = p.region) FROM patients p GROUP BY p.region;

-- title: public rows below rows of persons depend on public rows around them
-- code: GW113
SELECT r.region FROM regions r WHERE r.population > (SELECT COUNT(*) FROM patients p WHERE p.income > (SELECT MAX(q.population) FROM regions q WHERE q.region = r.region));

-- title: whole numbers are compared with floats
-- code: GW113
SELECT r.x, (SELECT SUM(p.income) FROM patients p WHERE p.birth_year = r.x) FROM (SELECT 1980::double precision AS x) r;

-- title: whole numbers are compared with what has no known type
-- code: GW113
SELECT r.x, (SELECT SUM(p.income) FROM patients p WHERE p.birth_year = r.x) FROM (SELECT pi() AS x) r;
