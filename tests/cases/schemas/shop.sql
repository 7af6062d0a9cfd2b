-- A retail shop as it grows: enum types, checks, comments, lookup tables, a second schema.
CREATE SCHEMA support;
CREATE TYPE order_status AS ENUM ('new', 'paid', 'shipped', 'returned');
CREATE TABLE regions (region_id smallint PRIMARY KEY, name text NOT NULL);
CREATE TABLE customers (
    customer_id bigint PRIMARY KEY,
    email text NOT NULL UNIQUE,
    full_name text,
    birth_year integer,
    gender char(1) CHECK (gender IN ('f', 'm', 'x')),
    region_id smallint REFERENCES regions,
    newsletter boolean NOT NULL DEFAULT false,
    segment varchar(20) NOT NULL CHECK (segment IN ('private', 'business')),
    created_at timestamp NOT NULL
);
COMMENT ON TABLE customers IS 'everybody who ever bought';
COMMENT ON COLUMN customers.segment IS 'who pays: a private person or a business';
CREATE TABLE products (
    product_id bigint PRIMARY KEY,
    name text NOT NULL,
    category text NOT NULL,
    price numeric(8,2) NOT NULL CHECK (price >= 0)
);
CREATE TABLE orders (
    order_id bigint PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers,
    status order_status NOT NULL DEFAULT 'new',
    channel varchar(10) NOT NULL CHECK (channel IN ('web', 'app', 'store')),
    total numeric(10,2) NOT NULL CHECK (total >= 0),
    ordered_on date NOT NULL
);
CREATE TABLE order_items (
    order_id bigint NOT NULL REFERENCES orders,
    line smallint NOT NULL,
    product_id bigint NOT NULL REFERENCES products,
    quantity integer NOT NULL CHECK (quantity BETWEEN 1 AND 100),
    price numeric(8,2) NOT NULL,
    PRIMARY KEY (order_id, line)
);
CREATE TABLE sessions (
    session_id uuid PRIMARY KEY,
    customer_id bigint REFERENCES customers,
    device text,
    started_at timestamptz NOT NULL,
    pages integer NOT NULL CHECK (pages >= 0),
    tags text[]
);
CREATE TABLE support.tickets (
    ticket_id bigint PRIMARY KEY,
    customer_id bigint NOT NULL REFERENCES customers,
    order_id bigint REFERENCES orders,
    opened_on date NOT NULL,
    satisfaction smallint CHECK (satisfaction BETWEEN 1 AND 5),
    body text
);
CREATE TABLE referrals (
    referral_id bigint PRIMARY KEY,
    referrer_id bigint NOT NULL REFERENCES customers,
    referred_id bigint NOT NULL REFERENCES customers,
    referred_on date NOT NULL
);
