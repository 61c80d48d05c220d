"""Classification methods as entries: LocalEGOPClassifier and peers, tuned on training rows by log loss."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from importlib.util import find_spec
from typing import Any

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

FOLDS = 3


@dataclass(frozen=True)
class ClassMethod:
    """A classification method.

    Parameters
    ----------
    label : str
        For tables.
    tuning : str
        What is chosen, and how.
    make : callable
        random_state -> estimator.
    module : str
        Optional module that it needs; empty if there is none.
    largest_n : int or None
        Most training rows for which it is practical; given more, it is to be run on as many of them.
    """

    label: str
    tuning: str
    make: Callable[[int], Any]
    module: str = ""
    largest_n: int | None = None

    @property
    def available(self) -> bool:
        """Whether its module is installed."""
        return not self.module or find_spec(self.module) is not None


def _tuned(model: Any, grid: Mapping[str, Any], seed: int, *, scaled: bool = True) -> Any:
    """Tune a model over a grid by the log loss in folds of the training rows."""
    pipeline = make_pipeline(StandardScaler(), model) if scaled else make_pipeline(model)
    name = pipeline.steps[-1][0]
    folds = StratifiedKFold(FOLDS, shuffle=True, random_state=seed)
    full = {f"{name}__{key}": values for key, values in grid.items()}
    return GridSearchCV(pipeline, full, scoring="neg_log_loss", cv=folds)


def _lightgbm(seed: int) -> Any:
    lightgbm = require("lightgbm", "bench", "LightGBM")
    model = lightgbm.LGBMClassifier(random_state=seed, n_jobs=1, verbose=-1)
    grid = {"num_leaves": [7, 31], "learning_rate": [0.03, 0.1], "n_estimators": [100, 300]}
    return _tuned(model, grid, seed, scaled=False).set_params(error_score="raise")


CLASSIFIERS = {
    "local_egop": ClassMethod(
        "LocalEGOPClassifier",
        "nothing by hand: all by log loss at held-out points",
        lambda seed: LocalEGOPClassifier(random_state=seed, n_jobs=1),
    ),
    "logistic": ClassMethod(
        "logistic regression",
        "ridge",
        lambda seed: _tuned(LogisticRegression(max_iter=2000), {"C": [0.01, 0.1, 1.0, 10.0, 100.0]}, seed),
    ),
    "neighbors": ClassMethod(
        "k nearest neighbors",
        "k and weights",
        lambda seed: _tuned(
            KNeighborsClassifier(),
            {"n_neighbors": [5, 10, 20, 40, 80], "weights": ["uniform", "distance"]},
            seed,
        ),
    ),
    "svm": ClassMethod(
        "SVM, Gaussian kernel",
        "cost and width; probabilities by Platt's map",
        lambda seed: _tuned(
            SVC(probability=True, random_state=seed),
            {"C": [1.0, 10.0, 100.0], "gamma": ["scale", 0.03, 0.3]},
            seed,
        ),
    ),
    "gaussian_process": ClassMethod(
        "Gaussian process",
        "length and scale, marginal likelihood (one against the rest)",
        lambda seed: make_pipeline(
            StandardScaler(),
            GaussianProcessClassifier(ConstantKernel(10.0) * RBF(3.0), random_state=seed, n_jobs=1),
        ),
        largest_n=500,
    ),
    "forest": ClassMethod(
        "random forest",
        "features per split and leaf size, 300 trees",
        lambda seed: _tuned(
            RandomForestClassifier(300, random_state=seed),
            {"max_features": ["sqrt", 0.5], "min_samples_leaf": [1, 5]},
            seed,
            scaled=False,
        ),
    ),
    "boosting": ClassMethod(
        "HistGradientBoosting",
        "rate and leaves",
        lambda seed: _tuned(
            HistGradientBoostingClassifier(random_state=seed),
            {"learning_rate": [0.03, 0.1], "max_leaf_nodes": [7, 31]},
            seed,
            scaled=False,
        ),
    ),
    "lightgbm": ClassMethod("LightGBM", "rate, leaves and trees", _lightgbm, module="lightgbm"),
    "network": ClassMethod(
        "two-layer network",
        "weight decay; early stopping",
        lambda seed: _tuned(
            MLPClassifier((128, 128), max_iter=300, early_stopping=True, random_state=seed),
            {"alpha": [1e-4, 1e-2, 1.0]},
            seed,
        ),
    ),
}
