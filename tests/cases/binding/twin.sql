-- title: union of distinct rows above a release
SELECT region FROM patients GROUP BY region UNION SELECT region FROM regions ORDER BY 1 LIMIT 5 OFFSET 1;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" UNION SELECT region FROM "_p1" AS "regions" ORDER BY 1 LIMIT 5 OFFSET 1
-- use group_by patients.region

-- title: a WITH before a union
WITH t AS (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) (SELECT region FROM t) UNION (SELECT 'total') ORDER BY 1;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH t AS (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") (SELECT region FROM t) UNION (SELECT 'total') ORDER BY 1
-- use group_by patients.region

-- title: intersect with all its clauses
WITH t AS (SELECT region FROM patients GROUP BY region) (SELECT region FROM t) INTERSECT (SELECT region FROM regions) ORDER BY 1 LIMIT 5 OFFSET 1;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing WITH t AS (SELECT "_r1"."k1" AS "region" FROM "_r1") (SELECT region FROM t) INTERSECT (SELECT region FROM "_p1" AS "regions") ORDER BY 1 LIMIT 5 OFFSET 1
-- use group_by patients.region

-- title: except with all its clauses
WITH t AS (SELECT region FROM patients GROUP BY region) (SELECT region FROM t) EXCEPT (SELECT region FROM regions) ORDER BY 1 LIMIT 5 OFFSET 1;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing WITH t AS (SELECT "_r1"."k1" AS "region" FROM "_r1") (SELECT region FROM t) EXCEPT (SELECT region FROM "_p1" AS "regions") ORDER BY 1 LIMIT 5 OFFSET 1
-- use group_by patients.region

-- title: brackets with clauses behind them
WITH t AS (SELECT COUNT(*) AS n FROM patients) (SELECT n FROM t) ORDER BY 1 LIMIT 1 OFFSET 0;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing WITH t AS (SELECT "_r1"."m1" AS "n" FROM "_r1") (SELECT n FROM t) ORDER BY 1 LIMIT 1

-- title: values with all its clauses
VALUES (1, 'a'), (2, 'b') ORDER BY 1 LIMIT 1 OFFSET 1;
-- plan
-- passes: query

-- title: a series with its places
SELECT g.x, g.n, t.c FROM generate_series(10, 12) WITH ORDINALITY AS g(x, n), (SELECT COUNT(*) AS c FROM patients) AS t;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT g.x, g.n, t.c FROM GENERATE_SERIES(10, 12) WITH ORDINALITY AS g(x, n), (SELECT "_r1"."m1" AS "c" FROM "_r1") AS t

-- title: an unnested array with its places
SELECT u.x, u.n FROM unnest(ARRAY['a', 'b']) WITH ORDINALITY AS u(x, n), (SELECT COUNT(*) FROM patients) AS t;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT u.x, u.n FROM UNNEST(ARRAY['a', 'b']) WITH ORDINALITY AS u(x, n), (SELECT "_r1"."m1" AS "count" FROM "_r1") AS t

-- title: groups with ties
SELECT region, COUNT(*) FROM patients GROUP BY region ORDER BY 2 DESC FETCH FIRST 3 ROWS WITH TIES;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 2 DESC FETCH FIRST 3 ROWS WITH TIES
-- use group_by patients.region

-- title: patterns above a release
SELECT COUNT(*) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t WHERE region SIMILAR TO 'n%' OR region ~ '^s' OR region ~* '^E' OR region LIKE 'a!%' ESCAPE '!' OR region COLLATE "C" < 'x';
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT COUNT(*) FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t WHERE region SIMILAR TO 'n%' OR region ~ '^s' OR region ~* '^E' OR region LIKE 'a!%' ESCAPE '!' OR region COLLATE "C" < 'x'
-- use group_by patients.region

-- title: bits above a release
SELECT (n & 7) | 8, n # 1, n << 2, n >> 1, ~n FROM (SELECT COUNT(*) AS n FROM patients) t;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT (n & 7) | 8, n # 1, n << 2, n >> 1, ~n FROM (SELECT "_r1"."m1" AS "n" FROM "_r1") AS t

-- title: arrays above a release
SELECT (array_agg(region))[1], (array_agg(region))[1:2], array_agg(region) @> ARRAY['north'], array_agg(region) && ARRAY['south'], CAST(array_agg(n) AS integer[]) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT (ARRAY_AGG(region))[1], (ARRAY_AGG(region))[1:2], ARRAY_AGG(region) @> ARRAY['north'], ARRAY_AGG(region) && ARRAY['south'], CAST(ARRAY_AGG(n) AS INT[]) FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t
-- use group_by patients.region

-- title: arguments by name above a release
SELECT make_date(year => 2024, month => 1, day => 2), concat(VARIADIC ARRAY['a', 'b']), COUNT(*) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT MAKE_DATE(year => 2024, month => 1, day => 2) AS "make_date", CONCAT(VARIADIC ARRAY['a', 'b']) AS "concat", "_r1"."m1" AS "count" FROM "_r1"

-- title: overlay and time zones above a release
SELECT OVERLAY(region PLACING 'x' FROM 1 FOR 2), TIMESTAMP '2024-01-01 00:00:00' AT TIME ZONE 'UTC', n FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT OVERLAY(region PLACING 'x' FROM 1 FOR 2), CAST('2024-01-01 00:00:00' AS TIMESTAMP) AT TIME ZONE 'UTC', n FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "n" FROM "_r1") AS t
-- use group_by patients.region

-- title: quantified comparisons above a release
SELECT n > ALL (SELECT population FROM regions), n = ANY (ARRAY[1, 2]) FROM (SELECT COUNT(*) AS n FROM patients) t;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- _p1 fetch regions
-- finishing SELECT n > ALL (SELECT population FROM "_p1" AS "regions"), n = ANY(ARRAY[1, 2]) FROM (SELECT "_r1"."m1" AS "n" FROM "_r1") AS t

-- title: who and when on the twin
SELECT CURRENT_USER, SESSION_USER, CURRENT_ROLE, CURRENT_CATALOG, CURRENT_SCHEMA, CURRENT_TIME, LOCALTIME, CURRENT_TIMESTAMP, LOCALTIMESTAMP, CURRENT_DATE;
-- plan
-- passes: query

-- title: an operator by its path
SELECT relname FROM pg_catalog.pg_class WHERE relname OPERATOR(pg_catalog.~) '^(visits)$';
-- plan
-- passes: query

-- title: a string of escapes
SELECT E'a\nb';
-- plan
-- passes: query

-- title: a setting that is read
SELECT current_setting('server_version_num');
-- plan
-- passes: query

-- title: a value of a CTE
WITH k AS (SELECT (SELECT AVG(income) FROM patients) AS mean, EXISTS (SELECT 1 FROM regions) AS any) SELECT COUNT(*) FROM patients WHERE income > (SELECT mean FROM k);
-- plan
-- _r1 release: m1 = avg(patients_2.income)
--   scan patients as patients_2 [protected(patient), rows 1]
-- _p1 fetch regions
-- _s1 stage (value numeric) WITH k AS (SELECT (SELECT "_r1"."m1" AS "avg" FROM "_r1") AS mean, EXISTS(SELECT 1 FROM "_p1" AS "regions") AS any) SELECT (SELECT mean FROM k) AS "value"
-- _r2 release: m1 = count(*)
--   filter (patients.income > value_of(_s1))
--     scan patients as patients [protected(patient), rows 1]
-- finishing WITH k AS (SELECT (SELECT "_r1"."m1" AS "avg" FROM "_r1") AS mean, EXISTS(SELECT 1 FROM "_p1" AS "regions") AS any) SELECT "_r2"."m1" AS "count" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.income

-- title: a value with the type of its cast
SELECT COUNT(*) FROM patients WHERE income > (SELECT CAST(array_length(array_agg(region), 1) AS numeric) FROM regions);
-- plan
-- _p1 fetch regions
-- _s1 stage (value numeric) SELECT (SELECT CAST(ARRAY_LENGTH(ARRAY_AGG(region), 1) AS DECIMAL) FROM "_p1" AS "regions") AS "value"
-- _r1 release: m1 = count(*)
--   filter (patients.income > value_of(_s1))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.income

-- title: not like above a release
SELECT region NOT ILIKE 'n%', COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" NOT ILIKE 'n%' AS "?column?", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: a list of rows up to a release
VALUES (1), (2) ORDER BY 1 LIMIT (SELECT COUNT(*) FROM patients);
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing VALUES (1), (2) ORDER BY 1 LIMIT (SELECT "_r1"."m1" AS "count" FROM "_r1")

-- title: a lateral list of a release
SELECT t.n, l.x FROM (SELECT COUNT(*) AS n FROM patients) t, LATERAL (VALUES (t.n)) AS l(x);
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT t.n, l.x FROM (SELECT "_r1"."m1" AS "n" FROM "_r1") AS t, LATERAL (VALUES (t.n)) AS l(x)

-- title: an unnested array of a release
SELECT u.x FROM (SELECT COUNT(*) AS n FROM patients) t, unnest(ARRAY[t.n]) AS u(x);
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT u.x FROM (SELECT "_r1"."m1" AS "n" FROM "_r1") AS t, UNNEST(ARRAY[t.n]) AS u(x)

-- title: a series up to a release
SELECT g FROM (SELECT COUNT(*) AS n FROM patients) t, generate_series(1, t.n) g;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT g FROM (SELECT "_r1"."m1" AS "n" FROM "_r1") AS t, GENERATE_SERIES(1, t.n) AS g

-- title: fields of JSON above a release
SELECT CAST('{"a": {"b": 1}}' AS jsonb) -> 'a', CAST('{"a": 1}' AS jsonb) ->> 'a', COUNT(*) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT CAST('{"a": {"b": 1}}' AS JSONB) -> 'a' AS "?column?", CAST('{"a": 1}' AS JSONB) ->> 'a' AS "?column?", "_r1"."m1" AS "count" FROM "_r1"
