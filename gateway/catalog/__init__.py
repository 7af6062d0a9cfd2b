"""What the tables of a dataset are: types, domains, columns, keys. Frozen values that need nobody."""
