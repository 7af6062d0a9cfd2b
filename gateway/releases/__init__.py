"""Answers that were given: what is kept of them, and when they are given again."""
