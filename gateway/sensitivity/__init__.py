"""How far one unit can move an answer: bounds of expressions, measurements, keys, and what they cost."""
