"""Inverse distances of atoms, and their derivatives against finite differences."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
from scipy.spatial.transform import Rotation

from localegop.datasets import inverse_distances


@pytest.fixture
def frames() -> np.ndarray:
    return np.random.default_rng(0).normal(size=(6, 5, 3))


def test_pairs_are_in_lexicographic_order(frames: np.ndarray) -> None:
    found = inverse_distances(frames)
    expected = [1.0 / np.linalg.norm(frames[2, a] - frames[2, b]) for a, b in combinations(range(5), 2)]
    assert found[2] == pytest.approx(expected, rel=1e-12)


def test_place_and_orientation_do_not_matter(frames: np.ndarray) -> None:
    turn = Rotation.from_rotvec([0.3, -1.0, 0.4]).as_matrix()
    assert inverse_distances(frames @ turn.T + [1.0, 2.0, 3.0]) == pytest.approx(inverse_distances(frames))


def test_jacobian_is_the_derivative(frames: np.ndarray) -> None:
    _, jacobian = inverse_distances(frames, return_jacobian=True)
    step = 1e-6
    for atom in range(5):
        for axis in range(3):
            moved = np.zeros_like(frames)
            moved[:, atom, axis] = step
            slope = (inverse_distances(frames + moved) - inverse_distances(frames - moved)) / (2 * step)
            assert jacobian[:, :, 3 * atom + axis] == pytest.approx(slope, rel=1e-6, abs=1e-6)


def test_atoms_at_one_place_are_named(frames: np.ndarray) -> None:
    frames[4, 3] = frames[4, 1]
    with pytest.raises(ValueError, match="coincident atoms 1 and 3 in frame 4"):
        inverse_distances(frames)
    with pytest.raises(ValueError, match="at least 2 atoms"):
        inverse_distances(frames[:, :1])
