-- title: a card
select sum("rows"."income") as "a0" from (select "income" from "public"."patients" "$Table") "rows"

-- title: a table without nulls
select "_"."region", "_"."a0" from (select "rows"."region" as "region", count(1) as "a0" from "public"."patients" "rows" group by "region") "_" where not "_"."a0" is null limit 1000001

-- title: a null-safe join with groups
select "$Outer"."region" as "c0", sum("$Inner"."n") as "a0" from (select "region", count(*) as "n" from "public"."patients" group by "region") "$Inner"
inner join "public"."regions" "$Outer" on ("$Outer"."region" = "$Inner"."region" or "$Outer"."region" is null and "$Inner"."region" is null) group by "$Outer"."region"

-- title: IS NOT DISTINCT FROM
select count(*) from "public"."patients" "t" where "t"."region" is not distinct from 'north'

-- title: a distinct count with a case
select count(distinct "rows"."region") + max(case when "rows"."region" is null then 1 else 0 end) as "a0" from "public"."patients" "rows"

-- title: a top 1000 preview
-- refused: GW110
select "$Ordered"."patient_id", "$Ordered"."region" from "public"."patients" "$Ordered" order by "$Ordered"."patient_id" limit 1000

-- title: a schema probe
select * from "public"."patients" "$Table" limit 0

-- title: numbers with underscores
select count(*) as "a0" from "public"."patients" "t" where "t"."income" > 50_000

-- title: two levels
select "_"."region", "_"."smoker", "_"."a0" from (select "rows"."region" as "region", "rows"."smoker" as "smoker", avg("rows"."income") as "a0" from "public"."patients" "rows" group by "region", "smoker") "_"
order by "_"."region" nulls first, "_"."smoker" nulls first limit 501

-- title: variance and standard deviation
-- differs: values are rounded
select stddev_pop("rows"."income") as "a0", var_samp("rows"."income") as "a1" from "public"."patients" "rows"
