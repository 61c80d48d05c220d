"""Local fits around many centers, and the recursion that shapes their neighborhoods."""
