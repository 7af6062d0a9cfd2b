"""A first policy from the catalog of a source: its unit, its unit paths, and what is known of its columns."""
