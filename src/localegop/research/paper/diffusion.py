"""Diffusion maps: coordinates in which Euclidean distance is diffusion distance along the data."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import csr_array, diags_array
from scipy.sparse.linalg import eigsh
from sklearn.neighbors import NearestNeighbors

Array = NDArray[np.float64]


def diffusion_map(
    X: ArrayLike, *, n_components: int = 2, n_neighbors: int = 64, alpha: float = 1.0
) -> Array:
    """Embed points by the leading eigenfunctions of a diffusion on their nearest-neighbor graph.

    Weights are exp(-d^2 / eps), with eps the median squared distance to the neighbor halfway out; alpha = 1
    takes the density of the points out (Coifman and Lafon).

    Parameters
    ----------
    X : array-like of shape (n, D)
    n_components : int, default=2
        Coordinates; the constant one is left out.
    n_neighbors : int, default=64
        Edges from each point.
    alpha : float, default=1.0
        Power of the density that the weights are divided by.

    Returns
    -------
    ndarray of shape (n, n_components)
        Eigenfunctions times their eigenvalues, each with its largest entry positive.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.research.paper.diffusion import diffusion_map
    >>> line = np.column_stack([np.linspace(0, 1, 200), np.zeros(200)])
    >>> z = diffusion_map(line, n_components=1, n_neighbors=10)[:, 0]
    >>> bool(np.all(np.diff(z) > 0) or np.all(np.diff(z) < 0))
    True
    """
    points = np.asarray(X, dtype=float)
    n_neighbors = min(n_neighbors, len(points) - 1)
    distance, index = NearestNeighbors(n_neighbors=n_neighbors).fit(points).kneighbors()
    eps = float(np.median(distance[:, n_neighbors // 2] ** 2))
    rows = np.repeat(np.arange(len(points)), n_neighbors)
    one_way = csr_array(
        (np.exp(-(distance**2) / eps).ravel(), (rows, index.ravel())), shape=2 * (len(points),)
    )
    weights = one_way.maximum(one_way.T) + diags_array(np.ones(len(points)))
    density = np.asarray(weights.sum(axis=1)).ravel() ** -alpha
    weights = diags_array(density) @ weights @ diags_array(density)
    root = np.asarray(weights.sum(axis=1)).ravel() ** -0.5
    # The symmetric matrix has the eigenvalues of the Markov chain and, up to the root, its eigenfunctions.
    symmetric = diags_array(root) @ weights @ diags_array(root)
    start = np.random.default_rng(0).uniform(0.5, 1.5, len(points))
    values, vectors = eigsh(symmetric, k=n_components + 1, which="LA", v0=start)
    order = np.argsort(-values)[1:]
    functions = vectors[:, order] * root[:, None]
    functions /= np.sqrt(np.mean(functions**2, axis=0))
    functions *= np.sign(functions[np.abs(functions).argmax(axis=0), np.arange(n_components)])
    coordinates: Array = functions * values[order]
    return coordinates
