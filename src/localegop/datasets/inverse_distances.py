"""Inverse distances between atoms: a descriptor of a molecule, with its derivatives by the positions."""

from __future__ import annotations

from itertools import combinations
from typing import Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.datasets.molecular_angles import check_positions

__all__ = ["inverse_distances"]

FloatArray = NDArray[np.float64]

_MIN_DISTANCE = 1e-6  # Angstrom; nearer atoms are at the same place


@overload
def inverse_distances(positions: ArrayLike, *, return_jacobian: Literal[False] = ...) -> FloatArray: ...


@overload
def inverse_distances(
    positions: ArrayLike, *, return_jacobian: Literal[True]
) -> tuple[FloatArray, FloatArray]: ...


def inverse_distances(
    positions: ArrayLike, *, return_jacobian: bool = False
) -> FloatArray | tuple[FloatArray, FloatArray]:
    """Inverse distances between all pairs of atoms, and how they change as atoms move.

    They do not depend on where a molecule is and how it is turned, and fix its shape up to reflection.
    Energies E(q) as a function of them have the forces -J' dE/dq, with J their Jacobian: so forces are
    slopes of E along known directions in the space of q, which :meth:`localegop.LocalEGOPRegressor.fit`
    takes.

    Parameters
    ----------
    positions : array-like of shape (n_frames, n_atoms, 3)
        Cartesian coordinates; at least two atoms, none at the same place.
    return_jacobian : bool, default=False
        Whether to return the derivatives too.

    Returns
    -------
    inverse : ndarray of shape (n_frames, n_atoms * (n_atoms - 1) / 2)
        ``1 / |r_a - r_b|`` for the pairs a < b in lexicographic order.
    jacobian : ndarray of shape (n_frames, n_atoms * (n_atoms - 1) / 2, 3 * n_atoms)
        Only with ``return_jacobian``: derivatives by the coordinates x, y, z of atom 0, atom 1 and so on.

    Examples
    --------
    Forces F (n_frames, n_atoms, 3) become slopes along the directions in which single coordinates move:

    >>> import numpy as np
    >>> from localegop.datasets import inverse_distances
    >>> positions = np.random.default_rng(0).normal(size=(50, 3, 3))
    >>> X, jacobian = inverse_distances(positions, return_jacobian=True)
    >>> directions = jacobian.swapaxes(1, 2)  # for fit(X, E, gradients=-F.reshape(50, 9), directions=...)
    >>> X.shape, directions.shape
    ((50, 3), (50, 9, 3))
    """
    frames = check_positions(positions, min_atoms=2)
    first, second = np.array(list(combinations(range(frames.shape[1]), 2)), dtype=np.intp).T
    offsets = frames[:, first] - frames[:, second]
    distances = np.linalg.norm(offsets, axis=2)
    if distances.min() < _MIN_DISTANCE:
        frame, pair = (int(k) for k in np.argwhere(distances < _MIN_DISTANCE)[0])
        raise ValueError(
            f"positions has coincident atoms {first[pair]} and {second[pair]} in frame {frame}; "
            "their distance has no inverse. Remove the frame."
        )
    inverse: FloatArray = 1.0 / distances
    if not return_jacobian:
        return inverse
    pairs = np.arange(len(first))
    jacobian = np.zeros((*inverse.shape, frames.shape[1], 3))
    jacobian[:, pairs, first] = -offsets * inverse[:, :, None] ** 3
    jacobian[:, pairs, second] = -jacobian[:, pairs, first]
    return inverse, jacobian.reshape(*inverse.shape, -1)
