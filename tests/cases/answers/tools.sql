-- title: superset: a metric by a dimension
SELECT region AS region, COUNT(*) AS count, AVG(income) AS "AVG(income)" FROM public.patients GROUP BY region ORDER BY "AVG(income)" DESC LIMIT 1000;

-- title: superset: a table of a virtual dataset
SELECT diagnosis AS diagnosis, sum(cost) AS "SUM(cost)" FROM (select v.*, p.region from visits v join patients p on p.patient_id = v.patient_id) AS virtual_table WHERE region IN ('north', 'south') GROUP BY diagnosis ORDER BY "SUM(cost)" DESC LIMIT 10000;

-- title: superset: the number of rows
SELECT COUNT(*) AS rowcount FROM (SELECT region AS region, COUNT(*) AS count FROM patients GROUP BY region) AS rowcount_qry;

-- title: metabase: a count by month
SELECT CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) AS "visit_date", COUNT(*) AS "count" FROM "public"."visits" GROUP BY CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) ORDER BY CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) ASC;

-- title: metabase: a histogram
SELECT FLOOR(("public"."patients"."birth_year" / 20.0)) * 20.0 AS "birth_year", COUNT(*) AS "count" FROM "public"."patients" GROUP BY FLOOR(("public"."patients"."birth_year" / 20.0)) * 20.0 ORDER BY 1 ASC;

-- title: metabase: a joined question
SELECT "Patients"."region" AS "Patients__region", COUNT(*) AS "count" FROM "public"."visits" LEFT JOIN "public"."patients" AS "Patients" ON "public"."visits"."patient_id" = "Patients"."patient_id" GROUP BY "Patients"."region" ORDER BY "Patients"."region" ASC;

-- title: metabase: a share
SELECT CAST(SUM(CASE WHEN "public"."patients"."smoker" = TRUE THEN 1 ELSE 0.0 END) AS float) / NULLIF(CAST(COUNT(*) AS float), 0) AS "share" FROM "public"."patients";

-- title: tableau: a sum by a dimension
SELECT "patients"."region" AS "region", SUM("patients"."income") AS "sum:income:ok", COUNT(DISTINCT "patients"."patient_id") AS "ctd:patient_id:ok" FROM "public"."patients" "patients" GROUP BY 1;

-- title: tableau: a bin
SELECT FLOOR("patients"."birth_year" / 10) AS "bin", SUM(1) AS "cnt" FROM "public"."patients" "patients" GROUP BY 1;

-- title: tableau: a year with a filter
SELECT EXTRACT(YEAR FROM "visits"."visit_date") AS "yr", SUM("visits"."cost") AS "s" FROM "public"."visits" "visits" WHERE (EXTRACT(YEAR FROM "visits"."visit_date") IN (2021, 2022, 2023)) GROUP BY 1;

-- title: power bi: a table of groups
select "_"."region", "_"."a0", "_"."a1" from (select "rows"."region" as "region", sum("rows"."income") as "a0", count(distinct "rows"."smoker") as "a1" from (select "region", "income", "smoker" from "public"."patients" "$Table") "rows" group by "region") "_" where not "_"."a0" is null or not "_"."a1" is null limit 1000001;

-- title: grafana: a time series
SELECT date_trunc('day', admitted) AS "time", count(*) AS "value" FROM visits WHERE admitted BETWEEN '2021-01-01T00:00:00Z' AND '2023-01-01T00:00:00Z' GROUP BY 1 ORDER BY 1;

-- title: looker: a pivot of measures
SELECT patients.region AS "patients.region", COUNT(DISTINCT patients.patient_id) AS "patients.count", COALESCE(SUM(CASE WHEN visits.diagnosis = 'flu' THEN visits.cost END), 0) AS "visits.flu_cost" FROM visits LEFT JOIN patients ON visits.patient_id = patients.patient_id GROUP BY 1 ORDER BY 2 DESC, 1 LIMIT 500;

-- title: dbt: staged models
WITH stg_patients AS (SELECT patient_id, LOWER(region) AS region FROM patients), stg_visits AS (SELECT patient_id, cost FROM visits WHERE cost > 0), joined AS (SELECT p.region, v.cost FROM stg_patients p INNER JOIN stg_visits v ON p.patient_id = v.patient_id) SELECT region, COUNT(*) AS n, SUM(cost) AS total FROM joined GROUP BY region ORDER BY total DESC;

-- title: a tool's probe for columns
SELECT * FROM patients WHERE 1 = 0;

-- title: a tool's probe of everything
SELECT * FROM visits LIMIT 0;

-- title: a tool's first statement
SELECT 1 AS one, 'x' AS text, NULL AS nothing, CURRENT_DATE = CURRENT_DATE AS same;

-- title: a public table as it is
SELECT * FROM regions ORDER BY region;

-- title: a public table by a filter
SELECT capital FROM regions WHERE population > 800 ORDER BY population DESC;
