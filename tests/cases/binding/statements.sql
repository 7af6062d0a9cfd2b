-- title: a cursor
DECLARE "SQL_CUR1" CURSOR WITH HOLD FOR SELECT region, COUNT(*) FROM patients GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- around: cursor
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: copy out
COPY (SELECT region, COUNT(*) FROM patients GROUP BY region) TO STDOUT (FORMAT binary);
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- around: copy
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region

-- title: explain
EXPLAIN SELECT COUNT(*) FROM patients;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- around: explain
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: version
SELECT version();
-- plan
-- passes: query

-- title: catalog of the server
SELECT c.relname, pg_catalog.format_type(a.atttypid, a.atttypmod) FROM pg_catalog.pg_class c JOIN pg_catalog.pg_attribute a ON a.attrelid = c.oid WHERE c.relkind = ANY (ARRAY['r', 'v']) AND NOT a.attisdropped;
-- plan
-- passes: query

-- title: information schema
SELECT table_name FROM information_schema.tables WHERE table_schema NOT IN ('pg_catalog', 'information_schema');
-- plan
-- passes: query

-- title: a cast to regclass on the twin
SELECT 'patients'::regclass;
-- plan
-- passes: query

-- title: our own tables
SELECT * FROM gateway.budget;
-- plan
-- _p1 fetch gateway.budget
-- finishing SELECT * FROM "_p1" AS "budget"

-- title: begin
BEGIN;
-- plan
-- passes: pass

-- title: commit
COMMIT;
-- plan
-- passes: pass

-- title: savepoint
SAVEPOINT "a";
-- plan
-- passes: pass

-- title: show
SHOW server_version;
-- plan
-- passes: pass

-- title: set an allowed name
SET application_name = 'tool';
-- plan
-- passes: pass

-- title: set the purpose
SET gateway.purpose = 'care-quality';
-- plan
-- passes: pass

-- title: set the time zone
SET TIME ZONE 'UTC';
-- plan
-- passes: pass

-- title: fetch
FETCH 100 IN "SQL_CUR1";
-- plan
-- passes: pass

-- title: close
CLOSE "SQL_CUR1";
-- plan
-- passes: pass

-- title: deallocate
DEALLOCATE ALL;
-- plan
-- passes: pass

-- title: discard
DISCARD ALL;
-- plan
-- passes: pass

-- title: select one
SELECT 1;
-- plan
-- passes: query

-- title: a table as a query
TABLE regions;
-- plan
-- _p1 fetch regions
-- finishing SELECT * FROM "_p1" AS "regions"

-- title: a semicolon at the end
SELECT COUNT(*) FROM patients;;
-- plan
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"

-- title: a CTE nobody uses is not shown to the twin
WITH unused AS (SELECT * FROM patients) SELECT 1 AS one;
-- plan
-- finishing SELECT 1 AS one

-- title: a qualified star over a public table
SELECT public.regions.* FROM public.regions;
-- plan
-- _p1 fetch regions
-- finishing SELECT regions.* FROM "_p1" AS "regions"

-- title: our own tables beside a release
SELECT b.epsilon_remaining, (SELECT COUNT(*) FROM patients) AS n FROM gateway.budget b WHERE b.dataset = 'clinic';
-- plan
-- _p1 fetch gateway.budget
-- _r1 release: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT b.epsilon_remaining, (SELECT "_r1"."m1" AS "count" FROM "_r1") AS n FROM "_p1" AS b WHERE b.dataset = 'clinic'
