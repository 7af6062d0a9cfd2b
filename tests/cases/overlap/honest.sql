-- What people ask of a dashboard or in a notebook. Nothing here is refused.
-- A case is a title and the statements that are asked one after the other; `-- of:` names the catalog.

-- title: the whole, then by region, then one region
SELECT COUNT(*) FROM patients;
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT COUNT(*) FROM patients WHERE region = 'north';
SELECT AVG(income) FROM patients WHERE region = 'north';

-- title: drill down from region to decade of birth
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT birth_year / 10 * 10 AS decade, COUNT(*) FROM patients WHERE region = 'north' GROUP BY 1;
SELECT COUNT(*), AVG(income) FROM patients WHERE region = 'north' AND birth_year BETWEEN 1950 AND 1959;

-- title: drill down from year to month of visits
SELECT EXTRACT(YEAR FROM visit_date) AS y, COUNT(*) FROM visits GROUP BY 1;
SELECT date_trunc('month', visit_date) AS m, COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01' GROUP BY 1;
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-03-01' AND visit_date < DATE '2024-04-01';

-- title: drill down from month to day
SELECT date_trunc('month', visit_date) AS m, COUNT(*) FROM visits GROUP BY 1;
SELECT visit_date, COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-03-01' AND DATE '2024-03-31' GROUP BY 1;

-- title: every region by itself
SELECT COUNT(*) FROM patients WHERE region = 'north';
SELECT COUNT(*) FROM patients WHERE region = 'east';
SELECT COUNT(*) FROM patients WHERE region = 'south';
SELECT COUNT(*) FROM patients WHERE region = 'west';
SELECT COUNT(*) FROM patients;

-- title: cohort against cohort by region
SELECT AVG(income) FROM patients WHERE region = 'north';
SELECT AVG(income) FROM patients WHERE region = 'south';
SELECT AVG(income) FROM patients WHERE region IN ('north', 'south');

-- title: cohort against cohort by generation
SELECT AVG(income), COUNT(*) FROM patients WHERE birth_year < 1960;
SELECT AVG(income), COUNT(*) FROM patients WHERE birth_year >= 1960 AND birth_year < 1990;
SELECT AVG(income), COUNT(*) FROM patients WHERE birth_year >= 1990;

-- title: age bands as groups
SELECT CASE WHEN birth_year < 1950 THEN 'old' WHEN birth_year < 1980 THEN 'middle' ELSE 'young' END AS band, COUNT(*) FROM patients GROUP BY 1;
SELECT CASE WHEN birth_year < 1950 THEN 'old' WHEN birth_year < 1980 THEN 'middle' ELSE 'young' END AS band, AVG(income) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE birth_year < 1950;

-- title: age bands by region
SELECT region, birth_year / 20 * 20 AS band, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT region, COUNT(*) FROM patients WHERE birth_year BETWEEN 1940 AND 1959 GROUP BY 1;

-- title: a filter on region toggled on and off
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980 AND region = 'east';
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980 AND region <> 'east';

-- title: two filters toggled, in all ways
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE region = 'west';
SELECT COUNT(*) FROM patients WHERE income >= 50000;
SELECT COUNT(*) FROM patients WHERE region = 'west' AND income >= 50000;
SELECT COUNT(*) FROM patients WHERE region <> 'west' AND income < 50000;

-- title: three filters toggled on a grouped tile
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT region, COUNT(*) FROM patients WHERE income >= 40000 GROUP BY region;
SELECT region, COUNT(*) FROM patients WHERE birth_year < 1970 GROUP BY region;
SELECT region, COUNT(*) FROM patients WHERE income >= 40000 AND birth_year < 1970 GROUP BY region;

-- title: regions ticked one after the other
SELECT COUNT(*) FROM patients WHERE region IN ('north');
SELECT COUNT(*) FROM patients WHERE region IN ('north', 'east');
SELECT COUNT(*) FROM patients WHERE region IN ('north', 'east', 'south');
SELECT COUNT(*) FROM patients WHERE region IN ('north', 'east', 'south', 'west');

-- title: regions unticked
SELECT COUNT(*) FROM patients WHERE region NOT IN ('north');
SELECT COUNT(*) FROM patients WHERE region NOT IN ('north', 'east');
SELECT COUNT(*) FROM patients WHERE region NOT IN ('north', 'east', 'south');

-- title: year to date, month after month
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-02-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-03-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-04-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-05-01';

-- title: year to date against the year before
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-07-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-01-01' AND visit_date < DATE '2023-07-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-01-01' AND visit_date < DATE '2024-01-01';

-- title: year to date by month, a month later again
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-06-01' GROUP BY 1;
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-07-01' GROUP BY 1;

-- title: by day, and a day later again
SELECT visit_date, COUNT(*) FROM visits WHERE visit_date >= DATE '2024-05-01' AND visit_date <= DATE '2024-05-20' GROUP BY 1;
SELECT visit_date, COUNT(*) FROM visits WHERE visit_date >= DATE '2024-05-01' AND visit_date <= DATE '2024-05-21' GROUP BY 1;
SELECT visit_date, COUNT(*) FROM visits WHERE visit_date >= DATE '2024-05-02' AND visit_date <= DATE '2024-05-22' GROUP BY 1;

-- title: the last four weeks, every Monday
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-04-01' AND visit_date < DATE '2024-04-29';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-04-08' AND visit_date < DATE '2024-05-06';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-04-15' AND visit_date < DATE '2024-05-13';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-04-22' AND visit_date < DATE '2024-05-20';

-- title: the last ninety days, on the first of each month
SELECT AVG(cost) FROM visits WHERE visit_date > DATE '2024-02-01' AND visit_date <= DATE '2024-05-01';
SELECT AVG(cost) FROM visits WHERE visit_date > DATE '2024-03-03' AND visit_date <= DATE '2024-06-01';
SELECT AVG(cost) FROM visits WHERE visit_date > DATE '2024-04-02' AND visit_date <= DATE '2024-07-01';

-- title: the last twelve months, on the first of each month
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-05-01' AND visit_date < DATE '2024-05-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-06-01' AND visit_date < DATE '2024-06-01';
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2023-07-01' AND visit_date < DATE '2024-07-01';

-- title: week over week
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-05-06' AND DATE '2024-05-12';
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-05-13' AND DATE '2024-05-19';
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-05-20' AND DATE '2024-05-26';

-- title: weeks as groups beside months as groups
SELECT date_trunc('week', visit_date), COUNT(*) FROM visits GROUP BY 1;
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits GROUP BY 1;

-- title: quarters, months and weeks as groups of one year
SELECT date_trunc('quarter', visit_date), COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01' GROUP BY 1;
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01' GROUP BY 1;
SELECT date_trunc('week', visit_date), COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01' GROUP BY 1;

-- title: a week beside its month
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31';
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-05-13' AND DATE '2024-05-19';

-- title: the last thirty days beside the quarter
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-04-01' AND DATE '2024-06-30';
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-06-02' AND DATE '2024-07-01';

-- title: the most frequent diagnoses
SELECT diagnosis, COUNT(*) AS n FROM visits GROUP BY diagnosis ORDER BY n DESC LIMIT 10;
SELECT diagnosis, COUNT(*) AS n FROM visits WHERE visit_date >= DATE '2024-01-01' GROUP BY diagnosis ORDER BY n DESC LIMIT 5;

-- title: one diagnosis beside all
SELECT diagnosis, COUNT(*) FROM visits GROUP BY diagnosis;
SELECT COUNT(*) FROM visits WHERE diagnosis = 'flu';
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE diagnosis = 'flu' GROUP BY 1;

-- title: two diagnoses side by side
SELECT AVG(cost) FROM visits WHERE diagnosis = 'flu';
SELECT AVG(cost) FROM visits WHERE diagnosis = 'asthma';
SELECT AVG(cost) FROM visits WHERE diagnosis IN ('flu', 'asthma');

-- title: all but one diagnosis
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits WHERE diagnosis <> 'flu';

-- title: dear and cheap visits
SELECT COUNT(*) FROM visits WHERE cost >= 1000;
SELECT COUNT(*) FROM visits WHERE cost < 1000;
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits WHERE cost >= 500;

-- title: bands of costs as groups, then one band
SELECT floor(cost / 1000), COUNT(*) FROM visits GROUP BY 1;
SELECT diagnosis, COUNT(*) FROM visits WHERE cost >= 1000 AND cost < 2000 GROUP BY 1;

-- title: bands of incomes as groups, twice as wide later
SELECT floor(income / 10000) * 10000, COUNT(*) FROM patients GROUP BY 1;
SELECT floor(income / 20000) * 20000, COUNT(*) FROM patients GROUP BY 1;

-- title: bands of incomes that are moved by a half
SELECT floor(income / 20000), COUNT(*) FROM patients GROUP BY 1;
SELECT floor((income + 10000) / 20000), COUNT(*) FROM patients GROUP BY 1;

-- title: a histogram of births, coarser and finer
SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year;
SELECT birth_year / 5 * 5, COUNT(*) FROM patients GROUP BY 1;
SELECT birth_year / 10 * 10, COUNT(*) FROM patients GROUP BY 1;

-- title: one year of birth beside all years
SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year;
SELECT AVG(income) FROM patients WHERE birth_year = 1960;
SELECT COUNT(*) FROM patients WHERE birth_year <> 1960;

-- title: windows of years, where every year was counted
SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year;
SELECT AVG(income) FROM patients WHERE birth_year BETWEEN 1950 AND 1959;
SELECT AVG(income) FROM patients WHERE birth_year BETWEEN 1951 AND 1960;

-- title: decades apart
SELECT AVG(income) FROM patients WHERE birth_year BETWEEN 1950 AND 1959;
SELECT AVG(income) FROM patients WHERE birth_year BETWEEN 1960 AND 1969;
SELECT AVG(income) FROM patients WHERE birth_year BETWEEN 1950 AND 1969;

-- title: a band that is widened on both sides
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1955 AND 1965;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1970;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1940 AND 1980;

-- title: a threshold that is tried out
SELECT COUNT(*) FROM patients WHERE income > 100000;
SELECT COUNT(*) FROM patients WHERE income > 75000;
SELECT COUNT(*) FROM patients WHERE income > 50000;
SELECT COUNT(*) FROM patients WHERE income > 25000;

-- title: patients of working age, said in three ways
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1960 AND 2000;
SELECT COUNT(*) FROM patients WHERE birth_year > 1959 AND birth_year < 2001;
SELECT COUNT(*) FROM patients WHERE NOT (birth_year < 1960 OR birth_year > 2000);

-- title: whether an income is known
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income IS NOT NULL;
SELECT COUNT(income) FROM patients;

-- title: a notebook that starts with everything
SELECT COUNT(*), AVG(income), MIN(birth_year) FROM patients;
SELECT region, AVG(income), STDDEV(income) FROM patients GROUP BY region;
SELECT region, AVG(income) FROM patients WHERE birth_year >= 1960 GROUP BY region;

-- title: visits by the region of the patient
SELECT p.region, COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY p.region;
SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.region = 'north';
SELECT COUNT(*) FROM visits;

-- title: visits of the old and of the young
SELECT AVG(v.cost) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.birth_year < 1950;
SELECT AVG(v.cost) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.birth_year >= 1980;
SELECT AVG(v.cost) FROM visits v JOIN patients p ON p.patient_id = v.patient_id;

-- title: visits by region and month
SELECT p.region, date_trunc('month', v.visit_date), COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id GROUP BY 1, 2;
SELECT p.region, COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE v.visit_date >= DATE '2024-01-01' GROUP BY 1;
SELECT date_trunc('month', v.visit_date), COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.region = 'south' GROUP BY 1;

-- title: totals of a table with its rows
SELECT region, birth_year / 10, COUNT(*) FROM patients GROUP BY ROLLUP (region, birth_year / 10);
SELECT region, COUNT(*) FROM patients GROUP BY region;

-- title: shares of a total in one statement
SELECT COUNT(*) FILTER (WHERE income >= 50000) * 1.0 / COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income >= 50000;

-- title: weekdays as groups
SELECT EXTRACT(DOW FROM visit_date), COUNT(*) FROM visits GROUP BY 1;
SELECT COUNT(*) FROM visits WHERE EXTRACT(DOW FROM visit_date) IN (0, 6);
SELECT EXTRACT(MONTH FROM visit_date), COUNT(*) FROM visits GROUP BY 1;

-- title: before and after a change
SELECT AVG(cost), COUNT(*) FROM visits WHERE visit_date < DATE '2023-07-01';
SELECT AVG(cost), COUNT(*) FROM visits WHERE visit_date >= DATE '2023-07-01';
SELECT diagnosis, AVG(cost) FROM visits WHERE visit_date >= DATE '2023-07-01' GROUP BY 1;

-- title: a control group by another window
SELECT AVG(cost) FROM visits WHERE diagnosis = 'asthma' AND visit_date >= DATE '2023-01-01' AND visit_date < DATE '2024-01-01';
SELECT AVG(cost) FROM visits WHERE diagnosis = 'asthma' AND visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01';
SELECT AVG(cost) FROM visits WHERE diagnosis = 'flu' AND visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01';

-- title: two colleagues with the same dashboard
-- as: alice
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980;
-- as: bob
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980 AND region = 'north';

-- title: two colleagues who work on halves
-- as: alice
SELECT birth_year / 10, COUNT(*) FROM patients WHERE region IN ('north', 'east') GROUP BY 1;
-- as: bob
SELECT birth_year / 10, COUNT(*) FROM patients WHERE region IN ('south', 'west') GROUP BY 1;
SELECT birth_year / 10, COUNT(*) FROM patients GROUP BY 1;

-- title: persons by sex, then with smokers
-- of: hospital
SELECT sex, COUNT(*) FROM persons GROUP BY sex;
SELECT sex, COUNT(*) FROM persons WHERE smoker GROUP BY sex;
SELECT sex, COUNT(*) FROM persons WHERE NOT smoker GROUP BY sex;
SELECT COUNT(*) FROM persons WHERE smoker;

-- title: ages as of a day
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1960-06-30';
SELECT COUNT(*) FROM persons WHERE birth_date > DATE '1960-06-30' AND birth_date <= DATE '2007-06-30';
SELECT COUNT(*) FROM persons WHERE birth_date > DATE '2007-06-30';

-- title: ages, a month later again
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1960-06-30';
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1960-07-31';
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1960-08-31';

-- title: births by year, then by decade
-- of: hospital
SELECT EXTRACT(YEAR FROM birth_date), COUNT(*) FROM persons GROUP BY 1;
SELECT floor(EXTRACT(YEAR FROM birth_date) / 10), COUNT(*) FROM persons GROUP BY 1;
SELECT AVG(salary) FROM persons WHERE birth_date >= DATE '1970-01-01' AND birth_date < DATE '1980-01-01';

-- title: quintiles of a score
-- of: hospital
SELECT score / 20, COUNT(*), AVG(salary) FROM persons GROUP BY 1;
SELECT COUNT(*) FROM persons WHERE score >= 80;
SELECT COUNT(*) FROM persons WHERE score >= 60;

-- title: families of each size
-- of: hospital
SELECT children, COUNT(*) FROM persons GROUP BY children;
SELECT COUNT(*) FROM persons WHERE children = 0;
SELECT COUNT(*) FROM persons WHERE children > 0;
SELECT COUNT(*) FROM persons WHERE children >= 2;

-- title: wards, and one less
-- of: hospital
SELECT ward, COUNT(*) FROM stays GROUP BY ward;
SELECT COUNT(*) FROM stays WHERE ward <> 'a1';
SELECT COUNT(*) FROM stays WHERE ward NOT IN ('a1', 'a2');
SELECT COUNT(*) FROM stays WHERE ward IN ('b1', 'b2');

-- title: long stays by ward and year
-- of: hospital
SELECT ward, COUNT(*) FROM stays WHERE nights >= 7 GROUP BY ward;
SELECT EXTRACT(YEAR FROM admitted), COUNT(*) FROM stays WHERE nights >= 7 GROUP BY 1;
SELECT ward, EXTRACT(YEAR FROM admitted), COUNT(*) FROM stays GROUP BY 1, 2;
SELECT ward, COUNT(*) FROM stays WHERE nights >= 14 GROUP BY ward;

-- title: postcodes as groups, then some of them
-- of: hospital
SELECT postcode, COUNT(*) FROM persons GROUP BY postcode;
SELECT AVG(salary) FROM persons WHERE postcode IN ('1010', '1020', '1030');
SELECT AVG(salary) FROM persons WHERE postcode IN ('1040', '1050');

-- title: one postcode beside all
-- of: hospital
SELECT COUNT(*), AVG(salary) FROM persons;
SELECT COUNT(*), AVG(salary) FROM persons WHERE postcode = '1010';

-- title: salaries in steps of ten thousand, and those above
-- of: hospital
SELECT salary / 10000, COUNT(*) FROM persons GROUP BY 1;
SELECT COUNT(*) FROM persons WHERE salary >= 100000;
SELECT sex, COUNT(*) FROM persons WHERE salary >= 100000 GROUP BY sex;

-- title: outliers left out
-- of: hospital
SELECT AVG(nights) FROM stays;
SELECT AVG(nights) FROM stays WHERE nights < 50;
SELECT AVG(nights) FROM stays WHERE nights < 40;

-- title: stays of smokers by ward
-- of: hospital
SELECT s.ward, COUNT(*) FROM stays s JOIN persons p ON p.person_id = s.person_id WHERE p.smoker GROUP BY s.ward;
SELECT s.ward, COUNT(*) FROM stays s JOIN persons p ON p.person_id = s.person_id GROUP BY s.ward;
SELECT COUNT(*) FROM stays s JOIN persons p ON p.person_id = s.person_id WHERE p.smoker;

-- title: a pivot over two filters
-- of: hospital
SELECT COUNT(*) FROM persons WHERE sex = 'f' AND smoker;
SELECT COUNT(*) FROM persons WHERE sex = 'f' AND NOT smoker;
SELECT COUNT(*) FROM persons WHERE sex = 'm' AND smoker;
SELECT COUNT(*) FROM persons WHERE sex = 'm' AND NOT smoker;
SELECT COUNT(*) FROM persons WHERE smoker;
SELECT COUNT(*) FROM persons WHERE sex = 'f';
SELECT COUNT(*) FROM persons;

-- title: a report of four quarters with its total
-- of: hospital
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-01-01' AND admitted < DATE '2024-04-01';
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-04-01' AND admitted < DATE '2024-07-01';
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-07-01' AND admitted < DATE '2024-10-01';
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-10-01' AND admitted < DATE '2025-01-01';
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-01-01' AND admitted < DATE '2025-01-01';
SELECT date_trunc('month', admitted), COUNT(*) FROM stays WHERE admitted >= DATE '2024-01-01' AND admitted < DATE '2025-01-01' GROUP BY 1;

-- title: what a person has on average, and how many rows there are
SELECT COUNT(*) FROM visits;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01' GROUP BY patient_id) t;

-- title: a region without rows, and then others
SELECT COUNT(*) FROM patients WHERE region = 'nowhere';
SELECT COUNT(*) FROM patients WHERE birth_year > 3000;
SELECT COUNT(*) FROM patients;
SELECT region, AVG(income) FROM patients GROUP BY region;
SELECT COUNT(*) FROM patients WHERE region = 'nowhere';

-- title: a count by choice beside the count of all
SELECT COUNT(*) FROM patients;
SELECT SUM(CASE WHEN income > 50000 THEN 1 ELSE 0 END) FROM patients;
SELECT AVG(COALESCE(income, 0)) FROM patients;

-- title: values joined to choose decades
SELECT COUNT(*) FROM patients WHERE birth_year IN (SELECT v.x FROM (VALUES (1950), (1960), (1970)) v(x));
SELECT COUNT(*) FROM patients;

-- title: visits beside the patients of one region
SELECT COUNT(p.patient_id), AVG(p.birth_year) FROM visits v LEFT JOIN patients p ON p.patient_id = v.patient_id AND p.region = 'north';

-- title: the first visit of each patient
SELECT AVG(cost) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date) AS n FROM visits) t WHERE n = 1;

-- title: patients with a visit in a year, and in the next
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date >= DATE '2024-01-01' AND v.visit_date < DATE '2025-01-01');
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date >= DATE '2025-01-01' AND v.visit_date < DATE '2026-01-01');
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);

-- title: what patients cost, those without a visit too
SELECT p.region, COUNT(v.visit_id), SUM(v.cost) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id GROUP BY p.region;
SELECT p.region, AVG(t.n) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t
ON t.patient_id = p.patient_id GROUP BY p.region;

-- title: two halves of the years as one table, and all years
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM visits WHERE visit_date < DATE '2024-04-01'
  UNION ALL SELECT patient_id FROM visits WHERE visit_date >= DATE '2024-04-01'
) t;
SELECT COUNT(*) FROM visits WHERE visit_date < DATE '2024-04-01';

-- title: events of two kinds
SELECT k, COUNT(*) FROM (
  SELECT patient_id, 'patient' AS k FROM patients UNION ALL SELECT patient_id, 'visit' FROM visits
) t GROUP BY k;
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM visits;

-- title: patients without expensive visits
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost >= 1000);
SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost >= 1000);

-- title: patients and what they paid in a year, nothing included
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a LEFT JOIN (
  SELECT patient_id, SUM(cost) AS s FROM visits WHERE visit_date >= DATE '2024-01-01' GROUP BY patient_id
) v ON v.patient_id = a.patient_id WHERE COALESCE(v.s, 0) < 100;

-- title: who came in two weeks, and who did not
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a WHERE EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.visit_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-14'
);
SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.visit_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-14'
);

-- title: who came often, and often for one reason
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t WHERE n >= 3;
SELECT COUNT(*) FROM (
  SELECT patient_id, COUNT(*) FILTER (WHERE diagnosis = 'flu') AS n FROM visits GROUP BY patient_id
) t WHERE n >= 3;

-- title: decades after a condition on years
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT birth_year / 10 * 10, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: keys that are put together or rounded
SELECT to_char(visit_date, 'YYYY-MM'), COUNT(*) FROM visits GROUP BY 1;
SELECT diagnosis || '-' || extract(year from visit_date)::text, COUNT(*) FROM visits GROUP BY 1;
SELECT round(cost, -2), COUNT(*) FROM visits GROUP BY 1;
SELECT floor(cost / 250)::int, COUNT(*) FROM visits GROUP BY 1;
SELECT CASE WHEN cost < 100 THEN 'low' WHEN cost < 1000 THEN 'mid' ELSE 'high' END, COUNT(*) FROM visits GROUP BY 1;

-- title: a CASE on two columns
SELECT CASE WHEN birth_year >= 1950 THEN 'old' WHEN region = 'west' THEN 'west' ELSE 'other' END, COUNT(*) FROM patients GROUP BY 1;

-- title: ages by a quotient
SELECT floor((date '2026-01-01' - visit_date) / 365.25), COUNT(*) FROM visits GROUP BY 1;

-- title: fiscal years
SELECT date_trunc('year', visit_date + INTERVAL '3 months'), COUNT(*) FROM visits GROUP BY 1;

-- title: dear and cheap visits of each person
SELECT AVG(n) FROM (SELECT patient_id, cost > 100 AS dear, COUNT(*) n FROM visits GROUP BY 1, 2) t;
SELECT dear, AVG(n) FROM (SELECT patient_id, cost > 100 AS dear, COUNT(*) n FROM visits GROUP BY 1, 2) t GROUP BY 1;

-- title: a BI tool's key: date_trunc('week', visit_date + INTERVAL '1 day') - INTERVAL '1 day'
SELECT date_trunc('week', visit_date + INTERVAL '1 day') - INTERVAL '1 day', COUNT(*) FROM visits GROUP BY 1;

-- title: a BI tool's key: date_part('month', visit_date)
SELECT date_part('month', visit_date), COUNT(*) FROM visits GROUP BY 1;

-- title: a BI tool's key: COALESCE(EXTRACT(year FROM visit_date)::text, 'unknown')
SELECT COALESCE(EXTRACT(year FROM visit_date)::text, 'unknown'), COUNT(*) FROM visits GROUP BY 1;

-- title: a BI tool's key: date_trunc('month', visit_date) + INTERVAL '1 month' - INTERVAL '1 day'
SELECT date_trunc('month', visit_date) + INTERVAL '1 month' - INTERVAL '1 day', COUNT(*) FROM visits GROUP BY 1;

-- title: a BI tool's key: make_date(EXTRACT(year FROM visit_date)::int, 1, 1)
SELECT make_date(EXTRACT(year FROM visit_date)::int, 1, 1), COUNT(*) FROM visits GROUP BY 1;

-- title: a BI tool's key: (cost > 100)::int
SELECT (cost > 100)::int, COUNT(*) FROM visits GROUP BY 1;

-- title: a BI tool's key: make_date(birth_year, 1, 1)
SELECT make_date(birth_year, 1, 1), COUNT(*) FROM patients GROUP BY 1;

-- title: a BI tool's key: (birth_year < 1960)::text
SELECT (birth_year < 1960)::text, COUNT(*) FROM patients GROUP BY 1;

-- title: a BI tool's key: FLOOR(birth_year::float / 10) * 10
SELECT FLOOR(birth_year::float / 10) * 10, COUNT(*) FROM patients GROUP BY 1;

-- title: a BI tool's key: ROUND(birth_year::numeric, -1)
SELECT ROUND(birth_year::numeric, -1), COUNT(*) FROM patients GROUP BY 1;

-- title: a BI tool's key: SUBSTRING(birth_year::text, 1, 3)
SELECT SUBSTRING(birth_year::text, 1, 3), COUNT(*) FROM patients GROUP BY 1;

-- title: a BI tool's key: FLOOR((2026 - birth_year) / 10.0) * 10
SELECT FLOOR((2026 - birth_year) / 10.0) * 10, COUNT(*) FROM patients GROUP BY 1;

-- title: a count and a mean by a flag
SELECT birth_year >= 1980, COUNT(*) FROM patients GROUP BY 1;
SELECT birth_year >= 1980, AVG(income) FROM patients GROUP BY 1;

-- title: the first and the last visits of persons, and the later ones
SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY patient_id ORDER BY visit_date) rn FROM visits) t WHERE rn = 1;
SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY patient_id ORDER BY visit_date) rn FROM visits) t WHERE rn > 1;
SELECT AVG(cost) FROM (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits ORDER BY patient_id, visit_date DESC) t;

-- title: lengths of stay
-- of: hospital
SELECT ward, AVG(LEAST(GREATEST(left_on - admitted, 0), 60)) FROM stays GROUP BY ward;
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 7;
SELECT ward, COUNT(*) FROM stays WHERE left_on - admitted > 7 GROUP BY ward;
SELECT EXTRACT(YEAR FROM admitted), COUNT(*) FILTER (WHERE left_on - admitted > 30) FROM stays GROUP BY 1;
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 7 AND admitted >= DATE '2024-01-01' AND admitted < DATE '2025-01-01';

-- title: a histogram of lengths of stay
-- of: hospital
SELECT left_on - admitted AS days, COUNT(*) FROM stays GROUP BY 1;
SELECT COUNT(*) FROM stays WHERE left_on < admitted;

-- title: bands of lengths of stay
-- of: hospital
SELECT CASE WHEN left_on - admitted < 3 THEN 'short' WHEN left_on - admitted < 14 THEN 'medium' ELSE 'long' END AS band, COUNT(*) FROM stays GROUP BY 1;
SELECT CASE WHEN left_on - admitted < 3 THEN 'short' WHEN left_on - admitted < 14 THEN 'medium' ELSE 'long' END AS band, ward, COUNT(*) FROM stays GROUP BY 1, 2;

-- title: who comes back within thirty days
-- of: hospital
SELECT COUNT(*) FILTER (WHERE admitted - before < 30), COUNT(*) FROM (SELECT admitted, lag(left_on) OVER (PARTITION BY person_id ORDER BY admitted) AS before FROM stays) s;
-- title: a window that rolls by a day, where a chart shows the days
-- of: shop
SELECT order_date, COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2026-02-20' AND DATE '2026-03-20' GROUP BY 1;
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-01';
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-02';
SELECT SUM(amount) FROM orders WHERE order_date >= DATE '2026-03-03';
SELECT status, COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-03' GROUP BY 1;
SELECT status, COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-04' GROUP BY 1;
SELECT date_trunc('week', order_date), COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-05' GROUP BY 1;

-- title: a window of moments that rolls by a day, where a chart shows the hours
-- of: shop
SELECT date_trunc('hour', ordered_at), COUNT(DISTINCT customer_id) FROM orders WHERE ordered_at >= TIMESTAMPTZ '2026-03-01 00:00:00Z' AND ordered_at < TIMESTAMPTZ '2026-03-04 00:00:00Z' GROUP BY 1;
SELECT COUNT(DISTINCT customer_id) FROM orders WHERE ordered_at >= TIMESTAMPTZ '2026-03-01 08:15:21Z';
SELECT COUNT(DISTINCT customer_id) FROM orders WHERE ordered_at >= TIMESTAMPTZ '2026-03-02 09:02:11Z';
-- title: counts and sums beside public rows, and the regions as groups
SELECT r.region, (SELECT COUNT(*) FROM patients p WHERE p.region = r.region) FROM (VALUES ('north'), ('south')) r(region);
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT r.region, (SELECT AVG(income) FROM patients p WHERE p.region = r.region) FROM (VALUES ('north'), ('south')) r(region);

-- title: visits with a drug, without it, and all
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug = 'ibuprofen');
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug = 'metformin');
SELECT COUNT(DISTINCT v.patient_id) FROM visits v JOIN prescriptions p USING (visit_id) WHERE p.drug = 'ibuprofen';

-- title: prescriptions of expensive visits, as IN and as a JOIN
SELECT COUNT(*) FROM prescriptions;
SELECT COUNT(*) FROM prescriptions WHERE visit_id IN (SELECT visit_id FROM visits WHERE cost >= 1000);
SELECT p.drug, COUNT(*) FROM prescriptions p JOIN visits v USING (visit_id) WHERE v.cost >= 1000 GROUP BY p.drug;

-- title: visits with a prescription within a week
SELECT COUNT(*) FROM visits v WHERE EXISTS (
  SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.prescribed_at::date - v.visit_date <= 7
);
SELECT COUNT(*) FROM visits v JOIN prescriptions p USING (visit_id) WHERE p.prescribed_at::date - v.visit_date <= 30;

-- title: visits with a prescription beside all visits, by halves of the years
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-01-01';
SELECT COUNT(*) FROM visits v WHERE v.visit_date >= DATE '2024-01-01' AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id);
SELECT COUNT(*) FROM visits v WHERE v.visit_date >= DATE '2024-07-01' AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id);
SELECT COUNT(*) FROM visits v WHERE v.visit_date >= DATE '2024-01-01' AND NOT EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id);

-- title: visits with one drug, with another, with both, with neither
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug = 'ibuprofen');
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug = 'metformin');
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug = 'ibuprofen')
AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug = 'metformin');
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.drug IN ('ibuprofen', 'metformin'));

-- title: decades and their middles, cast to whole numbers
SELECT (floor(birth_year / 10.0) * 10)::int, COUNT(*) FROM patients GROUP BY 1;
SELECT (floor(birth_year / 10.0) * 10 + 5)::int, COUNT(*) FROM patients GROUP BY 1;
SELECT ((floor(birth_year / 10.0) * 10)::int)::text || 's', COUNT(*) FROM patients GROUP BY 1;

-- title: days of moments as texts, and weeks that begin on Sunday
-- of: shop
SELECT ordered_at::date::text, COUNT(*) FROM orders GROUP BY 1;
SELECT (date_trunc('week', ordered_at + interval '1 day') - interval '1 day')::date, COUNT(*) FROM orders GROUP BY 1;

-- title: ages, and years that are moved
SELECT (2026 - birth_year)::text, COUNT(*) FROM patients GROUP BY 1;
SELECT birth_year + 1, COUNT(*) FROM patients GROUP BY 1;

-- title: people without expensive visits, by conditions in aggregates
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT COUNT(*) FILTER (WHERE cost > 3000) FROM visits v WHERE v.patient_id = patients.patient_id) = 0;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT SUM(CASE WHEN cost > 3000 THEN 1 ELSE 0 END) FROM visits v WHERE v.patient_id = patients.patient_id) >= 2;

-- title: people by the number of their visits for one diagnosis
SELECT COUNT(*) FROM patients;
SELECT n, COUNT(*) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE diagnosis = 'flu') AS n FROM visits GROUP BY 1) t GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE diagnosis = 'flu') > 1);

-- title: people who came in a quarter, and who did not
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-04-01') = 0) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2024-04-01') > 0) t;

-- title: people with free visits
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost = 0) > 0) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost = 0) > 1) t;

-- title: values that public rows list, beside the count of all
-- of: clinic
SELECT COUNT(*) FROM patients WHERE region = 'north' AND birth_year BETWEEN 1950 AND 1990;
SELECT v.y, COUNT(p.patient_id) FROM generate_series(1950, 1990) v(y) LEFT JOIN patients p ON v.y = p.birth_year AND p.region IN ('north') WHERE v.y <> 1971 GROUP BY 1;

-- title: a chosen boundary, whose groups the table shows openly
SELECT COUNT(*) FROM patients;
SELECT birth_year = 1971, COUNT(*) FROM patients GROUP BY 1;

-- title: returns within a week and within a quarter, in several spellings
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, LEAD(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date DESC, visit_id DESC) AS l FROM visits) t WHERE visit_date - l < 90;
SELECT COUNT(*) FROM (SELECT visit_date, MAX(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS l FROM visits) t WHERE visit_date - l < 7;

-- title: people by how often they came, over different thresholds
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) > 5) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) > 2) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) BETWEEN 2 AND 4) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE visit_date >= DATE '2024-01-01' GROUP BY 1 HAVING COUNT(*) > 5) t;

-- title: people with dear visits, by flags over wide ranges
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(cost > 500) AS b FROM visits GROUP BY 1) t WHERE b;
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(cost > 1000) AS b FROM visits GROUP BY 1) t WHERE b;
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(cost > 2000) AS b FROM visits GROUP BY 1) t WHERE NOT b;
SELECT COUNT(*) FROM visits WHERE cost > 1500;
SELECT b, COUNT(*) FROM (SELECT patient_id, BOOL_AND(cost < 300) AS b FROM visits GROUP BY 1) t GROUP BY 1;

-- title: people who spent something, and those who spent much
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 100) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 5000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE visit_date >= DATE '2023-01-01' GROUP BY 1 HAVING SUM(cost) > 0) t;
SELECT AVG(m) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t WHERE m <> 0;

-- title: first and second visits of two years
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS n FROM visits WHERE visit_date >= DATE '2023-01-01') t WHERE n = 1;
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS n FROM visits WHERE visit_date >= DATE '2023-01-01') t WHERE n = 2;
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS n FROM visits WHERE visit_date >= DATE '2024-01-01') t WHERE n = 2;

-- title: people with the numbers of their visits beside them
SELECT COUNT(*), AVG(income) FROM patients;
SELECT AVG(n) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.patient_id;
SELECT region, COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.patient_id WHERE n > 3 GROUP BY 1;
SELECT COUNT(*) FROM patients p WHERE (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id) > 5;
SELECT COUNT(*) FROM patients p LEFT JOIN LATERAL (SELECT cost FROM visits v WHERE v.patient_id = p.patient_id ORDER BY visit_date LIMIT 1) f ON true WHERE f.cost > 100;

-- title: numbers of visits in windows, beside the visits
SELECT COUNT(*) FROM visits WHERE cost > 100;
SELECT COUNT(*) FROM (SELECT cost, COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) t WHERE cost > 100 AND n >= 2;
SELECT AVG(cost) FROM (SELECT cost, MAX(cost) OVER (PARTITION BY patient_id) AS m FROM visits) t WHERE m > 1000;
SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id, visit_id) patient_id, visit_id FROM visits WHERE cost > 300) t;

-- title: visits joined with themselves
SELECT COUNT(*) FROM visits WHERE cost > 100;
SELECT COUNT(*) FROM visits v JOIN visits w ON w.patient_id = v.patient_id AND w.visit_id = v.visit_id AND w.visit_date = v.visit_date WHERE v.cost > 100;
-- title: people without a visit of a kind, in a quarter, a week, and dear ones of a month
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date BETWEEN DATE '2024-04-01' AND DATE '2024-06-30');
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date BETWEEN DATE '2024-05-06' AND DATE '2024-05-12');
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost >= 1000 AND v.diagnosis = 'flu' AND v.visit_date BETWEEN DATE '2024-05-01' AND DATE '2024-05-31');

-- title: means of windows that move by a few days over a weekend
SELECT AVG(cost) FROM visits WHERE visit_date BETWEEN DATE '2024-04-03' AND DATE '2024-05-03';
SELECT AVG(cost) FROM visits WHERE visit_date BETWEEN DATE '2024-04-06' AND DATE '2024-05-06';
SELECT SUM(cost) FROM visits WHERE visit_date >= DATE '2024-04-09' AND visit_date <= DATE '2024-05-09';

-- title: sums of incomes above round amounts
SELECT SUM(income) FROM patients;
SELECT SUM(income) FROM patients WHERE income >= 20000;
SELECT SUM(income) FROM patients WHERE income > 25000;
SELECT SUM(income) FROM patients WHERE income BETWEEN 26000 AND 80000;

-- title: generations that move by five years, by means alone
SELECT AVG(income) FROM patients WHERE birth_year < 1950;
SELECT AVG(income) FROM patients WHERE birth_year < 1955;
SELECT AVG(income) FROM patients WHERE birth_year < 1957;

-- title: stays longer than a week, two weeks and a month
-- of: hospital
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 7;
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 14;
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 30;
SELECT COUNT(*) FROM stays WHERE left_on - admitted BETWEEN 3 AND 7;

-- title: people with more visits, and with more nights
-- of: hospital
SELECT COUNT(*) FROM (SELECT person_id, SUM(nights) AS s FROM stays GROUP BY 1) t WHERE s >= 10;
SELECT COUNT(*) FROM (SELECT person_id, SUM(nights) AS s FROM stays GROUP BY 1) t WHERE s >= 15;
SELECT COUNT(*) FROM (SELECT person_id, COUNT(*) AS n FROM stays GROUP BY 1) t WHERE n >= 2;
SELECT COUNT(*) FROM (SELECT person_id, COUNT(*) AS n FROM stays GROUP BY 1) t WHERE n >= 3;

-- title: years left out that a chart by year has shown to be large
-- of: hospital
-- times: 20
SELECT date_trunc('year', birth_date), COUNT(*) FROM persons GROUP BY 1;
SELECT AVG(salary) FROM persons WHERE extract(year FROM birth_date) NOT IN (1960, 1980);

-- title: drill down at a high price into groups that are large
-- times: 20
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT region, birth_year / 10 * 10 AS decade, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT AVG(income) FROM patients WHERE region = 'north' AND birth_year BETWEEN 1950 AND 1959;
SELECT AVG(income) FROM patients WHERE region = 'north' AND birth_year BETWEEN 1950 AND 1954;
SELECT AVG(income) FROM patients WHERE (region = 'north' AND birth_year BETWEEN 1950 AND 1959) OR (region = 'south' AND birth_year BETWEEN 1960 AND 1969);

-- title: orders of months, of returned goods and of dear ones
-- of: shop
SELECT SUM(amount) FROM orders WHERE ordered_at >= TIMESTAMPTZ '2026-01-01' AND ordered_at < TIMESTAMPTZ '2026-02-01';
SELECT SUM(amount) FROM orders WHERE ordered_at >= TIMESTAMPTZ '2026-01-15' AND ordered_at < TIMESTAMPTZ '2026-02-15';
SELECT SUM(amount) FROM orders WHERE amount >= 500;
SELECT SUM(amount) FROM orders WHERE amount >= 510 AND status = 'returned';
SELECT SUM(amount) FROM orders WHERE coupon NOT IN ('spring', 'autumn');

-- title: some postcodes, one half of the identifiers, then the other
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE postcode IN ('8001', '8002', '8003');
SELECT AVG(salary) FROM persons WHERE person_id < 50000;
SELECT AVG(salary) FROM persons WHERE person_id >= 50000;
SELECT AVG(salary) FROM persons WHERE postcode IN ('8001', '8002', '8003') AND salary >= 50000;

-- title: persons by their numbers of visits, beside all persons
SELECT COUNT(*) FROM patients;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY 1) t;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE visit_date >= DATE '2024-01-01' GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) >= 5) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis = 'flu' GROUP BY 1 HAVING COUNT(*) >= 2) t;
SELECT AVG(income) FROM patients JOIN (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) t USING (patient_id) WHERE s > 2000;
SELECT region, AVG(s) FROM patients JOIN (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) t USING (patient_id) GROUP BY 1;

-- title: distinct persons by period, region and diagnosis
SELECT region, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(DISTINCT patient_id) FROM visits;
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2024-01-01' AND visit_date < DATE '2025-01-01';
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2024-06-03' AND visit_date < DATE '2024-06-10';
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2024-06-10' AND visit_date < DATE '2024-06-17';
SELECT region, COUNT(DISTINCT patient_id) FROM patients JOIN visits USING (patient_id) GROUP BY 1;
SELECT region, COUNT(DISTINCT patient_id) FROM patients LEFT JOIN visits USING (patient_id) GROUP BY 1;
SELECT region, COUNT(DISTINCT patient_id) FROM patients JOIN visits USING (patient_id) WHERE diagnosis = 'flu' GROUP BY 1;
SELECT COUNT(DISTINCT patient_id) FILTER (WHERE cost > 500), COUNT(DISTINCT patient_id) FROM visits;

-- title: persons without some visits, with a bound that moves far
SELECT COUNT(*) FROM patients p WHERE income > 50000;
SELECT COUNT(*) FROM patients p WHERE income > 50000 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date >= DATE '2025-01-01');
SELECT COUNT(*) FROM patients p WHERE income > 80000 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date >= DATE '2025-01-01');
SELECT COUNT(*) FROM patients p WHERE birth_year >= 1960 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);
SELECT COUNT(*) FROM patients p WHERE birth_year >= 1960 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);

-- title: persons all of whose visits have a cost, as a filter that is toggled
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);
SELECT AVG(income) FROM patients p WHERE income IS NOT NULL;
SELECT AVG(income) FROM patients p WHERE income IS NOT NULL AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);
SELECT region, COUNT(*) FROM patients p WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE diagnosis = 'asthma') GROUP BY 1;

-- title: new persons of two years
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2024-01-01' AND patient_id NOT IN (SELECT patient_id FROM visits WHERE visit_date < DATE '2024-01-01');
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2025-01-01' AND patient_id NOT IN (SELECT patient_id FROM visits WHERE visit_date < DATE '2025-01-01');
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2024-01-01';
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE visit_date >= DATE '2025-01-01';

-- title: all diagnoses but one, as a filter that is toggled
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits WHERE diagnosis <> 'flu';
SELECT COUNT(*) FROM visits WHERE diagnosis NOT IN ('flu', 'asthma');
SELECT AVG(cost) FROM visits WHERE diagnosis <> 'flu' AND cost > 100;
SELECT AVG(cost) FROM visits WHERE diagnosis <> 'flu' AND cost > 200;
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE diagnosis <> 'flu' GROUP BY 1;
SELECT diagnosis, COUNT(DISTINCT patient_id) FROM visits GROUP BY 1;
-- title: people by their costs: the largest, the sum, the mean, beside the visits
SELECT COUNT(*) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost > 1000) >= 2) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING AVG(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 5000 AND COUNT(*) > 3) t;

-- title: people who came first or last in a time
SELECT COUNT(*) FROM visits WHERE visit_date < DATE '2024-06-01';
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(visit_date) < DATE '2024-06-01') t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MIN(visit_date) >= DATE '2024-06-01') t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(visit_date) > DATE '2024-09-30') t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(visit_date) - MIN(visit_date) >= 365) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) > 1 AND MAX(visit_date) - MIN(visit_date) < 30) t;

-- title: classes of numbers of people, with choices inside
SELECT AVG(n), AVG(s), AVG(m) FROM (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS s, MAX(cost) AS m FROM visits GROUP BY 1) t;
SELECT CASE WHEN s < 100 THEN 'low' WHEN s < 1000 THEN 'mid' ELSE 'high' END, COUNT(*) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) t GROUP BY 1;
SELECT CASE WHEN m < 100 THEN 'low' WHEN m < 1000 THEN 'mid' ELSE 'high' END, COUNT(*) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t GROUP BY 1;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(CASE WHEN diagnosis = 'flu' THEN cost ELSE 0 END) > 500) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(coalesce(cost, 0)) > 2000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost / 100) > 30) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(least(cost, 500)) > 1000) t;

-- title: numbers of people with the same threshold, in several words
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) > 3) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(cost) > 3) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(DISTINCT visit_date) > 3) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 500) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost * 2) > 1000) t;
SELECT COUNT(*) FROM patients p WHERE (SELECT MAX(cost) FROM visits v WHERE v.patient_id = p.patient_id) > 500;
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND cost > 500);

-- title: two halves above one income, and all above another
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income > 50000;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income > 50000;
SELECT COUNT(*) FROM patients WHERE income > 60000;
SELECT COUNT(*) FROM patients;

-- title: two halves without many incomes, and all without others
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income NOT BETWEEN 100000 AND 119999;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income NOT BETWEEN 100000 AND 119999;
SELECT COUNT(*) FROM patients WHERE income NOT BETWEEN 60000 AND 79999;

-- title: years by month, weeks and the last months
SELECT extract(year FROM visit_date), extract(month FROM visit_date), COUNT(*) FROM visits GROUP BY 1, 2;
SELECT extract(year FROM visit_date), extract(week FROM visit_date), COUNT(*) FROM visits GROUP BY 1, 2;
SELECT date_trunc('quarter', visit_date), COUNT(*) FROM visits GROUP BY 1;
SELECT COUNT(*) FROM visits WHERE visit_date >= '2025-06-01';

-- title: ages in groups and in decades
SELECT CASE WHEN birth_year < 1940 THEN 'old' WHEN birth_year < 1980 THEN 'grown' ELSE 'young' END, birth_year / 10, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT birth_year / 10 * 10, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1980;
-- title: people with a condition among visits where one branch of it has no rows
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost IS NOT NULL GROUP BY 1 HAVING BOOL_OR(cost > 1000)) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE visit_date >= DATE '2025-01-01' GROUP BY 1 HAVING BOOL_OR(visit_date >= DATE '2025-06-01')) t;
SELECT AVG(CASE WHEN k THEN 1 ELSE 0 END) FROM (SELECT patient_id, BOOL_AND(cost > 10) AS k FROM visits WHERE cost IS NOT NULL GROUP BY 1) t;
SELECT k, COUNT(*) FROM (SELECT patient_id, SUM(least(cost, 5000)) > 1000 AS k FROM visits WHERE cost IS NOT NULL GROUP BY 1) t GROUP BY 1;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost IS NOT NULL GROUP BY 1 HAVING SUM(abs(cost)) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost IS NOT NULL GROUP BY 1 HAVING SUM(CASE WHEN cost <= 10 THEN 1 WHEN cost <= 1000 THEN 2 ELSE 3 END) > 5) t;

-- title: people with a condition among the visits without one diagnosis
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis <> 'flu' GROUP BY 1 HAVING BOOL_OR(cost > 1000)) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis NOT IN ('flu', 'asthma') GROUP BY 1 HAVING BOOL_OR(cost > 1000)) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis <> 'flu' GROUP BY 1 HAVING MAX(coalesce(cost, 0)) > 1000) t;

-- title: classes of costs of the visits without prescriptions, or without one diagnosis
SELECT SUM(CASE WHEN cost > 1000 THEN 5 WHEN cost <= 1000 THEN 3 ELSE 2 END) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM prescriptions r WHERE r.visit_id = v.visit_id);
SELECT COUNT(*), COUNT(*) FILTER (WHERE cost > 1000), COUNT(*) FILTER (WHERE cost <= 1000), COUNT(*) FILTER (WHERE cost IS NULL) FROM visits WHERE diagnosis <> 'flu';

-- title: people by the month of their first visit, and how long ago the last one was
SELECT m, COUNT(*) FROM (SELECT patient_id, MIN(date_trunc('month', visit_date))::date AS m FROM visits GROUP BY 1) t GROUP BY 1;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(date_trunc('month', visit_date)) >= '2025-01-01') t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(DISTINCT date_trunc('month', visit_date)) >= 3) t;
SELECT AVG(m) FROM (SELECT patient_id, COUNT(DISTINCT date_trunc('month', visit_date)) AS m FROM visits GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT v.patient_id, MIN(prescribed_at::date) AS m FROM prescriptions r JOIN visits v USING (visit_id) GROUP BY 1) t WHERE m >= DATE '2025-01-01';
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MIN(current_date - visit_date) <= 90) t;
SELECT AVG(d) FROM (SELECT patient_id, MIN(current_date - visit_date) AS d FROM visits GROUP BY 1) t;

-- title: customers by the day of their last order
-- of: shop
SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY 1 HAVING MAX(ordered_at::date) >= '2026-01-01') t;
SELECT COUNT(*) FROM (SELECT customer_id, MAX(date_trunc('month', ordered_at)) AS m FROM orders GROUP BY 1) t WHERE m >= DATE '2026-01-01';

-- title: people by the mean of their days
-- of: hospital
SELECT COUNT(*) FROM (SELECT person_id FROM stays GROUP BY 1 HAVING AVG(admitted - DATE '2024-01-01') > 30) t;
SELECT COUNT(*) FROM (SELECT person_id FROM stays GROUP BY 1 HAVING MAX(DATE '2026-01-01' - admitted) <= 90) t;

-- title: customers with a returned order
-- of: shop
SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY 1 HAVING BOOL_OR(status = 'returned')) t;
SELECT COUNT(*) FROM (SELECT customer_id FROM orders WHERE coupon <> 'spring' GROUP BY 1 HAVING BOOL_OR(status IN ('sent', 'returned'))) t;
SELECT COUNT(*) FROM (SELECT customer_id FROM orders GROUP BY 1 HAVING NOT BOOL_OR(status = 'returned')) t;
