"""Demo: a sample clinic, fresh state in `./.demo`, the real gateway, and a tour of it."""
