"""Schemas of other kinds of organisations, shortened to their keys, and the unit that each has."""

from typing import Final

_CHINOOK: Final = """
CREATE TABLE employees (employee_id integer PRIMARY KEY, last_name text, first_name text, birth_date date);
CREATE TABLE customers (customer_id integer PRIMARY KEY, first_name text, last_name text, email text,
    support_rep_id integer REFERENCES employees);
CREATE TABLE invoices (invoice_id integer PRIMARY KEY, customer_id integer REFERENCES customers, total numeric);
CREATE TABLE genres (genre_id integer PRIMARY KEY, name text);
CREATE TABLE tracks (track_id integer PRIMARY KEY, name text, genre_id integer REFERENCES genres);
CREATE TABLE invoice_items (invoice_line_id integer PRIMARY KEY, invoice_id integer REFERENCES invoices,
    track_id integer REFERENCES tracks);
"""
_PAGILA: Final = """
CREATE TABLE country (country_id integer PRIMARY KEY, country text);
CREATE TABLE city (city_id integer PRIMARY KEY, city text, country_id integer REFERENCES country);
CREATE TABLE address (address_id integer PRIMARY KEY, address text, city_id integer REFERENCES city, phone text);
CREATE TABLE store (store_id integer PRIMARY KEY, address_id integer REFERENCES address);
CREATE TABLE staff (staff_id integer PRIMARY KEY, first_name text, last_name text, email text,
    address_id integer REFERENCES address, store_id integer REFERENCES store);
CREATE TABLE customer (customer_id integer PRIMARY KEY, store_id integer REFERENCES store, first_name text,
    last_name text, email text, address_id integer REFERENCES address);
CREATE TABLE film (film_id integer PRIMARY KEY, title text, rental_rate numeric);
CREATE TABLE inventory (inventory_id integer PRIMARY KEY, film_id integer REFERENCES film,
    store_id integer REFERENCES store);
CREATE TABLE rental (rental_id integer PRIMARY KEY, inventory_id integer REFERENCES inventory,
    customer_id integer REFERENCES customer, staff_id integer REFERENCES staff, rental_date timestamp);
CREATE TABLE payment (payment_id integer PRIMARY KEY, customer_id integer REFERENCES customer,
    staff_id integer REFERENCES staff, rental_id integer REFERENCES rental, amount numeric);
"""
_STAFF: Final = """
CREATE TABLE departments (dept_no char(4) PRIMARY KEY, dept_name text);
CREATE TABLE employees (emp_no integer PRIMARY KEY, birth_date date, first_name text, last_name text, gender text);
CREATE TABLE dept_emp (emp_no integer REFERENCES employees, dept_no char(4) REFERENCES departments,
    PRIMARY KEY (emp_no, dept_no));
CREATE TABLE salaries (emp_no integer REFERENCES employees, salary integer, from_date date, PRIMARY KEY (emp_no, from_date));
"""
_SCHOOL: Final = """
CREATE TABLE Teachers (Id integer PRIMARY KEY, Name text);
CREATE TABLE Courses (Id integer PRIMARY KEY, Title text, Starts date, TeacherId integer REFERENCES Teachers);
CREATE TABLE Students (Id integer PRIMARY KEY, FirstName text, LastName text, DateOfBirth date);
CREATE TABLE Enrolments (Id integer PRIMARY KEY, StudentId integer REFERENCES Students, CourseId integer REFERENCES Courses);
CREATE TABLE Grades (Id integer PRIMARY KEY, EnrolmentId integer REFERENCES Enrolments, Grade integer);
"""
_INTENSIVE_CARE: Final = """
CREATE TABLE d_items (itemid integer PRIMARY KEY, label text, category text);
CREATE TABLE patients (subject_id integer PRIMARY KEY, gender text, anchor_age integer, dod date);
CREATE TABLE admissions (hadm_id integer PRIMARY KEY, subject_id integer NOT NULL REFERENCES patients, admittime timestamp);
CREATE TABLE icustays (stay_id integer PRIMARY KEY, subject_id integer NOT NULL REFERENCES patients,
    hadm_id integer NOT NULL REFERENCES admissions);
CREATE TABLE chartevents (subject_id integer NOT NULL REFERENCES patients, hadm_id integer NOT NULL REFERENCES admissions,
    stay_id integer NOT NULL REFERENCES icustays, itemid integer REFERENCES d_items, valuenum double);
"""
_WITHOUT_FOREIGN_KEYS: Final = """
CREATE TABLE dim_customer (customer_key bigint PRIMARY KEY, email text, birthday date);
CREATE TABLE dim_product (product_key bigint PRIMARY KEY, title text);
CREATE TABLE fact_sales (sale_key bigint PRIMARY KEY, customer_key bigint, product_key bigint, amount numeric);
CREATE TABLE fact_returns (sale_key bigint, reason text);
"""
_WITHOUT_PERSON_NAMES: Final = """
CREATE TABLE mitglied (nr integer PRIMARY KEY, email text, gender text, ort text);
CREATE TABLE beitrag (id integer PRIMARY KEY, nr integer REFERENCES mitglied, betrag numeric, am date);
"""

_BANK: Final = """
CREATE TABLE district (district_id integer PRIMARY KEY, a2 text);
CREATE TABLE account (account_id integer PRIMARY KEY, district_id integer REFERENCES district, opened date);
CREATE TABLE client (client_id integer PRIMARY KEY, gender text, birth_date date,
    district_id integer REFERENCES district);
CREATE TABLE disp (disp_id integer PRIMARY KEY, client_id integer REFERENCES client,
    account_id integer REFERENCES account);
CREATE TABLE loan (loan_id integer PRIMARY KEY, account_id integer REFERENCES account, amount integer);
CREATE TABLE trans (trans_id integer PRIMARY KEY, account_id integer REFERENCES account, amount numeric(12,2));
"""
UNITS: Final = {
    "music shop": (_CHINOOK, "customers.customer_id"),
    "film rental": (_PAGILA, "customer.customer_id"),
    "staff": (_STAFF, "employees.emp_no"),
    "school with camel case": (_SCHOOL, "Students.Id"),
    "intensive care": (_INTENSIVE_CARE, "patients.subject_id"),
    "warehouse without foreign keys": (_WITHOUT_FOREIGN_KEYS, "dim_customer.customer_key"),
    "bank": (_BANK, "client.client_id"),
    "columns of persons alone": (_WITHOUT_PERSON_NAMES, "mitglied.nr"),
}
UNCLEAR: Final = {
    "no persons": (
        "CREATE TABLE a (id integer PRIMARY KEY, made date); "
        "CREATE TABLE b (id integer PRIMARY KEY, made date); "
        "CREATE TABLE c (id integer PRIMARY KEY, a_id integer REFERENCES a, b_id integer REFERENCES b);"
    ),
    "no keys": "CREATE TABLE readings (taken timestamp, value double)",
    "two kinds of persons": (
        "CREATE TABLE students (id integer PRIMARY KEY); CREATE TABLE guests (id integer PRIMARY KEY); "
        "CREATE TABLE stays (guest_id integer REFERENCES guests, student_id integer REFERENCES students);"
    ),
}
