-- title: the end of an interval of a key
-- code: GW106
SELECT region, COUNT(*) AS n, DP_INTERVAL_LOW(region) FROM patients GROUP BY region;

-- title: the end of an interval of a constant
-- code: GW106
SELECT COUNT(*), DP_INTERVAL_LOW(3) FROM patients;

-- title: the end of an interval of nothing released
-- code: GW106
SELECT DP_INTERVAL_LOW(1);

-- title: the end of an interval of a public column
-- code: GW106
SELECT DP_INTERVAL_HIGH(population) FROM regions;

-- title: the end of an interval of several rows
-- code: GW106
SELECT SUM(n) AS s, DP_INTERVAL_LOW(s) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;

-- title: the end of an interval of a grouped column of a release
-- code: GW106
SELECT n, DP_INTERVAL_LOW(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t GROUP BY n;

-- title: the end of an interval of a window
-- code: GW106
SELECT region, SUM(COUNT(*)) OVER () AS s, DP_INTERVAL_LOW(s) FROM patients GROUP BY region;

-- title: the end of an interval of two releases together
-- code: GW106
SELECT DP_INTERVAL_LOW(a.n - b.m) FROM (SELECT COUNT(*) AS n FROM patients) a CROSS JOIN (SELECT COUNT(*) AS m FROM visits) b;

-- title: the end of an interval above a UNION
-- code: GW106
SELECT DP_INTERVAL_LOW(n) FROM (SELECT COUNT(*) AS n FROM patients UNION ALL SELECT COUNT(*) FROM visits) t;

-- title: the end of an interval above a DISTINCT that drops the key
-- code: GW106
SELECT DP_INTERVAL_LOW(n) FROM (SELECT DISTINCT n FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t) u;

-- title: the end of an interval of a row around
-- code: GW108
SELECT n, (SELECT DP_INTERVAL_LOW(t.n)) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;

-- title: the end of an interval beside a whole row
-- code: GW106
SELECT t, DP_INTERVAL_LOW(n) FROM (SELECT region, COUNT(*) AS n FROM patients GROUP BY region) t;

-- title: the end of the end of an interval
-- code: GW106
SELECT DP_INTERVAL_LOW(DP_INTERVAL_HIGH(COUNT(*))) FROM patients;

-- title: the end of an interval of rows of persons
-- code: GW106
SELECT AVG(DP_INTERVAL_LOW(income)) FROM patients;

-- title: the end of an interval below the aggregate
-- code: GW106
SELECT COUNT(*) AS n FROM patients WHERE DP_INTERVAL_LOW(income) > 3;

-- title: the end of an interval as a key
-- code: GW106
SELECT COUNT(*) FROM patients GROUP BY DP_INTERVAL_LOW(income);

-- title: the end of an interval for each person
-- code: GW106
SELECT AVG(x) FROM (SELECT patient_id, DP_INTERVAL_LOW(COUNT(*)) AS x FROM visits GROUP BY patient_id) t;

-- title: the end of an interval as a window function
-- code: GW106
SELECT region, DP_INTERVAL_LOW(COUNT(*)) OVER () FROM patients GROUP BY region;

-- title: the end of an interval with two arguments
-- code: GW115
SELECT COUNT(*) AS n, DP_INTERVAL_LOW(n, 2) FROM patients;

-- title: the end of an interval without an argument
-- code: GW115
SELECT COUNT(*) AS n, DP_INTERVAL_LOW() FROM patients;

-- title: the end of an interval of an unknown name
-- code: GW108
SELECT COUNT(*) AS n, DP_INTERVAL_LOW(m) FROM patients;

-- title: the end of an interval of an unknown name above
-- code: GW108
SELECT DP_INTERVAL_LOW(m) FROM (SELECT COUNT(*) AS n FROM patients) t;

-- title: the end of an interval of a name with two meanings
-- code: GW109
SELECT COUNT(*) AS n, SUM(income) AS n, DP_INTERVAL_LOW(n) FROM patients;

-- title: the end of an interval of a column that is not grouped
-- code: GW114
SELECT region, COUNT(*), DP_INTERVAL_LOW(income) FROM patients GROUP BY region;

-- title: the end of an interval alone, of rows of persons
-- code: GW110
SELECT DP_INTERVAL_LOW(income) FROM patients;

-- title: the end of an interval of a date
-- code: GW106
SELECT MIN(visit_date) AS d, DP_INTERVAL_HIGH(d) FROM visits;

-- title: the end of an interval of the most frequent value
-- code: GW106
SELECT DP_INTERVAL_LOW(MODE() WITHIN GROUP (ORDER BY birth_year)) FROM patients;

-- title: the end of an interval of an array
-- code: GW106
SELECT percentile_cont(ARRAY[0.1, 0.9]) WITHIN GROUP (ORDER BY income) AS p, DP_INTERVAL_LOW(p) FROM patients;

-- title: the end of an interval of two quantiles together
-- code: GW106
SELECT DP_INTERVAL_LOW(MAX(income) - MEDIAN(income)) FROM patients;
