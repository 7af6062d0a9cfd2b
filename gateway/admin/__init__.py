"""Administration: acts of operators, each with its trail record."""
