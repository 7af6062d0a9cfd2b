"""The stages of a query, one file for each, in the order of `pipeline`."""
