"""Policies: who may query what, from files that are read strictly and decided by default deny."""
