"""Results: from noisy tables to the cells of an answer and their 95 % intervals."""
