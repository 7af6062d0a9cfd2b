-- title: not null
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (
  select region from "public"."patients" where region is null
) dbt_internal_test

-- title: unique
select count(*) as failures, count(*) != 0 as should_warn, count(*) != 0 as should_error from (
  select patient_id as unique_field, count(*) as n_records from patients where patient_id is not null group by patient_id having count(*) > 1
) dbt_internal_test

-- title: accepted values
select count(*) as failures from (
  with all_values as (
    select region as value_field, count(*) as n_records from patients group by region
  )
  select * from all_values where value_field not in ('north', 'south', 'east', 'west')
) dbt_internal_test

-- title: relationships to a public table
-- refused: GW116
select count(*) as failures from (
  with child as (select region as from_field from patients where region is not null),
  parent as (select region as to_field from regions)
  select from_field from child left join parent on child.from_field = parent.to_field where parent.to_field is null
) dbt_internal_test

-- title: relationships between rows of a person
select count(*) as failures from (
  with child as (select patient_id as from_field from visits where patient_id is not null),
  parent as (select patient_id as to_field from patients)
  select from_field from child left join parent on child.from_field = parent.to_field where parent.to_field is null
) dbt_internal_test

-- title: an expression is true
select count(*) as failures from (select 1 from patients where not(income >= 0)) dbt_internal_test

-- title: a recency test
with recency as (select max(visit_date) as most_recent from visits)
select most_recent from recency where most_recent < cast('2019-01-01' as date)

-- title: a surrogate key
-- refused: GW106
select count(distinct md5(cast(coalesce(cast(region as TEXT), '_dbt_null_') || '-' || coalesce(cast(smoker as TEXT), '_dbt_null_') as TEXT))) from patients

-- title: show of a model
select * from (
  select region, count(*) as n from patients group by 1
) as model_limit_subq limit 5

-- title: a pivot
select region, sum(case when smoker = 'true' then 1 else 0 end) as smokers, sum(case when smoker = 'false' then 1 else 0 end) as others from patients group by region

-- title: a date spine
-- dataset: listed
with days as (select generate_series('2021-01-01'::date, '2021-03-01'::date, '1 month'::interval)::date as day)
select day, count(visits.visit_id) as n from days left join visits on date_trunc('month', visits.visit_date)::date = days.day group by 1 order by 1

-- title: the columns of an empty model
select * from (select region, income from patients) as __dbt_sbq where false limit 0

-- title: string_agg of a listed column
-- refused: GW118
select string_agg(distinct region, ', ') as regions from patients

-- title: string_agg of groups
select string_agg(region, ', ' order by region) from (select region, count(*) as n from patients where region is not null group by region) t

-- title: a sum of distinct values
-- refused: GW106
select sum(distinct birth_year) from patients

-- title: a dense month over a ratio
select date_trunc('year', visit_date)::date as year, sum(cost) / nullif(count(distinct patient_id), 0) as per_patient from visits group by 1 order by 1
