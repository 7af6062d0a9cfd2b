-- title: the time zone
show timezone;

-- title: the time zone of a report
SET SESSION TIMEZONE TO 'Europe/Berlin';

-- title: types that are enumerations
SELECT s.nspname, e.typname FROM pg_namespace s, pg_type e
WHERE s.oid = e.typnamespace AND EXISTS (SELECT FROM pg_enum WHERE enumtypid = e.oid);

-- title: tables with their size
SELECT ns.nspname AS "schema", rel.relname AS "name", rel.relkind AS "type",
       obj_description(rel.oid, 'pg_class') AS "description", stats.n_live_tup AS "estimated_row_count"
FROM pg_catalog.pg_namespace AS ns
JOIN pg_catalog.pg_class AS rel ON rel.relnamespace = ns.oid
LEFT JOIN pg_stat_user_tables AS stats ON stats.relid = rel.oid
WHERE rel.relkind = ANY ('{r,p,v,f,m}') AND ns.nspname NOT IN ('pg_catalog', 'information_schema', 'pg_toast')
ORDER BY "type", "schema", "name";

-- title: what one may do with each table
WITH named AS (
    SELECT schemaname AS "schema", tablename AS "table", quote_ident(schemaname) || '.' || quote_ident(tablename) AS quoted
    FROM pg_catalog.pg_tables WHERE pg_catalog.has_schema_privilege(current_user, schemaname, 'usage')
    UNION ALL
    SELECT schemaname, viewname, quote_ident(schemaname) || '.' || quote_ident(viewname) FROM pg_catalog.pg_views
), rights AS (
    SELECT "schema", "table", pg_catalog.has_any_column_privilege(current_user, quoted, 'select') AS "select",
           pg_catalog.has_any_column_privilege(current_user, quoted, 'update') AS "update",
           pg_catalog.has_any_column_privilege(current_user, quoted, 'insert') AS "insert",
           pg_catalog.has_table_privilege(current_user, quoted, 'delete') AS "delete"
    FROM named WHERE "schema" NOT IN ('pg_catalog', 'information_schema')
)
SELECT NULL AS "role", rights.* FROM rights WHERE "select" OR "update" OR "insert" OR "delete";

-- title: columns
WITH keys AS (
    SELECT k.table_schema, k.table_name, k.column_name
    FROM information_schema.key_column_usage AS k
    JOIN information_schema.table_constraints AS t USING (constraint_schema, constraint_name, table_name)
    WHERE t.constraint_type = 'PRIMARY KEY'
)
SELECT i.table_schema, i.table_name, i.column_name AS "name", i.ordinal_position - 1 AS "position", i.udt_name AS "type",
       keys.column_name IS NOT NULL AS "pk?",
       col_description(format('%I.%I', i.table_schema::text, i.table_name::text)::regclass::oid, i.ordinal_position) AS "comment"
FROM information_schema.columns AS i NATURAL LEFT JOIN keys
WHERE i.table_schema = 'public';

-- title: keys
SELECT source.relname AS "fk-table", target.relname AS "pk-table", own.attname AS "fk-column", other.attname AS "pk-column"
FROM pg_constraint AS link
JOIN pg_class AS source ON source.oid = link.conrelid
JOIN pg_class AS target ON target.oid = link.confrelid
JOIN pg_attribute AS own ON own.attrelid = source.oid AND own.attnum = ANY (link.conkey)
JOIN pg_attribute AS other ON other.attrelid = target.oid AND other.attnum = ANY (link.confkey)
WHERE link.contype = 'f'::"char"
ORDER BY 1, 2;
