"""Catalog of a dataset: types, domains, columns, tables and keys, as frozen values."""
