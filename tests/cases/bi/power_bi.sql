-- title: a sum by a group
select "rows"."diagnosis" as "diagnosis",
    sum("rows"."cost") as "a0"
from
(
    select "diagnosis",
        "cost"
    from "public"."visits" "$Table"
) "rows"
group by "diagnosis"

-- title: a visual without blanks
select "_"."diagnosis",
    "_"."a0"
from
(
    select "rows"."diagnosis" as "diagnosis",
        sum("rows"."cost") as "a0"
    from
    (
        select "_"."diagnosis",
            "_"."cost"
        from "public"."visits" "_"
    ) "rows"
    group by "diagnosis"
) "_"
where not "_"."a0" is null
limit 1000001

-- title: two measures without blanks
select "_"."region" as "c1",
    "_"."a0" as "a0",
    "_"."a1" as "a1"
from
(
    select "rows"."region" as "region",
        avg("rows"."income") as "a0",
        count(1) as "a1"
    from
    (
        select "_"."region",
            "_"."income"
        from "public"."patients" "_"
    ) "rows"
    group by "region"
) "_"
where not "_"."a0" is null or not "_"."a1" is null
limit 1000001

-- title: the members of a slicer
select "rows"."region" as "region"
from
(
    select "region"
    from "public"."patients" "$Table"
) "rows"
group by "region"
order by "region"
limit 101

-- title: a distinct count with blanks
select count(distinct("rows"."diagnosis")) + max(case when "rows"."diagnosis" is null then 1 else 0 end) as "a0"
from
(
    select "diagnosis"
    from "public"."visits" "$Table"
) "rows"

-- title: a count of rows
select count(1) as "a0"
from "public"."visits" "$Table"

-- title: a filter
select sum("rows"."cost") as "a0"
from
(
    select "_"."visit_id",
        "_"."patient_id",
        "_"."diagnosis",
        "_"."cost"
    from "public"."visits" "_"
    where "_"."diagnosis" = 'flu' and "_"."diagnosis" is not null
) "rows"

-- title: a filter by dates
select "rows"."diagnosis" as "diagnosis",
    count(1) as "a0"
from
(
    select "_"."diagnosis",
        "_"."visit_date"
    from "public"."visits" "_"
    where "_"."visit_date" >= timestamp '2021-01-01 00:00:00' and "_"."visit_date" < timestamp '2022-01-01 00:00:00'
) "rows"
group by "diagnosis"

-- title: a join of two tables
select "rows"."region" as "region",
    sum("rows"."cost") as "a0"
from
(
    select "$Outer"."cost",
        "$Inner"."region"
    from "public"."visits" as "$Outer"
    left outer join
    (
        select "_"."patient_id" as "patient_id2",
            "_"."region" as "region"
        from "public"."patients" as "_"
    ) as "$Inner" on ("$Outer"."patient_id" = "$Inner"."patient_id2")
) "rows"
group by "region"

-- title: the top of a table
select "_"."diagnosis",
    "_"."a0"
from
(
    select "rows"."diagnosis" as "diagnosis",
        sum("rows"."cost") as "a0"
    from "public"."visits" "rows"
    group by "diagnosis"
) "_"
order by "_"."a0" desc,
        "_"."diagnosis"
limit 501

-- title: a year and a month
select "rows"."c1" as "c1",
    "rows"."c2" as "c2",
    sum("rows"."cost") as "a0"
from
(
    select cast(extract(year from "_"."visit_date") as integer) as "c1",
        cast(extract(month from "_"."visit_date") as integer) as "c2",
        "_"."cost" as "cost"
    from "public"."visits" "_"
) "rows"
group by "c1",
    "c2"
order by "c1",
        "c2"

-- title: the ends of a slicer
select min("rows"."visit_date") as "a0",
    max("rows"."visit_date") as "a1"
from "public"."visits" "rows"

-- title: the columns of a table
select * from "public"."visits" "$Table" limit 0

-- title: values bound by Npgsql
-- values: ["1000", "north"]
select count(1) as "a0" from "public"."patients" "_" where "_"."income" > $1 and "_"."region" = $2
