-- title: SELECT NOW()
SELECT NOW();

-- title: SELECT $1::text as message
-- values: ["x"]
SELECT $1::text as message;

-- title: BEGIN
BEGIN;

-- title: COMMIT
COMMIT;

-- title: reads pg_type
-- values: ["23"]
SELECT typname, typtype, typarray FROM pg_type WHERE oid = $1;

-- title: reads pg_class
select relname from pg_class;
