-- title: by month
SELECT DATE_TRUNC('month', visit_date) AS month, COUNT(*), SUM(cost) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by month as a date
SELECT DATE_TRUNC('month', visit_date)::date AS month, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by month as text
SELECT TO_CHAR(visit_date, 'YYYY-MM') AS month, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by quarter as text
SELECT TO_CHAR(visit_date, '"Q"Q YYYY') AS quarter, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by weekday as text
SELECT TO_CHAR(DATE '2024-01-01' + (d::integer - 1), 'Day') AS day, n FROM (SELECT EXTRACT(ISODOW FROM visit_date) AS d, COUNT(*) AS n FROM visits GROUP BY 1) t ORDER BY d;

-- title: by year and month
SELECT EXTRACT(YEAR FROM visit_date) AS y, EXTRACT(MONTH FROM visit_date) AS m, COUNT(*) FROM visits GROUP BY 1, 2 ORDER BY 1, 2;

-- title: by week
SELECT DATE_TRUNC('week', visit_date) AS week, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by iso week
SELECT EXTRACT(ISOYEAR FROM visit_date) AS y, EXTRACT(WEEK FROM visit_date) AS w, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: by day of the year
SELECT EXTRACT(DOY FROM visit_date) AS d, COUNT(*) FROM visits GROUP BY 1;

-- title: by hour
SELECT DATE_TRUNC('hour', admitted) AS hour, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by hour of the day
SELECT EXTRACT(HOUR FROM admitted) AS h, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by day of a moment
SELECT admitted::date AS d, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by a part by name
SELECT DATE_PART('year', visit_date) AS y, DATE_PART('dow', visit_date) AS d, COUNT(*) FROM visits GROUP BY 1, 2;

-- title: in a period
SELECT COUNT(*), SUM(cost) FROM visits WHERE visit_date >= '2023-01-01' AND visit_date < '2024-01-01';

-- title: in a period of moments
SELECT COUNT(*) FROM visits WHERE admitted BETWEEN '2022-01-01 00:00:00' AND '2023-06-30 12:30:00';

-- title: in a period by interval
SELECT COUNT(*) FROM visits WHERE visit_date > DATE '2024-01-31' - INTERVAL '1 month' AND visit_date <= DATE '2024-01-31' + INTERVAL '1 year';

-- title: shifted days
SELECT visit_date + 7 AS later, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: a shifted month at its end
SELECT COUNT(*) FROM visits WHERE visit_date + INTERVAL '1 month' > TIMESTAMP '2023-02-28 00:00:00';

-- title: the days since
SELECT AVG(visit_date - DATE '2020-01-01'), SUM(visit_date - DATE '2020-01-01') FROM visits;

-- title: the age in years
SELECT EXTRACT(YEAR FROM CURRENT_DATE) - birth_year AS age, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: the years of an age
SELECT EXTRACT(YEAR FROM AGE(DATE '2026-06-15', visit_date)) AS years, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: before today
SELECT COUNT(*) FROM visits WHERE visit_date < CURRENT_DATE AND admitted < NOW();

-- title: a date made of parts
SELECT MAKE_DATE(birth_year, 1, 1) AS born, COUNT(*) FROM patients GROUP BY 1 ORDER BY 1;

-- title: a slot of a day
SELECT TO_CHAR(admitted, 'DD.MM.YYYY HH24:MI') AS slot, COUNT(*) FROM visits GROUP BY 1;

-- title: the last month of a release
SELECT MAX(m) FROM (SELECT DATE_TRUNC('month', visit_date) AS m FROM visits GROUP BY 1) t;

-- title: the last day of each month
SELECT DATE_TRUNC('month', visit_date) + INTERVAL '1 month' - INTERVAL '1 day' AS last, COUNT(*) FROM visits GROUP BY 1;

-- title: the last day of each month as a date
SELECT (DATE_TRUNC('month', visit_date) + INTERVAL '1 month' - INTERVAL '1 day')::date AS last, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: by sunday
SELECT visit_date - EXTRACT(DOW FROM visit_date)::integer AS sunday, COUNT(*) FROM visits GROUP BY 1;

-- title: year and month as one number
SELECT (EXTRACT(YEAR FROM visit_date) * 100 + EXTRACT(MONTH FROM visit_date))::integer AS ym, COUNT(*) FROM visits GROUP BY 1 ORDER BY 1;

-- title: the end of the week and the weekdays
SELECT CASE WHEN EXTRACT(ISODOW FROM visit_date) < 6 THEN 'week' ELSE 'weekend' END AS d, COUNT(*), AVG(cost) FROM visits GROUP BY 1;

-- title: the best quarter of each year
SELECT DISTINCT ON (y) y, q, n FROM (SELECT EXTRACT(YEAR FROM visit_date) AS y, EXTRACT(QUARTER FROM visit_date) AS q, COUNT(*) AS n FROM visits GROUP BY 1, 2) t ORDER BY y, n DESC, q;

-- title: moments shifted by hours
SELECT DATE_TRUNC('day', admitted) + INTERVAL '6 hours' AS x, COUNT(*) FROM visits GROUP BY 1;
