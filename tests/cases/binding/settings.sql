-- title: every setting of the wire
SET datestyle = 'ISO, MDY';
-- plan
-- passes: pass

-- title: the time zone by its name
SET timezone TO 'UTC';
-- plan
-- passes: pass

-- title: the encoding
SET client_encoding = 'UTF8';
-- plan
-- passes: pass

-- title: the messages
SET client_min_messages TO warning;
-- plan
-- passes: pass

-- title: the bytes
SET bytea_output = 'hex';
-- plan
-- passes: pass

-- title: the digits
SET extra_float_digits = 3;
-- plan
-- passes: pass

-- title: the intervals
SET intervalstyle = 'postgres';
-- plan
-- passes: pass

-- title: the compiler
SET jit = off;
-- plan
-- passes: pass

-- title: waiting for locks
SET lock_timeout = 0;
-- plan
-- passes: pass

-- title: the time of a statement
SET statement_timeout = 0;
-- plan
-- passes: pass

-- title: the time of a transaction
SET idle_in_transaction_session_timeout = 0;
-- plan
-- passes: pass

-- title: reading alone
SET default_transaction_read_only = on;
-- plan
-- passes: pass

-- title: the price
SET gateway.epsilon = '0.1';
-- plan
-- passes: pass

-- title: the accuracy
SET gateway.accuracy = '5%';
-- plan
-- passes: pass

-- title: a fresh answer
SET gateway.fresh = on;
-- plan
-- passes: pass

-- title: how much is told beside the rows
SET gateway.notices = brief;
-- plan
-- passes: pass

-- title: how much is told, for one transaction
SET LOCAL gateway.notices TO 'off';
-- plan
-- passes: pass

-- title: start
START TRANSACTION READ ONLY;
-- plan
-- passes: pass

-- title: end
END;
-- plan
-- passes: pass

-- title: abort
ABORT;
-- plan
-- passes: pass

-- title: rollback to a savepoint
ROLLBACK TO SAVEPOINT a;
-- plan
-- passes: pass

-- title: release a savepoint
RELEASE SAVEPOINT a;
-- plan
-- passes: pass

-- title: move a cursor
MOVE FORWARD 10 IN "SQL_CUR1";
-- plan
-- passes: pass

-- title: the deferral of transactions
SET default_transaction_deferrable = off;
-- plan
-- passes: pass

-- title: the isolation of transactions
SET default_transaction_isolation = 'read committed';
-- plan
-- passes: pass

-- title: the planner's dice
SET geqo = off;
-- plan
-- passes: pass

-- title: the time of a connection
SET idle_session_timeout = 0;
-- plan
-- passes: pass

-- title: where names are looked for
SET search_path = "$user", public;
-- plan
-- passes: pass

-- title: where names are looked for, in schemas of the source
SET search_path = sales, "Order Archive", public;
-- plan
-- passes: pass

-- title: where names are looked for, as a string
SET SESSION search_path TO 'public';
-- plan
-- passes: pass

-- title: where names are looked for, PostgreSQL's own first
SET search_path TO pg_catalog, public, information_schema;
-- plan
-- passes: pass

-- title: strings as they are
SET standard_conforming_strings = on;
-- plan
-- passes: pass

-- title: the deferral of this transaction
SET transaction_deferrable = off;
-- plan
-- passes: pass

-- title: the isolation of this transaction
SET transaction_isolation = 'read committed';
-- plan
-- passes: pass

-- title: reading alone in this transaction
SET transaction_read_only = on;
-- plan
-- passes: pass

-- title: the encoding by SQL's word
SET NAMES 'UTF8';
-- plan
-- passes: pass

-- title: the encoding by another name
SET client_encoding TO 'unicode';
-- plan
-- passes: pass

-- title: the encoding as Java has it
SET client_encoding = 'UTF-8';
-- plan
-- passes: pass

-- title: a setting by its default
SET search_path TO DEFAULT;
-- plan
-- passes: pass

-- title: a time zone in a session
SET SESSION TIMEZONE TO 'Europe/Berlin';
-- plan
-- passes: pass

-- title: back to oneself
SET SESSION AUTHORIZATION DEFAULT;
-- plan
-- passes: pass

-- title: back to oneself, the other way
RESET SESSION AUTHORIZATION;
-- plan
-- passes: pass

-- title: no channel
UNLISTEN *;
-- plan
-- passes: pass

-- title: no temporary tables
DISCARD TEMP;
-- plan
-- passes: pass

-- title: no sequences
DISCARD SEQUENCES;
-- plan
-- passes: pass

-- title: no plans
DISCARD PLANS;
-- plan
-- passes: pass

-- title: what pg_dump sets
SET synchronize_seqscans TO off;
-- plan
-- passes: pass

-- title: a lock of pg_dump
LOCK TABLE public.patients, public.visits IN ACCESS SHARE MODE;
-- plan
-- passes: pass

-- title: what becomes of items that cannot be answered
SET gateway.unsupported = 'null';
-- plan
-- passes: pass
