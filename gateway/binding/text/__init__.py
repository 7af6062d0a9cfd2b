"""What is done on the text of a statement."""
