"""Bind what one unit contributes: from a plan to one whose exact answer moves by no more than declared."""
