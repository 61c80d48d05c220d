"""Planar and dihedral angles of molecular frames."""

from __future__ import annotations

from itertools import combinations
from math import comb

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation

from localegop.datasets.molecular_angles import dihedral_angles, planar_angles


@pytest.fixture
def frames() -> NDArray[np.float64]:
    return np.random.default_rng(0).normal(size=(40, 5, 3))


def rotations(n: int) -> NDArray[np.float64]:
    quaternions = np.random.default_rng(1).normal(size=(n, 4))
    return np.asarray(Rotation.from_quat(quaternions).as_matrix())


def test_angles_of_known_triangles() -> None:
    equilateral = [[0, 0, 0], [1, 0, 0], [0.5, np.sqrt(3) / 2, 0]]
    right = [[0, 0, 0], [3, 0, 0], [0, 0, 4]]
    line = [[0, 0, 0], [1, 1, 1], [3, 3, 3]]
    expected = [
        [np.pi / 3] * 3,
        [np.pi / 2, np.arctan2(4, 3), np.arctan2(3, 4)],
        [0.0, np.pi, 0.0],
    ]
    np.testing.assert_allclose(planar_angles([equilateral, right, line]), expected, atol=1e-7)


def test_angle_columns_follow_the_triples(frames: NDArray[np.float64]) -> None:
    angles = planar_angles(frames)
    assert angles.shape == (40, 3 * comb(5, 3))
    for k, (a, b, c) in enumerate(combinations(range(5), 3)):
        for column, (v, left, right) in enumerate(((a, b, c), (b, a, c), (c, a, b)), start=3 * k):
            u, w = frames[7, left] - frames[7, v], frames[7, right] - frames[7, v]
            angle = np.arctan2(np.linalg.norm(np.cross(u, w)), u @ w)
            assert angles[7, column] == pytest.approx(angle, abs=1e-7)


def test_angles_of_a_triangle_sum_to_pi(frames: NDArray[np.float64]) -> None:
    sums = planar_angles(frames).reshape(40, -1, 3).sum(axis=2)
    np.testing.assert_allclose(sums, np.pi, atol=1e-6)


def test_angles_do_not_depend_on_chunks(
    frames: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    whole = planar_angles(frames)
    monkeypatch.setattr("localegop.datasets.molecular_angles._CHUNK_BYTES", 2000)
    # Vector loops may round differently for other numbers of rows.
    np.testing.assert_allclose(planar_angles(frames), whole, rtol=0, atol=100 * np.finfo(float).eps)


@pytest.mark.parametrize("degrees", [0, 30, 90, 150, 180, -1, -90, -179])
def test_dihedral_of_known_geometry(degrees: float) -> None:
    turn = np.radians(degrees)
    # Looking from b to c, along +z, the x axis turns clockwise to y.
    frame = [[1, 0, -0.3], [0, 0, 0], [0, 0, 1.5], [2 * np.cos(turn), 2 * np.sin(turn), 2]]
    angle = dihedral_angles(np.array([frame]), (0, 1, 2, 3))
    assert np.cos(angle[0] - turn) == pytest.approx(1.0, abs=1e-12)
    assert dihedral_angles(np.array([frame]), (3, 2, 1, 0)) == pytest.approx(angle)


def test_angles_ignore_rigid_motion(frames: NDArray[np.float64]) -> None:
    moved = np.einsum("nij,naj->nai", rotations(40), frames) + np.array([3.0, -2.0, 8.0])
    np.testing.assert_allclose(planar_angles(moved), planar_angles(frames), atol=1e-7)
    torsion = (0, 1, 2, 3)
    np.testing.assert_allclose(dihedral_angles(moved, torsion), dihedral_angles(frames, torsion), atol=1e-9)


def test_reflection_keeps_angles_and_flips_dihedrals(frames: NDArray[np.float64]) -> None:
    mirrored = frames * [1.0, 1.0, -1.0]
    np.testing.assert_allclose(planar_angles(mirrored), planar_angles(frames), atol=1e-7)
    torsion = (0, 1, 2, 3)
    np.testing.assert_allclose(
        dihedral_angles(mirrored, torsion), -dihedral_angles(frames, torsion), atol=1e-9
    )


def test_coincident_atoms_are_named_by_frame(
    frames: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localegop.datasets.molecular_angles._CHUNK_BYTES", 2000)
    frames[31, 2] = frames[31, 4]
    with pytest.raises(ValueError, match="coincident atoms 2 and 4 in frame 31"):
        planar_angles(frames)


def test_straight_torsion_is_refused(frames: NDArray[np.float64]) -> None:
    frames[3, 2] = 2 * frames[3, 1] - frames[3, 0]
    with pytest.raises(ValueError, match=r"torsion \(0, 1, 2, 3\) has no dihedral in frame 3"):
        dihedral_angles(frames, (0, 1, 2, 3))
    with pytest.raises(ValueError, match=r"torsion=.* is not allowed: give one sequence of 4 atoms"):
        dihedral_angles(frames, [(0, 1, 2, 3)])  # type: ignore[list-item]
