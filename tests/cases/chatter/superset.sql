-- title: the version
select pg_catalog.version();

-- title: the schema
select current_schema();

-- title: strings
show standard_conforming_strings;

-- title: where names are looked for
SET search_path = "public";

-- title: schemas
SELECT nspname FROM pg_namespace WHERE nspname NOT LIKE 'pg_%' ORDER BY nspname;

-- title: databases that can be connected to
SELECT datname FROM pg_database WHERE datistemplate = false;

-- title: tables and their kinds
SELECT pg_catalog.pg_class.relname FROM pg_catalog.pg_class JOIN pg_catalog.pg_namespace ON pg_catalog.pg_namespace.oid = pg_catalog.pg_class.relnamespace
WHERE pg_catalog.pg_class.relkind = ANY (ARRAY['r', 'p']) AND pg_catalog.pg_class.relpersistence != 't' AND pg_catalog.pg_namespace.nspname = 'public';

-- title: which statement runs
SELECT pg_backend_pid();
