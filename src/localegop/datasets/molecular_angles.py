"""Planar and dihedral angles of molecular frames: independent of place and orientation."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._arguments import as_finite, refusal, wrong_shape

__all__ = ["dihedral_angles", "planar_angles"]

FloatArray = NDArray[np.float64]

_MIN_DISTANCE = 1e-6  # Angstrom; nearer atoms have no direction between them
_CHUNK_BYTES = 2**24  # of one temporary array while angles are computed


def planar_angles(positions: ArrayLike) -> FloatArray:
    """Angles of all triangles of atoms.

    Parameters
    ----------
    positions : array-like of shape (n_frames, n_atoms, 3)
        Cartesian coordinates; at least three atoms, none at the same place.

    Returns
    -------
    angles : ndarray of shape (n_frames, n_atoms * (n_atoms - 1) * (n_atoms - 2) / 2)
        Radians in [0, pi]. The triples a < b < c are in lexicographic order, each with its
        angle at a, at b and at c.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets import planar_angles
    >>> triangle = [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    >>> np.degrees(planar_angles(triangle)).round(6)
    array([[90., 45., 45.]])
    """
    frames = check_positions(positions, min_atoms=3)
    vertex, left, right = angle_atoms(frames.shape[1]).T
    angles = np.empty((len(frames), len(vertex)))
    for rows in _chunks(len(frames), row_bytes=len(vertex) * 3 * 8):
        rays = _unit_vectors(frames[rows], first_frame=rows.start)
        cosines = np.einsum("nij,nij->ni", rays[:, vertex, left], rays[:, vertex, right])
        # Rounding may carry a cosine just past one.
        np.arccos(np.clip(cosines, -1.0, 1.0), out=angles[rows])
    return angles


def dihedral_angles(positions: ArrayLike, torsion: Sequence[int] | NDArray[Any]) -> FloatArray:
    """Signed dihedral angle of four atoms in each frame.

    Parameters
    ----------
    positions : array-like of shape (n_frames, n_atoms, 3)
        Cartesian coordinates.
    torsion : sequence of 4 int
        Distinct atoms (a, b, c, d); the angle is the one about the axis b-c.

    Returns
    -------
    angles : ndarray of shape (n_frames,)
        Radians in [-pi, pi]: 0 if a and d are on the same side (cis), positive if d is
        reached from a clockwise, looking from b to c.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets import dihedral_angles
    >>> frame = [[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]]
    >>> np.degrees(dihedral_angles(frame, (0, 1, 2, 3)))
    array([90.])
    """
    frames = check_positions(positions, min_atoms=4)
    atoms = check_torsions(torsion, frames.shape[1])
    if len(atoms) != 1 or np.ndim(torsion) != 1:
        raise refusal("torsion", torsion, "one sequence of 4 atoms")
    return signed_dihedrals(frames, atoms[0])


def signed_dihedrals(frames: FloatArray, torsion: NDArray[np.intp]) -> FloatArray:
    """Signed dihedral per frame; `frames` and `torsion` already checked."""
    a, b, c, d = (frames[:, atom] for atom in torsion)
    axis = c - b
    left, right = np.cross(b - a, axis), np.cross(axis, d - c)
    flat = (_norm(left) <= _MIN_DISTANCE * _norm(axis)) | (_norm(right) <= _MIN_DISTANCE * _norm(axis))
    if flat.any():
        raise ValueError(
            f"torsion {tuple(torsion.tolist())} has no dihedral in frame {int(np.argmax(flat))} "
            "of positions: three of its atoms in a row are on one line."
        )
    sine = np.einsum("ni,ni->n", b - a, right) * _norm(axis)
    return np.asarray(np.arctan2(sine, np.einsum("ni,ni->n", left, right)), dtype=np.float64)


def _norm(vectors: FloatArray) -> FloatArray:
    """Lengths along the last axis."""
    return np.asarray(np.linalg.norm(vectors, axis=-1), dtype=np.float64)


def _unit_vectors(frames: FloatArray, first_frame: int) -> FloatArray:
    """Directions from each atom to each other, (n, atoms, atoms, 3)."""
    offsets = frames[:, None, :, :] - frames[:, :, None, :]
    distances = _norm(offsets)
    diagonal = np.arange(frames.shape[1])
    distances[:, diagonal, diagonal] = 1.0
    if distances.min() < _MIN_DISTANCE:
        frame, a, b = (int(i) for i in np.argwhere(distances < _MIN_DISTANCE)[0])
        raise ValueError(
            f"positions has coincident atoms {a} and {b} in frame {first_frame + frame}; "
            "their angles are undefined. Remove the frame."
        )
    offsets /= distances[..., None]
    return offsets


def angle_atoms(n_atoms: int) -> NDArray[np.intp]:
    """Atoms (vertex, left, right) of each planar angle, in column order."""
    triples = np.array(list(combinations(range(n_atoms), 3)), dtype=np.intp)
    return triples[:, [[0, 1, 2], [1, 0, 2], [2, 0, 1]]].reshape(-1, 3)


def _chunks(n: int, row_bytes: int) -> Iterator[slice]:
    """Slices of range(n), each of about `_CHUNK_BYTES`."""
    size = max(1, _CHUNK_BYTES // row_bytes)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def check_positions(positions: ArrayLike, min_atoms: int) -> FloatArray:
    """Positions as a finite float64 array of shape (n, atoms, 3)."""
    wanted = f"coordinates of shape (n_frames, n_atoms, 3) with at least {min_atoms} atoms"
    frames = as_finite("positions", positions, wanted)
    if frames.ndim != 3 or len(frames) == 0 or frames.shape[1] < min_atoms or frames.shape[2] != 3:
        raise wrong_shape("positions", frames, wanted)
    return frames


def check_torsions(torsions: Any, n_atoms: int) -> NDArray[np.intp]:
    """Torsions as an index array of shape (k, 4)."""
    try:
        atoms = np.asarray(torsions)
    except ValueError:
        atoms = np.empty(0)
    if atoms.dtype.kind not in "iu" or atoms.ndim not in (1, 2) or atoms.shape[-1:] != (4,):
        raise refusal("torsion", torsions, "4 atom indices, or a sequence of such")
    rows = np.atleast_2d(atoms).astype(np.intp)
    for row in rows.tolist():
        if min(row) < 0 or max(row) >= n_atoms or len(set(row)) < 4:
            raise refusal("torsion", tuple(row), f"4 distinct atoms from 0 to {n_atoms - 1}")
    return rows
