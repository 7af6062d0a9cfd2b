-- title: a condition
-- code: GW110
SELECT * FROM patients WHERE income > 150000 LIMIT 1;

-- title: an order
-- code: GW110
SELECT * FROM patients ORDER BY income LIMIT 1;

-- title: the second row
-- code: GW110
SELECT * FROM patients LIMIT 1 OFFSET 1;

-- title: two rows
-- code: GW110
SELECT * FROM patients LIMIT 2;

-- title: whether there is a row with a condition
-- code: GW118
SELECT EXISTS (SELECT 1 FROM patients WHERE income > 150000);

-- title: whether there is no row
-- code: GW118
SELECT NOT EXISTS (SELECT 1 FROM patients);

-- title: whether there is a row of an unknown table
-- code: GW107
SELECT EXISTS (SELECT 1 FROM secrets);

-- title: one row of an unknown table
-- code: GW107
SELECT 1 FROM secrets LIMIT 1;
