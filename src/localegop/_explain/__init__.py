"""Explanations that hold still: averages over what a fit might have chosen, and their standard errors."""
