-- title: the version
SELECT current_setting('server_version_num')::int/100 as version;

-- title: an extension
SELECT extversion FROM pg_extension WHERE extname = 'timescaledb';

-- title: schemas
SELECT s.schema_name AS "name" FROM information_schema.schemata s
WHERE NOT s.schema_name = ANY ('{information_schema,pg_catalog,pg_toast}') ORDER BY 1;

-- title: tables of the search path
SELECT quote_ident(t.table_name) AS "table" FROM information_schema.tables t
WHERE quote_ident(t.table_schema) = ANY (
    SELECT CASE trim(p) WHEN '"$user"' THEN user ELSE trim(p) END
    FROM unnest(string_to_array(current_setting('search_path'), ',')) AS p)
ORDER BY 1;

-- title: columns of a table
SELECT quote_ident(c.column_name) AS "column", c.data_type AS "type" FROM information_schema.columns c
WHERE CASE cardinality(parse_ident('public.visits')) WHEN 2
  THEN ARRAY[quote_ident(c.table_schema), quote_ident(c.table_name)] = parse_ident('public.visits')
  ELSE quote_ident(c.table_name) = 'visits' END;

-- title: health
SELECT 1;
