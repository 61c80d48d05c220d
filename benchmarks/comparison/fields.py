"""Random fields in the plane with parts that nothing was measured in, and public files of such data."""

import os
from pathlib import Path

import numpy as np


def random_field(X, seed, length=0.1, smoothness=2.5, waves=2000):
    """Values of a random field (Matern, by random waves) of variance one at rows of the plane."""
    rng = np.random.default_rng([seed, 1])
    heavy = np.sqrt(rng.chisquare(2.0 * smoothness, waves) / (2.0 * smoothness))
    frequency = rng.standard_normal((waves, 2)) / heavy[:, None] / length
    phase = rng.uniform(0.0, 2.0 * np.pi, waves)
    parts = np.array_split(X, max(len(X) // 1000, 1))
    return np.concatenate([np.cos(part @ frequency.T + phase).sum(axis=1) for part in parts]) * np.sqrt(
        2.0 / waves
    )


def in_gaps(X, seed, share=0.2):
    """Which rows of the unit square lie in discs, stripes, boxes or clouds that cover such a share."""
    rng = np.random.default_rng([seed, 2])
    found, number = np.zeros(len(X), dtype=bool), 0
    while found.mean() < share:
        middle, radius, angle = rng.uniform(0.0, 1.0, 2), rng.uniform(0.02, 0.07), rng.uniform(0.0, np.pi)
        turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
        turned = (X - middle) @ turn / radius
        shape, number = number % 4, number + 1
        if shape == 0:
            found |= np.sum(turned**2, axis=1) < 1.0
        elif shape == 1:
            found |= (np.abs(turned) < [4.0, 0.5]).all(axis=1)
        elif shape == 2:
            found |= (np.abs(turned) < [1.2, 0.8]).all(axis=1)
        else:
            for center, size in zip(rng.normal(0.0, 1.0, (6, 2)), rng.uniform(0.3, 0.8, 6), strict=True):
                found |= np.sum((turned - center) ** 2, axis=1) < size**2
    return found


def satellite(rows, seed, test=2000, noise=0.1):
    """Rows of a smooth field on a rougher one with noise: first those under clouds, then those in the open.

    Points (rows, 2), labels and labels without noise. The first ``test`` rows lie in gaps, as far as the
    cut into training and test rows is made there.
    """
    rng = np.random.default_rng([seed, 0])
    drawn = rng.uniform(0.0, 1.0, (int(1.5 * rows) + 20 * test, 2))
    clouded = in_gaps(drawn, seed)
    hidden, seen = drawn[clouded][: min(test, rows)], drawn[~clouded][: max(rows - test, 0)]
    X = np.concatenate([hidden, seen])
    clean = random_field(X, seed, length=0.25) + 0.5 * random_field(X, seed + 1, 0.03, 1.5, waves=1000)
    return X, clean + noise * clean.std() * rng.standard_normal(len(X)), clean


def read_satellite(name):
    """Rows of the satellite file of Heaton et al. (2019), exported as text: masked ones first.

    Columns Lon, Lat, MaskTemp and TrueTemp, NA where nothing is known.
    """
    table = np.genfromtxt(
        _path(name), delimiter=",", names=True, missing_values="NA", filling_values=np.nan
    )
    wanted = {"Lon", "Lat", "MaskTemp", "TrueTemp"}
    if table.dtype.names is None or not wanted <= set(table.dtype.names):
        raise ValueError(f"{_path(name)} must have the columns Lon, Lat, MaskTemp and TrueTemp")
    table = table[np.isfinite(table["TrueTemp"])]
    return np.stack([table["Lon"], table["Lat"]], axis=1), table["TrueTemp"], np.isnan(table["MaskTemp"])


def read_sarcos(name):
    """Points (n, 21) and the first torque (n,) of a file of the SARCOS arm, as the book's page has it."""
    from scipy.io import loadmat

    arrays = [each for key, each in loadmat(_path(name)).items() if not key.startswith("__")]
    if len(arrays) != 1 or arrays[0].ndim != 2 or arrays[0].shape[1] != 28:
        raise ValueError(f"{_path(name)} must hold one array of 28 columns: 21 features and 7 torques")
    return arrays[0][:, :21].astype(float), arrays[0][:, 21].astype(float)


def _path(name):
    """Where a file is, below the folder named in LOCALEGOP_DATA."""
    folder = os.environ.get("LOCALEGOP_DATA")
    if not folder or not (Path(folder) / name).exists():
        raise FileNotFoundError(f"name a folder with {name} in LOCALEGOP_DATA")
    return Path(folder) / name
