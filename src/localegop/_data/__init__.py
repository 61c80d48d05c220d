"""Training rows before any fit: distinct rows, units, sums."""
