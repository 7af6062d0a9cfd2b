-- title: cluster
-- code: GW104
CLUSTER patients;

-- title: reindex
-- code: GW104
REINDEX TABLE patients;

-- title: security label
-- code: GW104
SECURITY LABEL ON TABLE patients IS 'x';

-- title: checkpoint
-- code: GW104
CHECKPOINT;

-- title: analyze
-- code: GW104
ANALYZE patients;

-- title: unlisten
-- code: GW104
UNLISTEN *;

-- title: reassign
-- code: GW104
REASSIGN OWNED BY CURRENT_USER TO postgres;

-- title: create function
-- code: GW104
CREATE FUNCTION f() RETURNS int LANGUAGE sql AS 'SELECT 1';

-- title: drop owned
-- code: GW104
DROP OWNED BY CURRENT_USER;

-- title: revoke
-- code: GW104
REVOKE ALL ON patients FROM public;

-- title: copy from standard input
-- code: GW104
COPY patients (income) FROM STDIN;

-- title: alter the system
-- code: GW104
ALTER SYSTEM SET log_statement = 'all';

-- title: show everything at once with a tail
-- code: GW102
SHOW ALL; SELECT 1;
