"""What a question is about, and whether its answer, beside earlier ones, would single people out."""
