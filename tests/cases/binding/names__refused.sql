-- title: an unknown table
-- code: GW107
SELECT COUNT(*) FROM nowhere;

-- title: an unknown table of a schema
-- code: GW107
SELECT COUNT(*) FROM secret.patients;

-- title: a quoted name of another case
-- code: GW107
SELECT COUNT(*) FROM "Patients";

-- title: a table of the system that holds secrets
-- code: GW107
SELECT * FROM pg_catalog.pg_authid;

-- title: sessions of others
-- code: GW107
SELECT mode FROM pg_locks;

-- title: statistics of values
-- code: GW107
SELECT most_common_vals FROM pg_stats;

-- title: an unknown table in a subquery
-- code: GW107
SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM nowhere);

-- title: an unknown table that is only named
-- code: GW107
SELECT 1 FROM nowhere;

-- title: an unknown table of ours
-- code: GW107
SELECT * FROM gateway.ledger;

-- title: a file as a table
-- code: GW107
SELECT * FROM "data.csv";

-- title: an unknown column
-- code: GW108
SELECT COUNT(salary) FROM patients;

-- title: an unknown column of a table
-- code: GW108
SELECT COUNT(p.salary) FROM patients p;

-- title: an unknown column in WHERE
-- code: GW108
SELECT COUNT(*) FROM patients WHERE salary > 5;

-- title: an unknown column as a key
-- code: GW108
SELECT salary, COUNT(*) FROM patients GROUP BY salary;

-- title: an unknown table before a column
-- code: GW108
SELECT COUNT(q.income) FROM patients p;

-- title: the table's own name after an alias
-- code: GW108
SELECT COUNT(patients.income) FROM patients p;

-- title: a quoted column of another case
-- code: GW108
SELECT COUNT("Income") FROM patients;

-- title: ctid
-- code: GW108
SELECT MAX(ctid) FROM patients;

-- title: xmin
-- code: GW108
SELECT COUNT(*) FROM patients WHERE xmin IS NOT NULL;

-- title: tableoid
-- code: GW108
SELECT tableoid, COUNT(*) FROM patients GROUP BY tableoid;

-- title: a column under the name it had
-- code: GW108
SELECT AVG(income) FROM (SELECT income AS x FROM patients) t;

-- title: a column that was not handed on
-- code: GW108
SELECT AVG(income) FROM (SELECT region FROM patients) t;

-- title: an unknown column to join by
-- code: GW108
SELECT COUNT(*) FROM patients JOIN visits USING (visit_number);

-- title: an output name in WHERE
-- code: GW108
SELECT COUNT(*) AS n FROM patients WHERE n > 5;

-- title: a schema before another table
-- code: GW108
SELECT COUNT(secret.patients.income) FROM patients;

-- title: a column of two tables
-- code: GW109
SELECT COUNT(patient_id) FROM patients p JOIN visits v ON v.patient_id = p.patient_id;

-- title: a column twice in a derived table
-- code: GW109
SELECT AVG(x) FROM (SELECT income AS x, birth_year AS x FROM patients) t;

-- title: one alias for two tables
-- code: GW109
SELECT COUNT(*) FROM patients t JOIN visits t ON t.patient_id = t.patient_id;

-- title: two CTEs of one name
-- code: GW109
WITH a AS (SELECT 1), a AS (SELECT 2) SELECT COUNT(*) FROM a, patients;

-- title: a CTE that hides another
-- code: GW105
WITH a AS (SELECT 1 AS x) SELECT COUNT(*) FROM (WITH a AS (SELECT * FROM patients) SELECT * FROM a) t;

-- title: a name over 63 bytes
-- code: GW109
SELECT COUNT(*) AS aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeeeffffffffffgggg FROM patients;

-- title: a name over 63 bytes of few letters
-- code: GW109
SELECT COUNT(*) AS "ääääääääääääääääääääääääääääääää" FROM patients;
