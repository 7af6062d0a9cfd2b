-- title: a random number
-- code: GW106
SELECT COUNT(*) FROM patients WHERE random() < 0.5;

-- title: the clock
-- code: GW106
SELECT COUNT(*) FROM visits WHERE admitted < clock_timestamp();

-- title: sleep
-- code: GW106
SELECT COUNT(*) FROM patients WHERE pg_sleep(5) IS NULL;

-- title: sleep on the twin
-- code: GW106
SELECT pg_sleep(5);

-- title: sleep above a release
-- code: GW106
SELECT n, pg_sleep(n) FROM (SELECT COUNT(*) AS n FROM patients) t;

-- title: a lock on the twin
-- code: GW106
SELECT pg_advisory_lock(1);

-- title: a setting
-- code: GW106
SELECT set_config('role', 'postgres', false);

-- title: a file
-- code: GW106
SELECT pg_read_file('/etc/passwd');

-- title: a large object
-- code: GW106
SELECT lo_import('/etc/passwd');

-- title: another server
-- code: GW105
SELECT * FROM dblink('host=x', 'SELECT 1') AS t(a integer);

-- title: a query in a text
-- code: GW106
SELECT query_to_xml('SELECT * FROM patients', true, true, '');

-- title: a table in a text
-- code: GW106
SELECT table_to_xml('patients', true, true, '');

-- title: a sequence
-- code: GW106
SELECT nextval('s');

-- title: terminate
-- code: GW106
SELECT pg_terminate_backend(1);

-- title: notify
-- code: GW106
SELECT pg_notify('a', 'b');

-- title: with a schema before it
-- code: GW106
SELECT pg_catalog.pg_sleep(1);

-- title: a regular expression function
-- code: GW106
SELECT COUNT(*) FROM visits WHERE regexp_replace(diagnosis, 'a', 'b') = 'x';

-- title: a hash
-- code: GW106
SELECT COUNT(*) FROM patients WHERE md5(name) = 'x';

-- title: a repeated text
-- code: GW106
SELECT MAX(LENGTH(repeat(name, 1000000))) FROM patients;

-- title: a padded text
-- code: GW106
SELECT MAX(LENGTH(lpad(name, 1000000))) FROM patients;

-- title: a text that grows
-- code: GW106
SELECT MAX(LENGTH(replace(name, 'a', 'aaaaaaaaaa'))) FROM patients;

-- title: a computed length
-- code: GW106
SELECT COUNT(*) FROM patients WHERE LEFT(name, birth_year) = 'x';

-- title: a computed exponent
-- code: GW106
SELECT SUM(POWER(income, birth_year)) FROM patients;

-- title: a large exponent
-- code: GW106
SELECT SUM(POWER(income, 1000)) FROM patients;

-- title: text search
-- code: GW106
SELECT COUNT(*) FROM visits WHERE to_tsvector(diagnosis) IS NOT NULL;

-- title: an unknown function
-- code: GW106
SELECT COUNT(*) FROM patients WHERE frobnicate(income) > 5;

-- title: a function of a schema over rows
-- code: GW106
SELECT COUNT(*) FROM visits WHERE format('%s', diagnosis) = 'x';

-- title: an age in full
-- code: GW106
SELECT COUNT(*) FROM visits WHERE AGE(visit_date) > INTERVAL '5 years';

-- title: an unknown part of a date
-- code: GW106
SELECT EXTRACT(TIMEZONE FROM admitted), COUNT(*) FROM visits GROUP BY 1;

-- title: truncation to an unknown part
-- code: GW106
SELECT DATE_TRUNC('millennium', admitted), COUNT(*) FROM visits GROUP BY 1;

-- title: truncation to a computed part
-- code: GW106
SELECT DATE_TRUNC(diagnosis, admitted), COUNT(*) FROM visits GROUP BY 1;

-- title: a set in the list
-- code: GW106
SELECT generate_series(1, 10), COUNT(*) FROM patients GROUP BY 1;

-- title: a cast to regclass
-- code: GW105
SELECT COUNT(name::regclass) FROM patients;

-- title: a cast to json
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name::json IS NOT NULL;

-- title: a cast to an array
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name::text[] IS NOT NULL;

-- title: a cast to interval
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name::interval IS NOT NULL;

-- title: a cast to a type of one's own
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name::mine IS NOT NULL;

-- title: a cast of a flag to a date
-- code: GW105
SELECT COUNT(*) FROM patients WHERE smoker::date IS NOT NULL;

-- title: an interval in half units
-- code: GW105
SELECT COUNT(*) FROM visits WHERE visit_date > DATE '2024-01-01' - INTERVAL '1.5 days';

-- title: an interval by itself
-- code: GW105
SELECT MAX(INTERVAL '1 day') FROM visits;

-- title: a regular expression
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis ~ '(a+)+$';

-- title: similar to
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis SIMILAR TO 'a%';

-- title: a pattern from a column
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE diagnosis;

-- title: a pattern with an open escape
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'a\';

-- title: a pattern that ends in an escape of its own
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'a!' ESCAPE '!';

-- title: a pattern of several pieces with blanks in them
-- code: GW119
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE '%a_b%c_d%';

-- title: a collation
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis COLLATE "C" < 'x';

-- title: a time zone that does not exist
-- code: GW115
SELECT COUNT(*) FROM visits WHERE admitted AT TIME ZONE 'Europe/Atlantis' IS NULL;

-- title: a time zone that is an abbreviation
-- code: GW105
SELECT COUNT(*) FROM visits WHERE admitted AT TIME ZONE 'CET' IS NULL;

-- title: a time zone from a column
-- code: GW105
SELECT COUNT(*) FROM visits WHERE admitted AT TIME ZONE diagnosis IS NULL;

-- title: an array
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region > ANY (ARRAY['north']);

-- title: a subscript
-- code: GW105
SELECT COUNT(*) FROM patients WHERE (ARRAY[income])[1] > 5;

-- title: bits
-- code: GW105
SELECT SUM(birth_year & 1) FROM patients;

-- title: a JSON arrow
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name -> 'a' IS NULL;

-- title: the current user
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name = CURRENT_USER;

-- title: grouped by the unit of the far side
-- code: GW110
SELECT v.patient_id, COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY v.patient_id;

-- title: is unknown by json
-- code: GW105
SELECT COUNT(*) FROM patients WHERE name IS JSON;

-- title: a variadic call
-- code: GW105
SELECT COUNT(*) FROM patients WHERE concat(VARIADIC ARRAY[name]) = 'x';

-- title: a named argument
-- code: GW105
SELECT COUNT(*) FROM visits WHERE make_date(year => 2024, month => 1, day => 1) = visit_date;

-- title: a text plus a number
-- code: GW115
SELECT SUM(region + 1) FROM patients;

-- title: a number against a text column
-- code: GW115
SELECT COUNT(*) FROM patients WHERE region = 5;

-- title: a date that is none
-- code: GW115
SELECT COUNT(*) FROM visits WHERE visit_date = '2024-02-30';

-- title: a special date
-- code: GW115
SELECT COUNT(*) FROM visits WHERE visit_date = 'infinity';

-- title: a relative date
-- code: GW115
SELECT COUNT(*) FROM visits WHERE visit_date = 'today';

-- title: a number that is none
-- code: GW115
SELECT COUNT(*) FROM patients WHERE birth_year = 'abc';

-- title: not a number
-- code: GW115
SELECT COUNT(*) FROM visits WHERE weight = 'NaN';

-- title: a condition that is no condition
-- code: GW115
SELECT COUNT(*) FROM patients WHERE income;

-- title: a sum of texts
-- code: GW115
SELECT SUM(name) FROM patients;

-- title: a case of two types
-- code: GW115
SELECT COUNT(CASE WHEN smoker THEN 1 ELSE region END) FROM patients;

-- title: too many arguments
-- code: GW115
SELECT COUNT(*) FROM patients WHERE LOWER(name, name) = 'x';

-- title: no arguments
-- code: GW115
SELECT SUM() FROM patients;

-- title: bins of months
-- code: GW106
SELECT date_bin('1 month', admitted, '2020-01-01') FROM visits GROUP BY 1;

-- title: bins of no length
-- code: GW106
SELECT date_bin('0 days', admitted, '2020-01-01') FROM visits GROUP BY 1;

-- title: bins of a negative length
-- code: GW106
SELECT date_bin(INTERVAL '-1 day', admitted, '2020-01-01') FROM visits GROUP BY 1;

-- title: bins of a computed length
-- code: GW106
SELECT date_bin(cost * INTERVAL '1 day', admitted, '2020-01-01') FROM visits GROUP BY 1;

-- title: bins from a computed origin
-- code: GW106
SELECT date_bin('1 day', admitted, visit_date) FROM visits GROUP BY 1;

-- title: bins without an origin
-- code: GW115
SELECT date_bin('1 day', admitted) FROM visits GROUP BY 1;

-- title: bins of a number
-- code: GW115
SELECT date_bin('1 day', cost, '2020-01-01') FROM visits GROUP BY 1;
