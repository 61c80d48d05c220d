"""LocalEGOPClassifier: class probabilities by the engine of the regressor. No numerics here."""

from __future__ import annotations

from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import ClassifierMixin
from sklearn.utils._param_validation import StrOptions
from sklearn.utils.validation import check_is_fitted

from localegop._data.archive import require
from localegop._data.class_labels import (
    ClassCounts,
    class_factors,
    class_numbers,
    find_classes,
    one_hot,
    read_class_rows,
    weigh_classes,
)
from localegop._data.inputs import is_lazy, name_outputs
from localegop._estimator import LocalEGOPEstimator
from localegop._predict.classes import ClassCalibration, through_link
from localegop._predict.model import Requested
from localegop._predict.uncertainty import check_coverage
from localegop._progress import Callback
from localegop.results import LocalFits

Array = NDArray[np.float64]

BLENDED = Requested(blended=True)
LABEL_KINDS = {"b": bool, "i": int, "u": int, "f": float, "U": str, "O": str}  # that a file can hold


class LocalEGOPClassifier(ClassifierMixin, LocalEGOPEstimator):  # type: ignore[misc]
    """Class probabilities from neighborhoods that learn the directions in which they vary.

    Probabilities of classes are regressions of one-hot labels, so the metric is learned as for
    :class:`LocalEGOPRegressor`, from the sum of the AGOPs of all classes. What differs: choices are
    compared by the log loss at held-out points, local logistic regression competes with the other final
    fits, and what comes out of any of them is turned into probabilities by a link that is fitted at
    held-out points.

    Parameters
    ----------
    schedule, n_iter, momentum, initial_scale, initial_metric, exclusion_radius, covariance_cap
        As in :class:`LocalEGOPRegressor` with ``strategy="field"``.
    kernel, degree, ridge, max_neighbors
        As in :class:`LocalEGOPRegressor` with ``strategy="field"``.
    final : {"auto", "polynomial", "logistic", "kriging", "global"}, default="auto"
        The final fit: local polynomials of the one-hot labels; local multinomial logistic regression,
        weighted and with a ridge, linear or with products of the leading directions; kriging of the one-hot
        labels; or, with "global", one process of all rows, of the one-hot labels (up to 2,500 rows), of the
        logits, or the mean of such. "auto" takes what has the least log loss at held-out points; up to
        10,000 rows processes of the logits compete, beyond local logistic fits.
    class_weight : dict, "balanced" or None, default=None
        Factors of the weights of the rows of each class, 1 for classes that are not named; "balanced" gives
        all classes the same total weight. Only their ratios matter: the weight of all rows together stays
        what it was. Probabilities are those of data with such weights.
    missing : {"error", "drop"}, default="error"
        What ``fit`` does about rows with missing values in X or y.
    random_state, n_jobs, verbose, callback
        As in :class:`LocalEGOPRegressor`.

    Attributes
    ----------
    classes_ : ndarray of shape (K,)
        Labels of the classes, sorted: the columns of probabilities.
    choice_ : Choice
        What was chosen at held-out points; its error is the log loss there as a share of that of the class
        frequencies.
    output_names_ : tuple of str
        Names of the classes.
    target_name_ : str
        Name of y, or "y".
    n_features_in_, n_samples_, feature_names_in_, feature_importances_, initial_metric_
        As in :class:`LocalEGOPRegressor`.
    gain_over_isotropic_ : float
        Log loss of isotropic local linear regression over that of this model, at the same held-out points.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from localegop import LocalEGOPClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> model = LocalEGOPClassifier().fit(X[::2], y[::2])
    >>> bool(model.score(X[1::2], y[1::2]) > 0.9)
    True
    >>> model.predict_proba(X[:1]).shape
    (1, 3)
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocalEGOPEstimator._parameter_constraints,
        "final": [StrOptions({"auto", "polynomial", "logistic", "kriging", "global"})],
        "class_weight": [dict, StrOptions({"balanced"}), None],
    }
    # What the engine asks of every estimator, and what a classifier has no choice about.
    strategy, outputs, loss = "field", "shared", "log"
    n_subsamples, weighting = 300, "unbiased"
    _flat_output = False
    _classifies: ClassVar[bool] = True

    def __init__(
        self,
        *,
        schedule: Any = "effective_size",
        n_iter: int | None = None,
        momentum: float = 0.5,
        initial_scale: float = 0.2,
        initial_metric: Any = "auto",
        exclusion_radius: float | None = None,
        covariance_cap: float | None = None,
        kernel: Any = "gaussian",
        degree: Any = "auto",
        ridge: Any = "auto",
        final: str = "auto",
        max_neighbors: int | str | None = "auto",
        class_weight: Any = None,
        missing: str = "error",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.schedule = schedule
        self.n_iter = n_iter
        self.momentum = momentum
        self.initial_scale = initial_scale
        self.initial_metric = initial_metric
        self.exclusion_radius = exclusion_radius
        self.covariance_cap = covariance_cap
        self.kernel = kernel
        self.degree = degree
        self.ridge = ridge
        self.final = final
        self.max_neighbors = max_neighbors
        self.class_weight = class_weight
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def predict_proba(self, X: ArrayLike, return_std: bool = False, exact: bool = False) -> Any:
        """Predict the probabilities of all classes at q points.

        Parameters
        ----------
        X : array-like of shape (q, D)
        return_std : bool, default=False
            Whether to return standard errors too: how much probabilities would vary with other labels.
        exact : bool, default=False
            Whether to make a fit at every query, where blends of kept fits would be as good.

        Returns
        -------
        probabilities : ndarray of shape (q, K)
            In the order of ``classes_``; positive, of sum one. Lazy for a dask array or dataframe X, as are
            all answers: this model is sent to its blocks.
        std : ndarray of shape (q, K)
            Only with ``return_std``.
        """
        requested = Requested(blended=not (exact or return_std), uncertainty=return_std)
        if self._is_lazy(X):
            return self._lazy_answers(X, requested).predicted(return_std)
        fits = self._fits(X, requested)
        return (fits.value, fits.std) if return_std else fits.value

    def predict_log_proba(self, X: ArrayLike) -> Any:
        """Logarithms (q, K) of what :meth:`predict_proba` returns, lazy where that is."""
        view = self._as_now()
        if view._is_lazy(X):
            names = view.output_names_
            return view._lazy_answers(X, BLENDED).turned(np.log, names, (len(names),))
        return np.log(view._fits(X, BLENDED).value)

    def predict(self, X: ArrayLike) -> Any:
        """Predict the most probable class (q,) of q points; of equally probable ones the first."""
        view = self._as_now()
        turn = partial(_most_probable, view.classes_)
        if view._is_lazy(X):
            answers = view._lazy_answers(X, BLENDED)
            return answers.turned(turn, (view.target_name_,), (), view.classes_.dtype)
        return turn(view._fits(X, BLENDED).value)

    def decision_function(self, X: ArrayLike) -> Any:
        """Log-odds: with two classes those of the second (q,), else logarithms of probabilities (q, K)."""
        view = self._as_now()
        names = view.output_names_[1:] if len(view.classes_) == 2 else view.output_names_
        if view._is_lazy(X):
            tail = () if len(names) == 1 else (len(names),)
            return view._lazy_answers(X, BLENDED).turned(_log_odds, names, tail)
        return _log_odds(view._fits(X, BLENDED).value)

    def predict_set(self, X: ArrayLike, coverage: ArrayLike = 0.9, *, never_empty: bool = False) -> Any:
        """Predict sets of classes that hold the true class with the given probability.

        A class is in the set if it is at least as probable as needed for such a share of held-out points to
        have had their own class in the set (split conformal prediction), so no assumption is made about
        probabilities. Where the model is right more often than asked, sets of the least certain rows
        are empty.

        Parameters
        ----------
        X : array-like of shape (q, D)
        coverage : float or sequence of k floats, default=0.9
            Probabilities between 0 and 1, over all points, not for each of them.
        never_empty : bool, default=False
            Whether the most probable class is always in the set, which then holds the true one at least as
            often as :meth:`predict` is right.

        Returns
        -------
        ndarray of bool of shape (q, K), or (q, k, K) for a sequence of coverages
            Which classes, in the order of ``classes_``, belong to the set of each point.
        """
        levels, view = check_coverage(coverage), self._as_now()
        single = np.ndim(coverage) == 0
        turn = partial(_sets, view._calibration, levels, single, never_empty)
        if view._is_lazy(X):
            tail = () if single else (len(levels),)
            answers = view._lazy_answers(X, BLENDED)
            return answers.turned(turn, None, (*tail, len(view.classes_)), np.bool_)
        return turn(view._fits(X, BLENDED).value)

    def _as_now(self) -> Self:
        """Return this estimator as it is now, which another fit does not change; it must be fitted."""
        check_is_fitted(self, "_decisions")
        return self._snapshot()

    def _is_lazy(self, X: Any) -> bool:
        """Whether answers at these queries are lazy."""
        return is_lazy(X)

    @property
    def _calibration(self) -> ClassCalibration:
        found = self._decisions[0].classes
        assert found is not None
        return found

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array]:
        """Features, one-hot labels and weights; rows to be left out have weight 0."""
        drop = self.missing == "drop"
        features, labels, weight = read_class_rows(self, X, y, sample_weight, drop=drop)
        counts = ClassCounts.of(labels, weight)
        self.classes_ = find_classes(counts)
        numbers = class_numbers(labels, weight, self.classes_)
        factors = class_factors(self.class_weight, self.classes_, counts.total)
        return features, one_hot(numbers, len(self.classes_)), weigh_classes(weight, factors, numbers)

    def _output_names(self, y: ArrayLike, count: int) -> tuple[str, ...]:
        self.target_name_ = name_outputs(y, 1, flat=True)[0]
        return tuple(map(str, self.classes_))

    def _presented(self, parts: list[LocalFits]) -> LocalFits:
        return through_link(super()._presented(parts), self._calibration.link)

    def _header(self) -> dict[str, Any]:
        kind = LABEL_KINDS.get(self.classes_.dtype.kind)
        labels = self.classes_.tolist()
        if kind is None or not all(isinstance(label, kind) for label in labels):
            raise ValueError(
                "a model file holds classes that are text, numbers or booleans, got "
                f"{sorted({type(label).__name__ for label in labels})}: save it with pickle or joblib"
            )
        about = {"kind": self.classes_.dtype.kind, "labels": labels, "target": self.target_name_}
        return super()._header() | {"classes": about}

    def _restore_names(self, header: dict[str, Any]) -> None:
        kind, labels = header["classes"]["kind"], header["classes"]["labels"]
        known = kind in LABEL_KINDS and all(type(label) is LABEL_KINDS[kind] for label in labels)
        require(known, "header.classes has labels of another type than it says")
        self.classes_ = np.array(labels, dtype=object if kind == "O" else None)
        require(len(set(labels)) == len(labels) >= 2, "header.classes are not two or more different ones")
        self.target_name_ = header["classes"]["target"]
        super()._restore_names(header)
        same = self.output_names_ == tuple(map(str, self.classes_))
        require(same, "header.classes and header.output_names differ")


def _most_probable(classes: NDArray[Any], probabilities: Array) -> NDArray[Any]:
    return np.asarray(classes[np.argmax(probabilities, axis=1)])


def _log_odds(probabilities: Array) -> Array:
    logs: Array = np.log(probabilities)
    return logs[:, 1] - logs[:, 0] if logs.shape[1] == 2 else logs


def _sets(
    calibration: ClassCalibration, levels: Array, single: bool, never_empty: bool, probabilities: Array
) -> NDArray[np.bool_]:
    """Return sets (q, k, K) of classes, or (q, K) if there is a single level."""
    sets = calibration.sets(probabilities, levels)
    if never_empty:
        sets[np.arange(len(sets)), :, np.argmax(probabilities, axis=1)] = True
    return sets[:, 0] if single else sets
