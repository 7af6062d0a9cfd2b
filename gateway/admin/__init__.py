"""Acts of operators, each with its trail record."""
