-- title: text that is like
SELECT COUNT(*) FROM visits WHERE diagnosis LIKE 'f%' OR diagnosis ILIKE '%COLD';

-- title: text that is not like
SELECT COUNT(*) FROM visits WHERE diagnosis NOT LIKE '%a%';

-- title: text with a quote
SELECT COUNT(*), SUM(cost) FROM visits WHERE diagnosis = 'crohn''s';

-- title: text with a backslash
SELECT COUNT(*) FROM patients WHERE name = 'back\slash' OR name LIKE '%\\%';

-- title: text with letters beyond ASCII
SELECT COUNT(*) FROM patients WHERE name LIKE 'Zoë%' OR name = 'комма, {скобка}' OR UPPER(name) = 'ZOË "ZED" ÜNAL';

-- title: text that is empty
SELECT COUNT(*) FROM patients WHERE name = '' OR LENGTH(name) = 0;

-- title: text that is trimmed
SELECT COUNT(*) FROM patients WHERE TRIM(name) = 'spaced' AND LTRIM(name) <> name;

-- title: text by its pieces
SELECT COUNT(*) FROM visits WHERE SPLIT_PART(diagnosis, ' ', 2) = 'cold' OR SUBSTRING(diagnosis FROM 2 FOR 2) = 'lu' OR POSITION('-' IN diagnosis) > 0;

-- title: text that is compared
SELECT COUNT(*) FROM visits WHERE diagnosis >= 'b' AND diagnosis < 'g';

-- title: text that is replaced
SELECT REPLACE(diagnosis, 'flu', 'gr') AS d, COUNT(*) FROM visits GROUP BY 1;

-- title: three truths
SELECT COUNT(*) FROM patients WHERE smoker IS NOT TRUE;

-- title: null on both sides
SELECT COUNT(*) FROM patients WHERE region IS DISTINCT FROM 'north' AND income IS NOT NULL;

-- title: null in a list
SELECT COUNT(*) FROM patients WHERE region NOT IN ('north', NULL);

-- title: null in a comparison
SELECT COUNT(*) FROM patients WHERE NOT (income > 100000) OR income IS NULL;

-- title: arithmetic in a filter
SELECT COUNT(*) FROM visits WHERE cost * 2 > 3000 AND cost / 4 < 1000 AND cost - weight > 0;

-- title: division by what may be nothing
SELECT COUNT(*) FROM visits WHERE cost / NULLIF(weight - 1, 0) > 10;

-- title: a case in a filter
SELECT COUNT(*) FROM patients WHERE CASE WHEN smoker THEN income ELSE birth_year END > 1960;

-- title: between and in
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1940 AND 1990 AND region IN ('north', 'west') AND income NOT BETWEEN 0 AND 1000;

-- title: or of ands
SELECT COUNT(*) FROM patients WHERE (region = 'north' AND smoker) OR (region = 'south' AND NOT smoker) OR (region IS NULL AND income > 0);

-- title: floating comparisons
SELECT COUNT(*) FROM visits WHERE weight >= 99.5 AND weight < 250.25;
