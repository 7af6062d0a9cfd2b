-- title: the most frequent unit
-- code: GW118
SELECT MODE() WITHIN GROUP (ORDER BY patient_id) FROM visits;

-- title: the most frequent unit under another name
-- code: GW118
SELECT MODE() WITHIN GROUP (ORDER BY k) FROM (SELECT patient_id AS k FROM visits) t;

-- title: a median of units
-- code: GW118
SELECT PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY patient_id) FROM visits;

-- title: a row of a list that reads the person around it
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM (VALUES (p.income)) v(x) WHERE v.x > 5);

-- title: a list of the person around it as a value
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE p.income > (VALUES (p.birth_year));

-- title: a list of the person deep inside
-- code: GW113
SELECT COUNT(*) FROM patients WHERE EXISTS (SELECT 1 FROM (SELECT 1 FROM (VALUES (income)) v(x)) z);

-- title: a series up to the person around it
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE income > (SELECT MAX(g) FROM generate_series(1, p.birth_year) g);

-- title: a series up to an aggregate of the rows around it
-- code: GW113
SELECT region, (SELECT MAX(g) FROM generate_series(1, MAX(p.birth_year)) g) FROM patients p GROUP BY region;

-- title: an array of the person around it
-- code: GW113
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM unnest(ARRAY[p.income]) u WHERE u > 5);

-- title: a lateral row of the person
-- code: GW113
SELECT COUNT(*) FROM patients p, LATERAL (SELECT p.income AS x) l;

-- title: a lateral list of the person
-- code: GW113
SELECT COUNT(*) FROM patients p, LATERAL (VALUES (p.income)) l(x);

-- title: a public row for each person
-- code: GW113
SELECT r.region FROM regions r WHERE EXISTS (SELECT 1 FROM patients p WHERE p.region = r.region);

-- title: a lateral count for each public row
-- code: GW113
SELECT r.region, l.n FROM regions r, LATERAL (SELECT COUNT(*) AS n FROM patients p WHERE p.region = r.region) l;

-- title: whether a person is there
-- code: GW118
SELECT EXISTS (SELECT 1 FROM patients WHERE patient_id = 5);

-- title: whether a person is there in a case
-- code: GW118
SELECT CASE WHEN EXISTS (SELECT 1 FROM patients WHERE patient_id = 5) THEN 1 END;

-- title: whether a person is among others
-- code: GW118
SELECT 5 IN (SELECT patient_id FROM patients);

-- title: whether a value is there for all
-- code: GW118
SELECT 5 > ALL (SELECT income FROM patients);

-- title: whether a value is there for some
-- code: GW118
SELECT 5 = SOME (SELECT income FROM patients);

-- title: an array of values
-- code: GW118
SELECT ARRAY(SELECT region FROM patients);

-- title: a sum of an array of values
-- code: GW118
SELECT cardinality(ARRAY(SELECT income FROM patients WHERE income > 5));

-- title: a whole row as a key
-- code: GW118
SELECT p, COUNT(*) FROM patients p GROUP BY p;

-- title: a whole row in a comparison
-- code: GW118
SELECT COUNT(*) FROM patients p WHERE p IS NOT NULL;

-- title: a whole row compared with another
-- code: GW108
SELECT COUNT(*) FROM patients p JOIN patients q ON p = q;

-- title: a whole row of a derived table
-- code: GW118
SELECT COUNT(t) FROM (SELECT region FROM patients) t;

-- title: a whole row as text
-- code: GW110
SELECT p.*::text FROM patients p;

-- title: a whole row of a CTE
-- code: GW118
WITH t AS (SELECT * FROM patients) SELECT MAX(t::text) FROM t;

-- title: a field of a whole row
-- code: GW118
SELECT (p).region, COUNT(*) FROM patients p GROUP BY 1;

-- title: a column as a function of the row
-- code: GW106
SELECT region(p), COUNT(*) FROM patients p GROUP BY 1;

-- title: a column of the row as a function in WHERE
-- code: GW106
SELECT COUNT(*) FROM patients p WHERE smoker(p);

-- title: a row by a constructor
-- code: GW106
SELECT COUNT(*) FROM patients WHERE ROW(region, income) = ROW('north', 5);

-- title: a row as a key
-- code: GW106
SELECT ROW(region, income), COUNT(*) FROM patients GROUP BY 1;

-- title: an array as a key
-- code: GW105
SELECT ARRAY[region, name], COUNT(*) FROM patients GROUP BY 1;

-- title: an array of a person
-- code: GW105
SELECT MAX(t.x) FROM (SELECT ARRAY[income] AS x FROM patients) t;

-- title: the count of all persons beside each
-- code: GW110
SELECT COUNT(*) OVER () FROM patients;

-- title: a share of all beside each
-- code: GW110
SELECT income / SUM(income) OVER () FROM patients;

-- title: a rank among groups of rows
-- code: GW114
SELECT region, RANK() OVER (ORDER BY income) FROM patients GROUP BY region;

-- title: an exact count by numbering
-- code: GW112
SELECT MAX(n) FROM (SELECT ROW_NUMBER() OVER (ORDER BY patient_id) AS n FROM patients) t;

-- title: an exact count by a running count
-- code: GW112
SELECT MAX(n) FROM (SELECT COUNT(*) OVER (ORDER BY patient_id ROWS UNBOUNDED PRECEDING) AS n FROM patients) t;

-- title: a group of each person under another name
-- code: GW110
SELECT k, COUNT(*) FROM (SELECT patient_id AS k FROM visits) t GROUP BY k;

-- title: a group of each person of a union
-- code: GW110
SELECT k, COUNT(*) FROM (SELECT patient_id AS k FROM visits UNION ALL SELECT patient_id FROM patients) t GROUP BY k;

-- title: a group of each person in a grouping set
-- code: GW105
SELECT region, patient_id, COUNT(*) FROM patients GROUP BY GROUPING SETS ((region), (patient_id));

-- title: a group of each person in a cube
-- code: GW105
SELECT region, patient_id, COUNT(*) FROM patients GROUP BY CUBE (region, patient_id);

-- title: a group of each person by an ordinal in a rollup
-- code: GW105
SELECT patient_id, COUNT(*) FROM patients GROUP BY ROLLUP (1);

-- title: values of each person above their grouping
-- code: GW110
SELECT x FROM (SELECT COUNT(*) AS x FROM visits GROUP BY patient_id) t;

-- title: values of each person in a union with a release
-- code: GW110
SELECT COUNT(*) FROM patients UNION ALL SELECT COUNT(*) FROM visits GROUP BY patient_id;

-- title: values of each person by EXCEPT
-- code: GW110
SELECT region FROM regions EXCEPT SELECT region FROM patients;

-- title: values of each person by INTERSECT
-- code: GW110
SELECT 'north' INTERSECT SELECT region FROM patients;

-- title: rows joined to their own release
-- code: GW110
SELECT x FROM (SELECT region AS x, COUNT(*) FROM patients GROUP BY region) t, patients p WHERE p.region = t.x;

-- title: rows in the list of a release
-- code: GW114
SELECT region, COUNT(*), patients.* FROM patients GROUP BY region;

-- title: a value under an aggregate that hides it
-- code: GW112
SELECT CASE WHEN COUNT(*) > 1 THEN (SELECT name FROM patients LIMIT 1) END FROM patients;

-- title: a value by an aggregate over a release
-- code: GW118
SELECT MAX(n) FILTER (WHERE EXISTS (SELECT 1 FROM patients WHERE patient_id = 5)) FROM (SELECT COUNT(*) AS n FROM patients) t;

-- title: rows in the order of a release
-- code: GW112
SELECT COUNT(*) AS n FROM patients ORDER BY (SELECT income FROM patients LIMIT 1);

-- title: rows in the limit of a release
-- code: GW118
SELECT region, COUNT(*) FROM patients GROUP BY region LIMIT (SELECT income FROM patients WHERE patient_id = 5);

-- title: rows in the window of a release
-- code: GW113
SELECT region, SUM(COUNT(*)) OVER (ORDER BY (SELECT MAX(income) FROM patients p WHERE p.region = patients.region)) FROM patients GROUP BY region;

-- title: rows in a recursive step
-- code: GW110
WITH RECURSIVE t(n) AS (SELECT 1 UNION ALL SELECT p.income FROM t JOIN patients p ON p.patient_id = t.n) SELECT * FROM t;

-- title: rows in a recursive start
-- code: GW110
WITH RECURSIVE t(n) AS (SELECT income FROM patients UNION ALL SELECT n + 1 FROM t WHERE n < 5) SELECT COUNT(*) FROM t;

-- title: rows by a function over a query
-- code: GW105
SELECT * FROM json_each((SELECT json_agg(p) FROM patients p));

-- title: rows by a series of a query
-- code: GW105
SELECT * FROM generate_series(1, (SELECT MAX(patient_id) FROM patients WHERE smoker));

-- title: rows of a table by its text
-- code: GW106
SELECT * FROM query_to_xml('SELECT * FROM patients', true, true, '');

-- title: rows by a file
-- code: GW106
SELECT * FROM pg_read_file('/etc/passwd');

-- title: rows by ROWS FROM
-- code: GW105
SELECT * FROM ROWS FROM (generate_series(1, 2), unnest(ARRAY[1])) AS t(a, b);

-- title: a setting that is read for each row
-- code: GW106
SELECT COUNT(*) FROM patients WHERE current_setting('is_superuser') = name;

-- title: a setting that is written for each row
-- code: GW106
SELECT COUNT(set_config('gateway.note', name, false)) FROM patients;

-- title: a lock for each row
-- code: GW106
SELECT COUNT(*) FROM patients WHERE pg_try_advisory_lock(patient_id);

-- title: a wait for some rows
-- code: GW106
SELECT COUNT(*) FROM patients WHERE CASE WHEN income > 5 THEN pg_sleep(1) IS NULL END;

-- title: a failure for some rows
-- code: GW105
SELECT COUNT(*) FROM patients WHERE CASE WHEN income > 5 THEN CAST(name AS regclass) IS NULL END;

-- title: a large object for each row
-- code: GW106
SELECT lo_from_bytea(0, 'x') FROM patients;

-- title: a cast to an object of the server
-- code: GW105
SELECT COUNT(*) FROM patients WHERE CAST(patient_id AS oid) IS NOT NULL;

-- title: a cast to a row of a table
-- code: GW105
SELECT COUNT(*) FROM patients WHERE CAST(name AS patients) IS NOT NULL;

-- title: a cast to the type of a table on the twin side
-- code: GW106
SELECT (CAST(MAX(name) AS visits)).cost FROM patients;

-- title: a sum over a set for each row
-- code: GW106
SELECT SUM(generate_series(1, birth_year)) FROM patients;

-- title: a set for each row
-- code: GW106
SELECT unnest(ARRAY[income, birth_year]), COUNT(*) FROM patients GROUP BY 1;

-- title: a random order
-- code: GW112
SELECT COUNT(*) FROM (SELECT * FROM patients ORDER BY random() LIMIT 5) t;

-- title: a random key
-- code: GW106
SELECT floor(random() * 10), COUNT(*) FROM patients GROUP BY 1;

-- title: a random key for each person
-- code: GW106
SELECT AVG(r) FROM (SELECT patient_id, MAX(random()) AS r FROM patients GROUP BY patient_id) t;

-- title: a uuid for each row
-- code: GW106
SELECT gen_random_uuid(), COUNT(*) FROM patients GROUP BY 1;

-- title: the physical place of a row
-- code: GW108
SELECT ctid, COUNT(*) FROM patients GROUP BY 1;

-- title: the transaction of a row
-- code: GW108
SELECT COUNT(*) FROM patients WHERE xmin IS NOT NULL AND cmin IS NOT NULL;

-- title: the command of a row
-- code: GW108
SELECT MAX(cmax) FROM patients;

-- title: the deleting transaction of a row
-- code: GW108
SELECT COUNT(xmax) FROM patients;

-- title: the table of a row
-- code: GW108
SELECT tableoid, COUNT(*) FROM patients GROUP BY 1;

-- title: for no key update
-- code: GW105
SELECT COUNT(*) FROM (SELECT * FROM patients FOR NO KEY UPDATE) t;

-- title: for key share
-- code: GW105
SELECT COUNT(*) FROM (SELECT * FROM patients FOR KEY SHARE) t;

-- title: for update in a CTE
-- code: GW105
WITH t AS (SELECT * FROM patients FOR UPDATE SKIP LOCKED) SELECT COUNT(*) FROM t;

-- title: into a temporary table
-- code: GW105
SELECT region, COUNT(*) INTO TEMP t FROM patients GROUP BY region;

-- title: into in a CTE
-- code: GW105
WITH t AS (SELECT * INTO u FROM patients) SELECT COUNT(*) FROM t;

-- title: a merging CTE
-- code: GW105
WITH t AS (MERGE INTO patients USING visits ON true WHEN MATCHED THEN DELETE RETURNING *) SELECT COUNT(*) FROM t;

-- title: a sample of a method
-- code: GW105
SELECT COUNT(*) FROM patients TABLESAMPLE BERNOULLI (10) REPEATABLE (1);

-- title: a sample in a subquery
-- code: GW105
SELECT COUNT(*) FROM (SELECT * FROM patients TABLESAMPLE SYSTEM (1)) t;

-- title: a table without its children
-- code: GW101
SELECT COUNT(*) FROM ONLY (patients);

-- title: a limit of a person
-- code: GW112
SELECT AVG(x) FROM (SELECT cost AS x FROM visits WHERE patient_id = 5 LIMIT 1) t;

-- title: fetch first rows
-- code: GW112
SELECT AVG(cost) FROM (SELECT cost FROM visits FETCH FIRST 1 ROW ONLY) t;

-- title: an offset of persons
-- code: GW112
SELECT AVG(cost) FROM (SELECT cost FROM visits OFFSET 5) t;

-- title: a natural left join of persons
-- code: GW105
SELECT COUNT(*) FROM patients NATURAL LEFT JOIN visits;

-- title: a full join with a public table
-- code: GW105
SELECT COUNT(*) FROM patients p FULL JOIN regions r ON r.region = p.region;

-- title: a left join from a public table
-- code: GW105
SELECT COUNT(*) FROM regions r LEFT JOIN patients p ON p.region = r.region;

-- title: a right join to a public table
-- code: GW105
SELECT COUNT(*) FROM patients p RIGHT JOIN regions r ON r.region = p.region;

-- title: a semi join of different persons
-- code: GW111
SELECT COUNT(*) FROM patients p WHERE p.region IN (SELECT q.region FROM patients q WHERE q.income > 5);

-- title: a person that is not the same by arithmetic
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id + 1;

-- title: a person that is not the same by a cast
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON CAST(v.patient_id AS text) = CAST(p.patient_id AS text);

-- title: a person that is not the same in a list
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id IN (p.patient_id, 5);

-- title: a person that is not the same by a swap
-- code: GW111
SELECT COUNT(*) FROM (SELECT visit_id AS patient_id, patient_id AS visit_id FROM visits) v JOIN patients p USING (patient_id);

-- title: a person that is not the same by a union
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN (SELECT patient_id FROM visits UNION ALL SELECT visit_id FROM visits) v USING (patient_id);

-- title: a person that is not the same by a window
-- code: GW118
SELECT COUNT(*) FROM patients p JOIN (SELECT LAG(patient_id) OVER (PARTITION BY patient_id ORDER BY visit_date) AS patient_id FROM visits) v USING (patient_id);

-- title: a person that is not the same by a grouping
-- code: GW111
SELECT COUNT(*) FROM patients p JOIN (SELECT patient_id AS u, COUNT(*) AS patient_id FROM visits GROUP BY patient_id) v ON v.patient_id = p.patient_id;

-- title: string_agg of groups of persons
-- code: GW118
SELECT region, string_agg(name, ',') FROM patients GROUP BY region;

-- title: json_agg of rows of persons
-- code: GW118
SELECT json_agg(p) FROM patients p;

-- title: array_agg of units
-- code: GW118
SELECT array_agg(DISTINCT patient_id) FROM visits;

-- title: grouping of persons
-- code: GW105
SELECT GROUPING(patient_id, region), COUNT(*) FROM patients GROUP BY CUBE (patient_id, region);

-- title: a hypothetical rank
-- code: GW106
SELECT RANK(5) WITHIN GROUP (ORDER BY income) FROM patients;

-- title: distinct sums by groups
-- code: GW106
SELECT region, SUM(DISTINCT income), AVG(DISTINCT income) FROM patients GROUP BY region;

-- title: an aggregate of a name that was lent
-- code: GW118
SELECT MIN(u) FROM (SELECT patient_id AS u FROM visits GROUP BY patient_id) t;

-- title: a value at a computed time zone
-- code: GW105
SELECT COUNT(*) FROM visits WHERE (admitted AT TIME ZONE lower('UTC')) > now();

-- title: a collation of a key
-- code: GW105
SELECT name COLLATE "C", COUNT(*) FROM patients GROUP BY 1;

-- title: a comparison with all values
-- code: GW105
SELECT COUNT(*) FROM patients WHERE income > ALL (SELECT income FROM patients);

-- title: a comparison with any released value
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region = ANY (SELECT region FROM patients GROUP BY region);

-- title: a name of 64 bytes in quotes
-- code: GW109
SELECT COUNT(*) AS "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa" FROM patients;

-- title: two names that one cut makes equal
-- code: GW109
SELECT COUNT(*) FROM patients aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaab;

-- title: a table of another database
-- code: GW105
SELECT COUNT(*) FROM other.public.patients;

-- title: a second statement in a comment's shadow
-- code: GW102
SELECT COUNT(*) FROM patients; /* */ DROP TABLE patients;

-- title: an escape of the driver
-- code: GW101
SELECT {fn COUNT(*)} FROM visits WHERE visit_date >= {d '2024-01-01'};

-- title: a quarter of an interval
-- code: GW105
SELECT COUNT(*) FROM visits WHERE visit_date > DATE '2024-01-01' - INTERVAL '1 quarter';

-- title: a moment from a broken number
-- code: GW106
SELECT COUNT(*) FROM visits WHERE admitted >= TO_TIMESTAMP(1704067200.25);

-- title: a moment in another spelling
-- code: GW106
SELECT COUNT(*) FROM visits WHERE admitted >= TO_TIMESTAMP('01/02/2024', 'DD/MM/YYYY');

-- title: a moment from a column
-- code: GW106
SELECT COUNT(*) FROM visits WHERE admitted >= TO_TIMESTAMP(diagnosis, 'YYYY-MM-DD');

-- title: a moment that is none
-- code: GW115
SELECT COUNT(*) FROM visits WHERE admitted >= TO_TIMESTAMP('2024-01-01 00:99:00', 'YYYY-MM-DD HH24:MI:SS');

-- title: a time in another zone
-- code: GW115
SELECT COUNT(*) FROM visits WHERE admitted >= '2024-01-01T00:00:00+02:00';

-- title: a date by a call of a text
-- code: GW115
SELECT DATE(diagnosis), COUNT(*) FROM visits GROUP BY 1;

-- title: a join of queries in brackets
-- code: GW105
SELECT a.n, b.n FROM ((SELECT COUNT(*) AS n FROM patients) AS a CROSS JOIN (SELECT COUNT(*) AS n FROM visits) AS b);

-- title: a place in JSON
-- code: GW117
SELECT CAST('{"a": [1]}' AS jsonb) -> 'a' -> 0, COUNT(*) FROM patients;

-- title: rows in the order of a list of rows
-- code: GW112
VALUES (1), (2) ORDER BY (SELECT income FROM patients LIMIT 1);

-- title: an unknown table in the offset of a list of rows
-- code: GW107
VALUES (1), (2) OFFSET (SELECT x FROM secret);

-- title: persons crossed in the limit of a list of rows
-- code: GW111
VALUES (1), (2) LIMIT (SELECT COUNT(*) FROM patients p, visits v);
