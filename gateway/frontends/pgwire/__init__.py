"""The PostgreSQL wire front end: a PostgreSQL that answers only in aggregates."""
