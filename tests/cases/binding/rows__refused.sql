-- title: all rows
-- code: GW110
SELECT * FROM patients;

-- title: a preview of rows
-- code: GW110
SELECT * FROM patients LIMIT 10;

-- title: an ordered preview of rows
-- code: GW110
SELECT name, income FROM patients ORDER BY income DESC LIMIT 1;

-- title: one column of rows
-- code: GW110
SELECT income FROM patients WHERE region = 'north';

-- title: rows through a wrapper
-- code: GW110
SELECT * FROM (SELECT * FROM patients) AS t LIMIT 1000;

-- title: rows through a CTE
-- code: GW110
WITH t AS (SELECT * FROM patients) SELECT * FROM t;

-- title: rows through brackets
-- code: GW110
((SELECT income FROM patients));

-- title: rows in a union at the root
-- code: GW110
SELECT income FROM patients UNION ALL SELECT cost FROM visits;

-- title: rows beside an aggregate in a union
-- code: GW110
SELECT COUNT(*) FROM patients UNION ALL SELECT birth_year FROM patients;

-- title: rows of a table statement
-- code: GW110
TABLE patients;

-- title: one row of each person
-- code: GW110
SELECT patient_id, SUM(cost) FROM visits GROUP BY patient_id;

-- title: one row of each person by an ordinal
-- code: GW110
SELECT patient_id, COUNT(*) FROM visits GROUP BY 1;

-- title: one row of each person under another name
-- code: GW110
SELECT v.pid, COUNT(*) FROM (SELECT patient_id AS pid FROM visits) v GROUP BY v.pid;

-- title: distinct persons
-- code: GW110
SELECT DISTINCT patient_id FROM visits;

-- title: distinct persons with a value
-- code: GW110
SELECT DISTINCT patient_id, diagnosis FROM visits;

-- title: numbered rows
-- code: GW110
SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY cost), cost FROM visits;

-- title: rows of a join
-- code: GW110
SELECT p.income, v.cost FROM patients p JOIN visits v ON v.patient_id = p.patient_id;

-- title: constant for each person
-- code: GW110
SELECT 1 FROM patients;

-- title: rows in a cursor
-- code: GW110
DECLARE c CURSOR FOR SELECT * FROM patients;

-- title: rows in a copy
-- code: GW110
COPY (SELECT * FROM patients) TO STDOUT;

-- title: rows in an explain
-- code: GW110
EXPLAIN SELECT * FROM patients;

-- title: rows with a true condition
-- code: GW110
SELECT * FROM patients WHERE 1 = 1;

-- title: rows with a limit of null
-- code: GW110
SELECT income FROM patients LIMIT NULL;

-- title: rows with a false condition in an OR
-- code: GW110
SELECT * FROM patients WHERE 1 = 0 OR TRUE;

-- title: a recursive query over rows
-- code: GW110
WITH RECURSIVE t AS (SELECT income FROM patients UNION ALL SELECT income + 1 FROM t) SELECT COUNT(*) FROM t;

-- title: a limit within
-- code: GW112
SELECT COUNT(*) FROM (SELECT * FROM patients LIMIT 10) t;

-- title: an offset within
-- code: GW112
SELECT AVG(income) FROM (SELECT income FROM patients OFFSET 5) t;

-- title: an order within
-- code: GW112
SELECT AVG(income) FROM (SELECT income FROM patients ORDER BY income) t;

-- title: the richest person
-- code: GW112
SELECT MAX(income) FROM (SELECT income FROM patients ORDER BY income DESC FETCH FIRST 1 ROW ONLY) t;

-- title: a limit after a grouping by person
-- code: GW112
SELECT AVG(s) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY patient_id ORDER BY s DESC LIMIT 1) t;

-- title: a limit in a CTE
-- code: GW112
WITH t AS (SELECT * FROM visits LIMIT 1) SELECT SUM(cost) FROM t;

-- title: a limit behind a union
-- code: GW112
SELECT AVG(x) FROM (SELECT cost AS x FROM visits UNION ALL SELECT income FROM patients LIMIT 3) t;

-- title: a limit that is negative by trick
-- code: GW110
SELECT * FROM patients LIMIT 0 + 0;
