"""The functions and operators over rows: each described in one row of one table."""
