-- title: several rows of a person as one value
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE (SELECT diagnosis FROM visits v WHERE v.patient_id = p.patient_id) = 'flu';

-- title: comparison by more than the person
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > p.birth_year) = 1;

-- title: column of the query around within an aggregate
-- code: GW113
SELECT AVG((SELECT SUM(v.cost * p.birth_year) FROM visits v WHERE v.patient_id = p.patient_id)) FROM patients p;

-- title: two rows of a person as one value
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE (SELECT diagnosis FROM visits v WHERE v.patient_id = p.patient_id LIMIT 2) = 'flu';

-- title: lateral count would be NULL without rows
-- code: GW113
SELECT AVG(t.n) FROM patients p CROSS JOIN LATERAL (SELECT COUNT(*) AS n FROM visits v WHERE v.patient_id = p.patient_id) t;

-- title: lateral rows of persons beside public rows
-- code: GW113
SELECT r.region, t.n FROM regions r CROSS JOIN LATERAL (SELECT AVG(income) AS n FROM patients p WHERE p.region = r.region) t;

-- title: distinct on without the unit key
-- code: GW112
SELECT COUNT(*) FROM (SELECT DISTINCT ON (region) region, patient_id FROM patients ORDER BY region, income) t;

-- title: distinct on at the root
-- code: GW110
SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits ORDER BY patient_id, visit_date;

-- title: distinct on with a limit
-- code: GW112
SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) cost FROM visits ORDER BY patient_id, visit_date LIMIT 5) t;

-- title: set operation at the root
-- code: GW110
SELECT patient_id FROM patients INTERSECT SELECT patient_id FROM visits;

-- title: set operation without the unit key
-- code: GW105
SELECT COUNT(*) FROM (SELECT region FROM patients UNION SELECT diagnosis FROM visits) t;

-- title: set operation with the unit key in another place
-- code: GW105
SELECT COUNT(*) FROM (SELECT patient_id, birth_year FROM patients INTERSECT SELECT visit_id, patient_id FROM visits) t;

-- title: every copy of a row in both
-- code: GW105
SELECT COUNT(*) FROM (SELECT patient_id FROM patients INTERSECT ALL SELECT patient_id FROM visits) t;

-- title: set operation with limit
-- code: GW112
SELECT COUNT(*) FROM (SELECT patient_id FROM patients UNION SELECT patient_id FROM visits LIMIT 3) t;

-- title: set operation of persons and public rows
-- code: GW105
SELECT COUNT(*) FROM (SELECT patient_id FROM patients UNION SELECT population FROM regions) t;
