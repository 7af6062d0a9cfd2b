"""The log of everything, chained so that nobody can change it unseen."""
