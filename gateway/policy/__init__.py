"""Who may ask what: files that people write, read strictly and decided by default deny."""
