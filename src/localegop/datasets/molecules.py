"""Molecular dynamics frames and the planar-angle preparation that turns them into (X, y).

`load_malonaldehyde` returns frames that ship with the package, `fetch_rmd17` reads revised
MD17 files the user has downloaded, and `prepare_molecule` makes regression data of either.
"""

from __future__ import annotations

import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib.resources import as_file, files
from itertools import combinations
from pathlib import Path
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.linalg import eigh
from sklearn.utils import Bunch

__all__ = [
    "dihedral_angles",
    "fetch_rmd17",
    "load_malonaldehyde",
    "planar_angles",
    "prepare_molecule",
]

FloatArray = NDArray[np.float64]

DATA_VARIABLE = "LOCALEGOP_DATA"

_ELEMENTS = {6: "C", 1: "H", 7: "N", 8: "O"}

# Atoms of the ten molecules, by atomic number.
_COMPOSITIONS: dict[str, dict[int, int]] = {
    "aspirin": {6: 9, 1: 8, 8: 4},
    "azobenzene": {6: 12, 1: 10, 7: 2},
    "benzene": {6: 6, 1: 6},
    "ethanol": {6: 2, 1: 6, 8: 1},
    "malonaldehyde": {6: 3, 1: 4, 8: 2},
    "naphthalene": {6: 10, 1: 8},
    "paracetamol": {6: 8, 1: 9, 7: 1, 8: 2},
    "salicylic": {6: 7, 1: 6, 8: 3},
    "toluene": {6: 7, 1: 8},
    "uracil": {6: 4, 1: 4, 7: 2, 8: 2},
}

# Our name of an array -> its key in a file: the public layout, then the condensed one.
_LAYOUTS: tuple[dict[str, str], ...] = (
    {
        "positions": "coords",
        "frame": "old_indices",
        "energies": "energies",
        "atomic_numbers": "nuclear_charges",
    },
    {key: key for key in ("positions", "frame", "energies", "atomic_numbers")},
)

_SOURCE = (
    "The public files are in revised MD17, figshare article 12672038, "
    "DOI 10.6084/m9.figshare.12672038: download and unpack the archive, then pass its folder as "
    f"data_home or name it in the environment variable {DATA_VARIABLE}."
)

_MIN_DISTANCE = 1e-6  # Angstrom; nearer atoms have no direction between them
_MIN_SPREAD = 1e-7  # radians; below it, differences of angles are rounding
_CHUNK_BYTES = 2**24  # of one temporary array while angles are computed


# --- angles ---------------------------------------------------------------------------------


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
    >>> from localegop.datasets.molecules import planar_angles
    >>> triangle = [[[0.0, 0.0, 0.0], [1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]]
    >>> np.degrees(planar_angles(triangle)).round(6)
    array([[90., 45., 45.]])
    """
    frames = _check_positions(positions, min_atoms=3)
    vertex, left, right = _angle_atoms(frames.shape[1]).T
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
    >>> from localegop.datasets.molecules import dihedral_angles
    >>> frame = [[[1.0, 0.0, 0.0], [0.0, 0.0, 0.0], [0.0, 0.0, 1.0], [0.0, 1.0, 1.0]]]
    >>> np.degrees(dihedral_angles(frame, (0, 1, 2, 3)))
    array([90.])
    """
    frames = _check_positions(positions, min_atoms=4)
    atoms = _check_torsions(torsion, frames.shape[1])
    if len(atoms) != 1 or np.ndim(torsion) != 1:
        raise ValueError(f"torsion must be one sequence of 4 atoms, got {torsion!r}.")
    return _dihedrals(frames, atoms[0])


def _dihedrals(frames: FloatArray, torsion: NDArray[np.intp]) -> FloatArray:
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


def _angle_atoms(n_atoms: int) -> NDArray[np.intp]:
    """Atoms (vertex, left, right) of each planar angle, in column order."""
    triples = np.array(list(combinations(range(n_atoms), 3)), dtype=np.intp)
    return triples[:, [[0, 1, 2], [1, 0, 2], [2, 0, 1]]].reshape(-1, 3)


def _chunks(n: int, row_bytes: int) -> Iterator[slice]:
    """Slices of range(n), each of about `_CHUNK_BYTES`."""
    size = max(1, _CHUNK_BYTES // row_bytes)
    return (slice(start, min(start + size, n)) for start in range(0, n, size))


def _check_positions(positions: ArrayLike, min_atoms: int) -> FloatArray:
    """Positions as a finite float64 array of shape (n, atoms, 3)."""
    try:
        frames = np.asarray(positions, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise ValueError(f"positions must be numbers of shape (n_frames, n_atoms, 3): {error}") from None
    if frames.ndim != 3 or frames.shape[2] != 3 or len(frames) == 0:
        raise ValueError(f"positions must have shape (n_frames, n_atoms, 3), got {frames.shape}.")
    if frames.shape[1] < min_atoms:
        raise ValueError(f"positions must have at least {min_atoms} atoms, got {frames.shape[1]}.")
    if not np.isfinite(frames).all():
        raise ValueError("positions must be finite, got NaN or infinity.")
    return frames


def _check_torsions(torsions: Any, n_atoms: int) -> NDArray[np.intp]:
    """Torsions as an index array of shape (k, 4)."""
    try:
        atoms = np.asarray(torsions)
    except ValueError:
        atoms = np.empty(0)
    if atoms.dtype.kind not in "iu" or atoms.ndim not in (1, 2) or atoms.shape[-1:] != (4,):
        raise ValueError(
            f"torsion must be 4 atom indices, or torsions a sequence of such, got {torsions!r}."
        )
    rows = np.atleast_2d(atoms).astype(np.intp)
    for row in rows.tolist():
        if min(row) < 0 or max(row) >= n_atoms or len(set(row)) < 4:
            raise ValueError(f"torsion {tuple(row)} must name 4 distinct atoms among 0 to {n_atoms - 1}.")
    return rows


# --- preparation ----------------------------------------------------------------------------


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
    >>> from localegop.datasets.molecules import load_malonaldehyde, prepare_molecule
    >>> frames = load_malonaldehyde()
    >>> X, y = prepare_molecule(frames.positions, [(4, 0, 1, 6), (6, 1, 2, 3)], n_components=20)
    >>> X.shape[1], y.shape[1]
    (20, 2)
    """
    frames = _check_positions(positions, min_atoms=4)
    atoms = _check_torsions(torsions, frames.shape[1])
    angles = planar_angles(frames)
    _check_n_components(n_components, *angles.shape)
    targets = np.stack([np.abs(_dihedrals(frames, row)) for row in atoms], axis=1)
    mean = angles.mean(axis=0)
    angles -= mean
    if np.sqrt(np.mean(np.square(angles), axis=0)).max() < _MIN_SPREAD:
        raise ValueError("positions holds one and the same shape in all frames: nothing varies.")
    components, ratios = _leading_directions(angles, n_components)
    X = angles @ components.T
    y = targets[:, 0] if np.ndim(torsions) == 1 else targets
    if not return_bunch:
        return X, y
    names = [f"{left}-{vertex}-{right}" for vertex, left, right in _angle_atoms(frames.shape[1])]
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


def _check_n_components(n_components: Any, n_frames: int, n_angles: int) -> None:
    """Centered rows span one dimension less than there are frames."""
    if isinstance(n_components, bool) or not isinstance(n_components, (int, np.integer)):
        raise ValueError(f"n_components must be an integer, got {n_components!r}.")
    limit = min(n_frames - 1, n_angles)
    if not 1 <= n_components <= limit:
        raise ValueError(
            f"n_components must be from 1 to {limit} for {n_frames} frames "
            f"with {n_angles} angles, got {n_components}."
        )


# --- revised MD17 ---------------------------------------------------------------------------


def fetch_rmd17(molecule: str, data_home: str | os.PathLike[str] | None = None) -> Bunch:
    """Read the revised MD17 frames of a molecule from a local folder.

    Nothing is downloaded. The files are in revised MD17, figshare article 12672038,
    DOI 10.6084/m9.figshare.12672038 (CC0).

    Parameters
    ----------
    molecule : str
        One of aspirin, azobenzene, benzene, ethanol, malonaldehyde, naphthalene, paracetamol,
        salicylic (salicylic acid), toluene and uracil.
    data_home : path-like, default=None
        Folder with ``rmd17_<molecule>.npz``, either there or in ``npz_data`` or
        ``rmd17/npz_data`` below, as the public archive unpacks. By default the folder named in
        the environment variable ``LOCALEGOP_DATA``. A file with the keys ``positions``,
        ``frame``, ``energies`` and ``atomic_numbers`` is also read.

    Returns
    -------
    bunch : Bunch
        ``positions`` (n_frames, n_atoms, 3) in Angstrom, ``frame`` (n_frames,) index in the
        original trajectory, ``energies`` (n_frames,) in kcal/mol, ``atomic_numbers``
        (n_atoms,), ``molecule``, ``DESCR`` and ``filename``. Frames are in the order of the
        file; sort by ``frame`` to split in blocks of time.

    Examples
    --------
    >>> from localegop.datasets.molecules import fetch_rmd17, prepare_molecule
    >>> frames = fetch_rmd17("malonaldehyde", "rmd17")  # doctest: +SKIP
    >>> X, y = prepare_molecule(frames.positions, (4, 0, 1, 6))  # doctest: +SKIP
    """
    if molecule not in _COMPOSITIONS:
        raise ValueError(f"molecule must be one of {', '.join(_COMPOSITIONS)}; got {molecule!r}.")
    path = _find_file(f"rmd17_{molecule}.npz", data_home)
    arrays = _checked_arrays(*_read_arrays(path), path)
    _check_composition(arrays["atomic_numbers"], molecule, path)
    return Bunch(
        **arrays,
        molecule=molecule,
        DESCR=f"{len(arrays['frame'])} frames of {molecule} from revised MD17, "
        "figshare article 12672038, DOI 10.6084/m9.figshare.12672038 (CC0). "
        "Positions in Angstrom, energies in kcal/mol.",
        filename=str(path),
    )


def _find_file(name: str, data_home: str | os.PathLike[str] | None) -> Path:
    """First existing path of the file; an error says where it was looked for."""
    given = os.environ.get(DATA_VARIABLE) if data_home is None else data_home
    if not given:
        raise FileNotFoundError(
            f"data_home was not given and {DATA_VARIABLE} is not set; looking for {name}. {_SOURCE}"
        )
    folder = Path(given).expanduser()
    candidates = [folder / part / name for part in ("", "npz_data", "rmd17/npz_data")]
    for path in candidates:
        if path.is_file():
            return path
    looked = ", ".join(str(path) for path in candidates)
    raise FileNotFoundError(f"{name} is missing; looked for {looked}. {_SOURCE}")


def _read_arrays(path: Path) -> tuple[dict[str, NDArray[Any]], dict[str, str]]:
    """Arrays by our names, and their keys: those of the layout the file follows best."""
    if not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is not an npz archive. {_SOURCE}")
    with np.load(path, allow_pickle=False) as archive:
        present = set(archive.files)
        keys = max(_LAYOUTS, key=lambda layout: len(present & set(layout.values())))
        missing = [key for key in keys.values() if key not in present]
        if missing:
            raise ValueError(
                f"{path} lacks the key(s) {', '.join(missing)}; it has "
                f"{', '.join(sorted(present)) or 'none'}. {_SOURCE}"
            )
        return {name: _read_key(archive, key, path) for name, key in keys.items()}, keys


def _read_key(archive: Mapping[str, Any], key: str, path: Path) -> NDArray[Any]:
    """Read one array of finite numbers; Python objects are never unpickled."""
    try:
        array = np.asarray(archive[key])
    except (ValueError, EOFError, zipfile.BadZipFile, zlib.error) as error:
        raise ValueError(f"{path}: key {key} cannot be read: {error}. {_SOURCE}") from error
    if array.dtype.kind not in "iuf" or not np.isfinite(array).all():
        raise ValueError(f"{path}: key {key} must hold finite numbers. {_SOURCE}")
    return array


def _checked_arrays(
    arrays: dict[str, NDArray[Any]], keys: dict[str, str], path: Path
) -> dict[str, NDArray[Any]]:
    """Arrays of matching shapes, in the types we promise."""
    shape = arrays["positions"].shape
    if len(shape) != 3 or shape[2] != 3 or shape[0] == 0:
        raise ValueError(
            f"{path}: key {keys['positions']} must have shape (n_frames, n_atoms, 3), "
            f"got {shape}. {_SOURCE}"
        )
    lengths = {"frame": shape[0], "energies": shape[0], "atomic_numbers": shape[1]}
    for name, length in lengths.items():
        if arrays[name].shape != (length,):
            raise ValueError(
                f"{path}: key {keys[name]} must have shape ({length},) to match "
                f"{keys['positions']} {shape}, got {arrays[name].shape}. {_SOURCE}"
            )
    for name in ("frame", "atomic_numbers"):
        if not np.array_equal(arrays[name], np.rint(arrays[name])):
            raise ValueError(f"{path}: key {keys[name]} must hold whole numbers. {_SOURCE}")
    types = {"positions": np.float64, "energies": np.float64}
    return {name: array.astype(types.get(name, np.int64)) for name, array in arrays.items()}


def _check_composition(atomic_numbers: NDArray[Any], molecule: str, path: Path) -> None:
    """Compare the atoms, in any order, with those of the molecule."""
    counts = dict(Counter(atomic_numbers.tolist()))
    if counts != _COMPOSITIONS[molecule]:
        raise ValueError(
            f"{path}: atomic_numbers are those of {_formula(counts)}, but {molecule} "
            f"is {_formula(_COMPOSITIONS[molecule])}. {_SOURCE}"
        )


def _formula(counts: Mapping[int, int]) -> str:
    """Chemical formula, carbon and hydrogen first."""
    order = [*_ELEMENTS, *sorted(set(counts) - set(_ELEMENTS))]
    return "".join(
        f"{_ELEMENTS.get(number, f'[Z={number}]')}{counts[number] if counts[number] > 1 else ''}"
        for number in order
        if number in counts
    )


# --- shipped frames -------------------------------------------------------------------------


@overload
def load_malonaldehyde(
    *, torsion: str | Sequence[str] = ..., return_X_y: Literal[False] = ...
) -> Bunch: ...


@overload
def load_malonaldehyde(
    *, torsion: str | Sequence[str] = ..., return_X_y: Literal[True]
) -> tuple[FloatArray, FloatArray]: ...


def load_malonaldehyde(
    *, torsion: str | Sequence[str] = "tau1", return_X_y: bool = False
) -> tuple[FloatArray, FloatArray] | Bunch:
    """Load simulated frames of malonaldehyde (regression).

    Six chains of Langevin dynamics of the diketo form at 500 K with GFN2-xTB forces, 1,000
    frames each, 40 fs apart. The features are 50 directions of planar angles, the target is an
    absolute torsion; see `prepare_molecule`.

    Parameters
    ----------
    torsion : {"tau1", "tau2"} or sequence of them, default="tau1"
        Torsion to be learned. A sequence gives one column of the target for each.
    return_X_y : bool, default=False
        Return ``(X, y)`` in place of a bunch.

    Returns
    -------
    bunch : Bunch
        ``data`` (6000, 50) and ``target``, (6000,) or (6000, k), as below; ``positions``
        (6000, 9, 3) in Angstrom; ``chain`` (6000,), the independent run of a frame; ``frame``
        (6000,), its time step of 0.5 fs in the chain; ``energies`` (6000,) in kcal/mol above
        the minimum; ``atomic_numbers`` (9,); ``bonds`` (8, 2); ``bond_lengths`` (8,) when
        relaxed; ``torsions``, a dict of the atoms of each torsion; ``DESCR``.
    X : ndarray of shape (6000, 50)
        Centered features. Only if `return_X_y`.
    y : ndarray of shape (6000,) or (6000, k)
        Absolute torsions in [0, pi]. Only if `return_X_y`.

    Notes
    -----
    Neighboring frames of a chain resemble each other. Hold out whole chains, by
    ``GroupKFold`` over ``chain``, for the more honest test error.

    Examples
    --------
    >>> from localegop.datasets.molecules import load_malonaldehyde
    >>> X, y = load_malonaldehyde(return_X_y=True)
    >>> X.shape, y.shape
    ((6000, 50), (6000,))
    """
    arrays = _shipped_arrays()
    atoms: dict[str, tuple[int, ...]] = {
        f"tau{i + 1}": tuple(row) for i, row in enumerate(arrays.pop("torsions").tolist())
    }
    names = [torsion] if isinstance(torsion, str) else list(torsion)
    if not names or any(name not in atoms for name in names):
        raise ValueError(f"torsion must be among {', '.join(atoms)}, got {torsion!r}.")
    chosen = [atoms[name] for name in names]
    X, y = prepare_molecule(arrays["positions"], chosen[0] if isinstance(torsion, str) else chosen)
    if return_X_y:
        return X, y
    note = files("localegop.datasets") / "data" / "README.md"
    return Bunch(data=X, target=y, **arrays, torsions=atoms, DESCR=note.read_text("utf-8"))


def _shipped_arrays() -> dict[str, NDArray[Any]]:
    """Arrays of the shipped file, widened to float64 and int64."""
    resource = files("localegop.datasets") / "data" / "malonaldehyde.npz"
    with as_file(resource) as path, np.load(path, allow_pickle=False) as archive:
        return {
            key: archive[key].astype(np.float64 if archive[key].dtype.kind == "f" else np.int64)
            for key in archive.files
        }
