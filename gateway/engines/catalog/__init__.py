"""Catalogs of sources: tables, types, and what constraints prove."""
