"""What is said beyond the data: values, errors and intervals at some distances from 600 normal rows.

Run with ``python benchmarks/beyond.py``; the table in docs/uncertainty.md is from it.
"""

from __future__ import annotations

import warnings

import numpy as np

from localegop import ExtrapolationWarning, LocalEGOPRegressor

ROWS, FEATURES, DIRECTIONS = 600, 3, 40


def main() -> None:
    """Fit f = sin(2 x0) + x1 without noise, and print a line for each distance."""
    warnings.simplefilter("ignore", ExtrapolationWarning)
    rng = np.random.default_rng(1)
    X = rng.standard_normal((ROWS, FEATURES))
    y = np.sin(2.0 * X[:, 0]) + X[:, 1]
    rng.standard_normal(ROWS)  # the noise of other runs
    model = LocalEGOPRegressor(n_jobs=1).fit(X, y)
    directions = rng.standard_normal((DIRECTIONS, FEATURES))
    directions /= np.linalg.norm(directions, axis=1)[:, None]
    print("distance  largest value / sd(y)  median error / standard error  90 % intervals that hold f")
    for distance in (1.0, 3.0, 5.0, 10.0, 50.0):
        queries = distance * directions
        truth = np.sin(2.0 * queries[:, 0]) + queries[:, 1]
        value, error = model.predict(queries, return_std=True)
        low, high = model.predict_interval(queries, 0.9).T
        largest = np.abs(value - y.mean()).max() / y.std()
        ratio = np.median(np.abs(value - truth) / error)
        inside = np.mean((low <= truth) & (truth <= high))
        print(f"{distance:8g}  {largest:21.3g}  {ratio:29.2g}  {inside:.2f}")


if __name__ == "__main__":
    main()
