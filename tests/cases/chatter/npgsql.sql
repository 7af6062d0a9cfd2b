-- title: the version
SELECT version();

-- title: all types that can be read, arrays behind their elements
WITH readable AS (
    SELECT ty.oid, ty.typnamespace, ty.typname, ty.typnotnull, ty.typtype, pro.proname = 'array_recv' AS is_array,
           coalesce(nullif(ty.typelem, 0), ra.rngsubtype, nullif(ty.typbasetype, 0)) AS element
    FROM pg_type AS ty
    JOIN pg_proc AS pro ON pro.oid = ty.typreceive
    LEFT JOIN pg_range AS ra ON ty.oid IN (ra.rngtypid, ra.rngmultitypid)
    LEFT JOIN pg_class AS rel ON rel.oid = ty.typrelid
    WHERE ty.typtype <> 'c' OR rel.relkind = 'c'
)
SELECT ns.nspname, readable.* FROM readable JOIN pg_namespace AS ns ON ns.oid = typnamespace
ORDER BY is_array, array_position('{b,e,p,d,r,m,c}'::"char"[], typtype), typname;

-- title: fields of composite types
-- values: ["c"]
SELECT rel.reltype, field.attname, field.atttypid
FROM pg_class AS rel, pg_attribute AS field
WHERE field.attrelid = rel.oid AND rel.relkind = $1 AND field.attnum >= 1 AND field.attisdropped IS FALSE
ORDER BY rel.reltype, field.attnum;

-- title: labels of enumerations
SELECT pg_type.oid, enumlabel FROM pg_enum JOIN pg_type ON pg_type.oid=enumtypid ORDER BY oid, enumsortorder;

-- title: back to the pool: oneself
SET SESSION AUTHORIZATION DEFAULT;

-- title: back to the pool: settings
RESET ALL;

-- title: back to the pool: cursors
CLOSE ALL;

-- title: back to the pool: channels
UNLISTEN *;

-- title: back to the pool: locks
SELECT pg_advisory_unlock_all();

-- title: back to the pool: sequences
DISCARD SEQUENCES;

-- title: back to the pool: tables
DISCARD TEMP;

-- title: back to the pool, all at once
DISCARD ALL;
