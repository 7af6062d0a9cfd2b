"""The steps of an answer, one file for each, in the order of `pipeline`."""
