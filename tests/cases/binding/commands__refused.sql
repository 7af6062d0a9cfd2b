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
UNLISTEN a;

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

-- title: another encoding
-- code: GW104
SET client_encoding = 'LATIN1';

-- title: another encoding by SQL's word
-- code: GW104
SET NAMES 'SQL_ASCII';

-- title: a schema of one's own first
-- code: GW104
SET search_path = pg_temp, public;

-- title: a schema of one's own in a string
-- code: GW104
SET search_path = 'public, pg_temp';

-- title: names before PostgreSQL's
-- code: GW104
SET search_path = public, pg_catalog;

-- title: strings with backslashes
-- code: GW104
SET standard_conforming_strings = off;

-- title: another user
-- code: GW104
SET SESSION AUTHORIZATION postgres;

-- title: another user in two words
-- code: GW104
SET SESSION SESSION AUTHORIZATION postgres;

-- title: what the subject is called
-- code: GW104
SET gateway.subject = 'bob';

-- title: what the dataset is called
-- code: GW104
SET gateway.dataset TO 'other';

-- title: a transaction that was prepared
-- code: GW104
COMMIT PREPARED 'x';

-- title: a transaction that was prepared, undone
-- code: GW104
ROLLBACK PREPARED 'x';

-- title: another's snapshot
-- code: GW104
SET TRANSACTION SNAPSHOT 'x';

-- title: discarding nothing
-- code: GW104
DISCARD;

-- title: the role
-- code: GW104
RESET ROLE;

-- title: a lock that others would notice
-- code: GW104
LOCK TABLE patients IN ACCESS EXCLUSIVE MODE;
