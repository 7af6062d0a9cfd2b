-- title: a bar chart
SELECT diagnosis AS diagnosis, sum(cost) AS "SUM(cost)"
FROM public.visits GROUP BY diagnosis ORDER BY "SUM(cost)" DESC
 LIMIT 1000

-- title: a big number
SELECT COUNT(*) AS count
FROM public.visits
LIMIT 50000

-- title: a time series
SELECT DATE_TRUNC('month', visit_date) AS visit_date, avg(cost) AS "AVG(cost)"
FROM public.visits
WHERE visit_date >= TO_DATE('2021-01-01', 'YYYY-MM-DD') AND visit_date < TO_DATE('2023-01-01', 'YYYY-MM-DD') GROUP BY DATE_TRUNC('month', visit_date) ORDER BY "AVG(cost)" DESC
LIMIT 10000

-- title: a time series with limited series
SELECT DATE_TRUNC('year', admitted) AS admitted, diagnosis AS diagnosis, sum(cost) AS "SUM(cost)"
FROM public.visits JOIN (SELECT diagnosis AS diagnosis__, sum(cost) AS mme_inner__
FROM public.visits
WHERE admitted >= TO_TIMESTAMP('2020-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND admitted < TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY diagnosis ORDER BY mme_inner__ DESC
 LIMIT 3) AS series_limit ON diagnosis = diagnosis__
WHERE admitted >= TO_TIMESTAMP('2020-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND admitted < TO_TIMESTAMP('2026-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('year', admitted), diagnosis ORDER BY "SUM(cost)" DESC
 LIMIT 10000

-- title: a virtual dataset
SELECT region AS region, sum(cost) AS "SUM(cost)", COUNT(DISTINCT patient_id) AS "COUNT_DISTINCT(patient_id)"
FROM (SELECT v.patient_id, v.cost, p.region
FROM visits v
JOIN patients p ON v.patient_id = p.patient_id
) AS virtual_table GROUP BY region ORDER BY "SUM(cost)" DESC
 LIMIT 1000

-- title: the values of a filter
SELECT diagnosis AS diagnosis
FROM public.visits GROUP BY diagnosis ORDER BY diagnosis ASC
LIMIT 1000

-- title: the values of a filter in SQL Lab
SELECT DISTINCT region FROM public.patients LIMIT 1001

-- title: a range filter
SELECT min(birth_year) AS min, max(birth_year) AS max
FROM public.patients
LIMIT 1

-- title: a pivot table
SELECT region AS region, smoker AS smoker, avg(income) AS "AVG(income)", count(*) AS count
FROM public.patients GROUP BY region, smoker ORDER BY "AVG(income)" DESC
LIMIT 50000

-- title: a mixed chart of weeks
SELECT DATE_TRUNC('week', admitted) AS admitted, COUNT(*) AS count
FROM public.visits
WHERE admitted >= TO_TIMESTAMP('2021-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') AND admitted < TO_TIMESTAMP('2022-01-01 00:00:00.000000', 'YYYY-MM-DD HH24:MI:SS.US') GROUP BY DATE_TRUNC('week', admitted)
LIMIT 10000

-- title: a custom metric
SELECT region AS region, SUM(CASE WHEN smoker THEN 1 ELSE 0 END) * 1.0 / COUNT(*) AS "share of smokers"
FROM public.patients
WHERE region IS NOT NULL GROUP BY region ORDER BY "share of smokers" DESC
 LIMIT 100

-- title: a filter of a dashboard
SELECT diagnosis AS diagnosis, COUNT(*) AS count
FROM public.visits
WHERE diagnosis IN ('flu', 'asthma') AND cost >= 100 AND NOT (cost IS NULL) GROUP BY diagnosis HAVING COUNT(*) > 1 ORDER BY count DESC
 LIMIT 1000

-- title: the count of the rows of a chart
SELECT COUNT(*) AS rowcount
FROM (SELECT diagnosis AS diagnosis, sum(cost) AS "SUM(cost)"
FROM public.visits GROUP BY diagnosis
 LIMIT 1000) AS rowcount_qry

-- title: a chart of shares
SELECT diagnosis AS diagnosis, COUNT(*) AS count, SUM(COUNT(*)) OVER () AS everything
FROM public.visits GROUP BY diagnosis ORDER BY count DESC, diagnosis
LIMIT 100

-- title: a sample of a virtual dataset
SELECT * FROM (SELECT region, count(*) AS n FROM patients GROUP BY region) AS virtual_table LIMIT 101
