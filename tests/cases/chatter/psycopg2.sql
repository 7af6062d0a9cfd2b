-- title: BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE;

-- title: select 1
select 1;

-- title: COMMIT
COMMIT;

-- title: SET default_transaction_isolation TO DEFAULT
SET default_transaction_isolation TO DEFAULT;

-- title: SET default_transaction_read_only TO DEFAULT
SET default_transaction_read_only TO DEFAULT;

-- title: SET default_transaction_deferrable TO DEFAULT
SET default_transaction_deferrable TO DEFAULT;

-- title: SET default_transaction_isolation TO 'READ COMMITTED'
SET default_transaction_isolation TO 'READ COMMITTED';

-- title: SET default_transaction_read_only TO 'on'
SET default_transaction_read_only TO 'on';

-- title: reads pg_type, pg_namespace
SELECT t.oid, typarray
FROM pg_type t JOIN pg_namespace ns
    ON typnamespace = ns.oid
WHERE typname = 'hstore';

-- title: reads pg_type, pg_namespace, pg_attribute
SELECT t.oid, typarray, attname, atttypid
FROM pg_type t
JOIN pg_namespace ns ON typnamespace = ns.oid
JOIN pg_attribute a ON attrelid = typrelid
WHERE typname = 'patients' AND nspname = 'public'
    AND attnum > 0 AND NOT attisdropped
ORDER BY attnum;

-- title: DISCARD ALL
DISCARD ALL;
