"""Columns of texts and intervals, packed."""
