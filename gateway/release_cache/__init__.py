"""Earlier answers, and when they are given again."""
