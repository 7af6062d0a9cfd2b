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
