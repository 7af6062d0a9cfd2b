"""DuckDB processes: each runs one statement at a time and is killed when its time is over."""
