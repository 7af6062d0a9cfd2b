-- title: the estimated count of rows
SELECT count(*) FROM public.patients

-- title: view data
-- refused: GW110
SELECT * FROM public.patients ORDER BY patient_id ASC LIMIT 100

-- title: no rows
SELECT * FROM public.patients LIMIT 0

-- title: a probe whether rows may be read
SELECT TRUE FROM "public"."patients" WHERE 1 <> 1 LIMIT 0

-- title: has a privilege
SELECT has_table_privilege('public.patients', 'SELECT')
