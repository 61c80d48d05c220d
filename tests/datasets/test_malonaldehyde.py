"""The shipped frames of malonaldehyde."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import numpy as np
import pytest
from sklearn.utils import Bunch

from localegop.datasets.malonaldehyde import load_malonaldehyde

TAU1, TAU2 = (4, 0, 1, 6), (6, 1, 2, 3)
MALONALDEHYDE = [6, 6, 6, 8, 8, 1, 1, 1, 1]


@pytest.fixture(scope="module")
def shipped() -> Bunch:
    return load_malonaldehyde(torsion=("tau1", "tau2"))


def test_shipped_arrays(shipped: Bunch) -> None:
    assert shipped.positions.shape == (6000, 9, 3)
    assert shipped.positions.dtype == np.float64
    assert shipped.energies.shape == shipped.frame.shape == shipped.chain.shape == (6000,)
    assert shipped.atomic_numbers.tolist() == MALONALDEHYDE
    assert shipped.torsions == {"tau1": TAU1, "tau2": TAU2}
    assert shipped.bonds.shape == (8, 2)
    assert np.isfinite(shipped.positions).all() and np.isfinite(shipped.energies).all()
    assert "GFN2-xTB" in shipped.DESCR
    for chain in range(6):
        assert np.all(np.diff(shipped.frame[shipped.chain == chain]) == 80)


def test_shipped_bonds_stay_bonded(shipped: Bunch) -> None:
    first, second = shipped.bonds.T
    lengths = np.linalg.norm(shipped.positions[:, first] - shipped.positions[:, second], axis=2)
    assert np.abs(lengths / shipped.bond_lengths - 1).max() < 0.3
    assert lengths.std(axis=0).min() > 0.01  # thermal motion, not a frozen copy


def test_shipped_atoms_form_no_new_bonds(shipped: Bunch) -> None:
    bonded = set(map(tuple, shipped.bonds.tolist()))
    radii = {1: 0.31, 6: 0.76, 8: 0.66}  # covalent, Angstrom
    size = [radii[number] for number in shipped.atomic_numbers]
    for a, b in combinations(range(9), 2):
        if (a, b) not in bonded:
            gap = np.linalg.norm(shipped.positions[:, a] - shipped.positions[:, b], axis=1)
            assert gap.min() > 1.3 * (size[a] + size[b])


def test_shipped_energies_are_thermal(shipped: Bunch) -> None:
    assert shipped.energies.min() > 0  # kcal/mol above the minimum
    # Equipartition: half of kT for each of 21 vibrations, 10.4 kcal/mol at 500 K, plus anharmonic.
    assert 9 < shipped.energies.mean() < 13


def test_shipped_torsions_cover_the_half_circle(shipped: Bunch) -> None:
    for tau in shipped.target.T:
        assert np.histogram(tau, bins=10, range=(0, np.pi))[0].min() > 50


def test_load_returns_what_prepare_returns(shipped: Bunch) -> None:
    X, y = load_malonaldehyde(return_X_y=True, torsion="tau2")
    np.testing.assert_array_equal(X, shipped.data)
    np.testing.assert_array_equal(y, shipped.target[:, 1])


@pytest.mark.parametrize("torsion", ["tau3", ("tau1", "x"), ()])
def test_load_names_unknown_torsions(torsion: Any) -> None:
    with pytest.raises(ValueError, match=r"torsion=.* is not allowed: give one or .* of 'tau1', 'tau2'"):
        load_malonaldehyde(torsion=torsion)
