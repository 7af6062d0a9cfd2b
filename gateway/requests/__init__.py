"""What enters and what leaves."""
