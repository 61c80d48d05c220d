"""Classification methods as entries: LocalEGOPClassifier and peers, tuned on training rows by log loss.

Entries are those of :mod:`.registry`; peers are tuned on all training rows, however many.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.gaussian_process import GaussianProcessClassifier
from sklearn.gaussian_process.kernels import RBF, ConstantKernel
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.neighbors import KNeighborsClassifier
from sklearn.neural_network import MLPClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from localegop.classifier import LocalEGOPClassifier
from localegop.research.peers.optional import require
from localegop.research.peers.recursive_features import TunedRecursiveFeatureClassifier
from localegop.research.peers.registry import Method

FOLDS = 3


def _tuned(model: Any, grid: Mapping[str, Any], seed: int, *, scaled: bool = True) -> Any:
    """Tune a model over a grid by the log loss in folds of the training rows."""
    pipeline = make_pipeline(StandardScaler(), model) if scaled else make_pipeline(model)
    name = pipeline.steps[-1][0]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    full = {f"{name}__{key}": values for key, values in grid.items()}
    return GridSearchCV(pipeline, full, scoring="neg_log_loss", cv=folds)


def _lightgbm(rows: int, seed: int, threads: int) -> Any:
    lightgbm = require("lightgbm", "bench", "LightGBM")
    model = lightgbm.LGBMClassifier(random_state=seed, n_jobs=threads, verbose=-1)
    grid = {"num_leaves": [7, 31], "learning_rate": [0.03, 0.1], "n_estimators": [100, 300]}
    return _tuned(model, grid, seed, scaled=False).set_params(error_score="raise")


CLASSIFIERS = {
    "local_egop": Method(
        "LocalEGOPClassifier",
        "nothing by hand: all by log loss at held-out points",
        lambda rows, seed, threads: LocalEGOPClassifier(random_state=seed, n_jobs=threads),
    ),
    "logistic": Method(
        "logistic regression",
        "ridge",
        lambda rows, seed, threads: _tuned(
            LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}, seed
        ),
    ),
    "neighbors": Method(
        "k nearest neighbors",
        "k and weights",
        lambda rows, seed, threads: _tuned(
            KNeighborsClassifier(),
            {"n_neighbors": [5, 10, 20, 40, 80], "weights": ["uniform", "distance"]},
            seed,
        ),
    ),
    "svm": Method(
        "SVM, Gaussian kernel",
        "cost and width; probabilities by Platt's map",
        lambda rows, seed, threads: _tuned(
            CalibratedClassifierCV(SVC(), ensemble=False),
            {"estimator__C": [1.0, 10.0, 100.0], "estimator__gamma": ["scale", 0.03, 0.3]},
            seed,
        ),
    ),
    "gaussian_process": Method(
        "Gaussian process",
        "length and scale, marginal likelihood (one against the rest)",
        lambda rows, seed, threads: make_pipeline(
            StandardScaler(),
            GaussianProcessClassifier(ConstantKernel(10.0) * RBF(3.0), random_state=seed, n_jobs=threads),
        ),
        largest_n=500,
    ),
    "forest": Method(
        "random forest",
        "features per split and leaf size, 300 trees",
        lambda rows, seed, threads: _tuned(
            RandomForestClassifier(300, random_state=seed),
            {"max_features": ["sqrt", 0.5], "min_samples_leaf": [1, 5]},
            seed,
            scaled=False,
        ),
    ),
    "boosting": Method(
        "HistGradientBoosting",
        "rate and leaves",
        lambda rows, seed, threads: _tuned(
            HistGradientBoostingClassifier(random_state=seed),
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]},
            seed,
            scaled=False,
        ),
    ),
    "lightgbm": Method("LightGBM", "rate, leaves and trees", _lightgbm, module="lightgbm", extra="bench"),
    "xrfm": Method(
        "xRFM",
        "bandwidth, ridge, scale and iteration by log loss on a fifth set aside",
        lambda rows, seed, threads: TunedRecursiveFeatureClassifier(random_state=seed, threads=threads),
        module="xrfm",
        extra="paper",
        largest_n=20_000,
    ),
    "network": Method(
        "two-layer network",
        "weight decay; early stopping",
        lambda rows, seed, threads: _tuned(
            MLPClassifier((128, 128), max_iter=300, early_stopping=True, random_state=seed),
            {"alpha": [1e-4, 1e-2, 1.0]},
            seed,
        ),
    ),
}
