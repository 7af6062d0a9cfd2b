"""Columnar tables: packed columns of texts and of intervals."""
