"""Reading of revised MD17 files, whole and damaged."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from localegop.datasets.molecular_features import prepare_molecule
from localegop.datasets.rmd17 import fetch_rmd17

TAU1, TAU2 = (4, 0, 1, 6), (6, 1, 2, 3)
ETHANOL = [6, 6, 8, 1, 1, 1, 1, 1, 1]
MALONALDEHYDE = [6, 6, 6, 8, 8, 1, 1, 1, 1]


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
    with pytest.raises(ValueError, match=r"molecule='water' is not allowed: .* 'aspirin', .*'uracil'"):
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


@pytest.mark.data
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
