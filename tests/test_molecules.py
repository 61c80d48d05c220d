"""Angles, preparation and loaders of molecular frames."""

from __future__ import annotations

import os
from itertools import combinations
from math import comb
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.spatial.transform import Rotation
from sklearn.utils import Bunch

from localegop.datasets.molecules import (
    dihedral_angles,
    fetch_rmd17,
    load_malonaldehyde,
    planar_angles,
    prepare_molecule,
)

TAU1, TAU2 = (4, 0, 1, 6), (6, 1, 2, 3)
ETHANOL = [6, 6, 8, 1, 1, 1, 1, 1, 1]
MALONALDEHYDE = [6, 6, 6, 8, 8, 1, 1, 1, 1]


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


# --- angles ---------------------------------------------------------------------------------


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
    monkeypatch.setattr("localegop.datasets.molecules._CHUNK_BYTES", 2000)
    np.testing.assert_array_equal(planar_angles(frames), whole)


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


# --- preparation ----------------------------------------------------------------------------


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
        ({"positions": np.zeros((4, 3))}, r"positions must have shape .* got \(4, 3\)"),
        ({"positions": np.zeros((0, 5, 3))}, "positions must have shape"),
        ({"positions": np.zeros((9, 3, 3))}, "positions must have at least 4 atoms, got 3"),
        ({"positions": [[["a"] * 3] * 5]}, "positions must be numbers"),
        ({"positions": np.full((9, 5, 3), np.nan)}, "positions must be finite"),
        ({"positions": np.zeros((9, 5, 3))}, "coincident atoms 0 and 1 in frame 0"),
        ({"torsions": (0, 1, 2)}, "torsion must be 4 atom indices"),
        ({"torsions": [(0, 1, 2, 3), (0, 1)]}, "torsion must be 4 atom indices"),
        ({"torsions": (0.0, 1.0, 2.0, 3.0)}, "torsion must be 4 atom indices"),
        ({"torsions": (0, 1, 2, 5)}, r"torsion \(0, 1, 2, 5\) must name 4 distinct .* 0 to 4"),
        ({"torsions": (0, 1, 2, -1)}, "must name 4 distinct"),
        ({"torsions": [(0, 1, 2, 0)]}, "must name 4 distinct"),
        ({"n_components": 0}, "n_components must be from 1 to 30"),
        ({"n_components": 31}, "n_components must be from 1 to 30 .* got 31"),
        ({"n_components": 2.0}, "n_components must be an integer"),
        ({"n_components": True}, "n_components must be an integer"),
    ],
)
def test_prepare_says_what_is_wrong(
    frames: NDArray[np.float64], change: dict[str, Any], message: str
) -> None:
    arguments: dict[str, Any] = {"positions": frames, "torsions": (0, 1, 2, 3), "n_components": 4} | change
    with pytest.raises(ValueError, match=message):
        prepare_molecule(**arguments)


def test_components_are_fewer_than_frames(frames: NDArray[np.float64]) -> None:
    with pytest.raises(ValueError, match="n_components must be from 1 to 9 for 10 frames"):
        prepare_molecule(frames[:10], (0, 1, 2, 3), 10)


def test_coincident_atoms_are_named_by_frame(
    frames: NDArray[np.float64], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("localegop.datasets.molecules._CHUNK_BYTES", 2000)
    frames[31, 2] = frames[31, 4]
    with pytest.raises(ValueError, match="coincident atoms 2 and 4 in frame 31"):
        planar_angles(frames)


def test_straight_torsion_is_refused(frames: NDArray[np.float64]) -> None:
    frames[3, 2] = 2 * frames[3, 1] - frames[3, 0]
    with pytest.raises(ValueError, match=r"torsion \(0, 1, 2, 3\) has no dihedral in frame 3"):
        dihedral_angles(frames, (0, 1, 2, 3))
    with pytest.raises(ValueError, match="torsion must be one sequence of 4 atoms"):
        dihedral_angles(frames, [(0, 1, 2, 3)])  # type: ignore[list-item]


def test_frames_of_one_shape_are_refused(frames: NDArray[np.float64]) -> None:
    same = np.einsum("nij,aj->nai", rotations(40), frames[0])
    with pytest.raises(ValueError, match="positions holds one and the same shape"):
        prepare_molecule(same, (0, 1, 2, 3), 4)


# --- shipped frames -------------------------------------------------------------------------


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
    with pytest.raises(ValueError, match="torsion must be among tau1, tau2, got"):
        load_malonaldehyde(torsion=torsion)


# --- revised MD17 ---------------------------------------------------------------------------


def public_arrays(n: int = 3) -> dict[str, Any]:
    rng = np.random.default_rng(0)
    return {
        "nuclear_charges": np.array(ETHANOL, dtype=np.uint8),
        "coords": rng.normal(size=(n, 9, 3)),
        "energies": rng.normal(size=n),
        "forces": rng.normal(size=(n, 9, 3)),
        "old_indices": np.arange(n)[::-1] * 7.0,
        "old_energies": rng.normal(size=n),
        "old_forces": rng.normal(size=(n, 9, 3)),
    }


def condensed_arrays() -> dict[str, Any]:
    public = public_arrays()
    return {
        "positions": public["coords"].astype(np.float32),
        "frame": np.array([2, 5, 9]),
        "energies": public["energies"],
        "atomic_numbers": public["nuclear_charges"],
    }


@pytest.mark.parametrize("folder", ["", "npz_data", "rmd17/npz_data"])
def test_fetch_reads_a_public_file(tmp_path: Path, folder: str) -> None:
    (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    arrays = public_arrays()
    np.savez(tmp_path / folder / "rmd17_ethanol.npz", **arrays)
    bunch = fetch_rmd17("ethanol", tmp_path)
    np.testing.assert_array_equal(bunch.positions, arrays["coords"])
    np.testing.assert_array_equal(bunch.energies, arrays["energies"])
    assert bunch.frame.tolist() == [14, 7, 0] and bunch.frame.dtype == np.int64
    assert bunch.atomic_numbers.tolist() == ETHANOL
    assert bunch.molecule == "ethanol" and "3 frames of ethanol" in bunch.DESCR
    assert Path(bunch.filename) == tmp_path / folder / "rmd17_ethanol.npz"


def test_fetch_reads_a_condensed_file_named_by_environment(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    np.savez(tmp_path / "rmd17_ethanol.npz", **condensed_arrays())
    monkeypatch.setenv("LOCALEGOP_DATA", str(tmp_path))
    bunch = fetch_rmd17("ethanol")
    assert bunch.positions.dtype == np.float64 and bunch.positions.shape == (3, 9, 3)
    assert bunch.frame.tolist() == [2, 5, 9]


def test_fetch_names_the_molecules() -> None:
    with pytest.raises(ValueError, match=r"molecule must be one of aspirin, .*uracil; got 'water'"):
        fetch_rmd17("water")


def test_fetch_says_where_it_looked(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("LOCALEGOP_DATA", raising=False)
    with pytest.raises(FileNotFoundError, match=r"data_home was not given and LOCALEGOP_DATA"):
        fetch_rmd17("uracil")
    with pytest.raises(FileNotFoundError, match=r"rmd17_uracil.npz is missing.*npz_data.*12672038"):
        fetch_rmd17("uracil", tmp_path)


def test_fetch_refuses_another_file_format(tmp_path: Path) -> None:
    path = tmp_path / "rmd17_ethanol.npz"
    path.write_bytes(b"PK or not, this is no archive")
    with pytest.raises(ValueError, match=r"rmd17_ethanol.npz is not an npz archive"):
        fetch_rmd17("ethanol", tmp_path)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"coords": None}, r"lacks the key\(s\) coords; it has energies, forces, nuclear_charges"),
        ({"energies": None, "old_indices": None}, r"lacks the key\(s\) old_indices, energies"),
        ({"coords": np.zeros((3, 27))}, r"key coords must have shape .* got \(3, 27\)"),
        ({"energies": np.zeros(2)}, r"key energies must have shape \(3,\) to match coords"),
        ({"old_indices": np.zeros((3, 1))}, r"key old_indices must have shape \(3,\)"),
        ({"nuclear_charges": np.array([6, 6])}, r"key nuclear_charges must have shape \(9,\)"),
        ({"coords": np.full((3, 9, 3), np.nan)}, "key coords must hold finite numbers"),
        ({"energies": np.array(["a", "b", "c"])}, "key energies must hold finite numbers"),
        ({"old_indices": np.array([0.5, 1, 2])}, "key old_indices must hold whole numbers"),
        ({"energies": np.array([1, "a", None], dtype=object)}, "key energies cannot be read"),
        (
            {"nuclear_charges": np.array(MALONALDEHYDE)},
            "atomic_numbers are those of C3H4O2, but ethanol is C2H6O",
        ),
        (
            {"nuclear_charges": np.array([6, 6, 16, 1, 1, 1, 1, 1, 1])},
            r"those of C2H6\[Z=16\], but ethanol is C2H6O",
        ),
    ],
)
def test_fetch_says_what_is_wrong_in_the_file(tmp_path: Path, change: dict[str, Any], message: str) -> None:
    arrays = {k: v for k, v in (public_arrays() | change).items() if v is not None}
    np.savez(tmp_path / "rmd17_ethanol.npz", **arrays)
    with pytest.raises(ValueError, match=f"rmd17_ethanol.npz.*{message}.*12672038"):
        fetch_rmd17("ethanol", tmp_path)


def test_fetch_refuses_a_damaged_archive(tmp_path: Path) -> None:
    path = tmp_path / "rmd17_ethanol.npz"
    np.savez_compressed(path, **public_arrays(200))
    content = bytearray(path.read_bytes())
    start = content.index(b"coords.npy")
    content[start + 200 : start + 400] = bytes(200)
    path.write_bytes(content)
    with pytest.raises(ValueError, match="key coords cannot be read"):
        fetch_rmd17("ethanol", tmp_path)


def test_real_frames_are_as_the_paper_prepares_them() -> None:
    if not os.environ.get("LOCALEGOP_DATA"):
        pytest.skip("LOCALEGOP_DATA is not set: the revised MD17 malonaldehyde frames are not read")
    bunch = fetch_rmd17("malonaldehyde")
    if len(bunch.frame) != 9633:
        pytest.skip(f"LOCALEGOP_DATA holds {len(bunch.frame)} frames, not the condensed 9633")
    assert np.all(np.diff(bunch.frame) > 0)
    prepared = prepare_molecule(bunch.positions, [TAU1, TAU2], return_bunch=True)
    assert prepared.data.shape == (9633, 50) and prepared.target.shape == (9633, 2)
    assert prepared.explained_variance_ratio.sum() == pytest.approx(0.999, abs=5e-4)
