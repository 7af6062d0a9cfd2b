"""Source engines: connections that only read, catalogs, and the SQL of bounded releases."""
