"""LocalEGOPRegressor: parameters, validation and outputs in scikit-learn's manner. No numerics here."""

from __future__ import annotations

import warnings
from numbers import Integral, Real
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import _check_sample_weight, check_is_fitted, validate_data

from localegop.model import Model
from localegop.results import LocalFits, Status
from localegop.rows import distinct_rows
from localegop.schedules import Geometric, PowerLaw
from localegop.setup import Settings

Array = NDArray[np.float64]


class LocalEGOPRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
    """Local regression in neighborhoods that learn the directions in which f varies.

    Near each point the method learns a metric from the averaged outer product of local gradients (AGOP),
    shrinks the neighborhood where the function varies and stretches it where it does not, and predicts
    with a local polynomial fit there.

    Parameters
    ----------
    strategy : {"field", "query"}, default="field"
        "field" learns gradients at all training points once, in ``fit``, after which a prediction takes
        milliseconds. "query" is Algorithm 1 of the paper: every query runs a recursion of its own.
    schedule : {"ess", "power", "geometric"} or object, default="ess"
        How neighborhoods shrink. "ess" aims at effective sample sizes and needs no units; "power" and
        "geometric" are bandwidths in the units of the (initially scaled) features. An object is a callable
        t -> bandwidth or has a method ``effective_size(t)``; see :mod:`localegop.schedules`.
    n_iter : int or None, default=None
        Steps of the recursion; None means 4 with effective sizes and 150 with bandwidths. The final fit
        may use fewer: the number that predicts best is chosen.
    n_subsamples : int, default=300
        m, the local fits per step of the query strategy.
    momentum : float, default=0.5
        Weight in (0, 1] of the newest AGOP in the next metric.
    initial_scale : float, default=0.2
        With bandwidths, the first metric is the identity divided by this.
    initial_metric : {"auto", "identity", "variance"} or array, default="auto"
        Scale of the features at the start: as they are, divided by their standard deviations, or a metric
        given as a vector or matrix. "auto" takes the first or the second: up to 2,000 rows by the error of
        the whole procedure at held-out points, above by the leave-one-out error of the first step.
    exclusion_radius : float or None, default=None
        Points farther than this from a center, in the scaled features, are ignored.
    covariance_cap : float or None, default=None
        Largest variance of a localization in any direction, in the scaled features.
    kernel : str or callable, default="gaussian"
        "gaussian", "epanechnikov", "biweight", "triweight", "laplace", "student", or a callable that maps
        an array of squared distances to weights (slower, one thread).
    degree : {"auto", 0, 1, 2}, default="auto"
        Degree of the final fit. Degree 2 adds products of the leading learned directions with all
        features. "auto" chooses between 1 and 2 (query strategy: 1).
    ridge : float or "loo", default="loo"
        Ridge of the local fits relative to the local variance of the features; "loo" takes the best of a
        grid at points left out.
    max_neighbors : int or None, default=1000
        A center looks at its nearest this many points only, which makes its cost independent of n. None
        is exact.
    random_state : int, RandomState instance or None, default=0
        Seed of the held-out folds and of the samples of the query strategy.
    n_jobs : int or None, default=None
        Threads; None means all processors. Results do not depend on it.
    verbose : int, default=0
        Whether to show a progress bar with the time left.

    Attributes
    ----------
    n_features_in_ : int
    feature_names_in_ : ndarray of shape (n_features_in_,)
        Only if X had them.
    choice_ : Choice
        The final fit: number of steps before it, effective size of its neighborhoods, degree (0 or 1),
        bends (leading directions with quadratic terms; more than 0 for degree 2), ridge, and its mean
        squared error at held-out points as a fraction of the label variance. With the query strategy
        every query chooses its own step, at most this one.
    initial_metric_ : str or ndarray
        What "auto" found.
    loo_residuals_ : ndarray of shape (n,) or (n, K)
        Label minus leave-one-out prediction at the training points (field strategy); NaN at weight 0.

    Examples
    --------
    >>> from localegop import LocalEGOPRegressor
    >>> from localegop.datasets import make_helix
    >>> X, y = make_helix(600, 4, random_state=0)
    >>> model = LocalEGOPRegressor().fit(X[:500], y[:500])
    >>> bool(model.score(X[500:], y[500:]) > 0.999)
    True
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "strategy": [StrOptions({"field", "query"})],
        "schedule": [StrOptions({"ess", "power", "geometric"}), object],
        "n_iter": [Interval(Integral, 0, None, closed="left"), None],
        "n_subsamples": [Interval(Integral, 1, None, closed="left")],
        "momentum": [Interval(Real, 0, 1, closed="right")],
        "initial_scale": [Interval(Real, 0, None, closed="neither")],
        "initial_metric": [StrOptions({"auto", "identity", "variance"}), "array-like"],
        "exclusion_radius": [Interval(Real, 0, None, closed="neither"), None],
        "covariance_cap": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [str, callable],
        "degree": [StrOptions({"auto"}), Interval(Integral, 0, 2, closed="both")],
        "ridge": [StrOptions({"loo"}), Interval(Real, 0, None, closed="left")],
        "max_neighbors": [Interval(Integral, 2, None, closed="left"), None],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
    }

    def __init__(
        self,
        strategy: str = "field",
        *,
        schedule: Any = "ess",
        n_iter: int | None = None,
        n_subsamples: int = 300,
        momentum: float = 0.5,
        initial_scale: float = 0.2,
        initial_metric: Any = "auto",
        exclusion_radius: float | None = None,
        covariance_cap: float | None = None,
        kernel: Any = "gaussian",
        degree: Any = "auto",
        ridge: Any = "loo",
        max_neighbors: int | None = 1000,
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
    ) -> None:
        self.strategy = strategy
        self.schedule = schedule
        self.n_iter = n_iter
        self.n_subsamples = n_subsamples
        self.momentum = momentum
        self.initial_scale = initial_scale
        self.initial_metric = initial_metric
        self.exclusion_radius = exclusion_radius
        self.covariance_cap = covariance_cap
        self.kernel = kernel
        self.degree = degree
        self.ridge = ridge
        self.max_neighbors = max_neighbors
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose

    def fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit to n points.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,) or (n, K)
        sample_weight : array-like of shape (n,) or None, default=None
            Weight 2 counts like a row given twice, so the scale matters: weights that say how certain a row
            is should be divided by their mean first. Rows of weight 0 are left out.

        Returns
        -------
        self
        """
        before = dict(vars(self))
        try:
            return self._fit(X, y, sample_weight)
        except BaseException:  # also Ctrl-C: leave the estimator as it was
            self.__dict__.clear()
            self.__dict__.update(before)
            raise

    def _fit(self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None) -> Self:
        self._validate_params()
        X, y = validate_data(
            self, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
        )
        X, y = np.asarray(X), np.asarray(y, dtype=np.float64)
        rows = distinct_rows(X, y.reshape(len(y), -1), _shares(sample_weight, X))
        if len(rows.share) < 2 and rows.share.sum() < 2:
            raise ValueError(
                f"sample_weight leaves {len(rows.share)} row of positive weight, but at least 2 are needed"
            )
        model = Model.fit(rows.X, rows.y, rows.share, self._settings())
        self._model, self._flat_output = model, y.ndim == 1
        self.choice_ = model.choice
        self.initial_metric_ = model.initial_metric
        if model.loo_residuals is not None:
            residuals = np.where(rows.position[:, None] < 0, np.nan, model.loo_residuals[rows.position])
            self.loo_residuals_ = residuals[:, 0] if self._flat_output else residuals
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: ArrayLike) -> Array:
        """Predict labels of q points, an array of shape (q,) or (q, K)."""
        return self._fits(X, full=False).value

    def localize(self, X: ArrayLike, *, trace: bool = False) -> LocalFits:
        """Fit at q points and tell all: predictions, gradients, metrics and how they came about.

        Parameters
        ----------
        X : array-like of shape (q, D)
        trace : bool, default=False
            Whether to record every step of the recursion.

        Returns
        -------
        LocalFits
        """
        return self._fits(X, full=True, trace=trace)

    @staticmethod
    def paper_parameters() -> dict[str, Any]:
        """Return the paper's setting, to be given to the constructor with ``**``."""
        return {
            "strategy": "query",
            "schedule": "power",
            "n_iter": 150,
            "n_subsamples": 300,
            "momentum": 0.7,
            "initial_scale": 0.2,
            "initial_metric": "identity",
            "exclusion_radius": 1.6,
            "degree": 1,
            "ridge": 1e-8,
            "max_neighbors": None,
        }

    def _fits(self, X: ArrayLike, *, full: bool, trace: bool = False) -> LocalFits:
        check_is_fitted(self, "_model")
        X = np.asarray(validate_data(self, X, dtype=np.float64, reset=False))
        fits = self._model.fits(
            X, full=full, trace=trace, threads=_threads(self.n_jobs), verbose=self.verbose
        )
        few = int(np.count_nonzero(fits.status == Status.FEW_NEIGHBORS))
        if few:
            warnings.warn(
                f"{few} of {len(fits)} queries have fewer than two training points within "
                f"exclusion_radius={self.exclusion_radius}; their nearest points were used",
                UserWarning,
                stacklevel=3,
            )
        return fits.single_output() if self._flat_output else fits

    def _settings(self) -> Settings:
        named = {"power": PowerLaw(), "geometric": Geometric()}
        schedule = (
            named.get(self.schedule, self.schedule) if isinstance(self.schedule, str) else self.schedule
        )
        if not (schedule == "ess" or callable(schedule) or hasattr(schedule, "effective_size")):
            raise ValueError(
                "schedule must be 'ess', 'power', 'geometric', a callable t -> bandwidth or an object "
                f"with a method effective_size(t), got {self.schedule!r}"
            )
        return Settings(
            strategy=self.strategy,
            schedule=schedule,
            n_iter=self.n_iter,
            n_subsamples=self.n_subsamples,
            momentum=self.momentum,
            initial_scale=self.initial_scale,
            initial_metric=self.initial_metric,
            exclusion_radius=self.exclusion_radius,
            covariance_cap=self.covariance_cap,
            kernel=self.kernel,
            degree=self.degree,
            ridge=self.ridge,
            max_neighbors=self.max_neighbors,
            seed=_seed(self.random_state),
            threads=_threads(self.n_jobs),
            verbose=self.verbose,
        )


def _shares(sample_weight: ArrayLike | None, X: Array) -> Array:
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weights, dtype=np.float64)


def _seed(random_state: Any) -> int:
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.SeedSequence().generate_state(1)[0])


def _threads(n_jobs: int | None) -> int:
    from joblib import cpu_count

    if n_jobs is None:
        return int(cpu_count())
    if n_jobs == 0:
        raise ValueError(
            "n_jobs must be None, a positive number of threads or negative as in joblib, got 0"
        )
    return n_jobs if n_jobs > 0 else max(1, int(cpu_count()) + 1 + n_jobs)
