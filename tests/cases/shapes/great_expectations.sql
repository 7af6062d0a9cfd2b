-- title: a probe of a table
-- differs: a probe has no row
SELECT 1 FROM patients LIMIT 1

-- title: a probe of a table in a schema
-- differs: a probe has no row
SELECT 1 FROM public.patients LIMIT 1

-- title: a probe of a query
-- differs: a probe has no row
SELECT * FROM (SELECT * FROM patients) AS anon_1 LIMIT 1

-- title: the table's row count
SELECT count(*) AS "table.row_count" FROM public.patients

-- title: nulls
SELECT sum(CASE WHEN (region IS NULL) THEN 1 ELSE 0 END) AS "column_values.nonnull.unexpected_count", count(*) AS "table.row_count" FROM public.patients

-- title: values of a set
SELECT coalesce(sum(CASE WHEN (region NOT IN ('north', 'south') AND region IS NOT NULL) THEN 1 ELSE 0 END), 0) AS "column_values.in_set.unexpected_count" FROM public.patients

-- title: values of a range
SELECT coalesce(sum(CASE WHEN (NOT (income >= 0 AND income <= 100000) AND income IS NOT NULL) THEN 1 ELSE 0 END), 0) AS unexpected FROM public.patients

-- title: lengths of a range
SELECT coalesce(sum(CASE WHEN (NOT (char_length(region) >= 4 AND char_length(region) <= 5) AND region IS NOT NULL) THEN 1 ELSE 0 END), 0) AS unexpected FROM public.patients

-- title: unique
-- refused: GW112
SELECT sum(CASE WHEN (n > 1) THEN 1 ELSE 0 END) FROM (SELECT count(*) OVER (PARTITION BY region) AS n FROM patients) t

-- title: values in a set of another query, by a scalar subquery in IN
SELECT sum(CASE WHEN (region IN (SELECT region FROM regions)) THEN 0 ELSE 1 END) AS unexpected FROM patients

-- title: a regular expression over listed values
SELECT coalesce(sum(CASE WHEN (region !~ '^(north|south)$' AND region IS NOT NULL) THEN 1 ELSE 0 END), 0) AS unexpected FROM patients

-- title: LIKE
SELECT coalesce(sum(CASE WHEN (region NOT LIKE '%th' AND region IS NOT NULL) THEN 1 ELSE 0 END), 0) AS unexpected FROM patients

-- title: any of several LIKE
SELECT coalesce(sum(CASE WHEN (region NOT LIKE ANY (ARRAY['%th', 'e%']) AND region IS NOT NULL) THEN 1 ELSE 0 END), 0) AS unexpected FROM patients

-- title: compound columns
SELECT count(*) FROM (SELECT region, birth_year FROM patients GROUP BY region, birth_year HAVING count(*) > 1) s

-- title: distinct values with counts
SELECT region AS value, count(region) AS count FROM patients WHERE region IS NOT NULL GROUP BY region ORDER BY region

-- title: distinct values
SELECT DISTINCT region FROM patients WHERE region IS NOT NULL

-- title: the median by an offset
-- refused: GW110
SELECT income FROM patients WHERE income IS NOT NULL ORDER BY income ASC LIMIT 2 OFFSET 48

-- title: quantiles
-- differs: a value is chosen
SELECT percentile_disc(0.25) WITHIN GROUP (ORDER BY birth_year ASC) AS q1, percentile_disc(0.75) WITHIN GROUP (ORDER BY birth_year ASC) AS q3 FROM patients

-- title: standard deviation
-- differs: values are rounded
SELECT stddev_samp(income) AS "column.standard_deviation" FROM patients WHERE income IS NOT NULL

-- title: minimum and maximum of a text
SELECT min(region) AS a, max(region) AS b FROM patients

-- title: the mean with a cast
SELECT avg(CAST(income AS FLOAT)) AS mean FROM patients

-- title: the unexpected values
-- refused: GW110
SELECT region AS unexpected_values FROM patients WHERE region IS NOT NULL AND NOT (region IN ('north')) LIMIT 20

-- title: pairs of columns
SELECT sum(CASE WHEN ((region, smoker) IN (('north', true), ('south', false))) THEN 1 ELSE 0 END) AS pairs FROM patients

-- title: distinct pairs
-- refused: GW106
SELECT COUNT(DISTINCT (region, smoker)) FROM patients
