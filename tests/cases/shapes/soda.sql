-- title: a row count
SELECT COUNT(*) FROM "patients"

-- title: one select of all metrics
-- differs: a value is chosen
SELECT
  COUNT(*),
  COUNT(CASE WHEN "region" IS NULL THEN 1 END),
  COUNT(CASE WHEN NOT ("region" IS NULL) AND NOT ("region" IN ('north','south','east','west')) THEN 1 END),
  AVG("income"), MIN("income"), MAX("income"), SUM("income"),
  STDDEV("income"), VARIANCE("income")
FROM "patients"

-- title: invalid count of a regular expression over a listed column
SELECT COUNT(CASE WHEN NOT ("region" IS NULL) AND NOT ("region" ~ '^[a-z]+$') THEN 1 END) FROM "patients"

-- title: invalid count of a regular expression over a column without values
-- refused: GW105
SELECT COUNT(CASE WHEN NOT ("name" IS NULL) AND NOT ("name" ~ '^[A-Z][a-z]+$') THEN 1 END) FROM "patients"

-- title: lengths
SELECT AVG(LENGTH("region")), MIN(LENGTH("region")), MAX(LENGTH("region")) FROM "patients"

-- title: lengths of a column without values
-- refused: GW301
SELECT AVG(LENGTH("name")) FROM "patients"

-- title: a sum of lengths of a column without values
-- refused: GW301
SELECT SUM(CHAR_LENGTH("name")) FROM "patients"

-- title: a distinct count
SELECT COUNT(DISTINCT("region")) FROM "patients"

-- title: duplicates
WITH frequencies AS (
  SELECT COUNT(*) AS frequency FROM "patients" WHERE "birth_year" IS NOT NULL GROUP BY "birth_year"
)
SELECT COUNT(*) FROM frequencies WHERE frequency > 1

-- title: duplicates by two columns
SELECT COUNT(*) FROM (
  SELECT "region", "birth_year", COUNT(*) AS frequency FROM "patients" GROUP BY "region", "birth_year"
) f WHERE frequency > 1

-- title: freshness
-- differs: a value is chosen
SELECT MAX("admitted") FROM "visits"

-- title: a reference check against a public table
SELECT COUNT(*) FROM "patients" AS s LEFT JOIN "regions" AS t ON s."region" = t."region" WHERE t."region" IS NULL AND s."region" IS NOT NULL

-- title: failed rows
-- refused: GW110
SELECT * FROM "patients" WHERE "income" < 0 LIMIT 100

-- title: a histogram
WITH value_frequencies AS (
  SELECT "birth_year" AS value_, COUNT(*) AS frequency_ FROM "patients" WHERE NOT "birth_year" IS NULL GROUP BY "birth_year"
)
SELECT SUM(CASE WHEN value_ < 1950 THEN frequency_ END), SUM(CASE WHEN 1950 <= value_ AND value_ < 1980 THEN frequency_ END),
  SUM(CASE WHEN 1980 <= value_ THEN frequency_ END) FROM value_frequencies

-- title: most frequent values
WITH value_frequencies AS (
  SELECT "region" AS value_, COUNT(*) AS frequency_ FROM "patients" WHERE "region" IS NOT NULL GROUP BY "region"
), frequent_values AS (
  SELECT 'frequent' AS metric_, ROW_NUMBER() OVER (ORDER BY frequency_ DESC, value_) AS index_, value_, frequency_ FROM value_frequencies
)
SELECT * FROM frequent_values WHERE index_ <= 3 ORDER BY index_

-- title: a percentile
SELECT PERCENTILE_DISC(0.7) WITHIN GROUP (ORDER BY "birth_year") FROM "patients"
