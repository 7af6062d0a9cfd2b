"""PostgreSQL wire front end: clients see a PostgreSQL server that answers only in aggregates."""
