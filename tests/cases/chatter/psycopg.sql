-- title: BEGIN
BEGIN;

-- title: select 1
select 1;

-- title: SAVEPOINT "_pg3_1"
SAVEPOINT "_pg3_1";

-- title: reads pg_type
-- values: ["hstore"]
SELECT
    typname AS name, oid, typarray AS array_oid,
    oid::regtype::text AS regtype, typdelim AS delimiter
FROM pg_type t
WHERE t.oid = to_regtype($1)
ORDER BY t.oid;

-- title: RELEASE "_pg3_1"
RELEASE "_pg3_1";

-- title: reads pg_type, pg_enum
-- values: ["mood"]
SELECT name, oid, array_oid, regtype, array_agg(label) AS labels
FROM (
    SELECT
        t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
        t.oid::regtype::text AS regtype, e.enumlabel AS label
    FROM pg_type t
    LEFT JOIN  pg_enum e
    ON e.enumtypid = t.oid
    WHERE t.oid = to_regtype($1)
    ORDER BY e.enumsortorder
) x
GROUP BY name, oid, array_oid, regtype;

-- title: reads pg_type, pg_attribute
-- values: ["patients"]
SELECT
    t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    coalesce(a.fnames, '{}') AS field_names,
    coalesce(a.ftypes, '{}') AS field_types
FROM pg_type t
LEFT JOIN (
    SELECT
        attrelid,
        array_agg(attname) AS fnames,
        array_agg(atttypid) AS ftypes
    FROM (
        SELECT a.attrelid, a.attname, a.atttypid
        FROM pg_attribute a
        JOIN pg_type t ON t.typrelid = a.attrelid
        WHERE t.oid = to_regtype($1)
        AND a.attnum > 0
        AND NOT a.attisdropped
        ORDER BY a.attnum
    ) x
    GROUP BY attrelid
) a ON a.attrelid = t.typrelid
WHERE t.oid = to_regtype($1);

-- title: reads pg_type, pg_range
-- values: ["numrange"]
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngtypid
WHERE t.oid = to_regtype($1);

-- title: reads pg_type, pg_range (2)
-- values: ["nummultirange"]
SELECT t.typname AS name, t.oid AS oid, t.typarray AS array_oid,
    t.oid::regtype::text AS regtype,
    r.rngtypid AS range_oid, r.rngsubtype AS subtype_oid
FROM pg_type t
JOIN pg_range r ON t.oid = r.rngmultitypid
WHERE t.oid = to_regtype($1);

-- title: COMMIT
COMMIT;

-- title: BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE
BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY DEFERRABLE;

-- title: select current_user, session_user, current_database()
select current_user, session_user, current_database();

-- title: ROLLBACK
ROLLBACK;

-- title: SAVEPOINT "_pg3_2"
SAVEPOINT "_pg3_2";

-- title: select version()
select version();

-- title: RELEASE "_pg3_2"
RELEASE "_pg3_2";

-- title: reads pg_class
DECLARE "named" CURSOR FOR select oid from pg_class;

-- title: FETCH FORWARD 3 FROM "named"
FETCH FORWARD 3 FROM "named";

-- title: CLOSE "named"
CLOSE "named";
