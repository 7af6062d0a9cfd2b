-- title: the first words
SET DateStyle = 'ISO';

-- title: digits
SET extra_float_digits = 2;

-- title: the isolation
show transaction_isolation;

-- title: messages
SET client_min_messages TO warning;

-- title: whether one is in recovery
SELECT pg_is_in_recovery();

-- title: tables
select relname, nspname, relkind from pg_catalog.pg_class c, pg_catalog.pg_namespace n where relkind in ('r', 'v', 'm', 'f', 'p') and nspname not in ('pg_catalog', 'information_schema', 'pg_toast', 'pg_temp_1') and n.oid = relnamespace order by nspname, relname;

-- title: the table of a result
-- values: ["1259"]
SELECT "n"."nspname", "c"."relname" FROM "pg_catalog"."pg_class" "c" INNER JOIN "pg_catalog"."pg_namespace" "n" ON ("c"."relnamespace" = "n"."oid") WHERE "c"."oid" = $1;

-- title: keys of a table
select ta.attname, ia.attnum, ic.relname, n.nspname, tc.relname from pg_catalog.pg_attribute ta, pg_catalog.pg_attribute ia, pg_catalog.pg_class tc, pg_catalog.pg_index i, pg_catalog.pg_namespace n, pg_catalog.pg_class ic where tc.relname = 'patients' AND n.nspname = 'public' AND tc.oid = i.indrelid AND n.oid = tc.relnamespace AND i.indisprimary = 't' AND ia.attrelid = i.indexrelid AND ta.attrelid = i.indrelid AND ta.attnum = i.indkey[ia.attnum-1] AND (NOT ta.attisdropped) AND (NOT ia.attisdropped) AND ic.oid = i.indexrelid order by ia.attnum;

-- title: keys by name
SELECT tc.constraint_name, kcu.column_name, ccu.table_name AS foreign_table_name, ccu.column_name AS foreign_column_name
FROM information_schema.table_constraints AS tc JOIN information_schema.key_column_usage AS kcu ON tc.constraint_name = kcu.constraint_name AND tc.table_schema = kcu.table_schema
JOIN information_schema.constraint_column_usage AS ccu ON ccu.constraint_name = tc.constraint_name AND ccu.table_schema = tc.table_schema
WHERE tc.constraint_type = 'FOREIGN KEY' AND tc.table_name = 'visits';

-- title: a place to come back to
SAVEPOINT _EXEC_SVP_1;
