"""Regions: which rows a query selects, as disjoint boxes over the axes of its tables' columns."""
