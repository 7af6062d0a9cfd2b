-- OMOP CDM 5.4: the clinical tables and those they refer to, with the keys of the standard; shortened columns.
CREATE TABLE concept (
    concept_id integer PRIMARY KEY, concept_name varchar(255) NOT NULL, domain_id varchar(20) NOT NULL,
    vocabulary_id varchar(20) NOT NULL, concept_class_id varchar(20) NOT NULL, standard_concept varchar(1),
    concept_code varchar(50) NOT NULL, valid_start_date date NOT NULL, valid_end_date date NOT NULL
);
CREATE TABLE location (
    location_id integer PRIMARY KEY, address_1 varchar(50), city varchar(50), state varchar(2),
    zip varchar(9), county varchar(20), country_concept_id integer REFERENCES concept
);
CREATE TABLE care_site (
    care_site_id integer PRIMARY KEY, care_site_name varchar(255),
    place_of_service_concept_id integer REFERENCES concept, location_id integer REFERENCES location
);
CREATE TABLE provider (
    provider_id integer PRIMARY KEY, provider_name varchar(255), npi varchar(20),
    specialty_concept_id integer REFERENCES concept, care_site_id integer REFERENCES care_site,
    year_of_birth integer, gender_concept_id integer REFERENCES concept
);
CREATE TABLE person (
    person_id integer PRIMARY KEY, gender_concept_id integer NOT NULL REFERENCES concept,
    year_of_birth integer NOT NULL, month_of_birth integer, day_of_birth integer, birth_datetime timestamp,
    race_concept_id integer NOT NULL REFERENCES concept, ethnicity_concept_id integer NOT NULL REFERENCES concept,
    location_id integer REFERENCES location, provider_id integer REFERENCES provider,
    care_site_id integer REFERENCES care_site, person_source_value varchar(50), gender_source_value varchar(50)
);
CREATE TABLE observation_period (
    observation_period_id integer PRIMARY KEY, person_id integer NOT NULL REFERENCES person,
    observation_period_start_date date NOT NULL, observation_period_end_date date NOT NULL,
    period_type_concept_id integer NOT NULL REFERENCES concept
);
CREATE TABLE visit_occurrence (
    visit_occurrence_id integer PRIMARY KEY, person_id integer NOT NULL REFERENCES person,
    visit_concept_id integer NOT NULL REFERENCES concept, visit_start_date date NOT NULL, visit_end_date date NOT NULL,
    visit_type_concept_id integer NOT NULL REFERENCES concept, provider_id integer REFERENCES provider,
    care_site_id integer REFERENCES care_site,
    preceding_visit_occurrence_id integer REFERENCES visit_occurrence
);
CREATE TABLE condition_occurrence (
    condition_occurrence_id integer PRIMARY KEY, person_id integer NOT NULL REFERENCES person,
    condition_concept_id integer NOT NULL REFERENCES concept, condition_start_date date NOT NULL,
    condition_end_date date, condition_type_concept_id integer NOT NULL REFERENCES concept,
    stop_reason varchar(20), provider_id integer REFERENCES provider,
    visit_occurrence_id integer REFERENCES visit_occurrence, condition_source_value varchar(50)
);
CREATE TABLE drug_exposure (
    drug_exposure_id integer PRIMARY KEY, person_id integer NOT NULL REFERENCES person,
    drug_concept_id integer NOT NULL REFERENCES concept, drug_exposure_start_date date NOT NULL,
    drug_exposure_end_date date NOT NULL, drug_type_concept_id integer NOT NULL REFERENCES concept,
    refills integer, quantity numeric, days_supply integer, sig text, provider_id integer REFERENCES provider,
    visit_occurrence_id integer REFERENCES visit_occurrence
);
CREATE TABLE measurement (
    measurement_id integer PRIMARY KEY, person_id integer NOT NULL REFERENCES person,
    measurement_concept_id integer NOT NULL REFERENCES concept, measurement_date date NOT NULL,
    measurement_type_concept_id integer NOT NULL REFERENCES concept, value_as_number numeric,
    unit_concept_id integer REFERENCES concept, range_low numeric, range_high numeric,
    visit_occurrence_id integer REFERENCES visit_occurrence
);
CREATE TABLE death (
    person_id integer NOT NULL REFERENCES person, death_date date NOT NULL,
    death_type_concept_id integer REFERENCES concept, cause_concept_id integer REFERENCES concept
);
