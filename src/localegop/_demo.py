"""What ``localegop demo`` shows: errors on a helix, and a neighborhood that learns its shape."""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from sklearn.neighbors import KNeighborsRegressor

from localegop.datasets import make_annulus, make_helix
from localegop.kernels import KERNELS
from localegop.regressor import LocalEGOPRegressor

Array = NDArray[np.float64]
STEPS = (0, 10, 80)


def helix_errors(n_train: int = 1000, n_queries: int = 1000) -> dict[str, float]:
    """Mean squared error, relative to the label variance, of three methods on a noise-free helix."""
    X, y = make_helix(n_train + n_queries, 5, random_state=0)
    X, y, queries, truth = X[:n_train], y[:n_train], X[n_train:], y[n_train:]
    models = {
        "5 nearest neighbors": KNeighborsRegressor(5),
        "local linear, isotropic": LocalEGOPRegressor(n_iter=0, degree=1),
        "field Local EGOP": LocalEGOPRegressor(),
    }
    return {
        name: float(np.mean((model.fit(X, y).predict(queries) - truth) ** 2) / y.var())
        for name, model in models.items()
    }


def annulus_localizations(n_samples: int = 4000) -> tuple[Array, Array, list[Array]]:
    """Points and labels of the annulus, and the weights around (1, 0) at the chosen steps."""
    X, y = make_annulus(n_samples, noise_std=0.02, random_state=3)
    query = np.array([[1.0, 0.0]])
    model = LocalEGOPRegressor(**LocalEGOPRegressor.paper_parameters() | {"n_iter": max(STEPS) + 1})
    trace = model.fit(X, y).localize(query, trace=True, errors=False).trace
    assert trace is not None
    difference = X - query
    weights = []
    for t in STEPS:
        u = np.einsum("ia,ab,ib->i", difference, trace.metric[t, 0], difference)
        weights.append(KERNELS["gaussian"].weights(u))
    return X, y, weights


def draw(X: Array, y: Array, weights: list[Array], path: Path) -> None:
    """Draw points colored by label, as opaque as their weight, one panel a step."""
    try:
        import matplotlib

        matplotlib.use("Agg")
        import matplotlib.pyplot as plt
    except ImportError as error:
        raise SystemExit("the demo draws with matplotlib: pip install 'localegop[plot]'") from error
    figure, axes = plt.subplots(1, len(weights), figsize=(9, 2.9), sharey=True, layout="constrained")
    for axis, w, step in zip(axes, weights, STEPS, strict=True):
        axis.scatter(*X.T, s=3, color="0.88", linewidths=0)
        order = np.argsort(w)
        points = axis.scatter(
            *X[order].T, s=6, c=y[order], alpha=(w / w.max())[order], cmap="viridis", linewidths=0
        )
        axis.plot(1.0, 0.0, marker="+", color="#D55E00", markersize=12, markeredgewidth=2)
        axis.set(title=f"step {step}", xlabel="$x_1$", aspect="equal")
    axes[0].set_ylabel("$x_2$")
    bar = figure.colorbar(plt.cm.ScalarMappable(points.norm, points.cmap), ax=axes, shrink=0.7)
    bar.set_label("label y")
    figure.suptitle("Who speaks for the point +? The neighborhood learns that the radius does not matter")
    path.parent.mkdir(parents=True, exist_ok=True)
    figure.savefig(path, dpi=150)
    plt.close(figure)
