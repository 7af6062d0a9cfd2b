"""From noisy tables to the cells of an answer."""
