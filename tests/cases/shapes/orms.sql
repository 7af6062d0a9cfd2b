-- title: sqlalchemy: count
SELECT count(*) AS count_1 FROM patients

-- title: sqlalchemy: count of a query
SELECT count(*) AS count_1 FROM (SELECT patients.patient_id AS patients_patient_id, patients.region AS patients_region FROM patients WHERE patients.income > 1000) AS anon_1

-- title: sqlalchemy: func.coalesce with a char cast
-- refused: GW117
SELECT coalesce(CAST(patients.region AS VARCHAR(20)), '??') AS r, count(*) AS n FROM patients GROUP BY coalesce(CAST(patients.region AS VARCHAR(20)), '??')

-- title: sqlalchemy: exists
SELECT EXISTS (SELECT 1 FROM patients) AS anon_1

-- title: sqlalchemy: exists with a filter
-- refused: GW118
SELECT EXISTS (SELECT 1 FROM patients WHERE patients.income > 100000) AS anon_1

-- title: sqlalchemy: an aggregate with a filter
SELECT count(*) FILTER (WHERE patients.smoker IS true) AS anon_1, count(*) FILTER (WHERE patients.smoker IS NOT true) AS anon_2 FROM patients

-- title: sqlalchemy: extract
SELECT EXTRACT(year FROM visits.visit_date) AS year, sum(visits.cost) AS total FROM visits GROUP BY EXTRACT(year FROM visits.visit_date)

-- title: sqlalchemy: a scalar subquery without a cast
SELECT count(*) AS count_1 FROM patients WHERE patients.income > (SELECT avg(patients.income) AS avg_1 FROM patients)

-- title: sqlalchemy: a scalar subquery in the select list
SELECT count(*) AS n, (SELECT count(*) FROM visits) AS m FROM patients

-- title: sqlalchemy: a tuple
SELECT count(*) AS n FROM patients WHERE (patients.region, patients.smoker) IN (('north', true), ('east', false))

-- title: sqlalchemy: a case with else null
SELECT sum(CASE WHEN (patients.region = 'north') THEN patients.income ELSE NULL END) AS s FROM patients

-- title: sqlalchemy: a ratio by division
SELECT patients.region, sum(patients.income) / count(*) AS ratio FROM patients GROUP BY patients.region

-- title: sqlalchemy: a dialect's true division
SELECT patients.region, count(*) / CAST(sum(patients.birth_year) AS NUMERIC) AS ratio FROM patients GROUP BY patients.region

-- title: sqlalchemy: a first row
-- refused: GW110
SELECT patients.patient_id, patients.region FROM patients ORDER BY patients.patient_id LIMIT 1

-- title: django: count
SELECT COUNT(*) AS "__count" FROM "patients"

-- title: django: exists
-- refused: GW110
SELECT 1 AS "a" FROM "patients" WHERE "patients"."region" = 'north' LIMIT 1

-- title: django: aggregates
-- differs: a value is chosen
SELECT AVG("patients"."income") AS "income__avg", MAX("patients"."income") AS "income__max" FROM "patients"

-- title: django: values and annotate
SELECT "patients"."region", COUNT("patients"."patient_id") AS "n" FROM "patients" GROUP BY "patients"."region" ORDER BY "n" DESC

-- title: django: annotate with a join
SELECT "patients"."region", COUNT("visits"."visit_id") AS "n" FROM "patients" LEFT OUTER JOIN "visits" ON ("patients"."patient_id" = "visits"."patient_id") GROUP BY "patients"."region"

-- title: django: TruncMonth
SELECT DATE_TRUNC('month', "visits"."admitted") AS "month", COUNT("visits"."visit_id") AS "n" FROM "visits" GROUP BY 1 ORDER BY 1 ASC

-- title: django: TruncMonth with a zone
SELECT DATE_TRUNC('month', "calls"."began" AT TIME ZONE 'Europe/Berlin') AS "month", COUNT(*) AS "n" FROM "calls" GROUP BY 1 ORDER BY 1 ASC

-- title: django: a filter on a year
SELECT COUNT(*) AS "__count" FROM "visits" WHERE "visits"."visit_date" BETWEEN '2021-01-01'::date AND '2021-12-31'::date

-- title: django: a text search
SELECT COUNT(*) AS "__count" FROM "patients" WHERE UPPER("patients"."region"::text) LIKE UPPER('%OR%')

-- title: django: Concat
SELECT CONCAT(("patients"."region")::text, (CONCAT(('-')::text, ("patients"."smoker")::text))::text) AS "k", COUNT(*) FROM "patients" GROUP BY 1

-- title: django: a distinct aggregate
-- refused: GW106
SELECT SUM(DISTINCT "visits"."cost") AS "s" FROM "visits"

-- title: django: a subquery of the latest visit
SELECT U."diagnosis", COUNT(*) FROM (
  SELECT (SELECT V."diagnosis" FROM "visits" V WHERE V."patient_id" = P."patient_id" ORDER BY V."visit_date" DESC LIMIT 1) AS "diagnosis" FROM "patients" P
) U GROUP BY U."diagnosis"

-- title: prisma: count
SELECT COUNT(*) AS "_count._all" FROM (SELECT "public"."patients"."patient_id" FROM "public"."patients" WHERE 1=1 OFFSET 0) AS "sub"

-- title: prisma: aggregate
SELECT COUNT(*), AVG("income"), SUM("birth_year") FROM (SELECT "public"."patients"."income", "public"."patients"."birth_year" FROM "public"."patients" WHERE 1=1 OFFSET 0) AS "sub"

-- title: prisma: groupBy
SELECT COUNT(*), "public"."patients"."region" FROM "public"."patients" WHERE 1=1 GROUP BY "public"."patients"."region" HAVING COUNT("public"."patients"."patient_id") > 1 ORDER BY COUNT(*) DESC OFFSET 0

-- title: prisma: findFirst
-- refused: GW110
SELECT "public"."patients"."patient_id", "public"."patients"."region" FROM "public"."patients" WHERE 1=1 LIMIT 1 OFFSET 0
