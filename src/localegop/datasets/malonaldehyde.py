"""Frames of malonaldehyde that ship with the package; ``data/README.md`` says how they were made."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.resources import as_file, files
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import Bunch

from localegop._arguments import refusal
from localegop.datasets.molecular_angles import FloatArray
from localegop.datasets.molecular_features import prepare_molecule

__all__ = ["load_malonaldehyde"]


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
    >>> from localegop.datasets import load_malonaldehyde
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
        raise refusal("torsion", torsion, f"one or several of {', '.join(map(repr, atoms))}")
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
