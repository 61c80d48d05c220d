"""The plan of a fit: pilot fits, initial axes, attempts, leave-one-out fits."""
