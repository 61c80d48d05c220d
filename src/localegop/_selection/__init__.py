"""Choosing the final fit by its errors at held-out points."""
