"""The data sets as entries: what they are, how to draw them, and their sizes in the quick and full form."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.datasets import (
    load_diabetes,
    load_sample_image,
    make_friedman1,
    make_friedman2,
    make_friedman3,
)

from localegop.datasets import image_samples, make_helix, make_multi_index, make_torus
from localegop.research.paper._molecules import molecule

from .fields import read_sarcos, read_satellite, satellite
from .published import FUNCTIONS

INDEX, FULL_RANK, TABLE, IMAGE, SCALE = "continuous index", "full rank", "tables", "images", "many rows"
CLEAN, NOISY, SPATIAL = "test functions", "test functions with noise", "fields with gaps"
GROUPS = {
    INDEX: "Near each point f varies in few directions, in other ones elsewhere",
    FULL_RANK: "f varies in all directions: there is little for the recursion to find",
    TABLE: "Measured",
    IMAGE: "Gray values as a function of the position of the pixel",
    SCALE: "For the methods that can",
    CLEAN: "Functions that others published to try surrogates and symbolic regression on",
    NOISY: "The same with noise of a tenth of the labels' standard deviation",
    SPATIAL: "Test rows lie where nothing was measured",
}
NOISE = 0.1  # of noisy labels, in standard deviations of the clean ones
SKIPPED = ("helix_200k", "image")  # too large, and without neighbors to learn from when few rows are taken


@dataclass(frozen=True)
class Sizes:
    """Training rows, one run for each number, and test rows."""

    train: tuple[int, ...]
    test: int


@dataclass(frozen=True)
class Sample:
    """Points (n, D), labels (n,), and the labels without noise where they are known, else the same."""

    X: np.ndarray
    y: np.ndarray
    truth: np.ndarray


@dataclass(frozen=True)
class Dataset:
    """A data set.

    Parameters
    ----------
    label : str
    group : str
        A key of `GROUPS`.
    draw : callable
        (rows, seed) -> Sample of at most that many rows, in random order.
    full, quick : Sizes
        quick is None for sets that only the full form has.
    file : str
        What it reads from LOCALEGOP_DATA; empty if nothing.
    methods : tuple of str
        The only methods that are run; empty for all.
    settings : mapping
        Parameters that a method needs here, by method.
    """

    label: str
    group: str
    draw: Callable[[int, int], Sample]
    full: Sizes
    quick: Sizes | None = None
    file: str = ""
    methods: tuple[str, ...] = ()
    settings: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    @property
    def missing(self) -> str:
        """Why it cannot be read, or nothing."""
        folder = os.environ.get("LOCALEGOP_DATA")
        if not self.file or (folder and (Path(folder) / self.file).exists()):
            return ""
        return f"name a folder with {self.file} in LOCALEGOP_DATA"


@dataclass(frozen=True)
class Split:
    """Training and test rows.

    ``truth`` are the labels of the test rows without noise, ``clean`` those of the training rows;
    ``variance`` is that of the clean labels of all rows.
    """

    X: np.ndarray
    y: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    truth: np.ndarray
    variance: float
    clean: np.ndarray


def split(dataset: Dataset, n_train: int, n_test: int, seed: int) -> Split:
    """Draw test rows first, then training rows: the same for all methods of a seed."""
    sample = dataset.draw(n_test + n_train, seed)
    if len(sample.y) <= n_test:
        raise ValueError(f"{dataset.label} has {len(sample.y)} rows, too few for {n_test} test rows")
    return _cut(sample.X, sample.y, sample.truth, n_test)


def _cut(X, y, clean, n_test):
    """Split with the first rows as test rows."""
    test, train = slice(n_test), slice(n_test, None)
    variance = float(clean.var()) or 1.0
    return Split(X[train], y[train], X[test], y[test], clean[test], variance, clean[train])


def held_out_quarter(name: str, rows: int | None, seed: int) -> Split:
    """Rows to fit and, a quarter, rows to test at: all of them training rows of the benchmark.

    ``rows`` is how many there are together, at most; None takes all.
    """
    dataset = DATASETS[name]
    whole = split(dataset, max(dataset.full.train), dataset.full.test, seed)
    X, y, clean = whole.X[:rows], whole.y[:rows], whole.clean[:rows]
    return _cut(X, y, clean, len(y) // 4)


def usual_sets() -> list[str]:
    """Names of the sets that can be read, but for those in `SKIPPED` and those that others chose."""
    return [
        name
        for name, each in DATASETS.items()
        if name not in SKIPPED and each.group not in (CLEAN, NOISY, SPATIAL) and not each.missing
    ]


def _add_noise(X, clean, noise, seed):
    rng = np.random.default_rng([seed, 1])
    return Sample(X, clean + noise * clean.std() * rng.standard_normal(len(clean)), clean)


def _generator(make, *arguments, noise=0.0, **options):
    """Generator of clean labels, with noise added."""
    return lambda rows, seed: _add_noise(
        *make(rows, *arguments, random_state=seed, **options), noise=noise, seed=seed
    )


def _table_sampler(load):
    """Rows of a fixed table, shuffled."""

    def draw(rows, seed):
        X, y = load()
        chosen = np.random.default_rng([seed, 2]).permutation(len(y))[:rows]
        return Sample(X[chosen], y[chosen], y[chosen])

    return draw


def _uci(name):
    def load():
        with np.load(Path(os.environ["LOCALEGOP_DATA"]) / f"uci_{name}.npz") as stored:
            return stored["X"].astype(float), stored["y"].astype(float).ravel()

    return load


def _satellite_file(rows, seed):
    """Masked rows first, so that they are the test rows, both in random order."""
    X, y, masked = read_satellite(SATELLITE)
    order = np.random.default_rng([seed, 2]).permutation(len(y))
    hidden, seen = order[masked[order]][:SATELLITE_TEST], order[~masked[order]]
    chosen = np.concatenate([hidden, seen])[:rows]
    return Sample(X[chosen], y[chosen], y[chosen])


def _sarcos_files(rows, seed):
    """Rows of the test file first, so that they are the test rows."""
    rng = np.random.default_rng([seed, 2])
    parts = [read_sarcos(name) for name in ("sarcos_inv_test.mat", SARCOS)]
    orders = [rng.permutation(len(y)) for _, y in parts]
    X, y = (
        np.concatenate([part[i][order] for part, order in zip(parts, orders, strict=True)]) for i in (0, 1)
    )
    return Sample(X[:rows], y[:rows], y[:rows])


def _torsion(source):
    def load():
        data = molecule(source)
        return data.X, data.torsions["tau1"]

    return load


def _pixels():
    """The middle of a photograph that ships with scikit-learn."""
    image = load_sample_image("china.jpg")
    row, column = (side // 2 - 64 for side in image.shape[:2])
    return image_samples(image[row : row + 128, column : column + 128])


# The paper's settings are lengths. Its exclusion radius belongs to the helix, and features in different
# units need a common one.
_NO_RADIUS = {"paper_egop": {"exclusion_radius": None}}
_OWN_UNITS = {"paper_egop": {"exclusion_radius": None, "initial_metric": "variance"}}
_QUICK = Sizes((500,), 300)
SATELLITE, SATELLITE_TEST, SARCOS, SARCOS_TEST = "AllSatelliteTemps.csv", 2000, "sarcos_inv.mat", 4449


def _table(name, train, test, quick=None):
    return Dataset(
        f"uci {name}",
        TABLE,
        _table_sampler(_uci(name)),
        Sizes((train,), test),
        quick,
        file=f"uci_{name}.npz",
        settings=_OWN_UNITS,
    )


SPATIAL_METHODS = ("local_egop", "neighbors", "local_linear", "lightgbm", "vecchia", "muygps")

DATASETS = {
    "helix_5": Dataset(
        "helix, D=5",
        INDEX,
        _generator(make_helix, 5),
        Sizes((500, 1000, 2000, 4000), 1000),
        Sizes((250, 500), 300),
    ),
    "helix_5_noise": Dataset(
        "helix, D=5, noise 0.1", INDEX, _generator(make_helix, 5, noise=NOISE), Sizes((4000,), 1000)
    ),
    "helix_20": Dataset("helix, D=20", INDEX, _generator(make_helix, 20), Sizes((2000,), 1000)),
    "helix_20_noise": Dataset(
        "helix, D=20, noise 0.1",
        INDEX,
        _generator(make_helix, 20, noise=NOISE),
        Sizes((500, 1000, 2000), 1000),
        _QUICK,
    ),
    "torus_20": Dataset(
        "torus in R^20",
        INDEX,
        _generator(make_torus, 20),
        Sizes((2000,), 1000),
        _QUICK,
        settings=_NO_RADIUS,
    ),
    "multi_index": Dataset(
        "multi-index, 2 of 10",
        INDEX,
        _generator(make_multi_index, 10),
        Sizes((2000,), 1000),
        _QUICK,
        settings=_NO_RADIUS,
    ),
    "malonaldehyde": Dataset(
        "malonaldehyde, shipped",
        INDEX,
        _table_sampler(_torsion("shipped")),
        Sizes((5500,), 500),
        _QUICK,
        settings=_NO_RADIUS,
    ),
    "malonaldehyde_md17": Dataset(
        "malonaldehyde, revised MD17",
        INDEX,
        _table_sampler(_torsion("rmd17")),
        Sizes((1000, 3000, 9133), 500),
        file="rmd17_malonaldehyde.npz",
        settings=_NO_RADIUS,
    ),
    "friedman1": Dataset(
        "Friedman 1, D=5",
        FULL_RANK,
        _generator(make_friedman1, 5, noise=NOISE),
        Sizes((2000,), 1000),
        _QUICK,
        settings=_OWN_UNITS,
    ),
    "friedman2": Dataset(
        "Friedman 2",
        FULL_RANK,
        _generator(make_friedman2, noise=NOISE),
        Sizes((2000,), 1000),
        settings=_OWN_UNITS,
    ),
    "friedman3": Dataset(
        "Friedman 3",
        FULL_RANK,
        _generator(make_friedman3, noise=NOISE),
        Sizes((2000,), 1000),
        settings=_OWN_UNITS,
    ),
    "uci_concrete": _table("concrete", 824, 206, _QUICK),
    "uci_energy": _table("energy", 614, 154),
    "uci_naval": _table("naval", 9534, 2400),
    "uci_power": _table("power", 7654, 1914, _QUICK),
    "uci_wine": _table("wine", 1279, 320),
    "uci_yacht": _table("yacht", 246, 62, Sizes((246,), 62)),
    "diabetes": Dataset(
        "diabetes",
        TABLE,
        _table_sampler(lambda: load_diabetes(return_X_y=True)),
        Sizes((353,), 89),
        Sizes((353,), 89),
        settings=_OWN_UNITS,
    ),
    "image": Dataset(
        "photograph, 128 x 128",
        IMAGE,
        _table_sampler(_pixels),
        Sizes((8000,), 2000),
        Sizes((1000,), 300),
        settings=_OWN_UNITS,
    ),
    "helix_200k": Dataset(
        "helix, D=10, noise 0.1, 200,000 rows",
        SCALE,
        _generator(make_helix, 10, noise=NOISE),
        Sizes((200_000,), 2000),
        methods=("local_egop", "neighbors", "local_linear", "boosting", "lightgbm"),
    ),
    **{
        name + suffix: Dataset(
            label + ending,
            group,
            _generator(draw, noise=noise),
            Sizes((1000,), 1000),
            settings=_OWN_UNITS,
        )
        for suffix, ending, group, noise in (("", "", CLEAN, 0.0), ("_noise", ", noise 0.1", NOISY, NOISE))
        for name, (label, draw) in FUNCTIONS.items()
    },
    "satellite": Dataset(
        "field with clouds, noise 0.1, 100,000 rows",
        SPATIAL,
        lambda rows, seed: Sample(*satellite(rows, seed)),
        Sizes((100_000,), 2000),
        methods=SPATIAL_METHODS,
    ),
    "satellite_heaton": Dataset(
        "land temperatures (Heaton et al.)",
        SPATIAL,
        _satellite_file,
        Sizes((105_569,), SATELLITE_TEST),
        file=SATELLITE,
        methods=SPATIAL_METHODS,
    ),
    "sarcos": Dataset(
        "SARCOS arm, first torque",
        SCALE,
        _sarcos_files,
        Sizes((44_484,), SARCOS_TEST),
        file=SARCOS,
        methods=("local_egop", "neighbors", "local_linear", "boosting", "lightgbm", "catboost", "vecchia"),
    ),
}
