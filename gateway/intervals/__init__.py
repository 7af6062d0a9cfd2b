"""95 % intervals of answers: margins, error propagation, exact formulas, and expected errors before a release."""
