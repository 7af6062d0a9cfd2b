"""Statements that were thought of to break a bound: ties, fan-out, odd keys, nested groups, self joins."""

from functools import cache
from typing import Final

from property.bounded_releases import Asked, statement

_STATEMENTS: Final = (
    # ties, and orders that are not said
    """SELECT diagnosis, SUM(cost), COUNT(*) FROM (SELECT diagnosis, cost, ROW_NUMBER() OVER (
    PARTITION BY patient_id ORDER BY visit_date) AS n FROM visits) t WHERE n <= 3 GROUP BY 1""",
    """SELECT AVG(before), SUM(cost - before), COUNT(DISTINCT before) FROM (SELECT cost, LAG(cost)
    OVER (PARTITION BY patient_id ORDER BY diagnosis) AS before FROM visits) t""",
    """SELECT AVG(w), SUM(w) FROM (SELECT SUM(weight) OVER (PARTITION BY patient_id ORDER BY
    visit_date ROWS BETWEEN 2 PRECEDING AND CURRENT ROW) AS w FROM visits) t""",
    """SELECT AVG(w) FROM (SELECT AVG(weight) OVER (PARTITION BY patient_id ORDER BY visit_date
    ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW) AS w FROM visits) t""",
    """SELECT AVG(w), AVG(v) FROM (SELECT SUM(weight) OVER (PARTITION BY patient_id) AS w, MAX(cost)
    OVER (PARTITION BY patient_id, diagnosis ORDER BY admitted
    ROWS BETWEEN CURRENT ROW AND UNBOUNDED FOLLOWING) AS v FROM visits) t""",
    # nested groups of each person
    """SELECT AVG(a), SUM(s), AVG(m) FROM (SELECT patient_id, AVG(weight) AS a, SUM(cost) AS s,
    MAX(cost) - MIN(cost) AS m FROM visits GROUP BY patient_id) t""",
    """SELECT n, COUNT(*), AVG(s) FROM (SELECT patient_id, diagnosis, COUNT(*) AS n, SUM(weight) AS s
    FROM visits GROUP BY patient_id, diagnosis) t GROUP BY n""",
    """SELECT AVG(x), SUM(y) FROM (SELECT patient_id, AVG(s) AS x, SUM(n) AS y FROM (SELECT
    patient_id, diagnosis, SUM(cost) AS s, COUNT(DISTINCT visit_date) AS n FROM visits
    GROUP BY patient_id, diagnosis) t GROUP BY patient_id) u""",
    """SELECT AVG(s), AVG(n) FROM (SELECT patient_id, SUM(cost) FILTER (WHERE weight > 50) AS s,
    COUNT(*) FILTER (WHERE diagnosis LIKE 'a%') AS n FROM visits GROUP BY patient_id
    HAVING COUNT(*) > 1) t""",
    # joins
    """SELECT a.diagnosis, COUNT(*), SUM(b.cost) FROM visits a JOIN visits b
    ON a.patient_id = b.patient_id AND a.visit_date < b.visit_date GROUP BY 1""",
    """SELECT p.region, COUNT(*), AVG(v.cost), AVG(p.income) FROM patients p JOIN visits v
    ON p.patient_id = v.patient_id GROUP BY 1""",
    """SELECT p.smoker, COUNT(v.cost), COUNT(*) FROM patients p LEFT JOIN visits v
    ON p.patient_id = v.patient_id GROUP BY 1""",
    """SELECT r.capital, c.chapter, COUNT(*), SUM(v.cost) FROM visits v
    JOIN codes c ON c.code = v.diagnosis JOIN patients p ON p.patient_id = v.patient_id
    JOIN regions r ON r.region = p.region GROUP BY 1, 2""",
    """SELECT COUNT(*), SUM(p.income) FROM patients p LEFT JOIN regions r ON r.region = p.region
    WHERE r.population IS NULL OR r.population > 0""",
    """SELECT COUNT(*), SUM(a.cost) FROM visits a JOIN (SELECT patient_id, COUNT(*) AS n FROM visits
    GROUP BY patient_id) b ON a.patient_id = b.patient_id WHERE b.n > 2""",
    # UNION ALL, EXISTS, IN
    """SELECT k, COUNT(*), COUNT(DISTINCT u) FROM (SELECT patient_id AS u, diagnosis AS k FROM visits
    UNION ALL SELECT patient_id, name FROM patients UNION ALL SELECT patient_id, 'flu' FROM visits)
    t GROUP BY k""",
    """SELECT region, COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM visits v
    WHERE v.patient_id = p.patient_id AND v.cost > 10) GROUP BY region""",
    """SELECT COUNT(*), SUM(cost) FROM visits v WHERE NOT EXISTS (SELECT 1 FROM visits w
    WHERE w.patient_id = v.patient_id AND w.visit_date > v.visit_date)""",
    """SELECT diagnosis, COUNT(*) FROM visits WHERE patient_id IN (SELECT patient_id FROM patients
    WHERE smoker) GROUP BY diagnosis""",
    # keys that are nearly equal, and sums over everything
    "SELECT weight, COUNT(*), SUM(weight) FROM visits GROUP BY weight",
    "SELECT income, COUNT(*), SUM(birth_year) FROM patients GROUP BY income",
    "SELECT cost, COUNT(DISTINCT diagnosis) FROM visits GROUP BY cost",
    "SELECT visit_id, COUNT(*), SUM(weight * weight) FROM visits GROUP BY visit_id",
    "SELECT visit_date, admitted, COUNT(*) FROM visits GROUP BY 1, 2",
    "SELECT diagnosis, COUNT(DISTINCT visit_date), COUNT(DISTINCT cost) FROM visits GROUP BY 1",
    "SELECT COUNT(DISTINCT diagnosis), COUNT(DISTINCT weight), COUNT(DISTINCT visit_id) FROM visits",
    """SELECT LOWER(diagnosis), SUBSTRING(diagnosis, 1, 1), LENGTH(diagnosis), COUNT(*) FROM visits
    GROUP BY 1, 2, 3""",
    """SELECT SUM(GREATEST(-9, LEAST(9, 1 / (weight - 80)))), SUM(cost / (cost + 100)),
    SUM(SQRT(weight - 80)), SUM(GREATEST(-5, LN(cost))), SUM(weight * cost * weight) FROM visits""",
    "SELECT COUNT(*), SUM(cost) FROM visits WHERE cost / (cost - 100) > 1",
    "SELECT COUNT(*), SUM(cost) FROM visits WHERE visit_id / visit_id = 1 AND visit_id * 3 > 2",
    """SELECT SUM(CAST(weight AS integer)), SUM(CAST(cost AS integer)), SUM(CAST(cost AS smallint))
    FROM visits""",
    """SELECT SUM(CASE WHEN diagnosis = 'flu' THEN cost ELSE -cost END), SUM(cost) FILTER
    (WHERE weight > 100), AVG(weight) FILTER (WHERE diagnosis IS NULL) FROM visits""",
    "SELECT EXTRACT(year FROM admitted), DATE_TRUNC('week', admitted), COUNT(*) FROM visits GROUP BY 1, 2",
    """SELECT SUM(visit_date - DATE '2020-01-01'), COUNT(*) FROM visits
    WHERE admitted + INTERVAL '1 month' > TIMESTAMP '2024-02-29 00:00:00'""",
    "SELECT COUNT(DISTINCT patient_id), COUNT(*) FROM visits GROUP BY ()",
    "SELECT COALESCE(diagnosis, '~'), COUNT(*) FROM visits GROUP BY 1",
    "SELECT CAST(weight AS text), COUNT(*) FROM visits GROUP BY 1",
    "SELECT CAST(cost AS text), COUNT(*) FROM visits GROUP BY 1",
    "SELECT weight / 3, COUNT(*) FROM visits GROUP BY 1",
    "SELECT income / 7, COUNT(*) FROM patients GROUP BY 1",
    "SELECT diagnosis || '|' || diagnosis, diagnosis, COUNT(*) FROM visits GROUP BY 1, 2",
    "SELECT visit_id + 1, visit_id * 2, COUNT(*) FROM visits GROUP BY 1, 2",
    # squares and products, of small numbers and of large ones
    "SELECT VAR_POP(weight), STDDEV(cost), AVG(cost) FROM visits",
    "SELECT diagnosis, VAR_SAMP(weight), STDDEV_POP(cost) FILTER (WHERE weight > 50) FROM visits GROUP BY 1",
    "SELECT CORR(cost, weight), COVAR_POP(cost, weight) FROM visits",
    "SELECT region, REGR_SLOPE(income, birth_year), REGR_COUNT(income, birth_year) FROM patients GROUP BY 1",
    "SELECT REGR_R2(weight, cost), REGR_INTERCEPT(weight, birth_year) FROM patients JOIN visits USING (patient_id)",
    """SELECT VAR_POP(s), CORR(s, n) FROM (SELECT patient_id, SUM(cost) AS s, COUNT(weight) AS n FROM visits
    GROUP BY patient_id) t""",
    # what is read as a join on the unit key, as a row with the number 1, or as a set of values
    """SELECT SUM((SELECT SUM(v.cost) FROM visits v WHERE v.patient_id = p.patient_id)), COUNT(*) FROM patients p""",
    """SELECT COUNT(*) FROM visits w WHERE w.cost >= (SELECT AVG(v.cost) FROM visits v WHERE v.patient_id = w.patient_id)""",
    """SELECT (SELECT v.diagnosis FROM visits v WHERE v.patient_id = p.patient_id ORDER BY v.visit_date LIMIT 1) AS d,
    COUNT(*), SUM(income) FROM patients p GROUP BY 1""",
    """SELECT COUNT(*), SUM(t.cost) FROM patients p LEFT JOIN LATERAL (SELECT v.cost, v.diagnosis FROM visits v
    WHERE v.patient_id = p.patient_id ORDER BY v.visit_date DESC LIMIT 1) t ON true""",
    """SELECT COUNT(*) FROM visits a, LATERAL (SELECT * FROM visits b WHERE b.patient_id = a.patient_id AND b.cost > 10) t""",
    """SELECT diagnosis, COUNT(*), SUM(cost) FROM (SELECT DISTINCT ON (patient_id) patient_id, diagnosis, cost FROM visits
    ORDER BY patient_id, visit_date) t GROUP BY diagnosis""",
    """SELECT diagnosis, SUM(cost) FROM (SELECT DISTINCT ON (diagnosis, patient_id) patient_id, diagnosis, cost FROM visits
    ORDER BY diagnosis, patient_id, cost DESC) t GROUP BY diagnosis""",
    """SELECT COUNT(*) FROM (SELECT patient_id FROM visits UNION SELECT patient_id FROM patients) t""",
    """SELECT diagnosis, COUNT(*) FROM (SELECT patient_id, diagnosis FROM visits WHERE cost > 10
    EXCEPT SELECT patient_id, diagnosis FROM visits WHERE cost > 1000) t GROUP BY diagnosis""",
    """SELECT COUNT(*) FROM (SELECT patient_id, visit_date, diagnosis FROM visits WHERE cost > 10
    INTERSECT SELECT patient_id, visit_date, diagnosis FROM visits WHERE cost < 1000) t""",
    """SELECT SUM(LENGTH(region)), AVG(POSITION('t' IN region)), COUNT(*) FILTER (WHERE region ~ '^(n|s)') FROM patients""",
    """SELECT LEAST(n, 3) AS few, COUNT(*) FROM (SELECT patient_id, COUNT(*) AS n FROM visits GROUP BY patient_id) t
    GROUP BY 1""",
    """SELECT MIN(region), MAX(region) FROM patients WHERE smoker""",
    # rows that meet several rows of a public table
    """SELECT COUNT(*), SUM(v.cost), AVG(v.weight), COUNT(c.code) FROM visits v JOIN codes c ON c.chapter = v.diagnosis""",
    """SELECT c.code, v.diagnosis, COUNT(*), COUNT(DISTINCT v.patient_id), COUNT(DISTINCT c.code) FROM visits v
    LEFT JOIN codes c ON c.chapter = v.diagnosis AND c.code <> 'J' GROUP BY 1, 2""",
    """SELECT p.smoker, COUNT(*), SUM(p.income) FILTER (WHERE r.population > 0) FROM patients p
    JOIN regions r ON r.capital = p.name GROUP BY 1""",
    """SELECT COUNT(*), SUM(r.population) FROM patients p JOIN regions r ON r.population = p.birth_year""",
    """SELECT COUNT(*), SUM(a.cost) FROM visits a JOIN visits b ON a.patient_id = b.patient_id AND a.cost < b.cost
    JOIN codes c ON c.chapter = a.diagnosis""",
    """SELECT COUNT(*), VAR_POP(a.cost) FROM visits a JOIN (SELECT v.patient_id, c.code FROM visits v JOIN codes c
    ON c.chapter = v.diagnosis) t ON t.patient_id = a.patient_id WHERE t.code > 'J'""",
    """SELECT t.code, COUNT(*) FROM (SELECT DISTINCT v.patient_id, c.code FROM visits v JOIN codes c
    ON c.chapter = v.diagnosis) t GROUP BY 1""",
    """SELECT region, smoker, COUNT(*) FROM patients JOIN codes ON chapter = name GROUP BY 1, 2""",
)


@cache
def spoken() -> tuple[Asked, ...]:
    return tuple(statement(one) for one in _STATEMENTS)
