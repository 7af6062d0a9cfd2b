"""Audit trail: a record of every query and act, chained so that nobody can change it unnoticed."""
