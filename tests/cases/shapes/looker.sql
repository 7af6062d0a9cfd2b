-- title: a symmetric aggregate
-- refused: GW106
SELECT patients.region AS "patients.region", COALESCE(CAST( ( SUM(DISTINCT (CAST(FLOOR(COALESCE(patients.income ,0)*(1000000*1.0)) AS DECIMAL(65,0))) + ('x' || MD5(patients.patient_id ::varchar))::bit(64)::bigint::DECIMAL(65) *18446744073709551616 + ('x' || SUBSTR(MD5(patients.patient_id ::varchar),17))::bit(64)::bigint::DECIMAL(65) ) - SUM(DISTINCT ('x' || MD5(patients.patient_id ::varchar))::bit(64)::bigint::DECIMAL(65) *18446744073709551616 + ('x' || SUBSTR(MD5(patients.patient_id ::varchar),17))::bit(64)::bigint::DECIMAL(65)) ) AS DOUBLE PRECISION) / CAST((1000000*1.0) AS DOUBLE PRECISION), 0) AS "patients.total_income" FROM visits LEFT JOIN patients ON visits.patient_id = patients.patient_id GROUP BY 1 ORDER BY 2 DESC LIMIT 500

-- title: a sum of distinct values
-- refused: GW106
SELECT patients.region AS "patients.region", SUM(DISTINCT patients.income) AS s FROM patients GROUP BY 1

-- title: a yesno dimension
SELECT CASE WHEN patients.smoker THEN 'Yes' ELSE 'No' END AS "patients.smoker", COUNT(*) AS "patients.count" FROM patients GROUP BY 1 ORDER BY 2 DESC LIMIT 500

-- title: a tier
SELECT CASE WHEN patients.birth_year < 1950 THEN '0' WHEN patients.birth_year >= 1950 AND patients.birth_year < 1980 THEN '1' WHEN patients.birth_year >= 1980 THEN '2' ELSE '3' END AS "sort_", CASE WHEN patients.birth_year < 1950 THEN 'Below 1950' WHEN patients.birth_year >= 1950 AND patients.birth_year < 1980 THEN '1950 to 1979' WHEN patients.birth_year >= 1980 THEN '1980 or Above' ELSE 'Undefined' END AS "tier", COUNT(*) AS n FROM patients GROUP BY 1, 2 ORDER BY 1

-- title: a row total
WITH a AS (SELECT patients.region AS r, COUNT(*) AS n FROM patients GROUP BY 1) SELECT *, SUM(n) OVER () AS total, RANK() OVER (ORDER BY n DESC) AS place FROM a ORDER BY place, r

-- title: a percentile by group
SELECT patients.region, COALESCE(PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY patients.birth_year), 0) AS p75 FROM patients GROUP BY 1

-- title: EXPLAIN of a refused statement
-- refused: GW110
EXPLAIN SELECT patients.name FROM patients

-- title: a suggestion of values
SELECT DISTINCT patients.region AS "patients.region" FROM patients WHERE (patients.region) LIKE 'n%' ORDER BY 1 LIMIT 1000

-- title: a measure of a list
-- refused: GW118
SELECT STRING_AGG(DISTINCT CAST(patients.region AS VARCHAR), '|RECORD|') AS "patients.regions" FROM patients

-- title: a filtered average
SELECT AVG(CASE WHEN (visits.diagnosis = 'flu') THEN visits.cost ELSE NULL END) AS flu FROM visits
