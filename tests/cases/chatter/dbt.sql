-- title: tables, views and materialized views
select 'clinic' as database, t.tablename as name, t.schemaname as schema, 'table' as type from pg_tables t where t.schemaname ilike 'public'
union all select 'clinic', v.viewname, v.schemaname, 'view' from pg_views v where v.schemaname ilike 'public'
union all select 'clinic', m.matviewname, m.schemaname, 'materialized_view' from pg_matviews m where m.schemaname ilike 'public';

-- title: schemas
select distinct s.nspname from pg_namespace s;

-- title: whether a schema is there
select count(*) > 0 as there from pg_namespace where nspname = 'public';

-- title: columns, in the database by its name
select c.column_name, c.data_type, c.numeric_precision from "clinic".INFORMATION_SCHEMA.columns as c
where c.table_schema = 'public' and c.table_name = 'visits' order by c.ordinal_position;

-- title: what was granted to others, in the database by its name
select g.grantee, g.privilege_type from "clinic".INFORMATION_SCHEMA.role_table_grants as g
where g.grantor = current_role and g.grantee <> current_role and g.table_name = 'visits';

-- title: indexes
select c.relname as name, am.amname as method, x.indisunique as "unique", string_agg(k.attname, ',' order by k.attnum) as column_names
from pg_class c join pg_index x on c.oid = x.indexrelid join pg_am am on am.oid = c.relam
join pg_attribute k on k.attrelid = x.indrelid and k.attnum = any(x.indkey)
where x.indrelid in (select oid from pg_class where relname = 'patients') group by 1, 2, 3 order by 1;

-- title: the catalog
select 'clinic'::varchar as table_database, s.nspname as table_schema, t.relname as table_name,
    case t.relkind when 'v' then 'VIEW' else 'BASE TABLE' end as table_type, obj_description(t.oid, 'pg_class') as table_comment,
    k.attname as column_name, k.attnum as column_index, format_type(k.atttypid, k.atttypmod) as column_type,
    col_description(t.oid, k.attnum) as column_comment, pg_get_userbyid(t.relowner) as table_owner
from pg_namespace s join pg_class t on t.relnamespace = s.oid join pg_attribute k on k.attrelid = t.oid
where upper(s.nspname) = 'PUBLIC' and not pg_is_other_temp_schema(s.oid) and t.relpersistence in ('p', 'u')
  and t.relkind in ('r', 'v', 'f', 'p', 'm') and k.attnum > 0 and not k.attisdropped
order by 2, 3, 7;

-- title: what depends on what
with views as (select ev_class, oid from pg_rewrite),
     seen as (select distinct objid, refobjid from pg_depend)
select distinct c.relname from seen join views on views.oid = seen.objid join pg_class c on c.oid = seen.refobjid
where c.relkind in ('r', 'v', 'm') order by 1;

-- title: the first statement of a connection
BEGIN;

-- title: its name
SET application_name TO 'dbt';
