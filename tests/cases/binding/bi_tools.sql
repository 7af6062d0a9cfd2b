-- title: superset: a chart over a virtual table
SELECT region AS region, COUNT(*) AS count FROM (SELECT region, income FROM patients WHERE smoker) AS virtual_table GROUP BY region ORDER BY count DESC LIMIT 10000;
-- plan
-- _r1 release by k1 = virtual_table.region: m1 = count(*)
--   project virtual_table.region = patients.region, virtual_table.income = patients.income
--     filter patients.smoker
--       scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" ORDER BY count DESC LIMIT 10000
-- use group_by patients.region
-- use filter patients.smoker

-- title: superset: a time grain with the ends of a period
SELECT DATE_TRUNC('day', admitted) AS __timestamp, sum(cost) AS "SUM(cost)" FROM public.visits WHERE admitted >= TO_TIMESTAMP('2024-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND admitted < TO_TIMESTAMP('2025-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('day', admitted) ORDER BY "SUM(cost)" DESC LIMIT 10000;
-- plan
-- ___r1 release by k1 = date_trunc('day', visits.admitted): m1 = sum(visits.cost)
--   filter ((visits.admitted >= cast('2024-01-01 00:00:00' as timestamp without time zone)) and (visits.admitted < cast('2025-01-01 00:00:00' as timestamp without time zone)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "___r1"."k1" AS "__timestamp", "___r1"."m1" AS "SUM(cost)" FROM "___r1" ORDER BY "SUM(cost)" DESC LIMIT 10000
-- use filter visits.admitted
-- use group_by visits.admitted
-- use aggregate visits.cost

-- title: superset: the top groups as a series limit
SELECT DATE_TRUNC('month', admitted) AS __timestamp, diagnosis AS diagnosis, count(*) AS count FROM public.visits JOIN (SELECT diagnosis AS diagnosis__, count(*) AS mme_inner__ FROM public.visits GROUP BY diagnosis ORDER BY mme_inner__ DESC LIMIT 5) AS series_limit ON diagnosis = diagnosis__ GROUP BY DATE_TRUNC('month', admitted), diagnosis ORDER BY count DESC LIMIT 10000;
-- plan
-- ___r1 release by k1 = visits_2.diagnosis: m1 = count(*)
--   scan visits as visits_2 [protected(patient), rows 10]
-- ___s1 stage (c1 text, c2 bigint) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "___r1"."k1" AS "diagnosis__", "___r1"."m1" AS "mme_inner__" FROM "___r1" ORDER BY mme_inner__ DESC LIMIT 5) AS "q"("c1", "c2")
-- ___r2 release by k1 = date_trunc('month', visits.admitted), k2 = visits.diagnosis: m1 = count(*)
--   join on (visits.diagnosis = series_limit_2.c1) [protected(patient), rows 10]
--     scan visits as visits [protected(patient), rows 10]
--     constant ___s1 (series_limit_2.c1 text, series_limit_2.c2 bigint) [released]
-- finishing SELECT "___r2"."k1" AS "__timestamp", "___r2"."k2" AS "diagnosis", "___r2"."m1" AS "count" FROM "___r2" ORDER BY count DESC LIMIT 10000
-- use group_by visits.admitted
-- use filter visits.diagnosis
-- use group_by visits.diagnosis

-- title: superset: a count of rows of a preview
SELECT COUNT(*) AS rowcount FROM (SELECT region AS region, COUNT(*) AS count FROM patients GROUP BY region LIMIT 1000) AS rowcount_qry;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT COUNT(*) AS rowcount FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1" LIMIT 1000) AS rowcount_qry
-- use group_by patients.region

-- title: metabase: months of a model
SELECT "source"."DOB" AS "DOB", COUNT(*) AS "count" FROM (SELECT CAST(DATE_TRUNC('month', "public"."visits"."visit_date") AS date) AS "DOB" FROM "public"."visits") AS "source" GROUP BY "source"."DOB" ORDER BY "source"."DOB" ASC;
-- plan
-- _r1 release by k1 = source."DOB": m1 = count(*)
--   project source."DOB" = cast(date_trunc('month', visits.visit_date) as date)
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "DOB", "_r1"."m1" AS "count" FROM "_r1" ORDER BY "_r1"."k1" ASC
-- use group_by visits.visit_date

-- title: metabase: months of a date
SELECT DATE_TRUNC('month', CAST("public"."visits"."visit_date" AS DATE)) AS "visit_date", AVG("public"."visits"."cost") AS "avg" FROM "public"."visits" GROUP BY DATE_TRUNC('month', CAST("public"."visits"."visit_date" AS DATE)) ORDER BY DATE_TRUNC('month', CAST("public"."visits"."visit_date" AS DATE)) ASC;
-- plan
-- _r1 release by k1 = date_trunc('month', visits.visit_date): m1 = avg(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT CAST("_r1"."k1" AS TIMESTAMPTZ) AS "visit_date", "_r1"."m1" AS "avg" FROM "_r1" ORDER BY CAST("_r1"."k1" AS TIMESTAMPTZ) ASC
-- use aggregate visits.cost
-- use group_by visits.visit_date

-- title: metabase: bins of a number
SELECT FLOOR(("public"."patients"."income" / 10000.0)) * 10000.0 AS "income", COUNT(*) AS "count" FROM "public"."patients" GROUP BY FLOOR(("public"."patients"."income" / 10000.0)) * 10000.0 ORDER BY FLOOR(("public"."patients"."income" / 10000.0)) * 10000.0 ASC;
-- plan
-- _r1 release by k1 = (floor((patients.income / cast(10000 as numeric))) * cast(10000 as numeric)): m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "income", "_r1"."m1" AS "count" FROM "_r1" ORDER BY "_r1"."k1" ASC
-- use group_by patients.income

-- title: metabase: the previous months
SELECT COUNT(*) AS "count" FROM "public"."visits" WHERE "public"."visits"."visit_date" >= DATE_TRUNC('month', (NOW() + (INTERVAL '-12 month'))) AND "public"."visits"."visit_date" < DATE_TRUNC('month', NOW());
-- plan
-- _r1 release: m1 = count(*)
--   filter ((visits.visit_date >= date_trunc('month', (localtimestamp + interval '-12 months 0 days 0 microseconds'))) and (visits.visit_date < date_trunc('month', localtimestamp)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.visit_date

-- title: metabase: whether a table may be read
SELECT 1 AS "_" FROM "public"."patients" WHERE 1 = 2;
-- plan
-- __e1 empty patients
-- finishing SELECT 1 AS "_" FROM "__e1" AS "patients" WHERE 1 = 2

-- title: metabase: values of a field
SELECT "public"."patients"."region" AS "region" FROM "public"."patients" GROUP BY "public"."patients"."region" ORDER BY "public"."patients"."region" ASC LIMIT 1000;
-- plan
-- _r1 release by k1 = patients.region: keys alone
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" ORDER BY "_r1"."k1" ASC LIMIT 1000
-- use group_by patients.region

-- title: metabase: a custom expression over a nested question
SELECT SUM("source"."income") AS "sum", SUM(CASE WHEN "source"."smoker" = TRUE THEN 1 ELSE 0.0 END) / NULLIF(COUNT(*), 0) AS "share" FROM (SELECT * FROM "public"."patients") AS "source";
-- plan
-- _r1 release: m1 = sum(source.income); m2 = sum(case when (source.smoker = true) then 1 else cast(0 as numeric) end); m3 = count(*)
--   project source.patient_id = patients.patient_id, source.region = patients.region, source.birth_year = patients.birth_year, source.income = patients.income, source.smoker = patients.smoker, source.name = patients.name
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum", "_r1"."m2" / NULLIF("_r1"."m3", 0) AS "share" FROM "_r1"
-- use aggregate patients.income
-- use aggregate patients.smoker
-- use filter patients.smoker

-- title: tableau: a count of rows
SELECT "patients"."region" AS "region", SUM(1) AS "cnt:patients:ok" FROM "public"."patients" "patients" GROUP BY 1;
-- plan
-- _r1 release by k1 = patients.region: m1 = sum(1)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "cnt:patients:ok" FROM "_r1"
-- use group_by patients.region

-- title: tableau: measures without a dimension
SELECT SUM(CAST("patients"."income" AS DOUBLE PRECISION)) AS "sum:income:ok", COUNT(DISTINCT "patients"."patient_id") AS "ctd:patient_id:ok" FROM "public"."patients" "patients" HAVING (COUNT(1) > 0);
-- plan
-- _r1 release: m1 = sum(cast(patients.income as double precision)); m2 = count(distinct patients.patient_id); m3 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "sum:income:ok", "_r1"."m2" AS "ctd:patient_id:ok" FROM "_r1" WHERE ("_r1"."m3" > 0)
-- use aggregate patients.income

-- title: tableau: the columns of a custom query
SELECT * FROM (SELECT region, income FROM patients) "Custom SQL Query" LIMIT 0;
-- plan
-- _e1 empty patients
-- finishing SELECT * FROM (SELECT region, income FROM "_e1" AS "patients") AS "Custom SQL Query" LIMIT 0

-- title: tableau: a measure over a custom query
SELECT "Custom SQL Query"."region" AS "region", AVG(CAST("Custom SQL Query"."income" AS DOUBLE PRECISION)) AS "avg:income:ok" FROM (SELECT region, income FROM patients) "Custom SQL Query" GROUP BY 1;
-- plan
-- _r1 release by k1 = "Custom SQL Query".region: m1 = avg(cast("Custom SQL Query".income as double precision))
--   project "Custom SQL Query".region = patients.region, "Custom SQL Query".income = patients.income
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "avg:income:ok" FROM "_r1"
-- use aggregate patients.income
-- use group_by patients.region

-- title: tableau: a grouping of a grouping
SELECT "t0"."region" AS "region", SUM("t0"."X_measure__0") AS "TEMP" FROM (SELECT "patients"."region" AS "region", COUNT(1) AS "X_measure__0" FROM "public"."patients" "patients" GROUP BY 1) "t0" GROUP BY 1;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "t0"."region" AS "region", SUM("t0"."X_measure__0") AS "TEMP" FROM (SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "X_measure__0" FROM "_r1") AS "t0" GROUP BY 1
-- use group_by patients.region

-- title: tableau: parts of a date
SELECT EXTRACT(YEAR FROM "visits"."visit_date") AS "yr:visit_date:ok", CAST(TRUNC(EXTRACT(MONTH FROM "visits"."visit_date")) AS INTEGER) AS "mn:visit_date:ok", SUM("visits"."cost") AS "sum:cost:ok" FROM "public"."visits" "visits" GROUP BY 1, 2;
-- plan
-- _r1 release by k1 = extract(year from visits.visit_date), k2 = cast(trunc(extract(month from visits.visit_date)) as integer): m1 = sum(visits.cost)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "yr:visit_date:ok", "_r1"."k2" AS "mn:visit_date:ok", "_r1"."m1" AS "sum:cost:ok" FROM "_r1"
-- use aggregate visits.cost
-- use group_by visits.visit_date

-- title: tableau: a month with a range
SELECT (DATE_TRUNC( 'MONTH', CAST("visits"."visit_date" AS DATE))) AS "tmn:visit_date:ok", COUNT(1) AS "cnt" FROM "public"."visits" "visits" WHERE (("visits"."visit_date" >= (DATE '2024-01-01')) AND ("visits"."visit_date" <= (DATE '2024-12-31'))) GROUP BY 1;
-- plan
-- _r1 release by k1 = date_trunc('month', visits.visit_date): m1 = count(*)
--   filter ((visits.visit_date >= cast('2024-01-01' as date)) and (visits.visit_date <= cast('2024-12-31' as date)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT CAST("_r1"."k1" AS TIMESTAMPTZ) AS "tmn:visit_date:ok", "_r1"."m1" AS "cnt" FROM "_r1"
-- use filter visits.visit_date
-- use group_by visits.visit_date

-- title: power bi: a grouped table
select "_"."region", "_"."a0" from (select "rows"."region" as "region", count(1) as "a0" from (select "region", "income" from "public"."patients" "$Table") "rows" group by "region") "_" where not "_"."a0" is null limit 1000001;
-- plan
-- __r1 release by k1 = rows.region: m1 = count(*)
--   project rows.region = "$Table".region, rows.income = "$Table".income
--     scan patients as $Table [protected(patient), rows 1]
-- finishing SELECT "_"."region", "_"."a0" FROM (SELECT "__r1"."k1" AS "region", "__r1"."m1" AS "a0" FROM "__r1") AS "_" WHERE NOT "_"."a0" IS NULL LIMIT 1000001
-- use group_by patients.region

-- title: power bi: a grouped table of a source
select "_"."region", "a0" from (select "region", count(1) as "a0" from "public"."patients" "$Table" group by "region") "_" where not "a0" is null limit 1000001;
-- plan
-- __r1 release by k1 = "$Table".region: m1 = count(*)
--   scan patients as $Table [protected(patient), rows 1]
-- finishing SELECT "_"."region", "a0" FROM (SELECT "__r1"."k1" AS "region", "__r1"."m1" AS "a0" FROM "__r1") AS "_" WHERE NOT "a0" IS NULL LIMIT 1000001
-- use group_by patients.region

-- title: power bi: a measure with a slicer
select sum("rows"."income") as "a0" from (select "_"."income" from "public"."patients" "_" where "_"."region" = 'north' and "_"."region" is not null) "rows";
-- plan
-- __r1 release: m1 = sum(rows.income)
--   project rows.income = _.income
--     filter ((_.region = 'north') and (_.region is not null))
--       scan patients as _ [protected(patient), rows 1]
-- finishing SELECT "__r1"."m1" AS "a0" FROM "__r1"
-- use aggregate patients.income
-- use filter patients.region

-- title: power bi: values of a slicer
select "$Table"."region" as "region" from "public"."patients" "$Table" group by "$Table"."region" order by "$Table"."region" limit 101;
-- plan
-- _r1 release by k1 = "$Table".region: keys alone
--   scan patients as $Table [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region" FROM "_r1" ORDER BY "_r1"."k1" LIMIT 101
-- use group_by patients.region

-- title: grafana: a time group
SELECT floor(extract(epoch from admitted)/3600)*3600 AS "time", count(*) AS value FROM visits WHERE admitted BETWEEN '2024-01-01T00:00:00Z' AND '2024-02-01T00:00:00Z' GROUP BY 1 ORDER BY 1;
-- plan
-- _r1 release by k1 = (floor((extract(epoch from visits.admitted) / 3600)) * 3600): m1 = count(*)
--   filter ((visits.admitted >= cast('2024-01-01 00:00:00' as timestamp without time zone)) and (visits.admitted <= cast('2024-02-01 00:00:00' as timestamp without time zone)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "time", "_r1"."m1" AS "value" FROM "_r1" ORDER BY 1
-- use filter visits.admitted
-- use group_by visits.admitted

-- title: grafana: a time group with a metric
SELECT floor(extract(epoch from admitted)/3600)*3600 AS "time", diagnosis AS metric, avg(cost) FROM visits WHERE admitted >= '2024-01-01T00:00:00.123Z' AND admitted <= '2024-02-01T00:00:00.5Z' GROUP BY time, metric ORDER BY 1;
-- plan
-- _r1 release by k1 = (floor((extract(epoch from visits.admitted) / 3600)) * 3600), k2 = visits.diagnosis: m1 = avg(visits.cost)
--   filter ((visits.admitted >= cast('2024-01-01 00:00:00.123000' as timestamp without time zone)) and (visits.admitted <= cast('2024-02-01 00:00:00.500000' as timestamp without time zone)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "time", "_r1"."k2" AS "metric", "_r1"."m1" AS "avg" FROM "_r1" ORDER BY 1
-- use filter visits.admitted
-- use group_by visits.admitted
-- use aggregate visits.cost
-- use group_by visits.diagnosis

-- title: grafana: epochs
SELECT extract(epoch from date_trunc('day', admitted)) AS time, sum(cost) FROM visits WHERE extract(epoch from admitted) >= 1704067200 AND extract(epoch from admitted) <= 1706745600 GROUP BY 1 ORDER BY 1;
-- plan
-- _r1 release by k1 = extract(epoch from date_trunc('day', visits.admitted)): m1 = sum(visits.cost)
--   filter ((extract(epoch from visits.admitted) >= 1704067200) and (extract(epoch from visits.admitted) <= 1706745600))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "time", "_r1"."m1" AS "sum" FROM "_r1" ORDER BY 1
-- use filter visits.admitted
-- use group_by visits.admitted
-- use aggregate visits.cost

-- title: grafana: a time column between texts
SELECT date_trunc('hour', admitted) AS time, count(*) FROM visits WHERE admitted BETWEEN '2024-01-01 00:00:00' AND '2024-02-01' GROUP BY time;
-- plan
-- _r1 release by k1 = date_trunc('hour', visits.admitted): m1 = count(*)
--   filter ((visits.admitted >= cast('2024-01-01 00:00:00' as timestamp without time zone)) and (visits.admitted <= cast('2024-02-01 00:00:00' as timestamp without time zone)))
--     scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "time", "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.admitted
-- use group_by visits.admitted

-- title: dbt: a chain of staging and marts
WITH patients_stg AS (SELECT patient_id, UPPER(region) AS region_name FROM patients), visits_stg AS (SELECT patient_id, cost, DATE_TRUNC('month', admitted) AS month FROM visits WHERE cost > 0), joined AS (SELECT p.region_name, v.month, v.cost FROM patients_stg p INNER JOIN visits_stg v ON p.patient_id = v.patient_id), final AS (SELECT region_name, month, SUM(cost) AS total, COUNT(*) AS n FROM joined GROUP BY 1, 2) SELECT * FROM final ORDER BY total DESC NULLS LAST LIMIT 500;
-- plan
-- _r1 release by k1 = joined_2.region_name, k2 = joined_2.month: m1 = sum(joined_2.cost); m2 = count(*)
--   project joined_2.region_name = joined.region_name, joined_2.month = joined.month, joined_2.cost = joined.cost
--     project joined.region_name = p.region_name, joined.month = v.month, joined.cost = v.cost
--       join on (p.patient_id = v.patient_id) [protected(patient), rows 10]
--         project p.patient_id = patients_stg.patient_id, p.region_name = patients_stg.region_name
--           project patients_stg.patient_id = patients.patient_id, patients_stg.region_name = upper(patients.region)
--             scan patients as patients [protected(patient), rows 1]
--         project v.patient_id = visits_stg.patient_id, v.cost = visits_stg.cost, v.month = visits_stg.month
--           project visits_stg.patient_id = visits.patient_id, visits_stg.cost = visits.cost, visits_stg.month = date_trunc('month', visits.admitted)
--             filter (visits.cost > 0)
--               scan visits as visits [protected(patient), rows 10]
-- finishing WITH final AS (SELECT "_r1"."k1" AS "region_name", "_r1"."k2" AS "month", "_r1"."m1" AS "total", "_r1"."m2" AS "n" FROM "_r1") SELECT * FROM final ORDER BY total DESC NULLS LAST LIMIT 500
-- use group_by patients.region
-- use group_by visits.admitted
-- use aggregate visits.cost
-- use filter visits.cost

-- title: looker: an explore with a measure filter
SELECT patients.region AS "patients.region", COALESCE(SUM(visits.cost), 0) AS "v.total_cost", COUNT(DISTINCT patients.patient_id) AS "patients.count" FROM public.patients AS patients LEFT JOIN public.visits AS visits ON patients.patient_id = visits.patient_id WHERE (patients.birth_year) >= 1950 GROUP BY 1 HAVING (COUNT(DISTINCT patients.patient_id) > 10) ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY;
-- plan
-- _r1 release by k1 = patients.region: m1 = sum(visits.cost); m2 = count(distinct patients.patient_id)
--   filter (patients.birth_year >= 1950)
--     left join on (patients.patient_id = visits.patient_id) [protected(patient), rows 10]
--       scan patients as patients [protected(patient), rows 1]
--       scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "patients.region", COALESCE("_r1"."m1", 0) AS "v.total_cost", "_r1"."m2" AS "patients.count" FROM "_r1" WHERE ("_r1"."m2" > 10) ORDER BY 2 DESC FETCH NEXT 500 ROWS ONLY
-- use filter patients.birth_year
-- use group_by patients.region
-- use aggregate visits.cost

-- title: excel: a filter of two values
SELECT "patients"."region", COUNT(*) FROM "public"."patients" "patients" WHERE ("patients"."region" = 'north' OR "patients"."region" = 'south') GROUP BY "patients"."region";
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   filter ((patients.region = 'north') or (patients.region = 'south'))
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.region
-- use group_by patients.region

-- title: hand: months as text of months
SELECT to_char(date_trunc('month', visit_date), 'YYYY-MM') AS m, COUNT(*) FROM visits GROUP BY m;
-- plan
-- _r1 release by k1 = date_trunc('month', date_trunc('month', visits.visit_date)): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR("_r1"."k1", 'YYYY-MM') AS "m", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: hand: days as text of a truncated key
SELECT TO_CHAR(DATE_TRUNC('day', visit_date), 'YYYY-MM-DD') AS "day", COUNT(*) FROM visits GROUP BY (DATE_TRUNC('day', visit_date)) ORDER BY 1;
-- plan
-- _r1 release by k1 = date_trunc('day', visits.visit_date): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT TO_CHAR(CAST("_r1"."k1" AS TIMESTAMPTZ), 'YYYY-MM-DD') AS "day", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 1
-- use group_by visits.visit_date

-- title: hand: a cast to a date as a key
SELECT (visit_date)::date, COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = visits.visit_date: m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "visit_date", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: hand: a date by a call
SELECT DATE(visit_date) AS d, COUNT(*) FROM visits GROUP BY DATE(visit_date);
-- plan
-- _r1 release by k1 = visits.visit_date: m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "d", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: hand: days of the week
SELECT date_part('dow', visit_date)::int AS d, COUNT(*) FROM visits GROUP BY 1;
-- plan
-- _r1 release by k1 = cast(cast(extract(dow from visits.visit_date) as double precision) as integer): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "d", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by visits.visit_date

-- title: metabase: days of the week
SELECT (CAST(extract(dow from "public"."visits"."visit_date") AS integer) + 1) AS d, count(*) AS count FROM "public"."visits" GROUP BY 1 ORDER BY 1;
-- plan
-- _r1 release by k1 = (cast(extract(dow from visits.visit_date) as integer) + 1): m1 = count(*)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "d", "_r1"."m1" AS "count" FROM "_r1" ORDER BY 1
-- use group_by visits.visit_date

-- title: metabase: ages in groups
SELECT age_group, COUNT(*) FROM (SELECT CASE WHEN EXTRACT(YEAR FROM CURRENT_DATE) - birth_year < 40 THEN 'young' ELSE 'old' END AS age_group FROM patients) t GROUP BY age_group;
-- plan
-- _r1 release by k1 = t.age_group: m1 = count(*)
--   project t.age_group = case when ((extract(year from current_date) - patients.birth_year) < 40) then 'young' else 'old' end
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "age_group", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.birth_year

-- title: metabase: contains
SELECT COUNT(*) FROM patients WHERE LOWER(name) LIKE '%a%';
-- plan
-- _r1 release: m1 = count(*)
--   filter (lower(patients.name) like '%a%')
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.name

-- title: hand: a share
SELECT "region", COUNT(*) FILTER (WHERE smoker) * 1.0 / COUNT(*) FROM patients GROUP BY "region";
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*) filter (where patients.smoker); m2 = count(*)
--   scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" * 1.0 / "_r1"."m2" AS "?column?" FROM "_r1"
-- use group_by patients.region
-- use filter patients.smoker

-- title: metabase: the range of a date
SELECT MIN("public"."visits"."visit_date") AS "min", MAX("public"."visits"."visit_date") AS "max" FROM "public"."visits";
-- plan
-- _r1 release: m1 = min(visits.visit_date); m2 = max(visits.visit_date)
--   scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "min", "_r1"."m2" AS "max" FROM "_r1"
-- use aggregate visits.visit_date

-- title: power bi: a join of two tables
select "_"."region", "_"."a0" from (select "$Outer"."region", sum("$Inner"."cost") as "a0" from "public"."patients" "$Outer" inner join "public"."visits" "$Inner" on ("$Outer"."patient_id" = "$Inner"."patient_id") group by "$Outer"."region") "_" where not "_"."a0" is null limit 1000001;
-- plan
-- __r1 release by k1 = "$Outer".region: m1 = sum("$Inner".cost)
--   join on ("$Outer".patient_id = "$Inner".patient_id) [protected(patient), rows 10]
--     scan patients as $Outer [protected(patient), rows 1]
--     scan visits as $Inner [protected(patient), rows 10]
-- finishing SELECT "_"."region", "_"."a0" FROM (SELECT "__r1"."k1" AS "region", "__r1"."m1" AS "a0" FROM "__r1") AS "_" WHERE NOT "_"."a0" IS NULL LIMIT 1000001
-- use group_by patients.region
-- use aggregate visits.cost

-- title: tableau: an inner join of a custom query
SELECT "t"."region" AS "region", SUM("v"."cost") AS "sum:cost:ok" FROM (SELECT patient_id, region FROM patients) "t" INNER JOIN "public"."visits" "v" ON ("t"."patient_id" = "v"."patient_id") GROUP BY 1;
-- plan
-- _r1 release by k1 = t.region: m1 = sum(v.cost)
--   join on (t.patient_id = v.patient_id) [protected(patient), rows 10]
--     project t.patient_id = patients.patient_id, t.region = patients.region
--       scan patients as patients [protected(patient), rows 1]
--     scan visits as v [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "sum:cost:ok" FROM "_r1"
-- use group_by patients.region
-- use aggregate visits.cost

-- title: tableau: a top set
SELECT "p"."region" AS "region", COUNT(1) AS "cnt" FROM "public"."patients" "p" INNER JOIN (SELECT "p"."region" AS "region", SUM("p"."income") AS "__alias__0" FROM "public"."patients" "p" GROUP BY 1 ORDER BY 2 DESC NULLS LAST LIMIT 3) "t0" ON ("p"."region" = "t0"."region") GROUP BY 1;
-- plan
-- ___r1 release by k1 = p_2.region: m1 = sum(p_2.income)
--   scan patients as p_2 [protected(patient), rows 1]
-- ___s1 stage (c1 text, c2 numeric) SELECT "q"."c1" AS "c1", "q"."c2" AS "c2" FROM (SELECT "___r1"."k1" AS "region", "___r1"."m1" AS "__alias__0" FROM "___r1" ORDER BY 2 DESC NULLS LAST LIMIT 3) AS "q"("c1", "c2")
-- ___r2 release by k1 = p.region: m1 = count(*)
--   join on (p.region = t0_2.c1) [protected(patient), rows 1]
--     scan patients as p [protected(patient), rows 1]
--     constant ___s1 (t0_2.c1 text, t0_2.c2 numeric) [released]
-- finishing SELECT "___r2"."k1" AS "region", "___r2"."m1" AS "cnt" FROM "___r2"
-- use aggregate patients.income
-- use filter patients.region
-- use group_by patients.region

-- title: superset: a series limit by the most frequent, names alone
SELECT DATE_TRUNC('month', admitted) AS __timestamp, smoker AS smoker, count(*) AS count FROM public.visits JOIN public.patients USING (patient_id) JOIN (SELECT smoker AS smoker__ FROM public.patients WHERE smoker IS NOT NULL GROUP BY smoker ORDER BY count(*) DESC LIMIT 1) AS series_limit ON smoker = smoker__ GROUP BY DATE_TRUNC('month', admitted), smoker;
-- plan
-- ___r1 release: m1 = mode() within group (order by patients_2.smoker)
--   filter (patients_2.smoker is not null)
--     scan patients as patients_2 [protected(patient), rows 1]
-- ___s1 stage (c1 boolean) SELECT "q"."c1" AS "c1" FROM (SELECT "___r1"."m1" AS "smoker__" FROM "___r1") AS "q"("c1")
-- ___r2 release by k1 = date_trunc('month', visits.admitted), k2 = patients.smoker: m1 = count(*)
--   join on (patients.smoker = series_limit_2.c1) [protected(patient), rows 10]
--     join on (visits.patient_id = patients.patient_id) [protected(patient), rows 10]
--       scan visits as visits [protected(patient), rows 10]
--       scan patients as patients [protected(patient), rows 1]
--     constant ___s1 (series_limit_2.c1 boolean) [released]
-- finishing SELECT "___r2"."k1" AS "__timestamp", "___r2"."k2" AS "smoker", "___r2"."m1" AS "count" FROM "___r2"
-- use filter patients.smoker
-- use group_by patients.smoker
-- use group_by visits.admitted

-- title: a filter by the most frequent
SELECT region, AVG(income) FROM patients WHERE region IN (SELECT region FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY COUNT(*) DESC LIMIT 2) GROUP BY region;
-- plan
-- _r1 release: m1 = mode() within group (order by patients_2.region); m2 = dp_top(2) within group (order by patients_2.region)
--   filter (patients_2.region is not null)
--     scan patients as patients_2 [protected(patient), rows 1]
-- _s1 stage (value text) SELECT "q"."c1" AS "value" FROM (SELECT CAST(UNNEST(ARRAY["_r1"."m1", "_r1"."m2"]) AS TEXT) AS "region" FROM "_r1") AS "q"("c1")
-- _r2 release by k1 = patients.region: m1 = avg(patients.income)
--   filter (patients.region in _s1)
--     scan patients as patients [protected(patient), rows 1]
-- finishing SELECT "_r2"."k1" AS "region", "_r2"."m1" AS "avg" FROM "_r2"
-- use aggregate patients.income
-- use filter patients.region
-- use group_by patients.region
