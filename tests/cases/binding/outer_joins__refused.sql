-- title: count of rows of kept public rows
-- code: GW105
SELECT r.region, COUNT(*) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region;

-- title: groups that are coarser than what is joined
-- code: GW105
SELECT r.capital, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.capital;

-- title: protected column among the groups
-- code: GW105
SELECT r.region, p.smoker, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region, p.smoker;

-- title: protected column in WHERE
-- code: GW105
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region WHERE p.smoker GROUP BY r.region;

-- title: kept public rows without groups
-- code: GW105
SELECT COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region;

-- title: comparison of both sides by more than equality
-- code: GW105
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region AND p.income > r.population GROUP BY r.region;

-- title: no equality of both sides
-- code: GW105
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.smoker GROUP BY r.region;

-- title: public column in an aggregate
-- code: GW105
SELECT r.region, SUM(p.income / r.population) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region;

-- title: column that is not grouped
-- code: GW105
SELECT r.region, r.capital, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = r.region GROUP BY r.region;

-- title: rows of persons in a CTE on the far side
-- code: GW105
WITH ill AS (SELECT patient_id, region FROM patients) SELECT r.region, COUNT(i.patient_id) FROM regions r LEFT JOIN ill i ON i.region = r.region GROUP BY r.region;

-- title: constant instead of an equality of both sides
-- code: GW105
SELECT r.region, COUNT(p.patient_id) FROM regions r LEFT JOIN patients p ON p.region = 'north' GROUP BY r.region;
