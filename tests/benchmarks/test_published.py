"""Test functions that others chose, fields with gaps, and the files that they are read from."""

import numpy as np
import pytest
from comparison.datasets import CLEAN, DATASETS, split
from comparison.fields import in_gaps, read_sarcos, read_satellite, satellite
from comparison.published import FORMULAS, FUNCTIONS
from scipy.io import savemat
from scipy.spatial import cKDTree

# at quantities that make arithmetic easy, worked out from the formulas by hand
KNOWN = {
    "I.6.2b": ((2.0, 3.0, 1.0), 0.5 * np.exp(-0.5) / np.sqrt(2 * np.pi)),
    "I.8.14": ((1.0, 4.0, 1.0, 5.0), 5.0),
    "I.9.18": ((1.0, 2.0, 2.0, 3.0, 4.0, 4.0, 1.0, 2.0, 3.0), 4.0 / 9.0),
    "I.15.3t": ((5.0, 5.0, 3.0, 1.0), (1.0 - 0.6) / 0.8),
    "I.16.6": ((2.0, 1.0, 2.0), 3.0 / 1.5),
    "I.18.4": ((1.0, 3.0, 1.0, 5.0), 4.0),
    "I.26.2": ((0.5, np.pi / 2), np.pi / 6),
    "I.29.16": ((3.0, 4.0, 1.0 + np.pi / 2, 1.0), 5.0),
    "I.32.17": ((2.0, 1.0, 1.0, 1.0, 1.0, 3.0), 8.0 * np.pi / 3.0 / 64.0),
    "I.37.4": ((1.0, 4.0, np.pi), 1.0),
    "I.40.1": ((5.0, 1.0, 2.0, 1.0, 1.0, 2.0), 5.0 * np.exp(-1.0)),
    "I.41.16": ((1.0, 1.0, 2.0 * np.pi, 1.0, 1.0), 1.0 / (np.pi**2 * (np.e - 1.0))),
    "I.50.26": ((2.0, np.pi, 1.0, 3.0), 4.0),
    "II.6.15a": ((1.0, np.pi, 2.0, 3.0, 4.0, 1.0), 15.0 / 128.0),
    "II.24.17": ((5.0, 1.0, np.pi / 3.0), 4.0),
    "II.35.18": ((2.0, 1.0, 1.0, 1.0, 1.0), 1.0 / np.cosh(1.0)),
    "II.36.38": ((1.0, 2.0, 1.0, 2.0, 1.0, 1.0, 2.0, 3.0), 1.0 + 0.375),
    "III.9.52": ((1.0, 1.0, 1.0, 2.0 * np.pi, 1.0 + np.pi, 1.0), (2.0 / np.pi) ** 2),
    "robot_arm": ((0.0, np.pi / 2, 0.0, 0.0, 0.5, 0.3, 0.4, 0.5), 1.3),
}


def test_every_formula_has_its_value_and_ranges():
    assert KNOWN.keys() == FORMULAS.keys() and len(FUNCTIONS) >= 20
    for name, (quantities, value) in KNOWN.items():
        formula = FORMULAS[name]
        named = dict(zip(formula.ranges, quantities, strict=True))
        assert formula.value(**named) == pytest.approx(value)


@pytest.mark.parametrize("name", [name for name, each in DATASETS.items() if each.group == CLEAN])
def test_published_functions_vary_within_their_ranges(name):
    X, y = FUNCTIONS[name][1](300, random_state=4)
    assert X.shape[0] == len(y) == 300 and f"D={X.shape[1]}" in FUNCTIONS[name][0] + "D=4"
    assert np.isfinite(y).all() and len(np.unique(y)) > 250
    noisy, clean = split(DATASETS[f"{name}_noise"], 200, 100, 4), split(DATASETS[name], 200, 100, 4)
    np.testing.assert_array_equal(noisy.truth, clean.y_test)
    assert 0.05 < np.std(noisy.y - clean.y) / clean.variance**0.5 < 0.2


def test_rows_under_clouds_come_first_and_far_from_the_others():
    X, y, clean = satellite(3000, 0, test=500)
    assert X.shape == (3000, 2) and np.std(y - clean) == pytest.approx(0.1 * clean.std(), rel=0.1)
    beyond = cKDTree(X[500:]).query(X[:500])[0]
    among = cKDTree(X[500:]).query(X[500:], 2)[0][:, 1]
    assert np.median(beyond) > 1.5 * np.median(among)


def test_files_are_read_from_the_folder_of_data(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALEGOP_DATA", str(tmp_path))
    with pytest.raises(FileNotFoundError, match=r"folder with sarcos_inv\.mat in LOCALEGOP_DATA"):
        read_sarcos("sarcos_inv.mat")
    rng = np.random.default_rng(0)
    arrays = {"sarcos_inv": rng.normal(size=(80, 28)), "sarcos_inv_test": rng.normal(size=(30, 28))}
    for name, values in arrays.items():
        savemat(tmp_path / f"{name}.mat", {name: values})
    X, y = read_sarcos("sarcos_inv.mat")
    np.testing.assert_array_equal(np.column_stack([X, y]), arrays["sarcos_inv"][:, :22])
    rows = split(DATASETS["sarcos"], 60, 30, 0)
    assert set(rows.y_test) == set(arrays["sarcos_inv_test"][:, 21])
    assert set(rows.y) <= set(arrays["sarcos_inv"][:, 21])
    savemat(tmp_path / "sarcos_inv.mat", {"other": np.zeros((3, 4))})
    with pytest.raises(ValueError, match="one array of 28 columns"):
        read_sarcos("sarcos_inv.mat")


def test_masked_rows_of_the_satellite_file_are_test_rows(tmp_path, monkeypatch):
    monkeypatch.setenv("LOCALEGOP_DATA", str(tmp_path))
    file = tmp_path / "AllSatelliteTemps.csv"
    lines = [
        f"{i},{i % 7},{'NA' if i % 3 == 0 else 30 + i},{'NA' if i % 10 == 0 else 30 + i}" for i in range(90)
    ]
    file.write_text("Lon,Lat,MaskTemp,TrueTemp\n" + "\n".join(lines) + "\n")
    X, y, masked = read_satellite(file.name)
    assert len(y) == 81 and (y == 30 + X[:, 0]).all() and (masked == (X[:, 0] % 3 == 0)).all()
    rows = split(DATASETS["satellite_heaton"], 50, 27, 0)
    assert set(rows.y_test) == set(y[masked]) and set(rows.y) <= set(y[~masked])
    file.write_text("a,b\n1,2\n3,4\n")
    with pytest.raises(ValueError, match="Lon, Lat, MaskTemp and TrueTemp"):
        read_satellite(file.name)


def test_gaps_cover_their_share():
    X = np.random.default_rng(0).uniform(size=(4000, 2))
    assert 0.2 <= in_gaps(X, 3).mean() < 0.35
