-- title: document as a whole
-- code: GW105
SELECT COUNT(details) FROM intakes;

-- title: document with a table and a test for NULL
-- code: GW105
SELECT COUNT(*) FROM intakes i WHERE i.details IS NOT NULL;

-- title: key that is no column
-- code: GW105
SELECT COUNT(*) FROM intakes WHERE details ->> 'smoker' = 'true';

-- title: key that differs by a blank
-- code: GW105
SELECT COUNT(*) FROM intakes WHERE details ->> 'drinks ' = 'true';

-- title: document in a document
-- code: GW105
SELECT COUNT(*) FROM intakes WHERE details -> 'drinks' IS NULL;

-- title: place in an array
-- code: GW117
SELECT COUNT(*) FROM intakes WHERE details ->> 0 = 'true';

-- title: place in an array that is written as a text
-- code: GW105
SELECT COUNT(*) FROM intakes WHERE details ->> '0'::integer = 'true';

-- title: containment
-- code: GW106
SELECT COUNT(*) FROM intakes WHERE jsonb_exists(details, 'drinks');

-- title: floating-point number as a text
-- code: GW105
SELECT COUNT(*) FROM intakes WHERE details ->> 'score' = '1';

-- title: column of another type that no query reads
-- code: GW106
SELECT host(address), COUNT(*) FROM intakes GROUP BY 1;

-- title: column that no query reads, in EXISTS
-- code: GW108
SELECT COUNT(*) FROM patients p WHERE EXISTS (SELECT 1 FROM intakes i WHERE i.patient_id = p.patient_id AND i.address IS NULL);

-- title: path into a column that is no document
-- code: GW108
SELECT COUNT(*) FROM patients WHERE detail ->> 'drinks' = 'true';
