-- title: column of a document is a column like any other
SELECT drinks, AVG(height) FROM intakes WHERE seen >= DATE '2024-01-01' GROUP BY drinks;
-- plan
-- _r1 release by k1 = intakes.drinks: m1 = avg(intakes.height)
--   filter (intakes.seen >= cast('2024-01-01' as date))
--     scan intakes as intakes [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "drinks", "_r1"."m1" AS "avg" FROM "_r1"
-- use group_by intakes.drinks
-- use aggregate intakes.height
-- use filter intakes.seen

-- title: path of a key is the column that is read from it
SELECT details ->> 'drinks', COUNT(*) FROM intakes GROUP BY details ->> 'drinks';
-- plan
-- _r1 release by k1 = cast(intakes.drinks as text): m1 = count(*)
--   scan intakes as intakes [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "?column?", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by intakes.drinks

-- title: path of several keys that is cast to the type of its column
SELECT AVG((i.details -> 'body' ->> 'height')::numeric(5,1)), SUM(CAST(details -> 'body' ->> 'height' AS integer)) FROM intakes i;
-- plan
-- _r1 release: m1 = avg(i.height); m2 = sum(cast(i.height as integer))
--   scan intakes as i [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "avg", "_r1"."m2" AS "sum" FROM "_r1"
-- use aggregate intakes.height
-- use filter intakes.height

-- title: paths as Metabase and PostgreSQL's functions write them
SELECT COUNT(*) FROM "public"."intakes" WHERE ("public"."intakes"."details" #>> array[ 'drinks' ]::text[])::boolean = TRUE
    AND (details #>> '{seen}')::date > DATE '2024-01-01' AND jsonb_extract_path_text(details, 'body', 'height')::numeric > 150;
-- plan
-- _r1 release: m1 = count(*)
--   filter ((intakes.drinks = true) and (intakes.seen > cast('2024-01-01' as date)) and (cast(intakes.height as numeric) > 150))
--     scan intakes as intakes [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter intakes.drinks
-- use filter intakes.height
-- use filter intakes.seen

-- title: text in a document, cast to a number
SELECT COUNT((details ->> 'note')::integer) FROM intakes WHERE (details->>'note') IN ('1', '2');
-- plan
-- _r1 release: m1 = count(cast(intakes.note as integer))
--   filter (intakes.note in ('1', '2'))
--     scan intakes as intakes [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use aggregate intakes.note
-- use filter intakes.note

-- title: path in a subquery, with a name
SELECT drinks, COUNT(DISTINCT patient_id) FROM (SELECT patient_id, (details ->> 'drinks')::boolean AS drinks FROM intakes) x GROUP BY 1;
-- plan
-- _r1 release by k1 = x.drinks: m1 = count(distinct x.patient_id)
--   project x.patient_id = intakes.patient_id, x.drinks = intakes.drinks
--     scan intakes as intakes [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "drinks", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by intakes.drinks

-- title: star leaves out what no query reads
SELECT COUNT(*), MAX(height) FROM (SELECT * FROM intakes) x;
-- plan
-- _r1 release: m1 = count(*); m2 = max(x.height)
--   project x.patient_id = intakes.patient_id, x.drinks = intakes.drinks, x.height = intakes.height, x.note = intakes.note, x.seen = intakes.seen, x.score = intakes.score
--     scan intakes as intakes [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count", "_r1"."m2" AS "max" FROM "_r1"
-- use aggregate intakes.height
