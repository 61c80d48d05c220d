"""Frames of revised MD17, read from files the user has downloaded and checked on the way in."""

from __future__ import annotations

import os
import zipfile
import zlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from localegop._arguments import check_choice

__all__ = ["fetch_rmd17"]

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
    >>> from localegop.datasets import fetch_rmd17, prepare_molecule
    >>> frames = fetch_rmd17("malonaldehyde", "rmd17")  # doctest: +SKIP
    >>> X, y = prepare_molecule(frames.positions, (4, 0, 1, 6))  # doctest: +SKIP
    """
    check_choice("molecule", molecule, _COMPOSITIONS)
    path = _find_file(f"rmd17_{molecule}.npz", data_home)
    arrays = _check_arrays(*_read_arrays(path), path)
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


def _check_arrays(
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
