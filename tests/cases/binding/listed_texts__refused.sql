-- title: regular expression over values that are not listed
-- code: GW105
SELECT COUNT(*) FROM visits WHERE diagnosis ~ '^flu';

-- title: regular expression with a reference
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region ~ '(o).*\1';

-- title: regular expression with look-ahead
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region ~ 'o(?=r)';

-- title: regular expression with a directive
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region ~ '(?i)NORTH';

-- title: regular expression that is not closed
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region ~ '(nor';

-- title: regular expression that repeats too much
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region ~ '((n{200}){200}){200}';

-- title: regular expression of a column
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region ~ name;

-- title: regular expression of two columns
-- code: GW105
SELECT COUNT(*) FROM patients WHERE region || name ~ 'n';

-- title: capitals of values that are not listed
-- code: GW105
SELECT INITCAP(name), COUNT(*) FROM patients GROUP BY 1;

-- title: values of several columns
-- code: GW106
SELECT COUNT(DISTINCT (region, smoker)) FROM patients;

-- title: separator that is a column
-- code: GW106
SELECT CONCAT_WS(name, region, region), COUNT(*) FROM patients GROUP BY 1;
