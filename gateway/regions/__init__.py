"""Which rows a question is about."""
