-- title: several totals at once
SELECT COUNT(*), COUNT(income), COUNT(DISTINCT region), SUM(income), AVG(income) FROM patients;

-- title: sums of cents are exact
SELECT SUM(cost) AS total, SUM(cost * 2) AS twice, SUM(-cost) AS owed FROM visits;

-- title: a sum of whole numbers
SELECT SUM(birth_year), AVG(birth_year), SUM(birth_year - 1900) FROM patients;

-- title: a sum of floating numbers
SELECT SUM(weight), AVG(weight), COUNT(weight) FROM visits;

-- title: a sum of a product of two columns
SELECT SUM(cost * weight) FROM visits WHERE weight < 200;

-- title: a sum of truth
SELECT SUM(CASE WHEN smoker THEN 1 ELSE 0 END), AVG(CASE WHEN smoker THEN 1.0 ELSE 0.0 END) FROM patients;

-- title: a sum of an integer cast from truth
SELECT SUM(smoker::int) FROM patients;

-- title: counts with filters
SELECT COUNT(*) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE NOT smoker), COUNT(*) FILTER (WHERE smoker IS NULL) FROM patients;

-- title: sums and means with filters
SELECT SUM(cost) FILTER (WHERE cost > 1000), AVG(cost) FILTER (WHERE diagnosis = 'flu'), COUNT(DISTINCT patient_id) FILTER (WHERE weight > 100) FROM visits;

-- title: distinct values of every kind
SELECT COUNT(DISTINCT diagnosis), COUNT(DISTINCT visit_date), COUNT(DISTINCT weight), COUNT(DISTINCT admitted) FROM visits;

-- title: distinct values of an expression
SELECT COUNT(DISTINCT birth_year / 10), COUNT(DISTINCT UPPER(region)), COUNT(DISTINCT smoker) FROM patients;

-- title: distinct persons
SELECT COUNT(DISTINCT patient_id) AS persons, COUNT(*) AS visits FROM visits;

-- title: arithmetic over aggregates
SELECT SUM(cost) / COUNT(*), SUM(cost) / NULLIF(COUNT(cost), 0), SUM(cost) - AVG(cost), 100.0 * COUNT(cost) / COUNT(*) FROM visits;

-- title: integer division over aggregates
SELECT COUNT(*) / 7, COUNT(*) % 7, -COUNT(*), COUNT(*) * COUNT(income) FROM patients;

-- title: rounding over aggregates
SELECT ROUND(AVG(income), 2), ROUND(AVG(income)), FLOOR(AVG(cost_like)), CEIL(AVG(cost_like)) FROM (SELECT income, income / 10 AS cost_like FROM patients) t;

-- title: casts over aggregates
SELECT COUNT(*)::text || ' persons', AVG(income)::integer, SUM(income)::double precision, COUNT(*)::numeric(10, 2) FROM patients;

-- title: a count that is compared
SELECT COUNT(*) > 50 AS many, COUNT(*) BETWEEN 1 AND 5 AS few, COUNT(income) = COUNT(*) AS whole FROM patients;

-- title: case over aggregates
SELECT CASE WHEN AVG(income) > 50000 THEN 'rich' ELSE 'poor' END, GREATEST(COUNT(*), 10), COALESCE(AVG(income), 0) FROM patients;

-- title: the same aggregate twice
SELECT COUNT(*) AS a, COUNT(*) AS b, COUNT(1) AS c FROM patients;

-- title: nobody at all
SELECT COUNT(*), COUNT(DISTINCT patient_id) FROM patients WHERE birth_year > 2019;

-- title: nothing can be true
SELECT COUNT(*) FROM patients WHERE FALSE;

-- title: names with quotes and capitals
SELECT COUNT(*) AS "The ""Count""", SUM(income) AS "Σ income", AVG(income) AS "avg;--" FROM patients;

-- title: constants beside aggregates
SELECT 'all' AS what, 1 AS one, NULL AS nothing, COUNT(*), DATE '2024-02-29' AS leap FROM patients;

-- title: a mean of a difference
SELECT AVG(2020 - birth_year), SUM(ABS(birth_year - 1970)) FROM patients;

-- title: sums of clamped values
SELECT SUM(LEAST(income, 100000)), SUM(GREATEST(income, 5000)), AVG(COALESCE(income, 0)) FROM patients;

-- title: rounded before they are summed
SELECT SUM(ROUND(cost)), SUM(FLOOR(cost)), SUM(CEIL(cost)), SUM(TRUNC(cost, 1)), SUM(ROUND(cost, 1)) FROM visits;

-- title: remainders and signs
SELECT SUM(birth_year % 7), SUM(MOD(birth_year, 10)), SUM(SIGN(birth_year - 1970)) FROM patients;

-- title: whole division of values
SELECT SUM(birth_year / 7), SUM((birth_year - 1970) / 4), SUM((birth_year - 1970) % 4) FROM patients;

-- title: a count of a case without else
SELECT COUNT(CASE WHEN income > 100000 THEN 1 END), COUNT(NULLIF(birth_year, 1925)) FROM patients;

-- title: half a value
SELECT SUM(income * 0.5), AVG(cost_half) FROM (SELECT income, income * 0.25 AS cost_half FROM patients) t;
