"""The sources: reach them with a login that reads, and ask their catalogs what there is."""
