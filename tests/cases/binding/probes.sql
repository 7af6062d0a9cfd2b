-- title: one row of a table
SELECT 1 FROM patients LIMIT 1;
-- plan
-- _e1 empty patients
-- finishing SELECT 1 FROM "_e1" AS "patients" LIMIT 0

-- title: one key
SELECT patient_id FROM public.patients LIMIT 1;
-- plan
-- _e1 empty patients
-- finishing SELECT patient_id FROM "_e1" AS "patients" LIMIT 0

-- title: a dataset of a tool
SELECT * FROM (SELECT * FROM visits AS w WHERE cost > 100) AS virtual_table LIMIT 1;
-- plan
-- _e1 empty visits
-- finishing SELECT * FROM (SELECT * FROM "_e1" AS w WHERE cost > 100) AS virtual_table LIMIT 0

-- title: a common table expression of a tool
WITH t AS (SELECT * FROM visits AS w) SELECT * FROM t FETCH FIRST 1 ROWS ONLY;
-- plan
-- _e1 empty visits
-- finishing WITH t AS (SELECT * FROM "_e1" AS w) SELECT * FROM t LIMIT 0

-- title: whether there is a row
SELECT EXISTS (SELECT 1 FROM patients);
-- plan
-- finishing SELECT EXISTS(SELECT 1)

-- title: whether there is a row, by a name
SELECT EXISTS (SELECT * FROM public.visits LIMIT 1) AS found;
-- plan
-- finishing SELECT EXISTS(SELECT 1) AS found
