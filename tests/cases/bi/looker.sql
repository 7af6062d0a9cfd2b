-- title: an explore
SELECT
    patients.region  AS "patients.region",
    COUNT(*) AS "patients.count"
FROM public.patients  AS patients
GROUP BY
    1
ORDER BY
    2 DESC,
    1
FETCH NEXT 500 ROWS ONLY

-- title: a sum that is never null
SELECT
    visits.diagnosis  AS "visits.diagnosis",
    COALESCE(SUM(visits.cost ), 0) AS "visits.total_cost",
    AVG(visits.cost ) AS "visits.average_cost"
FROM public.visits  AS visits
GROUP BY
    1
ORDER BY
    2 DESC
LIMIT 500

-- title: dates of a dimension group
SELECT
    (DATE(visits.admitted )) AS "visits.admitted_date",
    COUNT(*) AS "visits.count"
FROM public.visits  AS visits
WHERE ((( visits.admitted  ) >= ((TIMESTAMP '2021-01-01 00:00:00')) AND ( visits.admitted  ) < ((TIMESTAMP '2023-01-01 00:00:00'))))
GROUP BY
    (DATE(visits.admitted ))
ORDER BY
    1 DESC
FETCH NEXT 500 ROWS ONLY

-- title: months of a dimension group
SELECT
    (TO_CHAR(DATE_TRUNC('month', visits.visit_date ), 'YYYY-MM')) AS "visits.visit_month",
    COUNT(DISTINCT visits.patient_id ) AS "visits.patients"
FROM public.visits  AS visits
GROUP BY
    (DATE_TRUNC('month', visits.visit_date ))
ORDER BY
    1
FETCH NEXT 500 ROWS ONLY

-- title: a filtered measure
SELECT
    patients.region  AS "patients.region",
    COALESCE(SUM(CASE WHEN (visits.diagnosis = 'flu') THEN visits.cost  ELSE NULL END), 0) AS "visits.flu_cost",
    COUNT(CASE WHEN (visits.diagnosis = 'flu') THEN 1 ELSE NULL END) AS "visits.flu_count"
FROM public.visits  AS visits
LEFT JOIN public.patients  AS patients ON visits.patient_id = patients.patient_id
GROUP BY
    1
ORDER BY
    1 NULLS FIRST
FETCH NEXT 500 ROWS ONLY

-- title: a tier
SELECT
    CASE
WHEN patients.birth_year  < 1950 THEN '0'
WHEN patients.birth_year  >= 1950 AND patients.birth_year  < 1980 THEN '1'
WHEN patients.birth_year  >= 1980 THEN '2'
ELSE '3'
END AS "patients.born__sort_",
    CASE
WHEN patients.birth_year  < 1950 THEN 'Below 1950'
WHEN patients.birth_year  >= 1950 AND patients.birth_year  < 1980 THEN '1950 to 1979'
WHEN patients.birth_year  >= 1980 THEN '1980 or Above'
ELSE 'Undefined'
END AS "patients.born",
    COUNT(*) AS "patients.count"
FROM public.patients  AS patients
GROUP BY
    1,
    2
ORDER BY
    1
FETCH NEXT 500 ROWS ONLY

-- title: a yes or no
SELECT
    CASE WHEN patients.smoker  THEN 'Yes' ELSE 'No' END AS "patients.smoker",
    AVG(patients.income ) AS "patients.average_income"
FROM public.patients  AS patients
WHERE (patients.region ) IN ('north', 'south') AND (patients.income ) > 0
GROUP BY
    1
ORDER BY
    2 DESC
FETCH NEXT 500 ROWS ONLY

-- title: a pivot
SELECT * FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY z___min_rank) as z___pivot_row_rank, RANK() OVER (PARTITION BY z__pivot_col_rank ORDER BY z___min_rank) as z__pivot_col_ordering, CASE WHEN z___min_rank = z___rank THEN 1 ELSE 0 END AS z__is_highest_ranked_cell FROM (
SELECT *, MIN(z___rank) OVER (PARTITION BY "patients.region") as z___min_rank FROM (
SELECT *, RANK() OVER (ORDER BY CASE WHEN z__pivot_col_rank=1 THEN (CASE WHEN "patients.count" IS NOT NULL THEN 0 ELSE 1 END) ELSE 2 END, CASE WHEN z__pivot_col_rank=1 THEN "patients.count" ELSE NULL END DESC, "patients.count" DESC, z__pivot_col_rank, "patients.region") AS z___rank FROM (
SELECT *, DENSE_RANK() OVER (ORDER BY CASE WHEN "patients.smoker" IS NULL THEN 1 ELSE 0 END, "patients.smoker") AS z__pivot_col_rank FROM (
SELECT
    CASE WHEN patients.smoker  THEN 'Yes' ELSE 'No' END AS "patients.smoker",
    patients.region  AS "patients.region",
    COUNT(*) AS "patients.count"
FROM public.patients  AS patients
GROUP BY
    1,
    2) ww
) bb WHERE z__pivot_col_rank <= 16384
) aa
) xx
) zz
WHERE (z__pivot_col_rank <= 50 OR z__is_highest_ranked_cell = 1) AND (z___pivot_row_rank <= 500 OR z__pivot_col_ordering = 1) ORDER BY z___pivot_row_rank

-- title: a derived table
WITH per_patient AS (SELECT patient_id, COUNT(*) AS visits, SUM(cost) AS cost FROM public.visits GROUP BY 1)
SELECT
    per_patient.visits  AS "per_patient.visits",
    COUNT(*) AS "per_patient.count"
FROM per_patient
GROUP BY
    1
ORDER BY
    1
FETCH NEXT 500 ROWS ONLY

-- title: suggestions for a filter
SELECT DISTINCT visits.diagnosis  AS "visits.diagnosis" FROM public.visits  AS visits WHERE (visits.diagnosis ) LIKE '%u%' ORDER BY 1 FETCH NEXT 1000 ROWS ONLY

-- title: the total of an explore
SELECT
    COALESCE(SUM(visits.cost ), 0) AS "visits.total_cost",
    COUNT(*) AS "visits.count"
FROM public.visits  AS visits
LIMIT 1
