-- title: a column that is not grouped
-- code: GW114
SELECT region, COUNT(*) FROM patients;

-- title: a column beside other keys
-- code: GW114
SELECT region, income, COUNT(*) FROM patients GROUP BY region;

-- title: a star beside a grouping
-- code: GW114
SELECT *, COUNT(*) FROM patients GROUP BY region;

-- title: a column in having
-- code: GW114
SELECT region, COUNT(*) FROM patients GROUP BY region HAVING income > 5;

-- title: a column in order
-- code: GW114
SELECT region, COUNT(*) FROM patients GROUP BY region ORDER BY income;

-- title: an aggregate in WHERE
-- code: GW114
SELECT COUNT(*) FROM patients WHERE COUNT(*) > 5;

-- title: an aggregate in GROUP BY
-- code: GW114
SELECT COUNT(*) FROM patients GROUP BY COUNT(*);

-- title: an aggregate by its ordinal in GROUP BY
-- code: GW114
SELECT COUNT(*) FROM patients GROUP BY 1;

-- title: an aggregate in an aggregate
-- code: GW114
SELECT SUM(COUNT(*)) FROM patients;

-- title: an aggregate in the condition of a join
-- code: GW114
SELECT COUNT(*) FROM patients p JOIN visits v ON v.patient_id = p.patient_id AND SUM(v.cost) > 5;

-- title: a column of a person beside its group
-- code: GW114
SELECT COUNT(*) FROM (SELECT patient_id, cost, SUM(cost) FROM visits GROUP BY patient_id) t;

-- title: an ordinal that is not there
-- code: GW101
SELECT region, COUNT(*) FROM patients GROUP BY 7;

-- title: a constant as a key
-- code: GW101
SELECT COUNT(*) FROM patients GROUP BY 'x';

-- title: group by all
-- code: GW105
SELECT region, COUNT(*) FROM patients GROUP BY ALL;

-- title: keys without keys
-- code: GW105
SELECT 1 FROM patients GROUP BY ();

-- title: which grouping set, of what is no key
-- code: GW114
SELECT region, GROUPING(smoker), COUNT(*) FROM patients GROUP BY ROLLUP (region);

-- title: which grouping set, of more than the key
-- code: GW114
SELECT region, GROUPING(region || 'x'), COUNT(*) FROM patients GROUP BY ROLLUP (region);

-- title: which grouping set, of nothing
-- code: GW115
SELECT region, GROUPING(), COUNT(*) FROM patients GROUP BY ROLLUP (region);

-- title: which grouping set, of an aggregate
-- code: GW114
SELECT region, GROUPING(COUNT(*)), COUNT(*) FROM patients GROUP BY ROLLUP (region);

-- title: which grouping set, in where
-- code: GW106
SELECT region, COUNT(*) FROM patients WHERE GROUPING(region) = 0 GROUP BY ROLLUP (region);

-- title: which grouping set, of rows of persons
-- code: GW106
SELECT AVG(GROUPING(region)) FROM patients GROUP BY ROLLUP (region);

-- title: which grouping set, beside the person
-- code: GW106
SELECT COUNT(*) FROM (SELECT patient_id, GROUPING(patient_id) AS g FROM visits GROUP BY patient_id) t;

-- title: a format that does not tell groups apart
-- code: GW106
SELECT to_char(visit_date, 'Mon DD'), COUNT(*) FROM visits GROUP BY 1;

-- title: a format with an unknown part
-- code: GW106
SELECT to_char(visit_date, 'YYYY-WW'), COUNT(*) FROM visits GROUP BY 1;

-- title: a format of a number
-- code: GW106
SELECT to_char(income, '999'), COUNT(*) FROM patients GROUP BY 1;

-- title: a computed format
-- code: GW106
SELECT to_char(visit_date, diagnosis), COUNT(*) FROM visits GROUP BY 1;

-- title: more groups than counted
-- code: GW106
SELECT md5(name), COUNT(*) FROM patients GROUP BY 1;

-- title: a constant among grouping sets
-- code: GW105
SELECT 'x' AS a, region, COUNT(*) FROM patients GROUP BY ROLLUP (a, region);
