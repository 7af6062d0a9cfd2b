-- title: a whole row within
-- code: GW118
SELECT COUNT(t.p) FROM (SELECT p FROM patients p) t;

-- title: a whole row in count
-- code: GW118
SELECT COUNT(p) FROM patients p;

-- title: a whole row with a star in count
-- code: GW118
SELECT COUNT(p.*) FROM patients p;

-- title: a whole row by a function
-- code: GW118
SELECT MAX(LENGTH(p::text)) FROM patients p;

-- title: a field of a row
-- code: GW118
SELECT MAX((p).income) FROM patients p;

-- title: functional notation on a row
-- code: GW106
SELECT MAX(income(p)) FROM patients p;

-- title: a row as JSON
-- code: GW106
SELECT COUNT(*) FROM patients p WHERE row_to_json(p)::text LIKE 'x%';

-- title: a row constructor
-- code: GW106
SELECT COUNT(*) FROM patients WHERE ROW(region, income) IS NOT NULL;

-- title: array_agg
-- code: GW118
SELECT array_agg(income) FROM patients;

-- title: string_agg
-- code: GW118
SELECT string_agg(name, ',') FROM patients;

-- title: string_agg with an order
-- code: GW118
SELECT string_agg(name, ',' ORDER BY income) FROM patients;

-- title: json_agg
-- code: GW118
SELECT json_agg(p) FROM patients p;

-- title: jsonb_agg
-- code: GW118
SELECT jsonb_agg(income) FROM patients;

-- title: json_object_agg
-- code: GW118
SELECT json_object_agg(name, income) FROM patients;

-- title: xmlagg
-- code: GW118
SELECT xmlagg(name) FROM patients;

-- title: any_value
-- code: GW118
SELECT any_value(income) FROM patients;

-- title: bool_and
-- code: GW106
SELECT bool_and(smoker) FROM patients;

-- title: bit_or
-- code: GW106
SELECT bit_or(birth_year) FROM patients;

-- title: minimum of the unit
-- code: GW118
SELECT MIN(patient_id) FROM patients;

-- title: maximum of the unit under another name
-- code: GW118
SELECT MAX(x) FROM (SELECT patient_id AS x FROM patients) t;

-- title: minimum of a text
-- code: GW106
SELECT MIN(name) FROM patients;

-- title: median of a text
-- code: GW106
SELECT percentile_disc(0.5) WITHIN GROUP (ORDER BY name) FROM patients;

-- title: a fraction that is computed
-- code: GW106
SELECT percentile_cont(income) WITHIN GROUP (ORDER BY income) FROM patients;

-- title: a fraction beyond one
-- code: GW106
SELECT percentile_cont(1.5) WITHIN GROUP (ORDER BY income) FROM patients;

-- title: several fractions, one of them computed
-- code: GW106
SELECT percentile_cont(ARRAY[0.1, income]) WITHIN GROUP (ORDER BY income) FROM patients;

-- title: median of a text by its name
-- code: GW106
SELECT MEDIAN(name) FROM patients;

-- title: median of each person
-- code: GW106
SELECT AVG(m) FROM (SELECT patient_id, MEDIAN(cost) AS m FROM visits GROUP BY patient_id) t;

-- title: most frequent values without their number
-- code: GW115
SELECT DP_TOP(region) FROM patients;

-- title: no most frequent values
-- code: GW106
SELECT DP_TOP(region, 0) FROM patients;

-- title: most frequent persons
-- code: GW118
SELECT DP_TOP(patient_id, 3) FROM visits;

-- title: most frequent values of each person
-- code: GW106
SELECT COUNT(*) FROM (SELECT patient_id, DP_TOP(diagnosis, 1) AS d FROM visits GROUP BY patient_id) t;

-- title: rank within a group
-- code: GW106
SELECT rank(5) WITHIN GROUP (ORDER BY income) FROM patients;

-- title: distinct sum
-- code: GW106
SELECT SUM(DISTINCT income) FROM patients;

-- title: distinct average
-- code: GW106
SELECT AVG(DISTINCT income) FROM patients;

-- title: distinct count of several
-- code: GW115
SELECT COUNT(DISTINCT region, income) FROM patients;

-- title: a scalar subquery over rows
-- code: GW118
SELECT COUNT(*) FROM patients WHERE income > (SELECT cost FROM visits WHERE visit_id = 7);

-- title: a scalar subquery over rows in the list
-- code: GW118
SELECT (SELECT income FROM patients);

-- title: a scalar subquery over rows beside an aggregate
-- code: GW118
SELECT COUNT(*), (SELECT MAX(x) FROM (SELECT 1 AS x) t WHERE EXISTS (SELECT 1 FROM patients)) FROM patients;

-- title: exists over rows without rows around it
-- code: GW118
SELECT EXISTS (SELECT 1 FROM patients WHERE name = 'x');

-- title: in over rows without rows around it
-- code: GW118
SELECT region FROM regions WHERE region IN (SELECT region FROM patients);

-- title: rows counted by an array
-- code: GW118
SELECT ARRAY(SELECT income FROM patients);

-- title: any over rows
-- code: GW118
SELECT 1 WHERE 5 = ANY (SELECT income FROM patients);

-- title: rows in a limit
-- code: GW118
SELECT region FROM regions LIMIT (SELECT birth_year FROM patients);

-- title: rows in an order
-- code: GW118
SELECT region FROM regions ORDER BY (SELECT income FROM patients);

-- title: rows in a case
-- code: GW118
SELECT CASE WHEN EXISTS (SELECT 1 FROM patients WHERE income > 5) THEN 1 END;

-- title: rows in the condition of a public join
-- code: GW118
SELECT COUNT(*) FROM regions r JOIN codes c ON EXISTS (SELECT 1 FROM patients);

-- title: rows in VALUES
-- code: GW105
VALUES ((SELECT income FROM patients));

-- title: an array in a string that does not end
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region = ANY('{north');

-- title: an array of arrays in a string
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region = ANY('{{north},{east}}');

-- title: any of an array of another type
-- code: GW115
SELECT COUNT(*) FROM visits WHERE visit_date = ANY(ARRAY['2024-01-01']);

-- title: equal to all of an array
-- code: GW106
SELECT COUNT(*) FROM patients WHERE region = ALL(ARRAY['north', 'east']);

-- title: a list of rows with two values
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region IN (VALUES ('north', 1));

-- title: bool_or of distinct values of a person
-- code: GW106
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(DISTINCT cost > 1) AS b FROM visits GROUP BY patient_id) t WHERE b;

-- title: bool_or of a number of a person
-- code: GW115
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(cost) AS b FROM visits GROUP BY patient_id) t WHERE b;

-- title: bool_or without an argument
-- code: GW115
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR() AS b FROM visits GROUP BY patient_id) t WHERE b;

-- title: bool_or as a window
-- code: GW106
SELECT COUNT(*) FROM (SELECT BOOL_OR(cost > 1) OVER (PARTITION BY patient_id) AS b FROM visits) t WHERE b;
