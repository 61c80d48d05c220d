"""Gaussian processes of other libraries: GPBoost, MuyGPyS, laGPy for many rows, SMT for many features."""

from __future__ import annotations

import warnings
from abc import abstractmethod
from collections.abc import Iterator
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.model_selection import train_test_split
from sklearn.utils.validation import check_is_fitted
from threadpoolctl import threadpool_limits

from localegop.research.peers.gaussian_process import ArdGaussianProcess, GaussianAnswers
from localegop.research.peers.kernel_methods import some_rows, spreads, training_rows
from localegop.research.peers.optional import require

Array = NDArray[np.float64]
_FEWEST = 20
_QUERIES_AT_ONCE = 200
_SMOOTHNESS = (1.5, 2.5)  # of Matern kernels
_NEIGHBORS, _MUYGPS_BATCH = 50, 200
_LENGTHS, _NOISES = (0.01, 100.0), (1e-8, 1.0)
_LAGP_FIRST, _LAGP_ROWS = 6, 50
_LAGP_NUGGETS = (1e-6, 1e-4, 1e-2, 1e-1)
_LAGP_HELD_OUT, _LAGP_LENGTH_ROWS = 40, 500
_KPLS_MOST = 4


class _StandardizedProcess(GaussianAnswers):
    """A process of standardized features and labels; features that are constant are left out.

    Parameters
    ----------
    tuning_rows : int, default=2000
        Most rows used to choose between settings.
    random_state : int, default=0
    threads : int, default=1
    """

    def __init__(self, *, tuning_rows: int = 2000, random_state: int = 0, threads: int = 1) -> None:
        self.tuning_rows = tuning_rows
        self.random_state = random_state
        self.threads = threads

    def fit(self, X: ArrayLike, y: ArrayLike) -> Self:
        """Choose settings, then fit to all points (n, D) and labels (n,)."""
        points, labels = training_rows(self, X, y, _FEWEST)
        self._middle, self._scale = points.mean(axis=0), spreads(points)
        self._varying = np.abs(points - self._middle).max(axis=0) > 1e-9 * self._scale
        self._varying[0] |= not self._varying.any()
        self._mean, self._spread = float(labels.mean()), float(labels.std()) or 1.0
        rows = some_rows(len(points), self.tuning_rows, self.random_state)
        with threadpool_limits(self.threads):
            self._learn(self._units(points), (labels - self._mean) / self._spread, rows)
        self.n_rows_ = len(points)
        return self

    def moments(self, points: Array) -> tuple[Array, Array]:
        """Return means and standard deviations (q,) of new labels at points (q, D)."""
        check_is_fitted(self, "n_rows_")
        with threadpool_limits(self.threads):
            mean, variance = self._answer(self._units(points))
        return self._mean + self._spread * mean, self._spread * np.sqrt(np.maximum(variance, 0.0))

    def _units(self, points: Array) -> Array:
        return np.ascontiguousarray(((points - self._middle) / self._scale)[:, self._varying])

    @abstractmethod
    def _learn(self, X: Array, y: Array, rows: NDArray[np.int64]) -> None:
        """Fit to standardized rows, settings chosen with some of them."""

    @abstractmethod
    def _answer(self, X: Array) -> tuple[Array, Array]:
        """Return means and variances (q,) of labels."""

    def _hold_out(self, X: Array, y: Array, rows: NDArray[np.int64]) -> Any:
        return train_test_split(X[rows], y[rows], test_size=0.2, random_state=self.random_state)


class VecchiaProcess(_StandardizedProcess):
    """GPBoost's Vecchia approximation: Matern 3/2 or 5/2 by likelihood, a length per feature, noise."""

    def _learn(self, X: Array, y: Array, rows: NDArray[np.int64]) -> None:
        tried = [self._fit_one(X[rows], y[rows], smoothness) for smoothness in _SMOOTHNESS]
        likelihoods = [model.get_current_neg_log_likelihood() for model in tried]
        best = int(np.argmin(likelihoods))
        self.smoothness_ = _SMOOTHNESS[best]
        self.model_ = tried[best] if len(rows) == len(X) else self._fit_one(X, y, self.smoothness_)

    def _fit_one(self, X: Array, y: Array, smoothness: float) -> Any:
        gpboost = require("gpboost", "bench", "the Vecchia process")
        model = gpboost.GPModel(
            gp_coords=X,
            cov_function="matern" if X.shape[1] <= 2 else "matern_ard",
            cov_fct_shape=smoothness,
            gp_approx="vecchia",
            num_parallel_threads=self.threads,
            seed=self.random_state,
        )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return model.fit(y=y)

    def _answer(self, X: Array) -> tuple[Array, Array]:
        found = self.model_.predict(gp_coords_pred=X, predict_var=True, predict_response=True)
        return np.asarray(found["mu"]), np.asarray(found["var"])


class PartialLeastSquaresProcess(_StandardizedProcess):
    """Kriging of SMT in directions of partial least squares, their number on a fifth set aside; noise."""

    def _learn(self, X: Array, y: Array, rows: NDArray[np.int64]) -> None:
        X_train, X_out, y_train, y_out = self._hold_out(X, y, rows)
        errors = {}
        for count in range(1, min(_KPLS_MOST, X.shape[1]) + 1):
            model = self._fit_one(X_train, y_train, count)
            errors[count] = float(np.mean((model.predict_values(X_out).ravel() - y_out) ** 2))
        self.n_directions_ = min(errors, key=errors.__getitem__)
        self.model_ = self._fit_one(X, y, self.n_directions_)

    def _fit_one(self, X: Array, y: Array, count: int) -> Any:
        models = require("smt.surrogate_models", "bench", "kriging with partial least squares")
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = models.KPLS(
                n_comp=count,
                eval_noise=True,
                hyper_opt="Cobyla",
                print_global=False,
                seed=self.random_state,
            )
            model.set_training_values(X, y)
            model.train()
        return model

    def _answer(self, X: Array) -> tuple[Array, Array]:
        blocks = np.array_split(X, max(1, len(X) // _QUERIES_AT_ONCE))
        means = [self.model_.predict_values(block).ravel() for block in blocks]
        variances = [self.model_.predict_variances(block).ravel() for block in blocks]
        noise = float(np.mean(self.model_.optimal_noise)) * float(np.mean(self.model_.y_std)) ** 2
        return np.concatenate(means), np.concatenate(variances) + noise


class NeighborsProcess(_StandardizedProcess):
    """MuyGPyS: kriging of the 50 nearest rows, a length per feature and noise by leave-one-out likelihood.

    Matern 3/2 or 5/2, by error at a fifth set aside. Lengths are found twice, the second time with
    neighbors in units of the first.
    """

    def _learn(self, X: Array, y: Array, rows: NDArray[np.int64]) -> None:
        X_train, X_out, y_train, y_out = self._hold_out(X, y, rows)
        errors = {}
        for smoothness in _SMOOTHNESS:
            self._fit_one(X_train, y_train, smoothness)
            errors[smoothness] = float(np.mean((self._answer(X_out)[0] - y_out) ** 2))
        self.smoothness_ = min(errors, key=errors.__getitem__)
        self._fit_one(X, y, self.smoothness_)

    def _fit_one(self, X: Array, y: Array, smoothness: float) -> None:
        self.lengths_, found = np.ones(X.shape[1]), np.ones(X.shape[1])
        for _ in range(2):
            self.lengths_ = self.lengths_ * found
            self._points, self._labels = X / self.lengths_, y
            self._lookup = require("MuyGPyS.neighbors", "bench", "MuyGPyS").NN_Wrapper(
                self._points, min(_NEIGHBORS, len(X) - 1), nn_method="exact", algorithm="kd_tree"
            )
            self.model_ = self._optimize(smoothness)
            found = np.ravel(self.model_.kernel.deformation.length_scale())

    def _optimize(self, smoothness: float) -> Any:
        batch = require("MuyGPyS.optimize.batch", "bench", "MuyGPyS")
        optimize = require("MuyGPyS.optimize", "bench", "MuyGPyS")
        loss = require("MuyGPyS.optimize.loss", "bench", "MuyGPyS")
        model = _muygps(self._points.shape[1], smoothness)
        state = np.random.get_state()  # noqa: NPY002
        np.random.seed(self.random_state)  # noqa: NPY002
        try:
            some, near = batch.sample_batch(self._lookup, _MUYGPS_BATCH, len(self._points))
            crosswise, pairwise, targets, near_targets = model.make_train_tensors(
                some, near, self._points, self._labels
            )
            model = optimize.L_BFGS_B_optimize(
                model, targets, near_targets, crosswise, pairwise, loss_fn=loss.lool_fn, verbose=False
            )
        finally:
            np.random.set_state(state)  # noqa: NPY002
        return model.optimize_scale(pairwise, near_targets)

    def _answer(self, X: Array) -> tuple[Array, Array]:
        means, variances = zip(*self._answer_blocks(X / self.lengths_), strict=True)
        return np.concatenate(means), np.concatenate(variances)

    def _answer_blocks(self, X: Array) -> Iterator[tuple[Array, Array]]:
        for block in np.array_split(X, max(1, len(X) // _QUERIES_AT_ONCE)):
            near, _ = self._lookup.get_nns(block)
            crosswise, pairwise, targets = self.model_.make_predict_tensors(
                np.arange(len(block)), near, block, self._points, self._labels
            )
            inner, cross = self.model_.kernel(pairwise), self.model_.kernel(crosswise)
            mean = np.ravel(self.model_.posterior_mean(inner, cross, targets))
            variance = np.ravel(self.model_.posterior_variance(inner, cross))
            yield mean, variance + float(self.model_.noise() * np.mean(self.model_.scale()))


def _muygps(n_features: int, smoothness: float) -> Any:
    """Return MuyGPyS's process with nothing chosen yet."""
    gp = require("MuyGPyS.gp", "bench", "MuyGPyS")
    parameters = require("MuyGPyS.gp.hyperparameter", "bench", "MuyGPyS")
    deformation = require("MuyGPyS.gp.deformation", "bench", "MuyGPyS")
    lengths = [parameters.Parameter(1.0, _LENGTHS) for _ in range(n_features)]
    metric = deformation.Anisotropy(deformation.l2, parameters.VectorParameter(*lengths))
    matern = require("MuyGPyS.gp.kernels", "bench", "MuyGPyS").Matern
    noise = require("MuyGPyS.gp.noise", "bench", "MuyGPyS").HomoscedasticNoise
    return gp.MuyGPS(
        kernel=matern(smoothness=parameters.Parameter(smoothness), deformation=metric),
        noise=noise(1e-2, _NOISES),
        scale=parameters.AnalyticScale(),
    )


class LocalDesignProcess(_StandardizedProcess):
    """laGPy: for each query a process of 50 rows that reduce its variance most (ALC), in global ARD units.

    The units are the lengths of a process of up to 500 rows; the nugget is chosen at 40 held-out rows.
    """

    def _learn(self, X: Array, y: Array, rows: NDArray[np.int64]) -> None:
        few = rows[some_rows(len(rows), _LAGP_LENGTH_ROWS, self.random_state)]
        process = ArdGaussianProcess(random_state=self.random_state, threads=self.threads).fit(
            X[few], y[few]
        )
        kernel = process.model_.kernel_
        self.lengths_ = np.ones(X.shape[1]) * kernel.k1.k2.length_scale * spreads(X[few])
        X_train, X_out, y_train, y_out = self._hold_out(X, y, np.arange(len(X)))
        out = some_rows(len(X_out), _LAGP_HELD_OUT, self.random_state)
        self._points, self._labels = X_train / self.lengths_, y_train
        errors = {}
        for self.nugget_ in _LAGP_NUGGETS:
            errors[self.nugget_] = float(np.mean((self._answer(X_out[out])[0] - y_out[out]) ** 2))
        self.nugget_ = min(errors, key=errors.__getitem__)
        self._points, self._labels = X / self.lengths_, y

    def _answer(self, X: Array) -> tuple[Array, Array]:
        lagp = require("laGPy", "bench", "the local process").laGP
        found = [
            lagp(
                query[None],
                self._points,
                self._labels,
                start=_LAGP_FIRST,
                end=min(_LAGP_ROWS, len(self._points) - 1),
                g=self.nugget_,
                method="alc",
            )
            for query in X / self.lengths_
        ]
        means = np.array([float(np.ravel(each["mean"])[0]) for each in found])
        return means, np.array([float(np.ravel(each["s2"])[0]) for each in found])
