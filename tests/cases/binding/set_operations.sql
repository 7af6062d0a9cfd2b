-- title: persons in both
SELECT COUNT(*) FROM (SELECT patient_id FROM patients WHERE smoker INTERSECT SELECT patient_id FROM visits) t;
-- plan
-- _r1 release: m1 = count(*)
--   per unit t.patient_id = union.patient_id [protected(patient), rows 1]
--     filter mark
--       mark mark where (union.patient_id = union_2.patient_id)
--         project union.patient_id = patients.patient_id
--           filter patients.smoker
--             scan patients as patients [protected(patient), rows 1]
--         project union_2.patient_id = visits.patient_id
--           scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.smoker

-- title: persons in one and not in the other
SELECT COUNT(*) FROM (SELECT patient_id FROM patients EXCEPT SELECT patient_id FROM visits WHERE cost > 3000) t;
-- plan
-- _r1 release: m1 = count(*)
--   per unit t.patient_id = union.patient_id [protected(patient), rows 1]
--     filter (not mark)
--       mark mark where (union.patient_id = union_2.patient_id)
--         project union.patient_id = patients.patient_id
--           scan patients as patients [protected(patient), rows 1]
--         project union_2.patient_id = visits.patient_id
--           filter (visits.cost > 3000)
--             scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost

-- title: persons in either
SELECT COUNT(*) FROM (SELECT patient_id FROM patients WHERE smoker UNION SELECT patient_id FROM visits WHERE cost > 3000) t;
-- plan
-- _r1 release: m1 = count(*)
--   per unit t.patient_id = union_3.patient_id [protected(patient), rows 1]
--     union all as union_3 [protected(patient), rows 11]
--       project union.patient_id = patients.patient_id
--         filter patients.smoker
--           scan patients as patients [protected(patient), rows 1]
--       project union_2.patient_id = visits.patient_id
--         filter (visits.cost > 3000)
--           scan visits as visits [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter patients.smoker
-- use filter visits.cost

-- title: persons of a list that a set operation makes
SELECT region, COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE diagnosis = 'flu' INTERSECT SELECT patient_id FROM visits WHERE diagnosis = 'asthma') GROUP BY region;
-- plan
-- _r1 release by k1 = patients.region: m1 = count(*)
--   filter mark_2
--     mark mark_2 where (patients.patient_id = inner.patient_id)
--       scan patients as patients [protected(patient), rows 1]
--       per unit inner.patient_id = union.patient_id [protected(patient), rows 1]
--         filter mark
--           mark mark where (union.patient_id = union_2.patient_id)
--             project union.patient_id = visits.patient_id
--               filter (visits.diagnosis = 'flu')
--                 scan visits as visits [protected(patient), rows 10]
--             project union_2.patient_id = visits_2.patient_id
--               filter (visits_2.diagnosis = 'asthma')
--                 scan visits as visits_2 [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "region", "_r1"."m1" AS "count" FROM "_r1"
-- use group_by patients.region
-- use filter visits.diagnosis

-- title: rows with further columns, NULL as NULL
SELECT diagnosis, COUNT(*) FROM (SELECT patient_id, diagnosis FROM visits WHERE cost > 100 EXCEPT SELECT patient_id, diagnosis FROM visits WHERE cost > 4000) t GROUP BY diagnosis;
-- plan
-- _r1 release by k1 = t.diagnosis: m1 = count(*)
--   per unit t.patient_id = union.patient_id, t.diagnosis = union.diagnosis [protected(patient), rows 10]
--     filter (not mark)
--       mark mark where ((union.patient_id = union_2.patient_id) and (union.diagnosis is not distinct from union_2.diagnosis))
--         project union.patient_id = visits.patient_id, union.diagnosis = visits.diagnosis
--           filter (visits.cost > 100)
--             scan visits as visits [protected(patient), rows 10]
--         project union_2.patient_id = visits_2.patient_id, union_2.diagnosis = visits_2.diagnosis
--           filter (visits_2.cost > 4000)
--             scan visits as visits_2 [protected(patient), rows 10]
-- finishing SELECT "_r1"."k1" AS "diagnosis", "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost
-- use filter visits.diagnosis
-- use group_by visits.diagnosis

-- title: set operations of set operations
SELECT COUNT(*) FROM ((SELECT patient_id FROM patients UNION SELECT patient_id FROM visits) EXCEPT SELECT patient_id FROM visits WHERE cost > 3000) t;
-- plan
-- _r1 release: m1 = count(*)
--   per unit t.patient_id = union.patient_id [protected(patient), rows 1]
--     filter (not mark)
--       mark mark where (union.patient_id = union_5.patient_id)
--         per unit union.patient_id = union_4.patient_id [protected(patient), rows 1]
--           union all as union_4 [protected(patient), rows 11]
--             project union_2.patient_id = patients.patient_id
--               scan patients as patients [protected(patient), rows 1]
--             project union_3.patient_id = visits.patient_id
--               scan visits as visits [protected(patient), rows 10]
--         project union_5.patient_id = visits_2.patient_id
--           filter (visits_2.cost > 3000)
--             scan visits as visits_2 [protected(patient), rows 10]
-- finishing SELECT "_r1"."m1" AS "count" FROM "_r1"
-- use filter visits.cost
