"""What a question means: a small frozen relational algebra that knows its schema and its labels."""
