"""Bounded releases as SQL."""
