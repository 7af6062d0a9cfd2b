-- title: cross join of persons
-- code: GW111
SELECT COUNT(*) FROM patients p CROSS JOIN visits v;

-- title: join of persons on another column
-- code: GW111
SELECT COUNT(*) FROM patients a JOIN patients b ON a.region = b.region;

-- title: join of persons on a name that was lent
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN (SELECT visit_id AS patient_id FROM visits) v ON v.patient_id = p.patient_id;

-- title: join of persons using a name that was lent
-- code: GW111
SELECT COUNT(*) FROM patients JOIN (SELECT visit_id AS patient_id, cost FROM visits) v USING (patient_id);

-- title: join of persons on an expression of the unit
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id + 0 = p.patient_id;

-- title: join of persons on an inequality
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id <> p.patient_id;

-- title: join of persons on an OR
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id OR TRUE;

-- title: join of persons on a negation
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON NOT (v.patient_id = p.patient_id);

-- title: join of persons on one side twice
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON p.patient_id = p.patient_id;

-- title: join of persons on a coalesced unit
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON COALESCE(v.patient_id, 1) = p.patient_id;

-- title: join of persons on a unit from a case
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN (SELECT CASE WHEN cost > 5 THEN patient_id END AS u FROM visits) v ON v.u = p.patient_id;

-- title: join of persons on a maximal unit
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN (SELECT patient_id, COUNT(patient_id) AS u FROM visits GROUP BY patient_id) v ON v.u = p.patient_id;

-- title: an equality in WHERE behind an OR
-- code: GW111
SELECT COUNT(*) FROM patients p, visits v WHERE p.patient_id = v.patient_id OR v.cost > 0;

-- title: an equality in WHERE after an outer join needs it in ON
-- code: GW111
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON TRUE WHERE p.patient_id = v.patient_id;

-- title: a third table without the person
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id JOIN patients q ON q.region = p.region;

-- title: a unit that a union made of two columns
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN (SELECT patient_id AS u FROM visits UNION ALL SELECT visit_id FROM visits) v ON v.u = p.patient_id;

-- title: exists without the person
-- code: GW111
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.cost > 100);

-- title: exists on another column
-- code: GW111
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM patients q WHERE q.income > p.income);

-- title: exists with an OR around the person
-- code: GW111
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id OR v.cost > 5);

-- title: exists on a name that was lent
-- code: GW111
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM (SELECT visit_id AS patient_id FROM visits) v WHERE v.patient_id = p.patient_id);

-- title: in on another column
-- code: GW111
SELECT COUNT(*) FROM patients WHERE income IN (SELECT cost FROM visits);

-- title: in of the unit among other numbers
-- code: GW111
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT visit_id FROM visits);

-- title: in of another number among units
-- code: GW111
SELECT COUNT(*) FROM visits WHERE visit_id IN (SELECT patient_id FROM patients);

-- title: in over rows grouped by another column and the person
-- code: GW111
SELECT COUNT(*) FROM visits WHERE cost IN (SELECT MAX(cost) FROM visits GROUP BY patient_id);

-- title: not in on a column that may be null
-- code: GW105
SELECT COUNT(*) FROM visits v WHERE v.cost NOT IN (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id);

-- title: computed in on a column that may be null
-- code: GW105
SELECT COUNT(*) FROM visits v WHERE (v.cost IN (SELECT w.cost FROM visits w WHERE w.patient_id = v.patient_id)) IS NULL;

-- title: grouping sets with the unit
-- code: GW105
SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) FROM visits GROUP BY ROLLUP (patient_id)) t;

-- title: window over all persons
-- code: GW112
SELECT AVG(r) FROM (SELECT ROW_NUMBER() OVER (ORDER BY income) AS r FROM patients) t;

-- title: window by another column
-- code: GW112
SELECT AVG(r) FROM (SELECT SUM(income) OVER (PARTITION BY region) AS r FROM patients) t;

-- title: window by an expression of the unit
-- code: GW112
SELECT AVG(r) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id % 2) AS r FROM visits) t;

-- title: window by a name that was lent
-- code: GW112
SELECT AVG(r) FROM (SELECT SUM(cost) OVER (PARTITION BY t.patient_id) AS r FROM (SELECT visit_id AS patient_id, cost FROM visits) t) u;

-- title: window by the unit of the far side
-- code: GW112
SELECT AVG(r) FROM (SELECT SUM(v.cost) OVER (PARTITION BY v.patient_id) AS r FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id) t;

-- title: rank within a person
-- code: GW106
SELECT AVG(r) FROM (SELECT RANK() OVER (PARTITION BY patient_id ORDER BY cost) AS r FROM visits) t;

-- title: first value within a person
-- code: GW106
SELECT AVG(r) FROM (SELECT FIRST_VALUE(cost) OVER (PARTITION BY patient_id ORDER BY visit_date) AS r FROM visits) t;

-- title: a running sum over peers
-- code: GW105
SELECT AVG(r) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date) AS r FROM visits) t;

-- title: a range frame
-- code: GW105
SELECT AVG(r) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY cost RANGE BETWEEN 1 PRECEDING AND CURRENT ROW) AS r FROM visits) t;

-- title: a named window over rows
-- code: GW105
SELECT AVG(r) FROM (SELECT SUM(cost) OVER w AS r FROM visits WINDOW w AS (PARTITION BY patient_id)) t;

-- title: row_number without an order
-- code: GW105
SELECT AVG(r) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id) AS r FROM visits) t;

-- title: a window in WHERE of a grouping by person
-- code: GW105
SELECT AVG(r) FROM (SELECT patient_id, SUM(SUM(cost)) OVER (PARTITION BY patient_id) AS r FROM visits GROUP BY patient_id) t;

-- title: a median for each person
-- code: GW106
SELECT AVG(m) FROM (SELECT patient_id, percentile_cont(0.5) WITHIN GROUP (ORDER BY cost) AS m FROM visits GROUP BY patient_id) t;

-- title: all values of each person
-- code: GW118
SELECT COUNT(*) FROM (SELECT patient_id, string_agg(diagnosis, ',') AS m FROM visits GROUP BY patient_id) t;

-- title: except all of persons
-- code: GW105
SELECT COUNT(*) FROM (SELECT patient_id FROM patients EXCEPT ALL SELECT patient_id FROM visits) t;

-- title: union of persons and public rows
-- code: GW105
SELECT COUNT(*) FROM (SELECT region FROM patients UNION ALL SELECT region FROM regions) t;

-- title: union of persons and constants
-- code: GW105
SELECT SUM(x) FROM (SELECT income AS x FROM patients UNION ALL SELECT 5) t;

-- title: public rows kept beside persons
-- code: GW105
SELECT r.region, COUNT(*) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region;

-- title: full join of persons
-- code: GW105
SELECT COUNT(*) FROM patients p FULL JOIN visits v ON v.patient_id = p.patient_id;

-- title: natural join of persons
-- code: GW105
SELECT COUNT(*) FROM patients NATURAL JOIN visits;

-- title: a public table that is not joined by a column
-- code: GW116
SELECT COUNT(*) FROM patients CROSS JOIN regions;

-- title: a public table joined by an inequality
-- code: GW116
SELECT COUNT(*) FROM patients p JOIN regions r ON r.population > p.income;

-- title: a series that multiplies rows
-- code: GW116
SELECT COUNT(*) FROM patients, generate_series(1, 1000000);

-- title: a joined series that multiplies rows
-- code: GW116
SELECT COUNT(*) FROM patients p JOIN generate_series(1, 100) g ON TRUE;

-- title: constants that multiply rows
-- code: GW116
SELECT COUNT(*) FROM patients CROSS JOIN (VALUES (1), (2), (3)) v(x);

-- title: constants that multiply rows of one key
-- code: GW116
SELECT COUNT(*) FROM patients p JOIN (VALUES ('north', 1), ('north', 2)) v(region, x) ON v.region = p.region;

-- title: a released relation that multiplies rows
-- code: GW116
SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT region FROM patients GROUP BY region) t;

-- title: an unnested array that multiplies rows
-- code: GW116
SELECT COUNT(*) FROM patients, unnest(ARRAY[1, 2]) u;

-- title: an unnested column
-- code: GW116
SELECT COUNT(*) FROM patients p, LATERAL unnest(ARRAY[p.income]) u;

-- title: a public subquery that depends on a person
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE birth_year > (SELECT MAX(r.population) FROM regions r WHERE r.region = p.region);

-- title: exists that looks two levels out
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.cost > p.income));
