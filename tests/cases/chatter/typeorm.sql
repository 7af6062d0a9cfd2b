-- title: the database and the schema
SELECT * FROM current_schema();

-- title: the name of the database
SELECT * FROM current_database();

-- title: columns of tables by names with the database
SELECT columns.*,
  pg_catalog.col_description(('"' || table_catalog || '"."' || table_schema || '"."' || table_name || '"')::regclass::oid, ordinal_position) AS description,
  ('"' || "udt_schema" || '"."' || "udt_name" || '"')::"regtype"::text AS "regtype",
  pg_catalog.format_type("col_attr"."atttypid", "col_attr"."atttypmod") AS "format_type"
FROM "information_schema"."columns"
LEFT JOIN "pg_catalog"."pg_attribute" AS "col_attr" ON "col_attr"."attname" = "columns"."column_name"
  AND "col_attr"."attrelid" = (
    SELECT "cls"."oid" FROM "pg_catalog"."pg_class" AS "cls"
    LEFT JOIN "pg_catalog"."pg_namespace" AS "ns" ON "ns"."oid" = "cls"."relnamespace"
    WHERE "cls"."relname" = "columns"."table_name" AND "ns"."nspname" = "columns"."table_schema")
WHERE ("table_schema" = 'public' AND "table_name" = 'patients');

-- title: a table by its name with the database
SELECT obj_description('"clinic"."public"."patients"'::regclass, 'pg_class') AS table_comment;

-- title: a name computed, with and without the database
SELECT to_regclass('"clinic"."public"."patients"')::oid = ('clinic.' || 'public.visits')::regclass::oid, ('public.' || 'visits')::regclass;

-- title: constraints
SELECT "ns"."nspname" AS "table_schema", "t"."relname" AS "table_name", "cnst"."conname" AS "constraint_name",
  pg_get_constraintdef("cnst"."oid") AS "expression",
  CASE "cnst"."contype" WHEN 'p' THEN 'PRIMARY' WHEN 'u' THEN 'UNIQUE' WHEN 'c' THEN 'CHECK' WHEN 'x' THEN 'EXCLUDE' END AS "constraint_type",
  "a"."attname" AS "column_name"
FROM "pg_constraint" "cnst"
INNER JOIN "pg_class" "t" ON "t"."oid" = "cnst"."conrelid"
INNER JOIN "pg_namespace" "ns" ON "ns"."oid" = "cnst"."connamespace"
LEFT JOIN "pg_attribute" "a" ON "a"."attrelid" = "cnst"."conrelid" AND "a"."attnum" = ANY ("cnst"."conkey")
WHERE "t"."relkind" IN ('r', 'p') AND (("ns"."nspname" = 'public' AND "t"."relname" = 'patients'));
