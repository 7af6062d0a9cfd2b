-- What somebody asks who wants to know about one person. Every case is refused, at its last statement or before.
-- `-- as:` says who asks from here on; alice and bob are taken for one analyst, since they may compare notes.

-- title: all, and all but one year and one income
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE NOT (birth_year = 1954 AND income = 52311);

-- title: with and without one income
SELECT SUM(birth_year) FROM patients;
SELECT SUM(birth_year) FROM patients WHERE income <> 52311;

-- title: with and without one income, in one region
SELECT COUNT(*) FROM patients WHERE region = 'north';
SELECT COUNT(*) FROM patients WHERE region = 'north' AND income <> 52311;

-- title: without first, with then
SELECT COUNT(*) FROM patients WHERE income <> 52311;
SELECT COUNT(*) FROM patients;

-- title: one person left out by three columns at once
SELECT AVG(income) FROM patients WHERE birth_year < 1960;
SELECT AVG(income) FROM patients WHERE birth_year < 1960 AND NOT (region = 'east' AND birth_year = 1950 AND income = 70123);

-- title: one person left out by an OR
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income < 52311 OR income > 52311;

-- title: one person left out by two thresholds
SELECT COUNT(*) FROM patients WHERE income > 52310;
SELECT COUNT(*) FROM patients WHERE income > 52311;

-- title: less than, and at most
SELECT COUNT(*) FROM patients WHERE income < 150000;
SELECT COUNT(*) FROM patients WHERE income <= 150000;

-- title: the same in other words
SELECT COUNT(*) FROM patients WHERE income + 1000 < 151000;
SELECT COUNT(*) FROM patients WHERE NOT (income > 150000);

-- title: a few incomes left out
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income NOT BETWEEN 52300 AND 52320;

-- title: two windows of years, one year apart
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1959;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1951 AND 1960;

-- title: windows of days that slide by one
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-03-01' AND DATE '2024-03-30';
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-03-02' AND DATE '2024-03-31';

-- title: a threshold of years that climbs by one
SELECT COUNT(*) FROM patients WHERE birth_year <= 1949;
SELECT COUNT(*) FROM patients WHERE birth_year <= 1950;

-- title: windows of costs that slide by a cent
SELECT COUNT(*) FROM visits WHERE cost >= 100 AND cost < 200;
SELECT COUNT(*) FROM visits WHERE cost >= 100.01 AND cost < 200.01;

-- title: a cumulated count, step by step
SELECT COUNT(*) FROM patients WHERE income < 50000;
SELECT COUNT(*) FROM patients WHERE income < 50005;
SELECT COUNT(*) FROM patients WHERE income < 50010;

-- title: even numbers, and even numbers but one
SELECT COUNT(*) FROM patients WHERE birth_year % 2 = 0;
SELECT COUNT(*) FROM patients WHERE birth_year % 2 = 0 AND birth_year <> 1950;

-- title: subsets by modulus that differ by one value
SELECT COUNT(*) FROM patients WHERE birth_year % 7 IN (0, 1, 2) OR birth_year = 1957;
SELECT COUNT(*) FROM patients WHERE birth_year % 7 IN (0, 1, 2) OR birth_year = 1958;

-- title: subsets by modulus, and their rest
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE birth_year % 100 <> 57;

-- title: padded by a cohort, which is then taken off
SELECT COUNT(*) FROM patients WHERE region = 'south' OR (birth_year = 1954 AND income = 52311);
SELECT COUNT(*) FROM patients WHERE region = 'south';

-- title: a tracker of two paddings
SELECT COUNT(*) FROM patients WHERE birth_year < 1960;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1960;
SELECT COUNT(*) FROM patients WHERE birth_year < 1960 OR income = 52311;

-- title: a tracker on both sides of a padding
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE region = 'north' OR income = 52311;
SELECT COUNT(*) FROM patients WHERE region <> 'north' OR region IS NULL;
SELECT COUNT(*) FROM patients WHERE region = 'north';

-- title: halves that overlap in one year, less the whole
SELECT COUNT(*) FROM patients WHERE birth_year <= 1960;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1960;
SELECT COUNT(*) FROM patients;

-- title: three parts that leave one income out
SELECT COUNT(*) FROM patients WHERE income < 52311;
SELECT COUNT(*) FROM patients WHERE income > 52311 AND income < 100000;
SELECT COUNT(*) FROM patients WHERE income >= 100000;
SELECT COUNT(*) FROM patients;

-- title: four parts that leave one income out, at other times
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income > 52311 AND income < 100000;
SELECT COUNT(*) FROM patients WHERE income >= 100000 AND income < 150000;
SELECT COUNT(*) FROM patients WHERE income >= 150000;
SELECT COUNT(*) FROM patients WHERE income < 52311;

-- title: sums of pairs of three pieces, and of all three
SELECT COUNT(*) FROM patients WHERE birth_year <= 1950;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1951 AND income <= 80000 OR birth_year <= 1950 AND income > 80000;
SELECT COUNT(*) FROM patients WHERE income <= 80000;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1951 OR birth_year = 1950 AND income = 90001;
SELECT COUNT(*) FROM patients;

-- title: inclusion and exclusion of two bands that cross in little
SELECT COUNT(*) FROM patients WHERE birth_year = 1950;
SELECT COUNT(*) FROM patients WHERE income = 52311;
SELECT COUNT(*) FROM patients WHERE birth_year = 1950 OR income = 52311;

-- title: groups, and the sum of some of them with one year less
SELECT birth_year / 10 * 10, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1968;

-- title: groups against a window that is moved by one
SELECT birth_year / 10 * 10, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1951 AND 1970;

-- title: a window, and then groups that are moved by one
-- of: hospital
SELECT COUNT(*) FROM persons WHERE salary BETWEEN 50001 AND 50999;
SELECT floor(salary / 1000.0), COUNT(*) FROM persons GROUP BY 1;

-- title: a window of days, and then months
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date BETWEEN DATE '1961-02-02' AND DATE '1961-02-28';
SELECT date_trunc('month', birth_date), COUNT(*) FROM persons GROUP BY 1;

-- title: groups of salaries by bucket, and groups moved by one
-- of: hospital
SELECT width_bucket(salary, 0, 300000, 300), COUNT(*) FROM persons GROUP BY 1;
SELECT width_bucket(salary, 1, 300001, 300), COUNT(*) FROM persons GROUP BY 1;

-- title: by region, with and without one income
SELECT region, COUNT(*) FROM patients GROUP BY region;
SELECT region, COUNT(*) FROM patients WHERE income <> 52311 GROUP BY region;

-- title: by year of birth, with and without a sliver of incomes
SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year;
SELECT birth_year, COUNT(*) FROM patients WHERE income NOT BETWEEN 52000 AND 52999 GROUP BY birth_year;

-- title: by month to date, a day later again
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE visit_date <= DATE '2024-05-15' GROUP BY 1;
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE visit_date <= DATE '2024-05-16' GROUP BY 1;

-- title: two in one statement
SELECT (SELECT COUNT(*) FROM patients) - (SELECT COUNT(*) FROM patients WHERE income <> 52311);

-- title: two in one statement, as a union
SELECT COUNT(*) FROM patients UNION ALL SELECT COUNT(*) FROM patients WHERE income <> 52311;

-- title: two filters in one statement
SELECT COUNT(*), COUNT(*) FILTER (WHERE income <> 52311) FROM patients;

-- title: two colluding analysts
-- as: alice
SELECT COUNT(*) FROM patients;
-- as: bob
SELECT COUNT(*) FROM patients WHERE income <> 52311;

-- title: two colluding analysts, each with half of a tracker
-- as: alice
SELECT COUNT(*) FROM patients WHERE income < 52311;
SELECT COUNT(*) FROM patients WHERE income >= 100000;
-- as: bob
SELECT COUNT(*) FROM patients WHERE income > 52311 AND income < 100000;
SELECT COUNT(*) FROM patients;

-- title: two colluding analysts with windows that slide
-- as: alice
SELECT AVG(cost) FROM visits WHERE visit_date >= DATE '2024-03-01';
-- as: bob
SELECT AVG(cost) FROM visits WHERE visit_date > DATE '2024-03-01';

-- title: under a wrapper that says nothing
SELECT COUNT(*) FROM patients;
WITH w AS (SELECT * FROM patients WHERE income <> 52311) SELECT COUNT(*) FROM w WHERE birth_year >= 1900;

-- title: under a join that restricts nothing
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.income <> 52311;

-- title: behind a NULL that nobody has
SELECT COUNT(*) FROM patients WHERE income <> 52311 OR income IS NULL;
SELECT COUNT(*) FROM patients WHERE income IS NOT NULL;

-- title: among those without an income
SELECT COUNT(*) FROM patients WHERE income IS NULL;
SELECT COUNT(*) FROM patients WHERE income IS NULL AND birth_year <> 1954;

-- title: a pattern that nobody can compare
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits WHERE diagnosis NOT LIKE 'kur_';

-- title: two columns compared, which picks people as one likes
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income % 1000 <> birth_year % 1000;

-- title: all but one date of birth
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE birth_date <> DATE '1961-02-03';

-- title: all but one date of birth, by sex
-- of: hospital
SELECT sex, AVG(salary) FROM persons GROUP BY sex;
SELECT sex, AVG(salary) FROM persons WHERE birth_date <> DATE '1961-02-03' GROUP BY sex;

-- title: a date of birth left out by two ends
-- of: hospital
SELECT AVG(salary) FROM persons WHERE birth_date < DATE '1961-02-03' OR birth_date > DATE '1961-02-03';
SELECT AVG(salary) FROM persons;

-- title: ages, a day later again
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1960-06-30';
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1960-07-01';

-- title: a few dates of birth in one postcode
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE birth_date NOT BETWEEN DATE '1961-02-01' AND DATE '1961-02-05';

-- title: all but one name
-- of: hospital
SELECT SUM(salary) FROM persons;
SELECT SUM(salary) FROM persons WHERE name <> 'Xaver Ypsilon';

-- title: all but one postcode, twice
-- of: hospital
SELECT COUNT(*) FROM persons WHERE postcode NOT IN ('1010', '1020');
SELECT COUNT(*) FROM persons WHERE postcode NOT IN ('1010', '1020', '9999');

-- title: names that are listed, one more
-- of: hospital
SELECT COUNT(*) FROM persons WHERE name IN ('A', 'B', 'C');
SELECT COUNT(*) FROM persons WHERE name IN ('A', 'B', 'C', 'D');

-- title: one salary of one sex and one postcode
-- of: hospital
SELECT COUNT(*) FROM persons WHERE sex = 'f';
SELECT COUNT(*) FROM persons WHERE sex = 'f' AND NOT (salary = 54321 AND postcode = '1010');

-- title: long stays, one night more
-- of: hospital
SELECT COUNT(*) FROM stays WHERE nights >= 50;
SELECT COUNT(*) FROM stays WHERE nights >= 51;

-- title: a small group asked about again
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE salary BETWEEN 54320 AND 54322;
SELECT SUM(score) FROM persons WHERE salary BETWEEN 54320 AND 54322;

-- title: a small group of a table asked about again
-- of: hospital
-- times: 20
SELECT floor(salary / 100.0), COUNT(*) FROM persons WHERE salary < 5000 GROUP BY 1;
SELECT SUM(score) FROM persons WHERE salary BETWEEN 100 AND 199;
SELECT SUM(score) FROM persons WHERE salary BETWEEN 200 AND 299;
SELECT SUM(score) FROM persons WHERE salary BETWEEN 300 AND 399;

-- title: what a small group has more than a smaller one
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE salary BETWEEN 54300 AND 54399;
SELECT COUNT(*) FROM persons WHERE salary BETWEEN 54300 AND 54379;

-- title: a difference that was counted and is small
-- of: hospital
SELECT COUNT(*) FROM persons WHERE salary BETWEEN 54320 AND 54350;
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE salary NOT BETWEEN 54320 AND 54350;

-- title: five answers that leave a date of birth
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date <= DATE '1961-02-03';
SELECT COUNT(*) FROM persons WHERE birth_date >= DATE '1961-02-03' AND birth_date < DATE '1980-01-01';
SELECT COUNT(*) FROM persons WHERE birth_date >= DATE '1980-01-01' AND birth_date < DATE '2000-01-01';
SELECT COUNT(*) FROM persons WHERE birth_date >= DATE '2000-01-01';
SELECT COUNT(*) FROM persons;

-- title: a tracker that is cut in two by other questions
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date < DATE '1961-02-03';
SELECT sex, COUNT(*) FROM persons GROUP BY sex;
SELECT COUNT(*) FROM persons WHERE smoker;
SELECT COUNT(*) FROM persons WHERE birth_date > DATE '1961-02-03';
SELECT COUNT(*) FROM persons WHERE salary > 60000;
SELECT COUNT(*) FROM persons;

-- title: a tracker over two paddings that cross
-- of: hospital
SELECT COUNT(*) FROM persons WHERE sex = 'f';
SELECT COUNT(*) FROM persons WHERE smoker;
SELECT COUNT(*) FROM persons WHERE sex = 'f' AND smoker;
SELECT COUNT(*) FROM persons WHERE sex = 'f' OR smoker OR birth_date = DATE '1961-02-03';

-- title: months as groups, and the year without a day
-- of: hospital
SELECT EXTRACT(YEAR FROM birth_date), COUNT(*) FROM persons GROUP BY 1;
SELECT COUNT(*) FROM persons WHERE birth_date BETWEEN DATE '1961-01-02' AND DATE '1961-12-31';

-- title: conditions hidden in a sum
SELECT COUNT(*) FROM patients;
SELECT SUM(CASE WHEN income <> 52311 THEN 1 ELSE 0 END) FROM patients;

-- title: the sum over counts of each person, with and without a day
SELECT COUNT(*) FROM visits;
SELECT SUM(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE visit_date <> DATE '2024-05-15' GROUP BY patient_id) t;

-- title: a sum over sums of each person first, then the plain sum without a day
SELECT SUM(n) FROM (SELECT patient_id, SUM(cost) AS n FROM visits GROUP BY patient_id) t;
SELECT SUM(cost) FROM visits WHERE visit_date <> DATE '2024-05-15';

-- title: two sums over counts of each person, one without a day
SELECT SUM(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t;
SELECT SUM(n) FROM (SELECT patient_id, COUNT(*) AS n FROM visits WHERE visit_date <> DATE '2024-05-15' GROUP BY patient_id HAVING COUNT(*) >= 1) t;

-- title: counts of each person with a filter inside
SELECT COUNT(*) FROM visits;
SELECT AVG(n) FROM (SELECT patient_id, COUNT(*) FILTER (WHERE visit_date <> DATE '2024-05-15') AS n FROM visits GROUP BY patient_id) t;

-- title: a constant in a subquery
SELECT COUNT(*) FROM patients WHERE income > 52310;
SELECT COUNT(*) FROM patients WHERE income > (SELECT 52311);

-- title: a constant computed from values
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income <> (SELECT MAX(v) FROM (VALUES (52311), (17)) t(v));

-- title: not in a subquery of constants
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income NOT IN (SELECT 52311);

-- title: a left join with values that nobody meets
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p LEFT JOIN (VALUES (52311)) v(x) ON v.x = p.income WHERE v.x IS NULL;

-- title: no value exists that is the income
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM (VALUES (52311)) v(x) WHERE v.x = p.income);

-- title: a threshold that VALUES have, compared in WHERE
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1921;
SELECT COUNT(*) FROM patients p JOIN (VALUES ('west', 1922)) v(r, y) ON v.r = p.region WHERE p.birth_year >= v.y;

-- title: thresholds of several rows of VALUES, compared in WHERE
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1921;
SELECT COUNT(*) FROM patients p JOIN (VALUES ('west', 1922), ('south', 1990)) v(r, y) ON v.r = p.region
  WHERE v.y <= p.birth_year AND p.region = 'west';

-- title: a row that exists because it is itself
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1921;
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM patients q WHERE q.patient_id = p.patient_id AND q.region = p.region)
  AND region = 'west' AND birth_year >= 1922;

-- title: the same rows twice, with INTERSECT
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1921;
SELECT COUNT(*) FROM (SELECT patient_id, region, birth_year FROM patients INTERSECT SELECT patient_id, region, birth_year FROM patients) t
  WHERE region = 'west' AND birth_year >= 1922;

-- title: a comparison as a number
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE (income = 52311)::int = 0;

-- title: arithmetic on a comparison
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE 1 - (income = 52311)::int * 2 > 0;

-- title: arithmetic on a choice
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE CASE WHEN income = 52311 THEN 0 ELSE 1 END + 1 > 1;

-- title: what is left when one value becomes NULL
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE NULLIF(income, 52311) IS NOT NULL;

-- title: a sum without one value
SELECT SUM(income) FROM patients;
SELECT SUM(NULLIF(income, 52311)) FROM patients;

-- title: sums that bend at two neighbouring values
SELECT SUM(GREATEST(income, 52310)) FROM patients;
SELECT SUM(GREATEST(income, 52311)) FROM patients;

-- title: absolute values that bend at two neighbouring values
SELECT SUM(ABS(income - 52310)) FROM patients;
SELECT SUM(ABS(income - 52311)) FROM patients;

-- title: a choice that gives everybody a number
SELECT COUNT(*) FROM patients;
SELECT SUM(CASE WHEN income = 52311 THEN 2 ELSE 1 END) FROM patients;

-- title: steps of a quotient
SELECT SUM(FLOOR(income / 52311)) FROM patients;

-- title: partners below two neighbouring incomes
SELECT COUNT(*) FROM patients WHERE income < 52312;
SELECT COUNT(b.patient_id) FROM patients a LEFT JOIN patients b ON b.patient_id = a.patient_id AND b.income < 52311;

-- title: visits without a partner of one cost
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits a LEFT JOIN visits b ON b.patient_id = a.patient_id AND b.cost = 12.34 WHERE b.patient_id IS NULL;

-- title: visits without a partner of one cost, in other words
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits a LEFT JOIN (SELECT * FROM visits WHERE cost = 12.34) b ON b.patient_id = a.patient_id
WHERE COALESCE(b.patient_id, 0) = 0;

-- title: those whom the partner of one income leaves
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a LEFT JOIN patients b ON b.patient_id = a.patient_id AND b.income = 52311
WHERE b.patient_id IS NULL;

-- title: a window that marks one value
SELECT SUM(w) FROM (SELECT MAX(CASE WHEN cost = 12.34 THEN 1 ELSE 0 END) OVER (PARTITION BY patient_id) AS w FROM visits) t;

-- title: a row that is the first by one value
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY CASE WHEN cost = 12.34 THEN 0 ELSE 1 END)
AS w FROM visits) t WHERE w = 1;

-- title: the most of one's income and a number
SELECT SUM(m) FROM (SELECT patient_id, MAX(x) AS m FROM (SELECT patient_id, income AS x FROM patients
UNION ALL SELECT patient_id, 52311 FROM patients) u GROUP BY patient_id) t;

-- title: who has a visit since a day, and since the next
SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.visit_date >= DATE '2024-05-13');
SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.visit_date >= DATE '2024-05-14');

-- title: who has no visit since a day, and since the next
SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.visit_date >= DATE '2024-05-13');
SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.visit_date >= DATE '2024-05-14');

-- title: who is in a list of those with a visit since a day, and since the next
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE visit_date >= DATE '2024-05-13');
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE visit_date >= DATE '2024-05-14');

-- title: visits on the far side, by a filter
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-05-10';
SELECT COUNT(*) FILTER (WHERE v.visit_date >= DATE '2024-05-11') FROM patients a LEFT JOIN visits v ON a.patient_id = v.patient_id;

-- title: counts of each person on the far side
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-05-10';
SELECT SUM(v.n) FROM patients a LEFT JOIN (SELECT patient_id, COUNT(*) AS n FROM visits WHERE visit_date >= DATE '2024-05-11'
GROUP BY 1) v ON a.patient_id = v.patient_id;

-- title: totals of a window on one row of each person
SELECT COUNT(*) FROM visits WHERE visit_date >= DATE '2024-05-10';
SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id) AS n, ROW_NUMBER() OVER (PARTITION BY patient_id
ORDER BY visit_date) AS rn FROM visits WHERE visit_date >= DATE '2024-05-11') x WHERE rn = 1;

-- title: a threshold by the sign of a product
SELECT SUM(l) FROM (SELECT LAG(v.cost) OVER (PARTITION BY a.patient_id ORDER BY v.cost * (a.income - 50000)) AS l
FROM patients a JOIN visits v ON a.patient_id = v.patient_id) z;

-- title: partners of partners below two neighbouring years
SELECT COUNT(*) FROM patients WHERE region = 'north' AND birth_year >= 1951;
SELECT COUNT(c.patient_id) FROM patients a LEFT JOIN patients b ON a.patient_id = b.patient_id AND b.birth_year >= 1952
LEFT JOIN patients c ON c.patient_id = b.patient_id WHERE a.region = 'north';

-- title: one income left out in a side of a union, beside an empty side
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM patients WHERE income <> 52311 UNION ALL SELECT patient_id FROM patients WHERE 1 = 0
) t;

-- title: one cost left out in the second side of a union
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM visits WHERE 1 = 0 UNION ALL SELECT patient_id FROM visits WHERE cost <> 52.31
) t;

-- title: all but one income, as two sides of a union
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM patients WHERE income < 52311 UNION ALL SELECT patient_id FROM patients WHERE income > 52311
) t;

-- title: one income left out above a union
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id, income AS x FROM patients UNION ALL SELECT patient_id, income FROM patients WHERE 1 = 0
) t WHERE x <> 52311;

-- title: one income left out by a column of a side
SELECT COUNT(*) FROM patients;
SELECT SUM(y) FROM (
  SELECT patient_id, CASE WHEN income <> 52311 THEN 1 ELSE 0 END AS y FROM patients
  UNION ALL SELECT patient_id, 0 FROM patients WHERE 1 = 0
) t;

-- title: one income left out in a side, by groups of years
SELECT birth_year, COUNT(*) FROM patients GROUP BY birth_year;
SELECT b, COUNT(*) FROM (
  SELECT patient_id, birth_year AS b FROM patients WHERE income <> 52311
  UNION ALL SELECT patient_id, 1950 FROM patients WHERE 1 = 0
) t GROUP BY b;

-- title: one income left out in a side, which is a group
SELECT COUNT(*) FROM patients;
SELECT k, COUNT(*) FROM (
  SELECT patient_id, 1 AS k FROM patients WHERE income <> 52311
  UNION ALL SELECT patient_id, 2 FROM patients WHERE 1 = 0
) t GROUP BY k;

-- title: one income left out in a side, counted by person
SELECT COUNT(*) FROM patients;
SELECT SUM(n) FROM (
  SELECT patient_id, COUNT(*) AS n FROM (
    SELECT patient_id FROM patients WHERE income <> 52311 UNION ALL SELECT patient_id FROM patients WHERE 1 = 0
  ) t GROUP BY patient_id
) z;

-- title: one income left out in a side that is joined
SELECT COUNT(*) FROM patients;
SELECT COUNT(t.patient_id) FROM patients a LEFT JOIN (
  SELECT patient_id FROM patients WHERE income <> 52311 UNION ALL SELECT patient_id FROM patients WHERE 1 = 0
) t ON a.patient_id = t.patient_id;

-- title: visits by day, and in a side that is joined with the day without one of them
SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id;
SELECT COUNT(*) FROM (
  SELECT v.patient_id, v.cost FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE v.cost <> 52.31
  UNION ALL SELECT patient_id, 0 FROM patients WHERE 1 = 0
) t;

-- title: a pattern in a side of a union
-- of: hospital
SELECT COUNT(*) FROM (
  SELECT person_id FROM persons WHERE name NOT LIKE 'Smith, John%' UNION ALL SELECT person_id FROM persons WHERE 1 = 0
) t;

-- title: a pattern in a side of a union, inside of EXISTS
-- of: hospital
SELECT COUNT(*) FROM stays s WHERE EXISTS (
  SELECT 1 FROM (
    SELECT person_id FROM persons WHERE name LIKE 'Smith, John%' UNION ALL SELECT person_id FROM persons WHERE 1 = 0
  ) t WHERE t.person_id = s.person_id
);

-- title: a pattern in a nested union
-- of: hospital
SELECT COUNT(*) FROM (
  SELECT person_id FROM persons WHERE 1 = 0
  UNION ALL (SELECT person_id FROM persons WHERE 1 = 0 UNION ALL SELECT person_id FROM persons WHERE name NOT LIKE 'Smith, John%')
) t;

-- title: nobody who paid one cost
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost = 52.31
);

-- title: nobody who is among those who paid one cost
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE cost = 52.31);

-- title: nobody who has grouped visits of one cost
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a WHERE NOT EXISTS (
  SELECT 1 FROM (SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id) v
  WHERE v.patient_id = a.patient_id
);

-- title: nobody who has a number of visits of one cost
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a LEFT JOIN (
  SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
) v ON v.patient_id = a.patient_id WHERE v.m IS NULL;

-- title: nobody who has more than no visit of one cost
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients a LEFT JOIN (
  SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
) v ON v.patient_id = a.patient_id WHERE COALESCE(v.m, 0) = 0;

-- title: a year of birth that is asked inside of EXISTS over a join
SELECT COUNT(*) FROM patients a WHERE a.birth_year >= 1971 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id);
SELECT COUNT(*) FROM patients a WHERE EXISTS (
  SELECT 1 FROM patients b JOIN visits v ON v.patient_id = b.patient_id
  WHERE b.patient_id = a.patient_id AND b.birth_year >= 1972
);

-- title: a condition in an equality with a column of a union
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id, CASE WHEN income <> 52311 THEN birth_year END AS k FROM patients
  UNION ALL SELECT patient_id, 5 FROM patients WHERE 1 = 0
) u JOIN patients g ON u.patient_id = g.patient_id AND u.k = g.birth_year;

-- title: a condition in an equality with a column of a subquery
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id, CASE WHEN income <> 52311 THEN birth_year END AS k FROM patients
) u JOIN patients g ON u.patient_id = g.patient_id AND u.k = g.birth_year;

-- title: conditions on one union that is read twice
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id, birth_year AS x, 0 AS k FROM patients UNION ALL SELECT patient_id, 0, 1 FROM patients
) u JOIN (
  SELECT patient_id, birth_year AS x, 0 AS k FROM patients UNION ALL SELECT patient_id, 0, 1 FROM patients
) w ON u.patient_id = w.patient_id WHERE u.k = 0 AND w.k = 1 AND u.x <> 1950;

-- title: nobody who has a number of visits of one cost, each person once
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT DISTINCT a.patient_id FROM patients a LEFT JOIN (
    SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
  ) v ON v.patient_id = a.patient_id WHERE v.m IS NULL
) t;

-- title: one region up to a year, and a table of regions up to the year before
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year <= 1986;
SELECT region, COUNT(*) FROM patients WHERE birth_year <= 1985 GROUP BY region;

-- title: one region from a cost, and a table of regions above it
SELECT COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE p.region = 'north' AND v.cost >= 2500;
SELECT p.region, COUNT(*) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE v.cost > 2500 GROUP BY p.region;

-- title: one year from a cost, and a table of years above it
SELECT COUNT(*) FROM visits WHERE visit_date BETWEEN DATE '2024-01-01' AND DATE '2024-12-31' AND cost >= 2500;
SELECT date_trunc('year', visit_date), COUNT(*) FROM visits WHERE cost > 2500 GROUP BY 1;

-- title: nobody who has a number of visits of one cost, in a filter
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FILTER (WHERE v.m IS NULL) FROM patients a LEFT JOIN (
  SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
) v ON v.patient_id = a.patient_id;

-- title: nobody who has a number of visits of one cost, in a sum
SELECT COUNT(*) FROM patients;
SELECT SUM(CASE WHEN v.m IS NULL THEN 1 ELSE 0 END) FROM patients a LEFT JOIN (
  SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
) v ON v.patient_id = a.patient_id;

-- title: nobody who has a number of visits of one cost, as a group
SELECT COUNT(*) FROM patients;
SELECT v.m IS NULL, COUNT(*) FROM patients a LEFT JOIN (
  SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
) v ON v.patient_id = a.patient_id GROUP BY 1;

-- title: nobody who has a number of visits of one cost, inside of EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE EXISTS (
  SELECT 1 FROM (SELECT a.patient_id FROM patients a LEFT JOIN (
  SELECT patient_id, COUNT(*) AS m FROM visits WHERE cost = 52.31 GROUP BY patient_id
) v ON v.patient_id = a.patient_id WHERE v.m IS NULL) t WHERE t.patient_id = p.patient_id
);

-- title: nobody with a greatest cost from a limit, and from the next cent
SELECT COUNT(*) FROM patients a LEFT JOIN (
  SELECT patient_id, MAX(cost) AS m FROM visits WHERE cost >= 2500 GROUP BY patient_id
) v ON v.patient_id = a.patient_id WHERE v.m IS NULL;
SELECT COUNT(*) FROM patients a LEFT JOIN (
  SELECT patient_id, MAX(cost) AS m FROM visits WHERE cost >= 2500.01 GROUP BY patient_id
) v ON v.patient_id = a.patient_id WHERE v.m IS NULL;

-- title: a condition as the greatest flag of a person
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id, MAX(CASE WHEN birth_year = 1961 THEN 1 ELSE 0 END) AS f FROM patients GROUP BY patient_id
) t WHERE f = 0;

-- title: an opaque condition as the greatest flag of a person
SELECT COUNT(*) FROM (
  SELECT patient_id, MAX(CASE WHEN income % 7 = 3 THEN 1 ELSE 0 END) AS f FROM patients GROUP BY patient_id
) t WHERE f = 1;

-- title: a constant from a subquery in a filter
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FILTER (WHERE birth_year <> (SELECT 1961)) FROM patients;

-- title: a boundary as a key after a boundary as a condition
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT birth_year >= 1923, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: a boundary as a key beside another key
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT region, birth_year >= 1923, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: a boundary as a CASE
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT CASE WHEN birth_year >= 1923 THEN 'a' END, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: a boundary as a quotient
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT birth_year / 1923, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: decades that begin beside the boundary
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT (birth_year + 7) / 10, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: two tables by two boundaries
SELECT region, birth_year >= 1923, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT region, birth_year >= 1922, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: means that the lattice rounds to a count above a value
SELECT AVG(cost * 0.00001 + 1000000000.5) FROM visits;
SELECT AVG(cost * 0.00001 + 1000000000.50001) FROM visits;

-- title: a product whose other factor a filter makes small
SELECT AVG(income * (birth_year - 1980 + 0.00001) + 1000000000.5) FILTER (WHERE birth_year = 1980) FROM patients;
SELECT AVG(income * (birth_year - 1980 + 0.00001) + 1000000000.50001) FILTER (WHERE birth_year = 1980) FROM patients;

-- title: ties in an order that are a condition on two columns
SELECT SUM(l) FROM (SELECT patient_id, k, lag(tag) OVER (PARTITION BY patient_id ORDER BY birth_year) l FROM (SELECT p.patient_id, birth_year, (income > 50000) = (cost > 100) k, CASE WHEN cost > 100 THEN 1 ELSE 0 END tag FROM patients p JOIN visits v ON v.patient_id = p.patient_id) t) u WHERE k OR NOT k;
SELECT SUM(l) FROM (SELECT patient_id, k, lag(tag) OVER (PARTITION BY patient_id ORDER BY birth_year) l FROM (SELECT p.patient_id, birth_year, (income > 50001) = (cost > 100) k, CASE WHEN cost > 100 THEN 1 ELSE 0 END tag FROM patients p JOIN visits v ON v.patient_id = p.patient_id) t) u WHERE k OR NOT k;

-- title: a small group by a key that HAVING picks
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT COUNT(*) FROM patients WHERE region = 'west' GROUP BY birth_year >= 1923 HAVING birth_year >= 1923;

-- title: a boundary as a key: a quotient of decimals
SELECT COUNT(*) FROM patients WHERE birth_year > 1961;
SELECT FLOOR((birth_year - 1961) / 100.0), COUNT(*) FROM patients GROUP BY 1;

-- title: a boundary as a key: a rounded quotient
SELECT COUNT(*) FROM patients WHERE birth_year > 1961;
SELECT ROUND((birth_year - 1991) / 60.0), COUNT(*) FROM patients GROUP BY 1;

-- title: a boundary as a key: the text of a condition
SELECT COUNT(*) FROM patients WHERE birth_year > 1961;
SELECT (birth_year >= 1961)::text, COUNT(*) FROM patients GROUP BY 1;

-- title: a boundary as a key: a condition on two columns
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT birth_year >= 1923 AND region = 'west', COUNT(*) FROM patients GROUP BY 1;

-- title: a boundary as a key: a CASE on two columns
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT CASE WHEN birth_year >= 1923 AND region = 'west' THEN 'a' ELSE 'b' END, COUNT(*) FROM patients GROUP BY 1;

-- title: a boundary as a key: a text of a name and a condition
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT concat(region, (birth_year >= 1923)::text), COUNT(*) FROM patients GROUP BY 1;

-- title: a boundary as a key: a CASE with a column as its result
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT CASE WHEN birth_year >= 1923 THEN region END, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: a boundary as a key: a CASE with a condition as its result
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT CASE region WHEN 'west' THEN birth_year >= 1923 END, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: a boundary as a key: a century
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT extract(century FROM make_date(birth_year - 22, 1, 1)), COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: a boundary as a key: a logarithm
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT ln(birth_year - 1922) IS NULL, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;

-- title: the mean of a truth value
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT AVG((birth_year >= 1923)::int) FROM patients WHERE region = 'west';

-- title: the mean of a multiple of a truth value
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT AVG(2 * (birth_year >= 1923)::int) FROM patients WHERE region = 'west';

-- title: the mean of a product with a truth value
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT AVG(income * (birth_year >= 1923)::int) FROM patients WHERE region = 'west';

-- title: persons with rows on both sides of a year
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, y >= 1961 FROM (SELECT patient_id, birth_year y FROM patients UNION ALL SELECT patient_id, 2020 FROM patients) u) t;
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, y >= 1962 FROM (SELECT patient_id, birth_year y FROM patients UNION ALL SELECT patient_id, 2020 FROM patients) u) t;

-- title: a boundary in the partition of a window
SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id, visit_date >= DATE '2022-03-05') n FROM visits) t;
SELECT SUM(n) FROM (SELECT COUNT(*) OVER (PARTITION BY patient_id, visit_date >= DATE '2022-03-06') n FROM visits) t;

-- title: a chosen key beside a key that is found in the data
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'diabetes' AND visit_date >= DATE '2025-05-01';
SELECT diagnosis, visit_date >= DATE '2025-05-02', COUNT(DISTINCT patient_id) FROM visits GROUP BY 1, 2;

-- title: beside a constant in one row
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1922;
SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT 1 AS x) t WHERE region = 'west' AND p.birth_year >= 1923;

-- title: beside constants in one row each
SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT 1 AS x) t WHERE region = 'west' AND p.birth_year >= 1922;
SELECT COUNT(*) FROM patients p CROSS JOIN (SELECT 2 AS x) t WHERE region = 'west' AND p.birth_year >= 1923;

-- title: with the boundary in a row beside
SELECT COUNT(*) FROM patients;
WITH c AS (SELECT 1961 AS y) SELECT COUNT(*) FROM patients, c WHERE birth_year <> c.y;

-- title: two tables by two boundaries, one of them by region too
SELECT birth_year >= 1922, COUNT(*) FROM patients WHERE region = 'west' GROUP BY 1;
SELECT region, birth_year >= 1923, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: a boundary as a key below a union
SELECT k, COUNT(*) FROM (SELECT patient_id, CASE WHEN birth_year > 1961 THEN 'a' ELSE 'b' END k FROM patients UNION ALL SELECT patient_id, 'a' FROM patients) u GROUP BY 1;
SELECT k, COUNT(*) FROM (SELECT patient_id, CASE WHEN birth_year > 1962 THEN 'a' ELSE 'b' END k FROM patients UNION ALL SELECT patient_id, 'a' FROM patients) u GROUP BY 1;

-- title: a boundary as a key of a person below a union
SELECT COUNT(*) FROM (SELECT patient_id, k FROM (SELECT patient_id, birth_year > 1961 k FROM patients UNION ALL SELECT patient_id, true FROM patients) u GROUP BY 1, 2) t;
SELECT COUNT(*) FROM (SELECT patient_id, k FROM (SELECT patient_id, birth_year > 1962 k FROM patients UNION ALL SELECT patient_id, true FROM patients) u GROUP BY 1, 2) t;

-- title: a boundary as a key that a window hands on
SELECT k, COUNT(*) FROM (SELECT patient_id, lag(visit_date >= DATE '2024-03-05', 0) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) k FROM visits) t GROUP BY 1;
SELECT k, COUNT(*) FROM (SELECT patient_id, lag(visit_date >= DATE '2024-03-06', 0) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) k FROM visits) t GROUP BY 1;

-- title: persons of a first row, with DISTINCT ON
SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) patient_id FROM visits WHERE visit_date > DATE '2024-03-05' ORDER BY patient_id) t;
SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) patient_id FROM visits WHERE visit_date > DATE '2024-03-06' ORDER BY patient_id) t;

-- title: persons of a first row, with LATERAL
SELECT COUNT(*) FROM patients p JOIN LATERAL (SELECT cost c FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date > DATE '2024-03-05' ORDER BY cost LIMIT 1) t ON true;
SELECT COUNT(*) FROM patients p JOIN LATERAL (SELECT cost c FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_date > DATE '2024-03-06' ORDER BY cost LIMIT 1) t ON true;

-- title: persons of a first row, with its number
SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY patient_id ORDER BY cost) rn FROM visits WHERE visit_date > DATE '2024-03-05') t WHERE rn = 1;
SELECT COUNT(*) FROM (SELECT row_number() OVER (PARTITION BY patient_id ORDER BY cost) rn FROM visits WHERE visit_date > DATE '2024-03-06') t WHERE rn = 1;

-- title: a sum of first rows
SELECT SUM(cost) FROM (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits WHERE visit_date > DATE '2024-03-05' ORDER BY patient_id, visit_date) t;
SELECT SUM(cost) FROM (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits WHERE visit_date > DATE '2024-03-06' ORDER BY patient_id, visit_date) t;

-- title: a truth value in a function that nothing reads
SELECT COUNT(*) FROM patients WHERE region = 'west' AND birth_year >= 1921;
SELECT SUM(ROUND((birth_year >= 1922)::integer * 0.7)) FROM patients WHERE region = 'west';

-- title: a stay that is one day longer
-- of: hospital
SELECT COUNT(*) FROM stays WHERE left_on - admitted <= 30;
SELECT COUNT(*) FROM stays WHERE left_on - admitted <= 31;

-- title: a stay that is one day longer, written with an interval
-- of: hospital
SELECT COUNT(*) FROM stays WHERE left_on > admitted + 30;
SELECT COUNT(*) FROM stays WHERE admitted + INTERVAL '31 days' < left_on;

-- title: a stay that is one day longer, in sums
-- of: hospital
SELECT SUM(LEAST(left_on - admitted, 30)) FROM stays;
SELECT SUM(CASE WHEN left_on - admitted > 31 THEN 30 ELSE left_on - admitted END) FROM stays;

-- title: the corner of two times and their difference
-- of: hospital
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-01-01' AND left_on < DATE '2024-03-01';
SELECT COUNT(*) FROM stays WHERE admitted >= DATE '2024-01-01' AND left_on < DATE '2024-03-01' AND left_on - admitted < 59;

-- title: the corner of two times and their difference, in groups
-- of: hospital
SELECT admitted, COUNT(*) FROM stays WHERE left_on < DATE '2024-03-01' GROUP BY 1;
SELECT admitted, COUNT(*) FROM stays WHERE left_on < DATE '2024-03-01' AND left_on - admitted < 59 GROUP BY 1;

-- title: stays of a length, without those of one day
-- of: hospital
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 7;
SELECT COUNT(*) FROM stays WHERE left_on - admitted > 7 AND admitted <> DATE '2024-02-03';
-- title: a window that rolls by a day, where no size of a day is known
-- of: shop
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-01';
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-02';

-- title: a window that rolls by a day of few, where the days of all are known
-- of: shop
SELECT order_date, COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2026-02-20' AND DATE '2026-03-20' GROUP BY 1;
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-01' AND status = 'returned';
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-02' AND status = 'returned';

-- title: a window that rolls by a day, with one amount beside it
-- of: shop
SELECT order_date, COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2026-02-20' AND DATE '2026-03-20' GROUP BY 1;
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-01' AND amount > 1500;
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-02' AND amount > 1500;

-- title: a window that rolls in one region of one sex, where the days of all are known
-- of: shop
SELECT order_date, COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2026-02-20' AND DATE '2026-03-20' GROUP BY 1;
SELECT COUNT(*) FROM orders o JOIN customers c USING (customer_id) WHERE order_date >= DATE '2026-03-01' AND c.region = 'west' AND c.sex = 'f';
SELECT COUNT(*) FROM orders o JOIN customers c USING (customer_id) WHERE order_date >= DATE '2026-03-02' AND c.region = 'west' AND c.sex = 'f';

-- title: a table of coupons that rolls by a day, where the days are known
-- of: shop
SELECT order_date, COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2026-02-20' AND DATE '2026-03-20' GROUP BY 1;
SELECT coupon, COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-01' GROUP BY 1;
SELECT coupon, COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-02' GROUP BY 1;

-- title: the weeks are known, and a window rolls by a day
-- of: shop
SELECT date_trunc('week', order_date), COUNT(*) FROM orders WHERE order_date BETWEEN DATE '2026-02-02' AND DATE '2026-03-29' GROUP BY 1;
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-04';
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-05';

-- title: days of one status known, and the window of another
-- of: shop
SELECT order_date, COUNT(*) FROM orders WHERE status = 'paid' AND order_date BETWEEN DATE '2026-02-20' AND DATE '2026-03-20' GROUP BY 1;
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-01' AND status <> 'paid';
SELECT COUNT(*) FROM orders WHERE order_date >= DATE '2026-03-02' AND status <> 'paid';

-- title: a text in other letters, beside a year
SELECT COUNT(*) FROM patients WHERE replace(region, 'w', 'b') = 'best' AND birth_year <= 1986;
SELECT COUNT(*) FROM patients WHERE split_part(region, 'e', 1) = 'w' AND birth_year <= 1985;
-- title: without one income, in a subquery that compares the region
SELECT SUM(birth_year) FROM patients WHERE region = 'north';
SELECT COUNT(*) FROM patients p WHERE birth_year * 10 < (SELECT SUM(q.birth_year) FROM patients q WHERE q.region = p.region AND q.income <> 52311);

-- title: with and without one income, in two subqueries for each public row
SELECT r.region, (SELECT SUM(p.birth_year) FROM patients p WHERE p.region = r.region) FROM (VALUES ('north'), ('south')) r(region);
SELECT r.region, (SELECT SUM(p.birth_year) FROM patients p WHERE p.region = r.region AND p.income <> 52311) FROM (VALUES ('north'), ('south')) r(region);

-- title: three differences of three times
-- of: hospital
SELECT COUNT(*) FROM stays s JOIN persons p ON s.person_id = p.person_id WHERE s.left_on - s.admitted <= 5 AND s.admitted - p.birth_date <= 20000;
SELECT COUNT(*) FROM stays s JOIN persons p ON s.person_id = p.person_id WHERE s.left_on - s.admitted <= 5 AND s.admitted - p.birth_date <= 20000 AND NOT (s.left_on - p.birth_date >= 20005);

-- title: a chain of differences that the calendar closes
-- of: hospital
SELECT COUNT(*) FROM stays s JOIN persons p ON s.person_id = p.person_id WHERE s.left_on - s.admitted <= 5 AND s.admitted - p.birth_date <= 20000 AND s.left_on <= DATE '2024-03-01';
SELECT COUNT(*) FROM stays s JOIN persons p ON s.person_id = p.person_id WHERE s.left_on - s.admitted <= 5 AND s.admitted - p.birth_date <= 20000 AND s.left_on <= DATE '2024-03-01' AND NOT (p.birth_date >= DATE '1969-05-20');

-- title: one income, by years under another name
SELECT birth_year, COUNT(*) FROM patients WHERE income <> 52311 GROUP BY 1;
SELECT birth_year + 1, COUNT(*) FROM patients GROUP BY 1;

-- title: one income, beside five tables by other keys
SELECT birth_year / 5, COUNT(*) FROM patients GROUP BY 1;
SELECT birth_year / 5 + 1, COUNT(*) FROM patients GROUP BY 1;
SELECT floor(birth_year / 5.0), COUNT(*) FROM patients GROUP BY 1;
SELECT (birth_year / 5) * 2, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE income <> 52311;

-- title: one day of admission, by a key that follows from the condition
-- of: hospital
SELECT COUNT(*) FROM stays WHERE left_on - admitted = 3;
SELECT nights, COUNT(*) FROM stays WHERE left_on - admitted = 3 AND admitted <> DATE '2024-03-05' GROUP BY 1;

-- title: a chart, a window, and the window moved without one income
SELECT birth_year, COUNT(*) FROM patients GROUP BY 1;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1950 AND 1969;
SELECT COUNT(*) FROM patients WHERE birth_year BETWEEN 1951 AND 1970 AND income <> 52311;

-- title: months without one cost, and quarters of all
SELECT date_trunc('month', visit_date), COUNT(*) FROM visits WHERE cost <> 523.11 GROUP BY 1;
SELECT date_trunc('quarter', visit_date), COUNT(*) FROM visits GROUP BY 1;

-- title: a boundary that round factors compose
SELECT COUNT(*) FROM patients WHERE income < 12345;
SELECT floor((((((income / 1000000000000000) * 86400) * 60) * 25) * 25) * 25), COUNT(*) FROM patients GROUP BY 1;

-- title: a cycle of differences that only one side of an OR closes
-- of: hospital
SELECT COUNT(*) FROM stays s JOIN persons p ON s.person_id = p.person_id WHERE s.left_on - s.admitted <= 5 AND s.admitted - p.birth_date <= 20000;
SELECT COUNT(*) FROM stays s JOIN persons p ON s.person_id = p.person_id WHERE s.left_on - p.birth_date >= 20005 OR (s.left_on - s.admitted <= 5 AND s.admitted - p.birth_date <= 20000);
-- title: visits with a dose from a limit, as EXISTS and then as a JOIN
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose >= 500);
SELECT COUNT(DISTINCT v.patient_id) FROM visits v JOIN prescriptions p USING (visit_id) WHERE p.dose >= 501;

-- title: prescriptions from a dose, and those above it of visits that are always there
SELECT COUNT(*) FROM prescriptions WHERE dose >= 500;
SELECT COUNT(*) FROM prescriptions p WHERE p.dose >= 501 AND EXISTS (SELECT 1 FROM visits v WHERE v.visit_id = p.visit_id);

-- title: prescriptions from a dose, and those above it joined with their visits
SELECT COUNT(*) FROM prescriptions WHERE dose >= 500;
SELECT COUNT(*) FROM prescriptions p, visits v WHERE v.visit_id = p.visit_id AND p.dose >= 501;

-- title: visits without a prescription of one dose
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose = 517);

-- title: visits without a prescription on one day after them
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits v WHERE NOT EXISTS (
  SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.prescribed_at::date - v.visit_date = 17
);

-- title: prescriptions of visits from a cost, and a cent above it, with IN
SELECT COUNT(*) FROM prescriptions WHERE visit_id IN (SELECT visit_id FROM visits WHERE cost >= 1000);
SELECT COUNT(*) FROM prescriptions p JOIN visits v USING (visit_id) WHERE v.cost >= 1000.01;

-- title: costs from a limit, and above it among visits that have a prescription, as nearly all have
SELECT COUNT(*) FROM visits WHERE cost >= 1000;
SELECT COUNT(*) FROM visits v WHERE v.cost >= 1000.01 AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id);

-- title: a year of birth, and the next among those who have a visit
SELECT COUNT(*) FROM patients WHERE birth_year >= 1971;
SELECT COUNT(*) FROM patients p WHERE p.birth_year >= 1972 AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);

-- title: costs above a limit among visits of persons who have a visit, and from it
SELECT COUNT(*) FROM visits v WHERE v.cost >= 1000.01 AND v.patient_id IN (SELECT patient_id FROM visits);
SELECT COUNT(*) FROM visits WHERE cost >= 1000;

-- title: costs from a limit of visits that have a prescription, and above it of those that have one from a low dose
SELECT COUNT(*) FROM visits v WHERE v.cost >= 1000 AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id);
SELECT COUNT(*) FROM visits v WHERE v.cost >= 1000.01 AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose >= 5);

-- title: a dose from a limit, and above it beside an EXISTS that says nothing
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose >= 500);
SELECT COUNT(*) FROM visits v WHERE EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id)
AND EXISTS (SELECT 1 FROM prescriptions p WHERE p.visit_id = v.visit_id AND p.dose >= 501);

-- title: persons with a visit from a cost, and above it beside an EXISTS that says nothing
SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost >= 1000);
SELECT COUNT(*) FROM patients a WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id)
AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = a.patient_id AND v.cost >= 1000.01);

-- title: prescriptions of visits from a cost, with the visit joined twice
SELECT COUNT(*) FROM prescriptions p JOIN visits v ON v.visit_id = p.visit_id WHERE v.cost >= 1000;
SELECT COUNT(*) FROM prescriptions p JOIN visits v ON v.visit_id = p.visit_id JOIN visits w ON w.visit_id = p.visit_id WHERE w.cost >= 1000.01;

-- title: visits from a cost, with the visit joined to itself
SELECT COUNT(*) FROM visits WHERE cost >= 1000;
SELECT COUNT(*) FROM visits v JOIN visits w ON w.visit_id = v.visit_id AND w.patient_id = v.patient_id WHERE w.cost >= 1000.01;

-- title: prescriptions of visits from a cost, with the visit joined and then asked for in EXISTS
SELECT COUNT(*) FROM prescriptions p JOIN visits v ON v.visit_id = p.visit_id WHERE v.cost >= 1000;
SELECT COUNT(*) FROM prescriptions p JOIN visits v ON v.visit_id = p.visit_id
WHERE EXISTS (SELECT 1 FROM visits w WHERE w.visit_id = p.visit_id AND w.cost >= 1000.01);

-- title: everybody but one cost, beside a wide bound on another column
SELECT COUNT(*) FROM visits WHERE cost >= 100;
SELECT COUNT(*) FROM visits WHERE cost >= 100 AND NOT (cost = 308.71 AND visit_date > DATE '2020-01-05');

-- title: everybody but one income of nearly all years of birth
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE NOT (income = 52311 AND birth_year > 1925);

-- title: a cent more, and costs from a limit on nearly all days
SELECT COUNT(*) FROM visits WHERE cost >= 1000;
SELECT COUNT(*) FROM visits WHERE cost >= 1000 AND NOT (cost < 1000.01 AND visit_date >= DATE '2020-02-01');

-- title: tables by a moved column that a cast rounds, one year apart
SELECT ((birth_year - 1881.5) * 0.01)::int, COUNT(*) FROM patients GROUP BY 1;
SELECT ((birth_year - 1882.5) * 0.01)::int, COUNT(*) FROM patients GROUP BY 1;

-- title: a bound, and a table that a rounding cast divides one year away from it
SELECT COUNT(*) FROM patients WHERE birth_year >= 1923;
SELECT ((birth_year - 1873.5) * 0.01)::int, COUNT(*) FROM patients GROUP BY 1;

-- title: rounded keys that are moved and written as texts, in a subquery
SELECT k, COUNT(*) FROM (SELECT (((birth_year - 1881.5) * 0.01)::int + 1)::text || 'x' AS k FROM patients) t GROUP BY 1;
SELECT k, COUNT(*) FROM (SELECT (((birth_year - 1882.5) * 0.01)::int + 1)::text || 'x' AS k FROM patients) t GROUP BY 1;

-- title: rounded keys in a branch
SELECT CASE WHEN region = 'west' THEN ((birth_year - 1881.5) * 0.01)::int END, COUNT(*) FROM patients GROUP BY 1;
SELECT CASE WHEN region = 'west' THEN ((birth_year - 1882.5) * 0.01)::int END, COUNT(*) FROM patients GROUP BY 1;

-- title: products that leave their type from one year on
SELECT birth_year * 1111111, COUNT(*) FROM patients GROUP BY 1;
SELECT birth_year * 1110672, COUNT(*) FROM patients GROUP BY 1;

-- title: years beside a double so large that it holds every sixteenth
SELECT birth_year::float8 + 1e17, COUNT(*) FROM patients GROUP BY 1;
SELECT (birth_year + 3)::float8 + 1e17, COUNT(*) FROM patients GROUP BY 1;

-- title: days that begin at a chosen second
-- of: shop
SELECT (ordered_at + interval '3 hours 7 minutes 3 seconds')::date::text, COUNT(*) FROM orders GROUP BY 1;
SELECT (ordered_at + interval '3 hours 7 minutes 4 seconds')::date::text, COUNT(*) FROM orders GROUP BY 1;

-- title: all, and those of whom a FILTER counts no visit
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT COUNT(*) FILTER (WHERE cost = 308.71) FROM visits v WHERE v.patient_id = patients.patient_id) = 0;

-- title: all, and those of whom a CASE in a count counts no visit
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT COUNT(CASE WHEN cost = 308.71 THEN 1 END) FROM visits v WHERE v.patient_id = patients.patient_id) = 0;

-- title: all, and those of whom a CASE in a sum counts no visit
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT SUM(CASE WHEN cost = 308.71 THEN 1 ELSE 0 END) FROM visits v WHERE v.patient_id = patients.patient_id) = 0;

-- title: all, and those of whom a truth value in a sum counts no visit
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT SUM((cost = 308.71)::int) FROM visits v WHERE v.patient_id = patients.patient_id) = 0;

-- title: all, and those of whom a FILTER of one day counts no visit
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT COUNT(*) FILTER (WHERE visit_date = DATE '2024-03-05') FROM visits v WHERE v.patient_id = patients.patient_id) = 0;

-- title: a sum that one cost makes large
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1930 AND (SELECT SUM(CASE WHEN cost = 308.71 THEN 1000000 ELSE 1 END) FROM visits v WHERE v.patient_id = patients.patient_id) < 1000;

-- title: HAVING without visits of one cost, in a join
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p JOIN (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost = 308.71) = 0) t ON t.patient_id = p.patient_id;

-- title: a number of visits of one cost, compared beside the join
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) FILTER (WHERE cost = 308.71) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.patient_id WHERE COALESCE(n, 0) = 0;

-- title: people by their number of visits of one cost
SELECT COUNT(*) FROM patients;
SELECT n, COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, COUNT(*) FILTER (WHERE cost = 308.71) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.patient_id GROUP BY 1;

-- title: a sum of people without visits of one cost
SELECT COUNT(*) FROM patients;
SELECT SUM(CASE WHEN n = 0 THEN 1 ELSE 0 END) FROM patients p JOIN (SELECT patient_id, COUNT(*) FILTER (WHERE cost = 308.71) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.patient_id;

-- title: people who are not among those with visits of one cost
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost = 308.71) > 0);

-- title: groupings by person, with all and without visits of one cost
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost = 308.71) = 0) t;

-- title: visits of people without visits of one cost
SELECT SUM(cost) FROM visits;
SELECT SUM(cost) FROM visits v JOIN (SELECT patient_id, COUNT(*) FILTER (WHERE cost = 308.71) AS n FROM visits GROUP BY 1) t ON t.patient_id = v.patient_id WHERE n = 0;

-- title: the time since an earlier visit, one day apart, with its offset written
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date, 1) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 8;

-- title: the time since an earlier visit, one day apart, with a key after a unique one
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id, cost) AS l FROM visits) t WHERE visit_date - l < 8;

-- title: the time since an earlier visit, one day apart, with the reverse order
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, LEAD(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date DESC, visit_id DESC) AS l FROM visits) t WHERE visit_date - l < 8;

-- title: the time since an earlier visit, one day apart, with a frame of one row
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, MAX(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id ROWS BETWEEN 1 PRECEDING AND 1 PRECEDING) AS l FROM visits) t WHERE visit_date - l < 8;

-- title: the time since an earlier visit, one day apart, with a frame of one row in the reverse order
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, MIN(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date DESC, visit_id DESC ROWS BETWEEN 1 FOLLOWING AND 1 FOLLOWING) AS l FROM visits) t WHERE visit_date - l < 8;

-- title: the time since an earlier visit, one day apart, with a key twice
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_date DESC, visit_id) AS l FROM visits) t WHERE visit_date - l < 8;

-- title: the time since an earlier visit, one day apart, among fewer columns
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE visit_date - l < 7;
SELECT COUNT(*) FROM (SELECT visit_date, LAG(visit_date) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM (SELECT patient_id, visit_id, visit_date FROM visits) v) t WHERE visit_date - l < 8;

-- title: a value of the row itself, written as a neighbour
SELECT COUNT(*) FROM visits WHERE cost > 5;
SELECT COUNT(*) FROM (SELECT LAG(cost, 0) OVER (PARTITION BY patient_id ORDER BY visit_id) AS c FROM visits) t WHERE c > 5.01;

-- title: a number of visits of one cost, turned round below the join
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, 5 - COUNT(*) FILTER (WHERE cost = 308.71) AS n FROM visits GROUP BY 1) t ON t.patient_id = p.patient_id WHERE n >= 5;

-- title: the greatest number of visits of one cost on a day
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (SELECT patient_id, MAX(m) AS n FROM (SELECT patient_id, visit_date, COUNT(*) FILTER (WHERE cost = 308.71) AS m FROM visits GROUP BY 1, 2) a GROUP BY 1) t WHERE n = 0;

-- title: everybody but one cost, divided by an OR over other columns
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits WHERE NOT (cost = 308.71 AND (visit_date > DATE '2020-01-05' OR diagnosis = 'flu'));

-- title: nobody who has a largest income of one value, in NOT IN
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM patients GROUP BY 1 HAVING MAX(income) = 52311);

-- title: nobody who has a largest cost of one value, in NOT EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (
  SELECT 1 FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t WHERE t.patient_id = p.patient_id AND t.m = 308.71
);

-- title: nobody with a rare diagnosis, by a pattern in an aggregate below NOT EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (
  SELECT 1 FROM (SELECT patient_id, COUNT(*) FILTER (WHERE (cost - 308.71) * (cost - 308.71) < 0.00001) AS n FROM visits GROUP BY 1) t
  WHERE t.patient_id = p.patient_id AND t.n > 0
);

-- title: nobody with one cost among rows of which a corner is small
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost = 1 OR visit_date > DATE '2020-01-01' GROUP BY 1) t;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM visits WHERE cost = 1 OR visit_date > DATE '2020-01-01' GROUP BY 1
  HAVING COUNT(*) FILTER (WHERE cost = 308.71) = 0
) t;

-- title: one income in a year of birth or a region
SELECT SUM(income) FROM patients WHERE birth_year = 1961 OR region = 'north';
SELECT SUM(income) FROM patients WHERE (birth_year = 1961 OR region = 'north') AND income <> 52311;

-- title: one day of visits that cost so much or were in a region
SELECT SUM(v.cost) FROM visits v JOIN patients p ON p.patient_id = v.patient_id WHERE v.cost = 5.00 OR p.region = 'north';
SELECT SUM(v.cost) FROM visits v JOIN patients p ON p.patient_id = v.patient_id
WHERE (v.cost = 5.00 OR p.region = 'north') AND v.visit_date <> DATE '2024-03-05';

-- title: one income of those without a region
SELECT AVG(income) FROM patients;
SELECT AVG(income) FROM patients WHERE NOT (income = 52311 AND region IS NULL);

-- title: one income of those who have no dear visit
SELECT AVG(income) FROM patients;
SELECT AVG(income) FROM patients p WHERE NOT (income = 52311 AND NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost > 100
));

-- title: one cost of visits that have no fiftieth visit before them
SELECT SUM(cost) FROM visits;
SELECT SUM(cost) FROM (
  SELECT cost, LAG(visit_date, 50) OVER (PARTITION BY patient_id ORDER BY visit_date) AS before FROM visits
) v WHERE NOT (cost = 308.71 AND before IS NULL);

-- title: an income compared in a truth value of the person
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(income > 52311) AS b FROM patients GROUP BY 1) t WHERE b;

-- title: two truth values of persons, one income apart
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(income >= 52311) AS b FROM patients GROUP BY 1) t WHERE b;
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_OR(income > 52311) AS b FROM patients GROUP BY 1) t WHERE b;

-- title: an income compared below a maximum of 0 and 1
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT patient_id, MAX((income > 52311)::int) AS b FROM patients GROUP BY 1) t WHERE b = 1;

-- title: people without a row of at most an income
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT patient_id FROM patients GROUP BY 1 HAVING COUNT(*) FILTER (WHERE income <= 52311) = 0) t;

-- title: people with a sum over no row of at most an income
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT patient_id FROM patients GROUP BY 1 HAVING SUM(1) FILTER (WHERE income <= 52311) IS NULL) t;

-- title: people all of whose visits cost more
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_AND(cost >= 308.71) AS b FROM visits GROUP BY 1) t WHERE b;
SELECT COUNT(*) FROM (SELECT patient_id, BOOL_AND(cost > 308.71) AS b FROM visits GROUP BY 1) t WHERE b;

-- title: people with three dear visits, one cost apart, in HAVING
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost >= 308.71) > 2) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost > 308.71) > 2) t;

-- title: people with three dear visits, one cost apart, in WHERE
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost >= 308.71 GROUP BY 1 HAVING COUNT(*) > 2) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost > 308.71 GROUP BY 1 HAVING COUNT(*) > 2) t;

-- title: second dear visits, one cost apart
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS n FROM visits WHERE cost >= 308.71) t WHERE n = 2;
SELECT COUNT(*) FROM (SELECT ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS n FROM visits WHERE cost > 308.71) t WHERE n = 2;

-- title: dear visits without an earlier one, one cost apart
SELECT COUNT(*) FROM (SELECT LAG(cost) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits WHERE cost >= 308.71) t WHERE l IS NULL;
SELECT COUNT(*) FROM (SELECT LAG(cost) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits WHERE cost > 308.71) t WHERE l IS NULL;

-- title: people among those with a truth value, one cost apart
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING BOOL_OR(cost >= 308.71));
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING BOOL_OR(cost > 308.71));

-- title: a truth value below a second grouping, one cost apart
SELECT COUNT(*) FROM (SELECT patient_id FROM (SELECT patient_id, visit_date, BOOL_OR(cost >= 308.71) AS b FROM visits GROUP BY 1, 2) d WHERE b GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM (SELECT patient_id, visit_date, BOOL_OR(cost > 308.71) AS b FROM visits GROUP BY 1, 2) d WHERE b GROUP BY 1) t;

-- title: a truth value in a side of a union, one income apart
SELECT COUNT(*) FROM (SELECT patient_id FROM (SELECT patient_id, BOOL_OR(income >= 52311) AS b FROM patients GROUP BY 1) s WHERE b UNION ALL SELECT patient_id FROM visits WHERE 1 = 0) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM (SELECT patient_id, BOOL_OR(income > 52311) AS b FROM patients GROUP BY 1) s WHERE b UNION ALL SELECT patient_id FROM visits WHERE 1 = 0) t;

-- title: one income apart, beside a number of visits that says nothing
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM patients p WHERE income > 52311 AND (SELECT COUNT(*) FROM visits v WHERE v.patient_id = p.patient_id) >= 0;

-- title: one income apart, beside an outer join with grouped visits
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, MAX(cost) AS m FROM visits WHERE cost > 5 GROUP BY 1) t ON t.patient_id = p.patient_id WHERE income > 52311;

-- title: one income apart, beside an outer join with second visits
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM patients p LEFT JOIN (
  SELECT patient_id, cost FROM (SELECT patient_id, cost, ROW_NUMBER() OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS n FROM visits) v WHERE n = 2
) t ON t.patient_id = p.patient_id WHERE income > 52311;

-- title: a small group again, beside an outer join with grouped stays
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE salary BETWEEN 54320 AND 54322;
SELECT SUM(score) FROM persons p LEFT JOIN (SELECT person_id, COUNT(*) AS n FROM stays GROUP BY 1) t ON t.person_id = p.person_id WHERE salary BETWEEN 54320 AND 54322;

-- title: one cost apart, beside a number of rows in a window
SELECT COUNT(*) FROM visits WHERE cost >= 308.71;
SELECT COUNT(*) FROM (SELECT cost, COUNT(*) OVER (PARTITION BY patient_id) AS n FROM visits) t WHERE cost > 308.71 AND n >= 1;

-- title: one cost apart, among distinct visits
SELECT COUNT(*) FROM visits WHERE cost >= 308.71;
SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id, visit_id) patient_id, visit_id FROM visits WHERE cost > 308.71) t;

-- title: one cost apart, among first rows of each visit
SELECT COUNT(*) FROM visits WHERE cost >= 308.71;
SELECT COUNT(*) FROM (SELECT cost, ROW_NUMBER() OVER (PARTITION BY patient_id, visit_id ORDER BY cost) AS n FROM visits) t WHERE cost > 308.71 AND n = 1;

-- title: one income apart, beside the income before the only one
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT income, LAG(income) OVER (PARTITION BY patient_id ORDER BY income) AS l FROM patients) t WHERE income > 52311 AND l IS NULL;

-- title: one cost apart, beside the largest cost of the person
SELECT COUNT(*) FROM visits WHERE cost >= 308.71;
SELECT COUNT(*) FROM (SELECT cost, MAX(cost) OVER (PARTITION BY patient_id) AS m FROM visits) t WHERE cost > 308.71 AND m > 308.71;

-- title: one cost apart, joined with the visit itself and its day
SELECT COUNT(*) FROM visits WHERE cost >= 308.71;
SELECT COUNT(*) FROM visits v JOIN visits w ON w.patient_id = v.patient_id AND w.visit_id = v.visit_id AND w.visit_date = v.visit_date WHERE v.cost > 308.71;

-- title: one cost apart, joined with the visit itself twice
SELECT COUNT(*) FROM visits v JOIN visits w ON w.patient_id = v.patient_id AND w.visit_date = v.visit_date WHERE v.cost >= 308.71;
SELECT COUNT(*) FROM visits v JOIN visits w ON w.patient_id = v.patient_id AND w.visit_date = v.visit_date JOIN visits x ON x.patient_id = v.patient_id AND x.visit_id = v.visit_id AND x.visit_date = w.visit_date WHERE v.cost > 308.71;

-- title: an income compared as the largest of the only one
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT patient_id, MAX(income) AS m FROM patients GROUP BY 1) t WHERE m > 52311;
-- title: all but one person, and one whom nobody is
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE person_id NOT IN (681, -1);

-- title: all but one person, and eight whom nobody is
-- of: hospital
SELECT AVG(salary) FROM persons;
SELECT AVG(salary) FROM persons WHERE person_id NOT BETWEEN -7 AND 1;

-- title: all but one salary, and a person whom nobody is
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE NOT (salary = 52311 OR person_id = -1);

-- title: all but a few salaries, and a person whom nobody is
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE NOT (salary BETWEEN 52311 AND 52330 OR person_id = -1);

-- title: all but a few dates of birth, and a person whom nobody is, in another order
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE NOT (birth_date = DATE '1961-02-03' OR person_id IN (-1, -2));

-- title: all but two postcodes
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE postcode NOT IN ('9999', 'nowhere');

-- title: all but three names
-- of: hospital
SELECT AVG(salary) FROM persons;
SELECT AVG(salary) FROM persons WHERE name NOT IN ('a', 'b', 'c');

-- title: all but a name and a postcode
-- of: hospital
SELECT AVG(salary) FROM persons;
SELECT AVG(salary) FROM persons WHERE name <> 'a' AND postcode <> 'nowhere';

-- title: all but a few totals of a person, in a window
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM (SELECT SUM(cost) OVER (PARTITION BY patient_id) AS s FROM visits) t WHERE s NOT BETWEEN 5000.01 AND 5000.07;

-- title: all but a few totals of a person, grouped
SELECT SUM(s) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) t;
SELECT SUM(s) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) t WHERE s NOT BETWEEN 5000.01 AND 5000.07;

-- title: all but a few averages of a person
SELECT SUM(s) FROM (SELECT patient_id, AVG(cost) AS s FROM visits GROUP BY 1) t;
SELECT SUM(s) FROM (SELECT patient_id, AVG(cost) AS s FROM visits GROUP BY 1) t WHERE s NOT BETWEEN 308.71 AND 308.72;

-- title: all but two incomes, after a sum
SELECT SUM(income) FROM patients;
SELECT SUM(income) FROM patients WHERE income NOT IN (52311, 199999);

-- title: all but two incomes side by side, after a mean
SELECT AVG(income) FROM patients;
SELECT AVG(income) FROM patients WHERE income NOT BETWEEN 52311 AND 52312;

-- title: all but two years of birth, one of them of nobody
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE birth_year NOT IN (1922, 2019);

-- title: all but two days apart, after a sum
SELECT SUM(cost) FROM visits;
SELECT SUM(cost) FROM visits WHERE visit_date NOT IN (DATE '2024-03-05', DATE '2024-12-25');

-- title: three sets that leave one person and one whom nobody is between them
-- of: hospital
SELECT AVG(salary) FROM persons WHERE person_id < 681 AND person_id <> -1;
SELECT AVG(salary) FROM persons WHERE person_id > 681;
SELECT AVG(salary) FROM persons;

-- title: two halves and the whole, without one salary and a name of nobody
-- of: hospital
SELECT AVG(salary) FROM persons WHERE NOT (salary = 52311 OR name = 'nobody') AND sex = 'f';
SELECT AVG(salary) FROM persons WHERE NOT (salary = 52311 OR name = 'nobody') AND sex <> 'f';
SELECT AVG(salary) FROM persons;

-- title: a few lengths of stay that are apart
-- of: hospital
SELECT COUNT(*) FROM stays;
SELECT COUNT(*) FROM stays WHERE left_on - admitted NOT IN (17, 900);

-- title: all but costs that a wide OR divides, three of them
SELECT SUM(cost) FROM visits;
SELECT SUM(cost) FROM visits WHERE NOT (cost IN (500, 500.01, 500.02) AND (visit_date = DATE '2024-03-05' OR diagnosis = 'flu'));

-- title: one person's salary again, beside a person whom nobody is
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE birth_date = DATE '1961-02-03';
SELECT SUM(salary) FROM persons WHERE birth_date = DATE '1961-02-03' OR person_id = -1;

-- title: one person's salary again, beside a wide condition of nobody and one name
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE birth_date = DATE '1961-02-03' AND sex = 'f';
SELECT SUM(salary) FROM persons WHERE (birth_date = DATE '1961-02-03' AND sex = 'f') OR name IN ('nobody', 'no one') OR (person_id = -1 AND sex = 'm');

-- title: the half of a few people in which all of them are
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE birth_date = DATE '1961-02-03';
SELECT SUM(salary) FROM persons WHERE birth_date = DATE '1961-02-03' AND sex = 'f';

-- title: nobody with one of a few costs, in NOT EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost BETWEEN 61.59 AND 61.63
);

-- title: nobody with one of a few costs, in NOT IN
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE cost IN (1, 2, 3, 61.61));

-- title: nobody with one of a few costs, in an outer join
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id FROM visits WHERE cost BETWEEN 61.59 AND 61.63) v ON v.patient_id = p.patient_id WHERE v.patient_id IS NULL;

-- title: nobody with one of a few costs, in HAVING
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) FILTER (WHERE cost BETWEEN 61.59 AND 61.63) = 0) t;

-- title: nobody with one of a few visits, in NOT EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.visit_id BETWEEN 1001 AND 1008
);

-- title: nobody with a visit in the corner of three wide conditions
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id
  AND v.cost BETWEEN 300 AND 320 AND v.visit_date BETWEEN DATE '2024-03-01' AND DATE '2024-03-31' AND v.diagnosis = 'flu'
);

-- title: nobody with a stay in the corner of three wide conditions, in HAVING
-- of: hospital
SELECT COUNT(*) FROM (SELECT person_id FROM stays GROUP BY 1) t;
SELECT COUNT(*) FROM (
  SELECT person_id FROM stays GROUP BY 1
  HAVING COUNT(*) FILTER (WHERE nights >= 55 AND admitted BETWEEN DATE '2024-03-01' AND DATE '2024-03-14' AND ward IN ('a1', 'a2')) = 0
) t;

-- title: nobody with a cost, and nobody with a cost of nobody
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost = 61.61)
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost = 4999.99);

-- title: nobody with a cost, and a patient whom nobody is
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE p.patient_id <> -1
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost = 61.61);

-- title: a small group of a table, beside a patient whom nobody is
-- times: 20
SELECT region, birth_year, COUNT(*) FROM patients WHERE birth_year BETWEEN 1920 AND 1930 GROUP BY 1, 2;
SELECT SUM(income) FROM patients WHERE (region = 'west' AND birth_year = 1922) OR patient_id = -1;
SELECT SUM(income) FROM patients WHERE (region = 'east' AND birth_year = 1921) OR patient_id = -1;
SELECT SUM(income) FROM patients WHERE (region = 'north' AND birth_year = 1920) OR patient_id = -1;
SELECT SUM(income) FROM patients WHERE (region = 'south' AND birth_year = 1923) OR patient_id = -1;

-- title: one person's salary again, in two halves that an OR joins, beside a name of nobody
-- of: hospital
-- times: 20
SELECT COUNT(*) FROM persons WHERE birth_date = DATE '1961-02-03';
SELECT SUM(salary) FROM persons WHERE birth_date = DATE '1961-02-03' AND (sex = 'f' OR smoker) OR name = 'nobody';

-- title: all but one person, and any number of persons whom nobody is
-- of: hospital
SELECT COUNT(*) FROM persons;
SELECT COUNT(*) FROM persons WHERE person_id <> 681 AND person_id >= 0;

-- title: all but twelve names
-- of: hospital
SELECT SUM(salary) FROM persons;
SELECT SUM(salary) FROM persons WHERE name NOT IN ('Ann Example', 'b', 'c', 'd', 'e', 'f', 'g', 'h', 'i', 'j', 'k', 'l');

-- title: one income less beside visits that nobody can have
SELECT COUNT(*) FROM patients p WHERE income >= 5000;
SELECT COUNT(*) FROM patients p WHERE income > 5000 AND NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND cost < 0
);

-- title: one income less beside visits between two ends that cross
SELECT COUNT(*) FROM patients p WHERE income >= 5000;
SELECT COUNT(*) FROM patients p WHERE income > 5000 AND NOT EXISTS (
  SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND cost > 10 AND cost < 5
);

-- title: all but one income, joined with a grouping by person
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients JOIN (SELECT patient_id FROM visits GROUP BY 1) g USING (patient_id) WHERE income <> 52311;

-- title: all but one income, joined with numbers of persons that nobody reads
WITH g AS (SELECT patient_id, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY 1)
SELECT COUNT(*) FROM patients JOIN g USING (patient_id) WHERE income <> 52311;
SELECT COUNT(*) FROM patients;

-- title: all but one income, joined with a number of persons that says nothing
SELECT AVG(income) FROM patients;
SELECT AVG(income) FROM patients JOIN (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1 HAVING SUM(cost) >= -1) g USING (patient_id) WHERE income <> 52311;

-- title: all but one income, joined with distinct persons
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients JOIN (SELECT DISTINCT patient_id FROM visits) g USING (patient_id) WHERE income <> 52311;

-- title: all but one income, joined and then grouped by person
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (SELECT patient_id FROM patients JOIN visits USING (patient_id) WHERE income <> 52311 GROUP BY 1) t;

-- title: all but one income, in distinct persons with a column of theirs
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (SELECT DISTINCT patient_id, income FROM patients JOIN visits USING (patient_id)) t WHERE income <> 52311;

-- title: all but one income, as distinct persons of joined rows
SELECT COUNT(*) FROM patients;
SELECT COUNT(DISTINCT p.patient_id) FROM patients p JOIN visits v USING (patient_id) WHERE income <> 52311;

-- title: all but one income, as distinct persons of an outer join that nobody reads
SELECT COUNT(*) FROM patients;
SELECT COUNT(DISTINCT p.patient_id) FROM patients p LEFT JOIN visits v USING (patient_id) WHERE income <> 52311;

-- title: all but one income, as distinct persons of a union
SELECT COUNT(*) FROM patients;
SELECT COUNT(DISTINCT p.patient_id) FROM (SELECT patient_id FROM visits UNION ALL SELECT patient_id FROM visits) v JOIN patients p USING (patient_id) WHERE income <> 52311;

-- title: all but one income, joined with the same grouping twice
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);
SELECT COUNT(*) FROM patients JOIN (SELECT patient_id FROM visits GROUP BY 1) g USING (patient_id)
JOIN (SELECT patient_id FROM visits GROUP BY 1) h USING (patient_id) WHERE income <> 52311;

-- title: all but one income, joined with a grouping of prescriptions
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients JOIN (
  SELECT v.patient_id FROM visits v JOIN prescriptions r USING (visit_id) GROUP BY 1
) g USING (patient_id) WHERE income <> 52311;

-- title: all but one income, among persons of a UNION, an INTERSECT and an EXCEPT
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM patients WHERE income <> 52311
  INTERSECT (SELECT patient_id FROM visits UNION SELECT patient_id FROM visits)
  EXCEPT SELECT patient_id FROM visits WHERE cost IS NULL
) t;

-- title: all but one income, first rows of persons
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT row_number() OVER (PARTITION BY patient_id ORDER BY visit_date) AS k FROM visits JOIN patients USING (patient_id) WHERE income <> 52311
) t WHERE k = 1;

-- title: all but one cost, beside a grouping that is written first
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1) g JOIN visits v USING (patient_id) WHERE v.cost <> 308.71;

-- title: nobody in a grouping, and nobody in the rows of it but one
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT DISTINCT patient_id FROM visits) AND income <> 52311;

-- title: nobody in a union of rows that are the same, but one
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);
SELECT COUNT(*) FROM patients WHERE patient_id NOT IN (SELECT patient_id FROM visits UNION SELECT patient_id FROM visits) AND income <> 52311;

-- title: all but one income, beside visits without a cost, in NOT EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE income <> 52311
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);

-- title: all but one income, beside a diagnosis of nobody, in NOT IN
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients WHERE income <> 52311 AND patient_id NOT IN (SELECT patient_id FROM visits WHERE diagnosis = 'nobody');

-- title: all but one income, beside a diagnosis of nobody, in an outer join
SELECT COUNT(*) FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.diagnosis = 'nobody' WHERE v.patient_id IS NULL AND income <> 52311;
SELECT COUNT(*) FROM patients;

-- title: all but one income, beside visits without a cost that are grouped, in an outer join
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id FROM visits WHERE cost IS NULL GROUP BY 1) v ON v.patient_id = p.patient_id WHERE v.patient_id IS NULL AND income <> 52311;

-- title: all but one income, beside visits without a cost, in HAVING
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT p.patient_id FROM patients p LEFT JOIN visits v ON v.patient_id = p.patient_id AND v.cost IS NULL
  WHERE income <> 52311 GROUP BY 1 HAVING COUNT(v.visit_id) = 0
) t;

-- title: all but one income, beside visits of nobody in a FILTER of HAVING
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (
  SELECT p.patient_id FROM patients p JOIN visits v USING (patient_id) WHERE income <> 52311
  GROUP BY 1 HAVING COUNT(*) FILTER (WHERE diagnosis = 'nobody') < 1
) t;

-- title: all but one income, beside visits without a cost, in EXCEPT
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM (SELECT patient_id FROM patients WHERE income <> 52311 EXCEPT SELECT patient_id FROM visits WHERE cost IS NULL) t;

-- title: all but one income, beside NULL that one of the regions has
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE income <> 52311
AND NOT (region = 'north' AND EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL));

-- title: two halves and the whole, beside visits without a cost
SELECT COUNT(*) FROM patients p WHERE income <> 52311 AND region IN ('north', 'east')
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);
SELECT COUNT(*) FROM patients p WHERE income <> 52311 AND region IN ('south', 'west')
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);
SELECT COUNT(*) FROM patients;

-- title: one income less, beside two conditions that nobody meets
SELECT COUNT(*) FROM patients p WHERE income >= 5000
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.diagnosis = 'nobody');
SELECT COUNT(*) FROM patients p WHERE income > 5000
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);

-- title: all but one income of persons with a visit, beside visits without a cost
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id);
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id) AND income <> 52311
AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL);

-- title: all but one cost, beside prescriptions of nobody
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits v WHERE cost <> 308.71
AND NOT EXISTS (SELECT 1 FROM prescriptions r WHERE r.visit_id = v.visit_id AND r.drug = 'nobody');

-- title: all but one cost, beside visits without a cost of the same person
SELECT COUNT(*) FROM visits;
SELECT COUNT(*) FROM visits v WHERE cost <> 308.71
AND NOT EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.cost IS NULL);

-- title: all but one salary of persons who were in no ward, beside a diagnosis of nobody
-- of: hospital
SELECT SUM(salary) FROM persons;
SELECT SUM(salary) FROM persons WHERE salary <> 52311 AND person_id NOT IN (SELECT person_id FROM stays WHERE diagnosis IN ('nobody', 'no one'));

-- title: all but one salary, joined with stays that are grouped
-- of: hospital
SELECT SUM(salary) FROM persons;
SELECT SUM(salary) FROM persons JOIN (SELECT person_id, MAX(nights) AS n FROM stays GROUP BY 1) g USING (person_id) WHERE salary <> 52311;

-- title: all but one customer's day, among distinct customers
-- of: shop
SELECT COUNT(*) FROM customers;
SELECT COUNT(DISTINCT customer_id) FROM orders JOIN customers USING (customer_id) WHERE customer_id <> 681;

-- title: all but one person, by the unit of the rows inside EXISTS
SELECT COUNT(*) FROM patients;
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.patient_id <> 681);

-- title: all but one person, by the unit of the rows inside IN and a grouping
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits WHERE patient_id <> 681 GROUP BY 1);
SELECT COUNT(*) FROM patients;

-- title: all but one cost, beside a diagnosis of nobody
SELECT SUM(cost) FROM visits;
SELECT SUM(cost) FROM visits WHERE cost <> 308.71 AND diagnosis <> 'nobody';

-- title: one cost less, beside other diagnoses of nobody
SELECT COUNT(*) FROM visits WHERE cost >= 5 AND diagnosis NOT IN ('nobody', 'no one');
SELECT COUNT(*) FROM visits WHERE cost > 5 AND coalesce(diagnosis, '') <> 'none';

-- title: all but one income, as distinct persons of a key that divides nothing
SELECT COUNT(*) FROM patients;
SELECT v.visit_date >= DATE '1900-01-01' AS k, COUNT(DISTINCT p.patient_id) FROM patients p JOIN visits v USING (patient_id) WHERE income <> 52311 GROUP BY 1;
-- title: the largest cost, and twice the largest cost
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost * 2) > 2000.02) t;

-- title: the largest cost, and the largest with 0 for NULL
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(coalesce(cost, 0)) > 1000.01) t;

-- title: the largest cost, and the least of the negative costs
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING -MIN(-cost) > 1000.01) t;

-- title: the largest cost, and the largest of costs that every visit has
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) FILTER (WHERE cost >= 0) > 1000.01) t;

-- title: the largest cost, and the largest of costs that are cut where it does not matter
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(least(cost, 4000)) > 1000.01) t;

-- title: the largest cost, and whether there is a visit that costs more
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING BOOL_OR(cost > 1000.01)) t;

-- title: the largest cost, and the number of visits that cost more
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(CASE WHEN cost > 1000.01 THEN 1 END) >= 1) t;

-- title: the only cost as the largest, and as the sum
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) = 1 AND MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) = 1 AND SUM(cost) > 1000.01) t;

-- title: sums of costs, and of twice the costs
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 10000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost * 2) > 20000.02) t;

-- title: sums of costs, and of costs in two halves of one value
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 10000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(CASE WHEN cost < 2500 THEN cost ELSE cost + 0 END) > 10000.01) t;

-- title: sums of costs, and of costs times what is always 1
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 10000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost * (cost >= 0)::int) > 10000.01) t;

-- title: sums of three costs, and with one more for each
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) = 3 AND SUM(cost) > 6000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) = 3 AND SUM(cost + 1) > 6003.01) t;

-- title: means of costs, and of one more
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING AVG(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING AVG(cost + 1) > 1001.01) t;

-- title: three visits, in two words
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) = 3 AND MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(1) = 3 AND MAX(cost) > 1000.01) t;

-- title: the least and the largest cost, in other words
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MIN(cost) < 10 AND MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MIN(coalesce(cost, 0)) < 10 AND MAX(cost) > 1000.01) t;

-- title: the largest cost or visits that nobody has, in other words
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000 OR COUNT(*) > 9) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost * 2) > 2000.02 OR COUNT(*) > 9) t;

-- title: the largest cost in a window, in other words
SELECT COUNT(*) FROM (SELECT MAX(cost) OVER (PARTITION BY patient_id) AS m FROM visits) t WHERE m > 1000;
SELECT COUNT(*) FROM (SELECT MAX(cost * 2) OVER (PARTITION BY patient_id) AS m FROM visits) t WHERE m > 2000.02;

-- title: the largest cost in HAVING, and in a window
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(DISTINCT patient_id) FROM (SELECT patient_id, MAX(cost) OVER (PARTITION BY patient_id) AS m FROM visits) t WHERE m > 1000.01;

-- title: the cost before, in other words
SELECT COUNT(*) FROM (SELECT LAG(cost) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE l > 1000;
SELECT COUNT(*) FROM (SELECT LAG(cost * 2) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id) AS l FROM visits) t WHERE l > 2000.02;

-- title: the largest cost in a scalar subquery, in other words
SELECT COUNT(*) FROM patients p WHERE (SELECT MAX(cost) FROM visits v WHERE v.patient_id = p.patient_id) > 1000;
SELECT COUNT(*) FROM patients p WHERE (SELECT MAX(cost * 2) FROM visits v WHERE v.patient_id = p.patient_id) > 2000.02;

-- title: the largest cost behind IN, in other words
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000);
SELECT COUNT(*) FROM patients WHERE patient_id IN (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost * 2) > 2000.02);

-- title: the largest cost in a CASE, in other words
SELECT SUM(CASE WHEN m > 1000 THEN 1 ELSE 0 END) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;
SELECT SUM(CASE WHEN m > 1000.01 THEN 1 ELSE 0 END) FROM (SELECT patient_id, MAX(coalesce(cost, 0)) AS m FROM visits GROUP BY 1) t;

-- title: the largest cost in a key, in other words
SELECT m > 1000, COUNT(*) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t GROUP BY 1;
SELECT m > 2000.02, COUNT(*) FROM (SELECT patient_id, MAX(cost * 2) AS m FROM visits GROUP BY 1) t GROUP BY 1;

-- title: the largest cost, and the dearest visit
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000) t;
SELECT COUNT(*) FROM (SELECT DISTINCT ON (patient_id) patient_id, cost FROM visits ORDER BY patient_id, cost DESC) t WHERE cost > 1000.01;

-- title: sums of days of sums, in other words
SELECT COUNT(*) FROM (SELECT patient_id, SUM(cost) AS s FROM visits GROUP BY 1) t WHERE s > 1000;
SELECT COUNT(*) FROM (SELECT patient_id, SUM(s) AS s FROM (SELECT patient_id, visit_date, SUM(coalesce(cost, 0)) AS s FROM visits GROUP BY 1, 2) d GROUP BY 1) t WHERE s > 1000.01;

-- title: dear visits, and people whose largest cost is a cent more
SELECT COUNT(*) FROM visits WHERE cost >= 308.71;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 308.71) t;

-- title: incomes, and the sum of the only income
SELECT COUNT(*) FROM patients WHERE income >= 52311;
SELECT COUNT(*) FROM (SELECT patient_id, SUM(income) AS s FROM patients GROUP BY 1) t WHERE s > 52311;

-- title: the largest cost or one cost alone, in other words
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000 OR COUNT(DISTINCT cost) = 1) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost * 2) > 2000.02 OR COUNT(DISTINCT cost + 0) = 1) t;

-- title: sums of costs, and over a union with a side of nobody
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 10000) t;
SELECT COUNT(*) FROM (
  SELECT patient_id FROM (SELECT patient_id, cost FROM visits UNION ALL SELECT patient_id, cost FROM visits WHERE cost < 0) u
  GROUP BY 1 HAVING SUM(cost) > 10000.01
) t;

-- title: sums of costs, and in a window of all rows that has an order
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(cost) > 10000) t;
SELECT COUNT(DISTINCT patient_id) FROM (
  SELECT patient_id, SUM(cost) OVER (PARTITION BY patient_id ORDER BY visit_date, visit_id ROWS BETWEEN UNBOUNDED PRECEDING AND UNBOUNDED FOLLOWING) AS s
  FROM visits
) t WHERE s > 10000.01;

-- title: the days after a boundary, cut by centuries as well
SELECT extract(century FROM visit_date), visit_date >= '2025-03-05', COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'pneumonia' GROUP BY 1, 2;
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'pneumonia' AND visit_date >= '2025-03-06';

-- title: the days after a boundary, and then cut by centuries as well
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'pneumonia' AND visit_date >= '2025-03-06';
SELECT extract(century FROM visit_date), visit_date >= '2025-03-05', COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'pneumonia' GROUP BY 1, 2;

-- title: the days after a boundary, and before it centuries
SELECT visit_date >= '2025-03-05', extract(century FROM visit_date), COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'pneumonia' GROUP BY 1, 2;
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE diagnosis = 'pneumonia' AND visit_date >= '2025-03-06';

-- title: years after a late boundary, cut by millennia as well
SELECT birth_year / 3000, birth_year >= 1990, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1991;

-- title: years after an early boundary, cut by millennia as well
SELECT birth_year / 3000, birth_year >= 1945, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1946;

-- title: the days of a month after a boundary
SELECT date_trunc('month', visit_date), visit_date >= '2024-03-20', COUNT(*) FROM visits GROUP BY 1, 2;
SELECT COUNT(*) FROM visits WHERE visit_date >= '2024-03-21' AND visit_date < '2024-04-01';

-- title: sums of years after a boundary, cut by millennia as well
SELECT birth_year / 3000, birth_year >= 1990, SUM(income) FROM patients GROUP BY 1, 2;
SELECT SUM(income) FROM patients WHERE birth_year >= 1991;

-- title: years after a boundary in a rollup
SELECT birth_year / 3000, birth_year >= 1990, COUNT(*) FROM patients GROUP BY ROLLUP (1, 2);
SELECT COUNT(*) FROM patients WHERE birth_year >= 1991;

-- title: odd and even years after a boundary
SELECT birth_year % 2, birth_year >= 1990, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1991;

-- title: days of the week after a boundary
SELECT extract(dow FROM visit_date), visit_date >= '2025-03-05', COUNT(*) FROM visits GROUP BY 1, 2;
SELECT COUNT(*) FROM visits WHERE visit_date >= '2025-03-06';

-- title: years after a boundary that a CASE has, cut by millennia as well
SELECT birth_year / 3000, CASE WHEN birth_year >= 1990 THEN 'young' ELSE 'old' END, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1991;

-- title: years after a boundary by regions, cut by millennia as well
SELECT region, birth_year / 3000, birth_year >= 1990, COUNT(*) FROM patients GROUP BY 1, 2, 3;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1991;

-- title: years after a boundary by regions, and in one region
SELECT region, birth_year / 3000, birth_year >= 1990, COUNT(*) FROM patients GROUP BY 1, 2, 3;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1991 AND region = 'north';

-- title: centuries, and years after a boundary cut by them
SELECT birth_year / 3000, birth_year >= 1990, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT birth_year / 3000, COUNT(*) FROM patients WHERE birth_year >= 1991 GROUP BY 1;

-- title: two boundaries, each beside other keys
SELECT birth_year / 3000, birth_year >= 1990, COUNT(*) FROM patients GROUP BY 1, 2;
SELECT birth_year % 2, birth_year >= 1991, COUNT(*) FROM patients GROUP BY 1, 2;

-- title: the last visit after a boundary, cut by centuries as well
SELECT extract(century FROM m), m >= '2025-03-05', COUNT(*) FROM (SELECT patient_id, MAX(visit_date) AS m FROM visits GROUP BY 1) t GROUP BY 1, 2;
SELECT COUNT(*) FROM (SELECT patient_id, MAX(visit_date) AS m FROM visits GROUP BY 1) t WHERE m >= '2025-03-06';

-- title: two halves without one income, and all without another
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE income <> 199999;

-- title: all without one income, and two halves without another
SELECT COUNT(*) FROM patients WHERE income <> 199999;
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 52311;

-- title: two halves without an income each, and all
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 199999;
SELECT COUNT(*) FROM patients;

-- title: sums of two halves without one income, and of all without another
SELECT SUM(birth_year) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT SUM(birth_year) FROM patients WHERE birth_year >= 1970 AND income <> 52311;
SELECT SUM(birth_year) FROM patients WHERE income <> 199999;

-- title: two halves without one income, and all without a number of nobody
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE patient_id <> -1;

-- title: two halves without one salary, and all without a name of nobody
-- of: hospital
SELECT COUNT(*) FROM persons WHERE birth_date < '1970-01-01' AND salary <> 52311;
SELECT COUNT(*) FROM persons WHERE birth_date >= '1970-01-01' AND salary <> 52311;
SELECT COUNT(*) FROM persons WHERE name <> 'nobody';

-- title: two halves without one income, and all with an income
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE income >= 1;

-- title: two halves without one income, and all without a visit that nobody has
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND cost = 61.61);

-- title: four parts without one income, and all without three others
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND region IN ('north', 'south') AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND region NOT IN ('north', 'south') AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND region IN ('north', 'south') AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND region NOT IN ('north', 'south') AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE income NOT IN (199999, 199990, 199980);

-- title: four parts in two ways, and values of nobody in each
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 199999;
SELECT COUNT(*) FROM patients WHERE region = 'north' AND patient_id <> -1;
SELECT COUNT(*) FROM patients WHERE region <> 'north' AND patient_id <> -2;

-- title: two halves without one income, and all without another, beside values that hide them
SELECT COUNT(*) FROM patients WHERE birth_year < 1960 AND income NOT IN (150001, 150003, 150005, 150007, 150009, 150011, 150013, 150015, 150017, 150019, 150021, 150023);
SELECT COUNT(*) FROM patients WHERE birth_year >= 1960 AND income NOT IN (160001, 160003, 160005, 160007, 160009, 160011, 160013, 160015, 160017, 160019, 160021, 160023);
SELECT COUNT(*) FROM patients WHERE birth_year < 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE birth_year >= 1970 AND income <> 52311;
SELECT COUNT(*) FROM patients WHERE income <> 199999;
-- title: beside a count in one statement, what leaves out a value and rows that nobody has
SELECT COUNT(*), COUNT(*) FILTER (WHERE income <> 52311 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL)) FROM patients p;

-- title: two things that nobody has, left out in one statement, and a value
SELECT COUNT(*) FILTER (WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.cost IS NULL)), COUNT(*) FILTER (WHERE income <> 52311 AND NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id = p.patient_id AND v.diagnosis = 'nobody')) FROM patients p;

-- title: a name that nobody has in one of three parts of a statement, and a value
SELECT COUNT(*) FILTER (WHERE cost < 500), COUNT(*) FILTER (WHERE cost >= 500), COUNT(*) FILTER (WHERE cost <> 308.71 AND diagnosis <> 'nobody') FROM visits;

-- title: numbers of people without a name that nobody has, and a value
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING BOOL_OR(cost > 1000)) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis <> 'nobody' AND cost <> 308.71 GROUP BY 1 HAVING BOOL_OR(cost > 1000)) t;

-- title: the last day of people, and the same without one day, in other words
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(visit_date) >= DATE '2024-03-05') t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MIN(DATE '2024-03-05' - visit_date) < 0) t;

-- title: the number of different halves that the query chose, beside all people
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(DISTINCT visit_date <> DATE '2024-03-05') = 2) t;
-- title: a number of a person in a CASE, after the rows
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT SUM(CASE WHEN m > 1000.01 THEN 1 ELSE 0 END) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;

-- title: a number of a person in a FILTER, after the rows
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FILTER (WHERE m > 1000.01) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;

-- title: a number of a person in an average of a CASE
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT AVG(CASE WHEN m > 1000.01 THEN 1 ELSE 0 END) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;

-- title: a number of a person as a summed truth value
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT SUM((m > 1000.01)::int) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;

-- title: a number of a person in GREATEST
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT SUM(greatest(m, 1000.01)) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;

-- title: a number of a person in a FILTER over joined persons
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FILTER (WHERE m > 1000.01) FROM patients p JOIN (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t USING (patient_id);

-- title: rows after a number of a person in a FILTER
SELECT COUNT(*) FILTER (WHERE m > 1000.01) FROM (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t;
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;

-- title: a number of a person beside names that nobody has
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis <> 'no one' GROUP BY 1 HAVING MAX(cost)>1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE diagnosis <> 'nobody' GROUP BY 1 HAVING MAX(cost)>1000.01) t;

-- title: a number of a person beside NOT EXISTS of nobody
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w WHERE w.patient_id = v.patient_id AND w.cost IS NULL) GROUP BY 1 HAVING MAX(cost) > 1000.01) t;

-- title: a number of a person beside NOT IN of nobody
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits v WHERE patient_id NOT IN (SELECT patient_id FROM visits WHERE cost IS NULL) GROUP BY 1 HAVING MAX(cost) > 1000.01) t;

-- title: a number of a person EXCEPT those of nobody
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING MAX(cost) > 1000.01 EXCEPT SELECT patient_id FROM visits WHERE cost IS NULL) t;

-- title: a number of a person beside a missing partner of nobody
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v LEFT JOIN (SELECT DISTINCT patient_id FROM visits WHERE cost IS NULL) n ON n.patient_id=v.patient_id WHERE n.patient_id IS NULL GROUP BY 1 HAVING MAX(cost) > 1000.01) t;

-- title: a number of a person beside a count of nobody's rows
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits  GROUP BY 1 HAVING MAX(cost) > 1000.01 AND COUNT(*) FILTER (WHERE diagnosis = 'nobody') = 0) t;

-- title: a number that is true for all rows, then another number
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost>1000 GROUP BY 1 HAVING SUM(cost)>=0) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits  GROUP BY 1 HAVING MAX(cost)>1000.01) t;

-- title: a number, then rows with a number that is true for all of them
SELECT COUNT(*) FROM (SELECT patient_id FROM visits  GROUP BY 1 HAVING MAX(cost)>1000) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost>1000.01 GROUP BY 1 HAVING MAX(cost)>0) t;

-- title: a number of a person of an outer join in a FILTER
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FILTER (WHERE m > 1000.01) FROM patients p LEFT JOIN (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t USING (patient_id);

-- title: a number of a person of a scalar subquery in a CASE
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT SUM(CASE WHEN (SELECT MAX(cost) FROM visits v WHERE v.patient_id = p.patient_id) > 1000.01 THEN 1 ELSE 0 END) FROM patients p;

-- title: a number of a person of a union in a FILTER
SELECT COUNT(*) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FILTER (WHERE m > 1000.01), COUNT(*) FROM (SELECT patient_id, MAX(cost) m FROM visits GROUP BY 1 UNION ALL SELECT patient_id, MAX(cost) m FROM visits WHERE cost < 0 GROUP BY 1) u;

-- title: persons with a number that is true for all, then a sum of the only row
SELECT COUNT(*) FROM patients JOIN (SELECT patient_id, MAX(cost) AS m FROM visits GROUP BY 1) t USING (patient_id) WHERE m >= 0 AND income >= 0;
SELECT COUNT(*) FROM (SELECT patient_id FROM patients GROUP BY 1 HAVING SUM(income) <> 52311) t;

-- title: a number over the far side of an outer join
SELECT COUNT(*) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT p.patient_id FROM patients p LEFT JOIN visits v USING (patient_id) GROUP BY 1 HAVING MAX(cost)>1000.01) t;

-- title: a number over rows with an outer join that nobody reads
SELECT COUNT(*) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v LEFT JOIN prescriptions r USING (visit_id) GROUP BY 1 HAVING MAX(cost)>1000.01) t;

-- title: nobody above an amount, then the largest amount or 0
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id=p.patient_id AND cost > 1000);
SELECT COUNT(*) FROM patients p WHERE coalesce((SELECT MAX(cost) FROM visits v WHERE v.patient_id=p.patient_id),0)<=1000.01;

-- title: nobody above an amount, then the largest amount or none
SELECT COUNT(*) FROM patients p WHERE NOT EXISTS (SELECT 1 FROM visits v WHERE v.patient_id=p.patient_id AND cost > 1000);
SELECT COUNT(*) FROM patients p LEFT JOIN (SELECT patient_id, MAX(cost) m FROM visits GROUP BY 1) v ON v.patient_id=p.patient_id WHERE m <= 1000.01 OR m IS NULL;

-- title: distinct persons of rows with an outer join that nobody reads
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(DISTINCT v.patient_id) FROM visits v LEFT JOIN prescriptions r USING (visit_id) WHERE cost > 1000.01;

-- title: EXISTS of rows with an outer join that nobody reads
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v WHERE v.patient_id=p.patient_id AND cost > 1000);
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v LEFT JOIN prescriptions r USING (visit_id) WHERE v.patient_id=p.patient_id AND cost > 1000.01);

-- title: persons of rows with an outer join that nobody reads, grouped
SELECT COUNT(DISTINCT patient_id) FROM visits WHERE cost > 1000;
SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v LEFT JOIN prescriptions r USING (visit_id) WHERE cost > 1000.01 GROUP BY 1) t;

-- title: a number of a person, then rows with an outer join that nobody reads
SELECT COUNT(*) FROM (SELECT patient_id FROM visits  GROUP BY 1 HAVING MAX(cost)>1000) t;
SELECT COUNT(*) FROM (SELECT v.patient_id FROM visits v LEFT JOIN prescriptions r USING (visit_id) WHERE cost > 1000.01 GROUP BY 1) t;
-- title: frequent people among visits without one cost
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING COUNT(*) >= 2) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits WHERE cost <> 308.71 GROUP BY 1 HAVING COUNT(*) >= 2) t;

-- title: frequent people, by a choice inside of the number that differs by one cost
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(CASE WHEN cost >= 308.71 THEN 1 ELSE 0 END) >= 2) t;
SELECT COUNT(*) FROM (SELECT patient_id FROM visits GROUP BY 1 HAVING SUM(CASE WHEN cost > 308.71 THEN 1 ELSE 0 END) >= 2) t;
