-- title: variances of whole numbers
SELECT VAR_POP(birth_year), VAR_SAMP(birth_year), VARIANCE(birth_year), STDDEV_POP(birth_year), STDDEV_SAMP(birth_year), STDDEV(birth_year) FROM patients;

-- title: variances of floating numbers
SELECT VAR_POP(weight), VAR_SAMP(weight), STDDEV_POP(weight), STDDEV_SAMP(weight) FROM visits;

-- title: variances of money in hundreds
SELECT VAR_POP(ROUND(cost / 100)), STDDEV(ROUND(cost / 100)) FROM visits;

-- title: a spread beside what it shares its sums with
SELECT COUNT(weight), SUM(weight), AVG(weight), STDDEV_POP(weight), COUNT(*) FROM visits;

-- title: spreads of groups
SELECT region, COUNT(*), AVG(birth_year), STDDEV_POP(birth_year) FROM patients GROUP BY region ORDER BY region;

-- title: spreads with filters
SELECT STDDEV(weight) FILTER (WHERE diagnosis = 'flu'), VAR_POP(birth_year - 1970) FILTER (WHERE NOT smoker) FROM patients JOIN visits USING (patient_id);

-- title: a spread of what is computed
SELECT VAR_POP(2 * birth_year - 3900), STDDEV_SAMP(CASE WHEN smoker THEN 1 ELSE 0 END) FROM patients;

-- title: a spread of one value alone
SELECT VAR_POP(7), STDDEV_POP(7), VAR_SAMP(7) FROM patients;

-- title: covariances and correlations
SELECT COVAR_POP(weight, birth_year), COVAR_SAMP(weight, birth_year), CORR(weight, birth_year), CORR(birth_year, weight) FROM patients JOIN visits USING (patient_id);

-- title: a line through points
SELECT REGR_SLOPE(weight, birth_year), REGR_INTERCEPT(weight, birth_year), REGR_R2(weight, birth_year) FROM patients JOIN visits USING (patient_id);

-- title: sums of a line through points
SELECT REGR_COUNT(weight, birth_year), REGR_AVGX(weight, birth_year), REGR_AVGY(weight, birth_year), REGR_SXX(weight, birth_year), REGR_SYY(weight, birth_year), REGR_SXY(weight, birth_year) FROM patients JOIN visits USING (patient_id);

-- title: one of two values is NULL
SELECT REGR_COUNT(weight, ROUND(cost / 100)), REGR_AVGX(weight, ROUND(cost / 100)), REGR_AVGY(weight, ROUND(cost / 100)), COVAR_POP(weight, ROUND(cost / 100)), COUNT(weight), COUNT(cost), AVG(weight) FROM visits;

-- title: lines of groups, with a filter
SELECT diagnosis, CORR(weight, ROUND(cost / 100)) FILTER (WHERE cost > 500), REGR_SLOPE(cost, weight) FROM visits GROUP BY diagnosis;

-- title: a value with itself
SELECT CORR(birth_year, birth_year), COVAR_POP(birth_year, birth_year), REGR_SLOPE(birth_year, birth_year), REGR_INTERCEPT(birth_year, birth_year) FROM patients;

-- title: a line through points that all lie above each other
SELECT REGR_SLOPE(birth_year, 3), CORR(birth_year, 3), REGR_SXX(birth_year, 3), REGR_AVGX(birth_year, 3) FROM patients;

-- title: arithmetic over spreads
SELECT STDDEV(birth_year) / AVG(birth_year), ROUND(VAR_POP(birth_year), 2), SQRT(VAR_POP(birth_year)) FROM patients;
