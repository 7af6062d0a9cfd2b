-- title: delete
-- code: GW104
DELETE FROM patients;

-- title: insert
-- code: GW104
INSERT INTO patients VALUES (1);

-- title: update
-- code: GW104
UPDATE patients SET income = 0;

-- title: merge
-- code: GW104
MERGE INTO patients USING visits ON true WHEN MATCHED THEN DELETE;

-- title: truncate
-- code: GW104
TRUNCATE patients;

-- title: create table
-- code: GW104
CREATE TABLE t AS SELECT * FROM patients;

-- title: create view
-- code: GW104
CREATE VIEW v AS SELECT * FROM patients;

-- title: drop
-- code: GW104
DROP TABLE patients;

-- title: alter
-- code: GW104
ALTER TABLE patients ADD COLUMN x integer;

-- title: grant
-- code: GW104
GRANT SELECT ON patients TO public;

-- title: do
-- code: GW104
DO 'BEGIN END';

-- title: call
-- code: GW104
CALL p();

-- title: lock
-- code: GW104
LOCK TABLE patients;

-- title: listen
-- code: GW104
LISTEN a;

-- title: notify
-- code: GW104
NOTIFY a;

-- title: vacuum
-- code: GW104
VACUUM;

-- title: prepare
-- code: GW104
PREPARE p AS SELECT 1;

-- title: execute
-- code: GW104
EXECUTE p;

-- title: refresh
-- code: GW104
REFRESH MATERIALIZED VIEW v;

-- title: load
-- code: GW104
LOAD 'x';

-- title: copy a table
-- code: GW104
COPY patients TO STDOUT;

-- title: copy to a file
-- code: GW104
COPY (SELECT 1) TO '/tmp/x';

-- title: copy to a program
-- code: GW104
COPY (SELECT 1) TO PROGRAM 'sh';

-- title: copy in
-- code: GW104
COPY patients FROM STDIN;

-- title: set the role
-- code: GW104
SET ROLE postgres;

-- title: set the search path
-- code: GW104
SET search_path = pg_toast;

-- title: set a session authorisation
-- code: GW104
SET SESSION AUTHORIZATION postgres;

-- title: set a constant that changes strings
-- code: GW104
SET standard_conforming_strings = off;

-- title: reset the role
-- code: GW104
RESET ROLE;

-- title: explain and run
-- code: GW104
EXPLAIN ANALYZE SELECT COUNT(*) FROM patients;

-- title: explain with options
-- code: GW104
EXPLAIN (VERBOSE) SELECT COUNT(*) FROM patients;

-- title: comment on
-- code: GW104
COMMENT ON TABLE patients IS 'x';

-- title: import
-- code: GW104
IMPORT FOREIGN SCHEMA s FROM SERVER x INTO y;

-- title: prepare a transaction
-- code: GW104
PREPARE TRANSACTION 'x';

-- title: a word that is no statement
-- code: GW101
FROBNICATE patients;

-- title: a begin with a tail
-- code: GW104
BEGIN (SELECT 1);

-- title: two statements
-- code: GW102
SELECT COUNT(*) FROM patients; SELECT 1;

-- title: a second statement that drops
-- code: GW102
SELECT 1; DROP TABLE patients;

-- title: a second statement behind a cursor
-- code: GW102
DECLARE c CURSOR FOR SELECT 1; DELETE FROM patients;

-- title: nothing
-- code: GW101
;

-- title: a comment alone
-- code: GW101
-- nothing;

-- title: a lone semicolon
-- code: GW101
;;

-- title: an open string
-- code: GW101
SELECT COUNT(*) FROM patients WHERE region = 'north;

-- title: an open bracket
-- code: GW101
SELECT COUNT(*) FROM (patients;

-- title: nonsense behind a select
-- code: GW101
SELECT SELECT SELECT;

-- title: two strings side by side
-- code: GW101
SELECT COUNT(*) FROM patients WHERE region = 'no' 'rth';

-- title: a unicode string
-- code: GW101
SELECT COUNT(*) FROM patients WHERE region = U&'\006E';

-- title: a dollar quote
-- code: GW101
SELECT COUNT(*) FROM patients WHERE region = $$north$$;

-- title: a template
-- code: GW101
SELECT COUNT(*) FROM patients WHERE region = {{ region }};

-- title: a number in hex
-- code: GW105
SELECT COUNT(*) FROM patients WHERE income > 0x1F;

-- title: a parameter without a value
-- code: GW101
SELECT COUNT(*) FROM patients WHERE income > $1;

-- title: a cursor without a query
-- code: GW101
DECLARE c CURSOR;

-- title: a comparison of comparisons
-- code: GW117
SELECT COUNT(*) FROM patients WHERE income > 5 = smoker;

-- title: substring without a start
-- code: GW117
SELECT COUNT(*) FROM visits WHERE SUBSTRING(diagnosis FOR 3) = 'flu';

-- title: a sum in a concatenation
-- code: GW117
SELECT COUNT(*) FROM visits WHERE diagnosis || 'a' || 1 + 1 = 'x';

-- title: a power without brackets
-- code: GW117
SELECT SUM(-birth_year ^ 2) FROM patients;

-- title: deep brackets
-- code: GW103
SELECT COUNT(*) FROM patients WHERE ((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((((income))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))))) > 5;

-- title: deep types
-- code: GW103
SELECT COUNT(date(date(date(date(date(date(date(date('2024-01-01'))))))))) FROM patients;

-- title: deep arrays
-- code: GW103
SELECT array[array[array[array[array[array[array[array[1]]]]]]]];

-- title: many signs
-- code: GW103
SELECT - - - - - - - - - - - - - - - - - - - - income FROM patients;

-- title: our own tables joined to rows of persons
-- code: GW105
SELECT COUNT(*) FROM visits v JOIN gateway.budget b ON b.account = v.diagnosis;

-- title: a table of the gateway that is not for analysts
-- code: GW107
SELECT * FROM gateway.keys;
