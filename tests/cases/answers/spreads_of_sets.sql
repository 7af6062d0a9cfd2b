-- title: variances of a rollup
SELECT region, smoker, GROUPING(region, smoker) AS g, COUNT(*), VAR_POP(birth_year), VAR_SAMP(birth_year), VARIANCE(birth_year) FROM patients GROUP BY ROLLUP (region, smoker) HAVING COUNT(*) > 0 ORDER BY g, region, smoker;

-- title: standard deviations of a cube
SELECT region, smoker, GROUPING(region, smoker) AS g, STDDEV_POP(birth_year), STDDEV_SAMP(birth_year), STDDEV(birth_year), AVG(birth_year) FROM patients GROUP BY CUBE (region, smoker) HAVING COUNT(*) > 0 ORDER BY g, region, smoker;

-- title: spreads of sets without a finest
SELECT region, smoker, GROUPING(region) AS g, COUNT(birth_year), STDDEV(birth_year), VAR_POP(2000 - birth_year) FROM patients GROUP BY GROUPING SETS ((region), (smoker), ());

-- title: covariances of a rollup
SELECT diagnosis, GROUPING(diagnosis) AS g, COVAR_POP(weight, birth_year), COVAR_SAMP(weight, birth_year), COUNT(weight) FROM patients JOIN visits USING (patient_id) GROUP BY ROLLUP (diagnosis) ORDER BY g, diagnosis;

-- title: correlations of a cube
SELECT region, smoker, GROUPING(region, smoker) AS g, CORR(weight, birth_year) FROM patients JOIN visits USING (patient_id) GROUP BY CUBE (region, smoker) HAVING COUNT(*) > 0 ORDER BY g, region, smoker;

-- title: lines of a rollup
SELECT smoker, GROUPING(smoker) AS g, REGR_SLOPE(weight, birth_year), REGR_INTERCEPT(weight, birth_year), REGR_R2(weight, birth_year) FROM patients JOIN visits USING (patient_id) GROUP BY ROLLUP (smoker) ORDER BY g, smoker;

-- title: sums of lines of sets
SELECT region, diagnosis, REGR_COUNT(weight, birth_year), REGR_AVGX(weight, birth_year), REGR_AVGY(weight, birth_year), REGR_SXX(weight, birth_year), REGR_SYY(weight, birth_year), REGR_SXY(weight, birth_year) FROM patients JOIN visits USING (patient_id) GROUP BY GROUPING SETS ((region), (diagnosis), (region, diagnosis), ()) HAVING REGR_COUNT(weight, birth_year) > 0;

-- title: filtered spreads of a rollup
SELECT region, STDDEV_POP(birth_year) FILTER (WHERE smoker), COUNT(*) FILTER (WHERE smoker), VAR_POP(birth_year) FROM patients GROUP BY ROLLUP (region) ORDER BY GROUPING(region), region;

-- title: groups without any spread
SELECT birth_year, GROUPING(birth_year) AS g, COUNT(*), STDDEV_POP(birth_year), VAR_SAMP(birth_year), CORR(birth_year, birth_year + 1) FROM patients GROUP BY ROLLUP (birth_year) HAVING COUNT(*) > 0 ORDER BY g, birth_year;

-- title: sets of a large spread alone
SELECT region, STDDEV(birth_year) FROM patients GROUP BY ROLLUP (region) HAVING VAR_POP(birth_year) > 100 ORDER BY GROUPING(region), 2 DESC;

-- title: a spread beside what does not add up
SELECT smoker, VAR_POP(birth_year), COUNT(DISTINCT birth_year), COUNT(DISTINCT patient_id), MAX(birth_year) FROM patients GROUP BY ROLLUP (smoker) ORDER BY GROUPING(smoker), smoker;

-- title: years and quarters with their spreads
SELECT EXTRACT(YEAR FROM visit_date) AS y, EXTRACT(QUARTER FROM visit_date) AS q, GROUPING(EXTRACT(YEAR FROM visit_date), EXTRACT(QUARTER FROM visit_date)) AS g, COUNT(*), STDDEV_POP(weight), COVAR_POP(weight, EXTRACT(MONTH FROM visit_date)) FROM visits GROUP BY CUBE (EXTRACT(YEAR FROM visit_date), EXTRACT(QUARTER FROM visit_date)) HAVING COUNT(*) > 0;

-- title: a share of the spread that groups explain
SELECT region, n, ROUND(1 - v / MAX(v) FILTER (WHERE g = 1) OVER (), 6) AS explained FROM (SELECT region, GROUPING(region) AS g, COUNT(*) AS n, VAR_POP(birth_year) AS v FROM patients WHERE region IS NOT NULL GROUP BY ROLLUP (region)) t ORDER BY n, region;

-- title: spreads of what each person spent, in sets
SELECT often, GROUPING(often), STDDEV(heavy), AVG(heavy) FROM (SELECT patient_id, COUNT(*) > 2 AS often, MAX(weight) AS heavy FROM visits GROUP BY patient_id) t GROUP BY ROLLUP (often);
