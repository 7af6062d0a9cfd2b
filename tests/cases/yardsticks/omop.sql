-- Counts as OHDSI's Achilles asks them, by the numbers of its analyses; shortened where one form repeats.

-- title: 1 persons
SELECT COUNT(DISTINCT person_id) AS count_value FROM person;

-- title: 2 persons by gender
SELECT c.concept_name AS gender, COUNT(DISTINCT p.person_id) AS count_value
FROM person p JOIN concept c ON c.concept_id = p.gender_concept_id
GROUP BY c.concept_name ORDER BY 2 DESC;

-- title: 3 persons by year of birth
SELECT year_of_birth AS stratum_1, COUNT(DISTINCT person_id) AS count_value
FROM person GROUP BY year_of_birth ORDER BY 1;

-- title: 12 persons by race and ethnicity
SELECT race_concept_id AS stratum_1, ethnicity_concept_id AS stratum_2, COUNT(DISTINCT person_id) AS count_value
FROM person GROUP BY race_concept_id, ethnicity_concept_id ORDER BY 1, 2;

-- title: 101 persons by age at first observation
SELECT EXTRACT(YEAR FROM op.index_date) - p.year_of_birth AS stratum_1, COUNT(p.person_id) AS count_value
FROM person p
JOIN (SELECT person_id, MIN(observation_period_start_date) AS index_date FROM observation_period GROUP BY person_id) op
    ON p.person_id = op.person_id
GROUP BY EXTRACT(YEAR FROM op.index_date) - p.year_of_birth ORDER BY 1;

-- title: 105 length of the observation in days
SELECT AVG(days) AS avg_value, STDDEV(days) AS stdev_value, MIN(days) AS min_value,
    PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY days) AS median_value, MAX(days) AS max_value, COUNT(*) AS count_value
FROM (SELECT observation_period_end_date - observation_period_start_date AS days FROM observation_period) o;

-- title: 108 persons by months of observation
SELECT FLOOR((op.observation_period_end_date - op.observation_period_start_date) / 30) AS stratum_1,
    COUNT(DISTINCT p.person_id) AS count_value
FROM person p JOIN observation_period op ON p.person_id = op.person_id
GROUP BY FLOOR((op.observation_period_end_date - op.observation_period_start_date) / 30) ORDER BY 1;

-- title: 109 persons observed in each year
SELECT y.obs_year, COUNT(DISTINCT op.person_id) AS count_value
FROM observation_period op
CROSS JOIN (VALUES (2018), (2019), (2020), (2021), (2022), (2023)) AS y (obs_year)
WHERE op.observation_period_start_date <= make_date(y.obs_year, 1, 1)
    AND op.observation_period_end_date >= make_date(y.obs_year, 12, 31)
GROUP BY y.obs_year ORDER BY 1;

-- title: 111 persons by month of the first observation
SELECT EXTRACT(YEAR FROM observation_period_start_date) * 100 + EXTRACT(MONTH FROM observation_period_start_date)
    AS stratum_1, COUNT(DISTINCT person_id) AS count_value
FROM observation_period GROUP BY 1 ORDER BY 1;

-- title: 200 persons by type of visit
SELECT vo.visit_concept_id AS stratum_1, COUNT(DISTINCT vo.person_id) AS count_value
FROM visit_occurrence vo JOIN observation_period op ON vo.person_id = op.person_id
    AND vo.visit_start_date >= op.observation_period_start_date AND vo.visit_start_date <= op.observation_period_end_date
GROUP BY vo.visit_concept_id ORDER BY 1;

-- title: 202 persons by month of visit and type
SELECT c.concept_name, date_trunc('month', vo.visit_start_date) AS month, COUNT(DISTINCT vo.person_id) AS count_value
FROM visit_occurrence vo JOIN concept c ON c.concept_id = vo.visit_concept_id
GROUP BY c.concept_name, date_trunc('month', vo.visit_start_date) ORDER BY 1, 2;

-- title: 203 visits of a person
SELECT AVG(n) AS avg_value, MIN(n) AS min_value, MAX(n) AS max_value,
    PERCENTILE_DISC(0.25) WITHIN GROUP (ORDER BY n) AS p25_value, PERCENTILE_DISC(0.5) WITHIN GROUP (ORDER BY n)
    AS median_value, PERCENTILE_DISC(0.75) WITHIN GROUP (ORDER BY n) AS p75_value
FROM (SELECT person_id, COUNT(*) AS n FROM visit_occurrence GROUP BY person_id) v;

-- title: 211 days of a stay by type of visit
SELECT visit_concept_id AS stratum_1, AVG(visit_end_date - visit_start_date) AS avg_value, COUNT(*) AS count_value
FROM visit_occurrence GROUP BY visit_concept_id ORDER BY 1;

-- title: 400 persons by condition
SELECT co.condition_concept_id AS stratum_1, c.concept_name, COUNT(DISTINCT co.person_id) AS count_value
FROM condition_occurrence co LEFT JOIN concept c ON c.concept_id = co.condition_concept_id
GROUP BY co.condition_concept_id, c.concept_name ORDER BY 3 DESC, 1;

-- title: 404 persons by condition, year, gender and decade of age
SELECT co.condition_concept_id AS stratum_1, EXTRACT(YEAR FROM co.condition_start_date) AS stratum_2,
    p.gender_concept_id AS stratum_3, FLOOR((EXTRACT(YEAR FROM co.condition_start_date) - p.year_of_birth) / 10)
    AS stratum_4, COUNT(DISTINCT p.person_id) AS count_value
FROM person p JOIN condition_occurrence co ON p.person_id = co.person_id
GROUP BY 1, 2, 3, 4 ORDER BY 1, 2, 3, 4;

-- title: 502 deaths by month
SELECT EXTRACT(YEAR FROM death_date) * 100 + EXTRACT(MONTH FROM death_date) AS stratum_1,
    COUNT(DISTINCT person_id) AS count_value
FROM death GROUP BY EXTRACT(YEAR FROM death_date) * 100 + EXTRACT(MONTH FROM death_date) ORDER BY 1;

-- title: 504 deaths by year, gender and decade of age
SELECT EXTRACT(YEAR FROM d.death_date) AS stratum_1, c.concept_name AS stratum_2,
    FLOOR((EXTRACT(YEAR FROM d.death_date) - p.year_of_birth) / 10) AS stratum_3, COUNT(*) AS count_value
FROM death d JOIN person p USING (person_id) JOIN concept c ON c.concept_id = p.gender_concept_id
GROUP BY 1, 2, 3 ORDER BY 1, 2, 3;

-- title: 703 different drugs of a person
SELECT num_drugs AS stratum_1, COUNT(*) AS count_value
FROM (SELECT person_id, COUNT(DISTINCT drug_concept_id) AS num_drugs FROM drug_exposure GROUP BY person_id) t
GROUP BY num_drugs ORDER BY 1;

-- title: 715 days of supply by drug
SELECT drug_concept_id AS stratum_1, COUNT(*) AS count_value, MIN(days_supply) AS min_value,
    MAX(days_supply) AS max_value, AVG(days_supply) AS avg_value
FROM drug_exposure WHERE days_supply IS NOT NULL GROUP BY drug_concept_id ORDER BY 1;

-- title: 1815 values by measurement and unit
SELECT m.measurement_concept_id AS stratum_1, m.unit_concept_id AS stratum_2, COUNT(*) AS count_value,
    AVG(m.value_as_number) AS avg_value, SUM(CASE WHEN m.value_as_number > m.range_high THEN 1 ELSE 0 END) AS above
FROM measurement m WHERE m.value_as_number IS NOT NULL
GROUP BY m.measurement_concept_id, m.unit_concept_id ORDER BY 1, 2;
