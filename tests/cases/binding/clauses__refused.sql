-- title: into
-- code: GW105
SELECT COUNT(*) INTO stolen FROM patients;

-- title: for update
-- code: GW105
SELECT COUNT(*) FROM patients FOR UPDATE;

-- title: for share within
-- code: GW105
SELECT COUNT(*) FROM (SELECT * FROM patients FOR SHARE) t;

-- title: a deleting CTE
-- code: GW105
WITH gone AS (DELETE FROM patients RETURNING *) SELECT COUNT(*) FROM gone;

-- title: an inserting CTE
-- code: GW105
WITH made AS (INSERT INTO regions VALUES ('a') RETURNING *) SELECT * FROM made;

-- title: an updating CTE that nobody uses
-- code: GW105
WITH changed AS (UPDATE patients SET income = 0 RETURNING 1) SELECT COUNT(*) FROM visits;

-- title: a sample
-- code: GW105
SELECT COUNT(*) FROM patients TABLESAMPLE SYSTEM (1);

-- title: only
-- code: GW105
SELECT COUNT(*) FROM ONLY patients;

-- title: qualify
-- code: GW105
SELECT region FROM patients QUALIFY ROW_NUMBER() OVER (ORDER BY income) = 1;

-- title: pivot
-- code: GW105
SELECT * FROM patients PIVOT (SUM(income) FOR region IN ('north'));

-- title: connect by
-- code: GW105
SELECT COUNT(*) FROM patients START WITH income = 1 CONNECT BY income;

-- title: sort by
-- code: GW105
SELECT COUNT(*) FROM patients SORT BY income;

-- title: star except
-- code: GW105
SELECT * EXCEPT (income) FROM (SELECT COUNT(*) AS income FROM patients) t;

-- title: rows from
-- code: GW105
SELECT * FROM ROWS FROM (generate_series(1, 2));

-- title: a named join in brackets
-- code: GW105
SELECT COUNT(*) FROM (patients p JOIN visits v ON v.patient_id = p.patient_id) AS j;

-- title: ordinality beside rows
-- code: GW105
SELECT COUNT(*) FROM visits WHERE cost > ALL (SELECT population FROM regions);

-- title: some of a list
-- code: GW105
SELECT COUNT(*) FROM visits WHERE cost = ANY (SELECT population FROM regions);

-- title: a select without columns
-- code: GW105
SELECT FROM patients;

-- title: a recursive query that is no union
-- code: GW105
WITH RECURSIVE t AS (SELECT * FROM t) SELECT * FROM t, patients;

-- title: ignored nulls
-- code: GW105
SELECT AVG(x) FROM (SELECT LAG(cost) IGNORE NULLS OVER (PARTITION BY patient_id ORDER BY visit_date) AS x FROM visits) t;

-- title: a frame that excludes
-- code: GW105
SELECT AVG(x) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN 1 PRECEDING AND CURRENT ROW EXCLUDE TIES) AS x FROM visits) t;

-- title: a frame that begins after its end
-- code: GW105
SELECT COUNT(x) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN 1 FOLLOWING AND 0 FOLLOWING) AS x FROM visits) t;

-- title: a frame that ends before it begins
-- code: GW105
SELECT COUNT(x) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date ROWS BETWEEN 0 PRECEDING AND 1 PRECEDING) AS x FROM visits) t;

-- title: a cycle clause
-- code: GW105
WITH RECURSIVE s(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM s) CYCLE n SET c USING p SELECT * FROM s, patients;

-- title: a relation of the system beside rows
-- code: GW116
SELECT COUNT(*) FROM patients p JOIN pg_catalog.pg_class c ON c.relname = p.name;
