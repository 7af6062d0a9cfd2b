"""Interval arithmetic over plans."""
