"""Regression data from molecular frames: leading directions of planar angles, torsions as labels.

The frames come from `load_malonaldehyde` or `fetch_rmd17`.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.utils import Bunch

from localegop._arguments import check_count
from localegop.datasets.molecular_angles import (
    FloatArray,
    angle_atoms,
    check_positions,
    check_torsions,
    planar_angles,
    signed_dihedrals,
)

__all__ = ["prepare_molecule"]

_MIN_SPREAD = 1e-7  # radians; below it, differences of angles are rounding


@overload
def prepare_molecule(
    positions: ArrayLike,
    torsions: Sequence[int] | Sequence[Sequence[int]] | NDArray[Any],
    n_components: int = ...,
    *,
    return_bunch: Literal[False] = ...,
) -> tuple[FloatArray, FloatArray]: ...


@overload
def prepare_molecule(
    positions: ArrayLike,
    torsions: Sequence[int] | Sequence[Sequence[int]] | NDArray[Any],
    n_components: int = ...,
    *,
    return_bunch: Literal[True],
) -> Bunch: ...


def prepare_molecule(
    positions: ArrayLike,
    torsions: Sequence[int] | Sequence[Sequence[int]] | NDArray[Any],
    n_components: int = 50,
    *,
    return_bunch: bool = False,
) -> tuple[FloatArray, FloatArray] | Bunch:
    """Turn frames of a molecule into regression data: shape in, torsions out.

    The features are all planar angles (see `planar_angles`), centered and projected on
    their leading right singular directions. They see the shape up to reflection, so the labels
    are absolute dihedral angles.

    Parameters
    ----------
    positions : array-like of shape (n_frames, n_atoms, 3)
        Cartesian coordinates.
    torsions : sequence of 4 int, or sequence of such sequences
        Atoms of the torsion, or torsions, to be learned.
    n_components : int, default=50
        Number of directions kept, below n_frames and at most the number of angles.
    return_bunch : bool, default=False
        Return a bunch in place of ``(X, y)``.

    Returns
    -------
    X : ndarray of shape (n_frames, n_components)
        Centered features. Each direction is signed to make its largest entry positive.
    y : ndarray of shape (n_frames,) or (n_frames, n_torsions)
        Absolute dihedral angles in [0, pi], one column per torsion unless a single torsion
        was given.
    bunch : Bunch
        Only if `return_bunch`: ``data`` (X), ``target`` (y), ``components``
        (n_components, n_angles), ``mean`` (n_angles,), ``explained_variance_ratio``
        (n_components,) and ``angle_names``, the atoms of each angle with its vertex in
        the middle.

    Examples
    --------
    >>> from localegop.datasets import load_malonaldehyde, prepare_molecule
    >>> frames = load_malonaldehyde()
    >>> X, y = prepare_molecule(frames.positions, [(4, 0, 1, 6), (6, 1, 2, 3)], n_components=20)
    >>> X.shape[1], y.shape[1]
    (20, 2)
    """
    frames = check_positions(positions, min_atoms=4)
    atoms = check_torsions(torsions, frames.shape[1])
    angles = planar_angles(frames)
    most = min(len(angles) - 1, angles.shape[1])  # centered rows span one dimension less
    why = f" for {len(angles)} frames with {angles.shape[1]} angles"
    n_components = check_count("n_components", n_components, 1, most, why)
    targets = np.stack([np.abs(signed_dihedrals(frames, row)) for row in atoms], axis=1)
    mean = angles.mean(axis=0)
    angles -= mean
    if np.sqrt(np.mean(np.square(angles), axis=0)).max() < _MIN_SPREAD:
        raise ValueError("positions holds one and the same shape in all frames: nothing varies.")
    components, ratios = _leading_directions(angles, n_components)
    X = angles @ components.T
    y = targets[:, 0] if np.ndim(torsions) == 1 else targets
    if not return_bunch:
        return X, y
    names = [f"{left}-{vertex}-{right}" for vertex, left, right in angle_atoms(frames.shape[1])]
    return Bunch(
        data=X,
        target=y,
        components=components,
        mean=mean,
        explained_variance_ratio=ratios,
        angle_names=names,
    )


def _leading_directions(centered: FloatArray, n_components: int) -> tuple[FloatArray, FloatArray]:
    """Leading right singular vectors, as rows, and their shares of the variance."""
    # Through the small Gram matrix: many times faster than an SVD of all frames, and what squaring
    # loses, directions below 1e-8 of the largest, is rounding of the angles already.
    gram = centered.T @ centered
    n_angles = len(gram)
    values, vectors = eigh(gram, subset_by_index=[n_angles - n_components, n_angles - 1])
    kept = vectors.T[::-1]
    # A singular vector is known up to its sign; fix it, or results differ between machines.
    largest = np.argmax(np.abs(kept), axis=1)
    kept = kept * np.sign(kept[np.arange(n_components), largest])[:, None]
    return kept, np.maximum(values[::-1], 0.0) / np.trace(gram)
