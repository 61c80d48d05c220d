"""RealMLP and TabM, networks for tables, by pytabkit: their authors' settings, held-out rows to stop."""

from __future__ import annotations

import io
import logging
import warnings
from collections.abc import Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from tempfile import TemporaryDirectory
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils.validation import check_is_fitted

from localegop.research.peers.kernel_methods import query_rows, training_rows, useful_threads
from localegop.research.peers.optional import require, torch_threads
from localegop.research.peers.recursive_features import keep_random_state

Array = NDArray[np.float64]


class TabularNetwork(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """A network of pytabkit with the settings that its authors found on many tables.

    Parameters
    ----------
    kind : str
        Class of pytabkit, such as "RealMLP_TD_Regressor" or "TabM_D_Regressor".
    folds : int, default=1
        1 stops on a fifth of the rows; more average networks that each stop on another fold.
    random_state : int, default=0
    threads : int, default=1
        Of PyTorch.

    Attributes
    ----------
    model_ : object
        Regressor of pytabkit.
    """

    def __init__(self, kind: str, *, folds: int = 1, random_state: int = 0, threads: int = 1) -> None:
        self.kind = kind
        self.folds = folds
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Fit to points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, 20)
        threads = useful_threads(len(points), self.threads)
        with _silence(), keep_random_state(), torch_threads(threads), TemporaryDirectory() as folder:
            kind = getattr(require("pytabkit", "bench", "a network for tables"), self.kind)
            model = kind(
                device="cpu",
                random_state=self.random_state,
                n_cv=self.folds,
                n_threads=threads,
                tmp_folder=folder,
                verbosity=0,
            )
            self.model_ = model.fit(points.copy(), labels.copy())
        return self

    def predict(self, X: ArrayLike) -> Array:
        """Predictions at q points, shape (q,)."""
        check_is_fitted(self, "model_")
        points = query_rows(self, X)
        with _silence(), keep_random_state(), torch_threads(useful_threads(len(points), self.threads)):
            values = self.model_.predict(points.copy())
        return np.asarray(values, dtype=np.float64).reshape(len(points))


@contextmanager
def _silence() -> Iterator[None]:
    """Keep what the training loop prints, logs and warns of its own dependencies to itself."""
    logger: Any = logging.getLogger("pytorch_lightning.utilities.rank_zero")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings(), redirect_stdout(io.StringIO()), redirect_stderr(io.StringIO()):
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)
