"""Regression data prepared from molecular frames."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sklearn.utils import Bunch

from localegop.datasets.malonaldehyde import load_malonaldehyde
from localegop.datasets.molecular_angles import dihedral_angles, planar_angles
from localegop.datasets.molecular_features import prepare_molecule

TAU1, TAU2 = (4, 0, 1, 6), (6, 1, 2, 3)


@pytest.fixture(scope="module")
def shipped() -> Bunch:
    return load_malonaldehyde(torsion=("tau1", "tau2"))


@pytest.fixture(scope="module")
def prepared(shipped: Bunch) -> Bunch:
    return prepare_molecule(shipped.positions, [TAU1, TAU2], return_bunch=True)


@pytest.fixture
def frames() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(40, 5, 3))


def rotations(n: int) -> NDArray[np.float64]:
    quaternions = np.random.default_rng(1).normal(size=(n, 4))
    return np.asarray(Rotation.from_quat(quaternions).as_matrix())


def test_prepared_features_are_centered_projections(shipped: Bunch, prepared: Bunch) -> None:
    assert prepared.data.shape == (6000, 50)
    assert prepared.components.shape == (50, 252)
    assert len(prepared.angle_names) == 252
    assert prepared.angle_names[:3] == ["1-0-2", "0-1-2", "0-2-1"]
    np.testing.assert_allclose(prepared.data.mean(axis=0), 0.0, atol=1e-10)
    gram = prepared.components @ prepared.components.T
    np.testing.assert_allclose(gram, np.eye(50), atol=1e-10)
    angles = planar_angles(shipped.positions)
    np.testing.assert_allclose(prepared.mean, angles.mean(axis=0))
    np.testing.assert_allclose(prepared.data, (angles - prepared.mean) @ prepared.components.T, atol=1e-9)


def test_prepared_variance_is_nearly_all_kept_and_ordered(prepared: Bunch) -> None:
    ratio = prepared.explained_variance_ratio
    assert 0.99 < ratio.sum() <= 1.0
    assert np.all(np.diff(ratio) <= 0)
    variance = prepared.data.var(axis=0)
    np.testing.assert_allclose(variance / variance.sum(), ratio / ratio.sum(), rtol=1e-6)


def test_directions_are_those_of_the_svd(frames: NDArray[np.float64]) -> None:
    prepared = prepare_molecule(frames, (0, 1, 2, 3), 12, return_bunch=True)
    angles = planar_angles(frames)
    _, singular, directions = np.linalg.svd(angles - angles.mean(axis=0), full_matrices=False)
    overlap = np.abs(np.sum(prepared.components * directions[:12], axis=1))
    np.testing.assert_allclose(overlap, 1.0, atol=1e-9)
    np.testing.assert_allclose(
        prepared.explained_variance_ratio, singular[:12] ** 2 / np.sum(singular**2), rtol=1e-9
    )


def test_prepared_signs_are_fixed(prepared: Bunch) -> None:
    largest = np.argmax(np.abs(prepared.components), axis=1)
    assert np.all(prepared.components[np.arange(50), largest] > 0)


def test_labels_are_absolute_dihedrals(shipped: Bunch, prepared: Bunch) -> None:
    for column, torsion in enumerate((TAU1, TAU2)):
        signed = dihedral_angles(shipped.positions, torsion)
        assert signed.min() < -3 and signed.max() > 3
        np.testing.assert_array_equal(prepared.target[:, column], np.abs(signed))


def test_one_torsion_gives_a_vector_and_a_list_a_matrix(frames: NDArray[np.float64]) -> None:
    assert prepare_molecule(frames, (0, 1, 2, 3), 4)[1].shape == (40,)
    assert prepare_molecule(frames, [(0, 1, 2, 3)], 4)[1].shape == (40, 1)
    assert prepare_molecule(frames, np.array([(0, 1, 2, 3), (1, 2, 3, 4)]), 4)[1].shape == (40, 2)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (
            {"positions": np.zeros((4, 3))},
            r"positions has shape \(4, 3\): .* \(n_frames, n_atoms, 3\)",
        ),
        ({"positions": np.zeros((0, 5, 3))}, r"positions has shape \(0, 5, 3\)"),
        ({"positions": np.zeros((9, 3, 3))}, r"positions has shape \(9, 3, 3\): .* at least 4 atoms"),
        ({"positions": [[["a"] * 3] * 5]}, "positions does not hold numbers"),
        ({"positions": np.full((9, 5, 3), np.nan)}, "positions contains NaN"),
        ({"positions": np.zeros((9, 5, 3))}, "coincident atoms 0 and 1 in frame 0"),
        ({"torsions": (0, 1, 2)}, "torsion=.* is not allowed: give 4 atom indices"),
        ({"torsions": [(0, 1, 2, 3), (0, 1)]}, "torsion=.* is not allowed: give 4 atom indices"),
        ({"torsions": (0.0, 1.0, 2.0, 3.0)}, "torsion=.* is not allowed: give 4 atom indices"),
        ({"torsions": (0, 1, 2, 5)}, r"torsion=\(0, 1, 2, 5\) is not allowed: give 4 distinct .* 0 to 4"),
        ({"torsions": (0, 1, 2, -1)}, "give 4 distinct"),
        ({"torsions": [(0, 1, 2, 0)]}, "give 4 distinct"),
        ({"n_components": 0}, "n_components=0 .* from 1 to 30"),
        ({"n_components": 31}, "n_components=31 .* from 1 to 30"),
        ({"n_components": 2.0}, "n_components=2.0 .* integer"),
        ({"n_components": True}, "n_components=True .* integer"),
    ],
)
def test_prepare_says_what_is_wrong(
    frames: NDArray[np.float64], change: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {"positions": frames, "torsions": (0, 1, 2, 3), "n_components": 4} | change
    with pytest.raises(ValueError, match=message):
        prepare_molecule(**arguments)


def test_components_are_fewer_than_frames(frames: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match=r"n_components=10 .* from 1 to 9 for 10 frames"):
        prepare_molecule(frames[:10], (0, 1, 2, 3), 10)


def test_frames_of_one_shape_are_refused(frames: NDArray[np.float64]) -> None:
    same = np.einsum("nij,aj->nai", rotations(40), frames[0])
    with pytest.raises(ValueError, match="positions holds one and the same shape"):
        prepare_molecule(same, (0, 1, 2, 3), 4)
