"""How far a cell may be off."""
