"""What Algorithm 1 with the paper's settings reaches: accuracy on the helix, shape on the annulus.

Run with ``python benchmarks/reference_accuracy.py``; takes some minutes, because the reference is slow.
"""

import time

import numpy as np
from joblib import Parallel, delayed
from sklearn.neighbors import KNeighborsRegressor

from localegop.datasets import make_annulus, make_helix
from localegop.reference import KERNELS, kernel_weights, local_egop

N_QUERIES = 20


def helix(weighting: str) -> None:
    X, y = make_helix(1000 + N_QUERIES, 5, random_state=0)
    X, y, queries, truth = X[:1000], y[:1000], X[1000:], y[1000:]
    start = time.perf_counter()
    fits = Parallel(n_jobs=2)(
        delayed(local_egop)(X, y, q, random_state=0, weighting=weighting) for q in queries
    )
    seconds = (time.perf_counter() - start) / N_QUERIES
    error = (np.array([fit.value for fit in fits]) - truth) ** 2 / y.var()
    print(f"| reference, {weighting} | {np.median(error):.1e} | {error.mean():.1e} | {seconds:.1f} |")


def nearest_neighbors() -> None:
    X, y = make_helix(1000 + N_QUERIES, 5, random_state=0)
    guess = KNeighborsRegressor(5).fit(X[:1000], y[:1000]).predict(X[1000:])
    error = (guess - y[1000:]) ** 2 / y[:1000].var()
    print(f"| 5 nearest neighbors | {np.median(error):.1e} | {error.mean():.1e} | |")


def annulus() -> None:
    """Ratio of the standard deviations of the weights, radius over arc, at x* = (1, 0)."""
    X, y = make_annulus(2000, noise_std=0.05, random_state=0)
    query = np.array([1.0, 0.0])
    fit = local_egop(X, y, query, random_state=0)
    near = X[np.linalg.norm(X - query, axis=1) <= 1.6]
    for step in (0, 40, 149):
        w = kernel_weights(near, query, fit.trace.metric[step], KERNELS["gaussian"])
        radius, angle = np.hypot(*near.T), np.arctan2(near[:, 1], near[:, 0])
        along, across = (np.sqrt(w @ (v - w @ v) ** 2) for v in (radius, angle))
        print(f"| {step} | {along:.3f} | {across:.3f} | {along / across:.1f} |")


if __name__ == "__main__":
    print("helix, n=1000, D=5, noise-free; squared error / label variance on 20 queries\n")
    print("| method | median | mean | s/query |\n|---|---|---|---|")
    for each in ("literal", "renormalized", "uniform", "unbiased"):
        helix(each)
    nearest_neighbors()
    print("\nannulus, n=2000, label noise 0.05; spread of the weights at (1, 0)\n")
    print("| step | sd of radius | sd of angle | ratio |\n|---|---|---|---|")
    annulus()
