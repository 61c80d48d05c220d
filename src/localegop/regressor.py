"""LocalEGOPRegressor: parameters, validation and outputs in scikit-learn's manner. No numerics here."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from functools import cached_property
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from localegop._data.inputs import count_threads, is_lazy, read_queries
from localegop._engine.query_sampling import WEIGHTINGS
from localegop._estimator import LocalEGOPEstimator
from localegop._explain.subspace import ActiveSubspace, find_subspace
from localegop._predict.model import Requested
from localegop._predict.uncertainty import check_coverage, expect_deviation, interval_widths
from localegop._progress import Callback, ProgressBar
from localegop.results import LocalFits

Array = NDArray[np.float64]


class LocalEGOPRegressor(RegressorMixin, LocalEGOPEstimator):  # type: ignore[misc]
    """Local regression in neighborhoods that learn the directions in which f varies.

    Near each point the method learns a metric from the averaged outer product of local gradients (AGOP),
    shrinks the neighborhood where the function varies and stretches it where it does not, and predicts
    with a final fit there, polynomial or kriging. The default is *field Local EGOP*; *Algorithm 1* of the
    paper is what :meth:`paper_parameters` gives.

    Parameters
    ----------
    strategy : {"field", "query"}, default="field"
        "field", field Local EGOP, learns gradients once, in ``fit``, at some thousand of the training
        points, or all if there are fewer, after which a prediction takes milliseconds. With "query" every
        query runs a recursion of its own, with regressions at points sampled around it, as in Algorithm 1;
        with :meth:`paper_parameters` it is Algorithm 1, with other parameters a variant of it.
    schedule : {"effective_size", "power", "geometric"} or object, default="effective_size"
        How neighborhoods shrink. "effective_size" aims at effective sample sizes and needs no units;
        "power" and "geometric" are bandwidths in the units of the (initially scaled) features. An object is
        a callable t -> bandwidth or has a method ``effective_size(t)``; see :mod:`localegop.schedules`.
    n_iter : int or None, default=None
        Steps of the recursion; None means 4 with effective sizes and 150 with bandwidths. The final fit
        may use fewer: the number that predicts best is chosen.
    n_subsamples : int, default=300
        m, the local fits per step of the query strategy.
    weighting : {"unbiased", "uniform", "renormalized", "literal"}, default="unbiased"
        What a sampled point counts in the AGOP and in the leave-one-out error of a step of the query
        strategy: its weight divided by the probability of having been sampled; one; its weight, divided by
        the sum over the sample; or its weight among all points, as lines 12 and 13 of Algorithm 1 say.
        The field strategy samples nothing and takes the default only.
    momentum : float, default=0.5
        Weight in (0, 1] of the newest AGOP in the next metric: against the AGOP before, as in Algorithm 1,
        with bandwidths; against the metric that led to it, with effective sizes.
    initial_scale : float, default=0.2
        With bandwidths, the first metric is the identity divided by this.
    initial_metric : {"auto", "identity", "variance", "power"} or array, default="auto"
        Scale of the features at the start: as they are, divided by their standard deviations, the same
        after an increasing transform that takes out the skew and the far tails of the features that have
        them, or a metric given as a vector or matrix. "auto" takes the best of the names, by the
        leave-one-out error of isotropic fits, and "power" only if it is clearly better; the field strategy
        with effective sizes then turns and scales the axes by the slopes that f has over all data, and
        leaves out directions in which it varies nowhere if that helps at held-out points.
    exclusion_radius : float or None, default=None
        Points farther than this from a center, in the scaled features, are ignored.
    covariance_cap : float or None, default=None
        Largest variance of a localization in any direction, in the scaled features.
    kernel : str or callable, default="gaussian"
        "gaussian", "epanechnikov", "biweight", "triweight", "laplace", "student", or a callable that maps
        an array of squared distances to weights (slower, one thread). "student", (1 + u)^-2, has tails so
        heavy that with two features or more its second moment is infinite: far points count much, and what
        the paper says about other kernels does not apply to it.
    degree : {"auto", 0, 1, 2}, default="auto"
        Degree of the final fit. Degree 2 adds products of the leading learned directions with all
        features. "auto" chooses between 1 and 2 (query strategy: 1).
    ridge : float or "auto", default="auto"
        Ridge of the local fits relative to the local variance of the features; "auto" takes the best of a
        grid at points left out.
    final : {"auto", "polynomial", "kriging", "global"}, default="auto"
        The final fit: a local polynomial of the ``degree`` above; kriging, a Gaussian process of up to 200
        neighbors in the learned metric, whose length, ridge, trend (linear or none) and covariance
        (Gaussian or exponential) are chosen at held-out points; or "global", one Gaussian process of all
        rows, up to 20,000 of them (from 2,500 on made of few functions), in one metric that is learned from
        the slopes of f. "auto" takes what has
        the smallest error at held-out points; polynomials if a ``degree`` is given. Global processes take
        part only where no parameter limits what a fit may look at. The query strategy knows polynomials
        only.
    max_neighbors : int, "auto" or None, default="auto"
        A center looks at its nearest this many points only, which makes its cost independent of n. "auto"
        means 1,000, and all (32,768 if there are more than 131,072) for the final fit where wider
        neighborhoods do better at held-out points, as with very many rows and noisy labels. None means all
        points.
    loss : {"squared", "huber"}, default="squared"
        With "huber", labels that lie far from what the rows around them say count less, and those that are
        far out count for nothing: rows get robustness weights from the residuals that they have when they
        are left out, and the fit is repeated with them: some twice the time, and a fit at every row. For
        labels of which some are wrong, or with noise of heavy tails. With several outputs and
        ``outputs="shared"`` a row counts less if any of its labels is far out. Intervals then hold a share
        of the labels that are not outlying.
    outputs : {"shared", "separate"}, default="shared"
        With several outputs, one metric for all of them (from the sum of their AGOPs) or one for each.
    missing : {"error", "drop"}, default="error"
        What ``fit`` does about rows with missing values (NaN) in X or y.
    random_state : int, RandomState instance or None, default=0
        Seed of the held-out folds and of the samples of the query strategy.
    n_jobs : int or None, default=None
        Threads; None means all processors, or what joblib, threadpoolctl or ``OMP_NUM_THREADS`` allows.
        Results do not depend on it. A number limits the threads of BLAS too while a call runs, in the whole
        process; of calls that run at the same time the smallest number counts, and after the last one
        everything is as before.
    verbose : int, default=0
        Whether to show a progress bar with the time left, on standard error.
    callback : callable or None, default=None
        Told about progress as ``callback(done, total, what)``: whole numbers of which ``done`` rises from 0
        and reaches ``total`` only when a fit or prediction is complete, and words for what is being done.
        It is called in the thread that called ``fit``; an exception it raises stops the work and leaves the
        estimator as it was. It is no part of a saved model.

    Attributes
    ----------
    n_features_in_ : int
    n_samples_ : int
        Rows given to ``fit``.
    output_names_ : tuple of str
        Names of the columns of y, or "y", or "y0", "y1", ...
    feature_names_in_ : ndarray of shape (D,)
        Only if X had them.
    columns_ : object
        How the columns of a table became features: categories, dates, what is filled in. Only if the model
        was fitted by ``localegop fit`` with such columns.
    feature_importances_ : ndarray of shape (D,)
        What :meth:`global_importance` returns, under the name that scikit-learn's tools look for (field
        strategy).
    choice_ : Choice
        What was chosen at held-out points: the number of steps, the effective size of the neighborhoods,
        the final fit with its constants (a polynomial or kriging), and its mean squared error there as a
        fraction of the label variance; see :class:`localegop.Choice`. With the query strategy every query
        chooses its own step, at most this one. With ``outputs="separate"`` a tuple of them.
    initial_metric_ : str or ndarray
        What "auto" found: a name, or the matrix of the axes that slopes gave, for transformed features if
        there are any; with ``outputs="separate"`` a tuple.
    gain_over_isotropic_ : float
        Mean squared error of isotropic local linear regression over that of this model, at the same
        held-out points (field strategy). Near 1 the learned metric does not help: isotropic local linear
        would do as well. NaN if nothing was held out, as with the query strategy; with
        ``outputs="separate"`` a tuple.
    loo_residuals_ : ndarray of shape (n,) or (n, K)
        Label minus leave-one-out prediction at the training points (field strategy); NaN at weight 0. Found
        when it is first asked for, which takes a fit at every row.
    robustness_weights_ : ndarray of shape (n,), or (n, K) with ``outputs="separate"``
        How much each training row counted beside its weight, with ``loss="huber"``: 1 for most, less the
        farther its label is from what the rows around it say, 0 where that is an outlier; 1 for all with
        the squared loss. NaN at weight 0.

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
        **LocalEGOPEstimator._parameter_constraints,
        "strategy": [StrOptions({"field", "query"})],
        "n_subsamples": [Interval(Integral, 1, None, closed="left")],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "final": [StrOptions({"auto", "polynomial", "kriging", "global"})],
        "loss": [StrOptions({"squared", "huber"})],
        "outputs": [StrOptions({"shared", "separate"})],
    }

    def __init__(
        self,
        strategy: str = "field",
        *,
        schedule: Any = "effective_size",
        n_iter: int | None = None,
        n_subsamples: int = 300,
        weighting: str = "unbiased",
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
        loss: str = "squared",
        outputs: str = "shared",
        missing: str = "error",
        random_state: Any = 0,
        n_jobs: int | None = None,
        verbose: int = 0,
        callback: Callback | None = None,
    ) -> None:
        self.strategy = strategy
        self.schedule = schedule
        self.n_iter = n_iter
        self.n_subsamples = n_subsamples
        self.weighting = weighting
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
        self.loss = loss
        self.outputs = outputs
        self.missing = missing
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.verbose = verbose
        self.callback = callback

    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None = None,
        gradients: ArrayLike | None = None,
        directions: ArrayLike | None = None,
    ) -> Self:
        """Fit to n points.

        Parameters
        ----------
        X : array-like of shape (n, D)
        y : array-like of shape (n,) or (n, K)
        sample_weight : array-like of shape (n,) or None, default=None
            Weight 2 counts like a row given twice, so the scale matters: weights that say how certain a row
            is should be divided by their mean first. Rows of weight 0 are left out.
        gradients : array-like of shape (n, D) or (n, K, D), or None, default=None
            Derivatives of the labels with respect to the features, in the units of y and X, where they are
            known, as from an adjoint solver or automatic differentiation; NaN where one is not. They
            suggest axes and join local polynomial fits and, up to some thousand rows, a process of all
            rows as equations of their own, if that lowers the error at held-out rows: so useless or wrong
            ones do next to no harm.
            With several outputs a slope counts if it is known for all. Slopes of a constant column are
            ignored, and where all are NaN it is as if none were given. Needs the field strategy.
        directions : array-like of shape (n, m, D), or None, default=None
            Directions in the space of features along which slopes are known, where these are not those of
            the features: ``gradients`` then has the shape (n, m) or (n, K, m), one slope for each
            direction, for a step of its length. So forces on atoms serve in any descriptor of a molecule
            (:func:`localegop.datasets.inverse_distances`). Rows may have fewer directions than others if
            the slopes of the rest are NaN.

        Returns
        -------
        self
        """
        return self._fit_afresh(X, y, sample_weight, gradients, directions)

    @cached_property
    def loo_residuals_(self) -> Array:
        """Label minus leave-one-out prediction at the training points, found when it is first asked for."""
        check_is_fitted(self, "_models")
        view = self._snapshot()
        threads = count_threads(view.n_jobs)
        found = [model.with_threads(threads).loo_residuals for model in view._models]
        residuals = [each for each in found if each is not None]
        if not residuals:
            raise AttributeError(f"strategy={view.strategy!r} leaves no residuals at the training points")
        together: Array = np.hstack(residuals)
        return together[:, 0] if view._flat_output else together

    @property
    def robustness_weights_(self) -> Array:
        """How much each training row counted beside its weight: 0 where its label is outlying."""
        check_is_fitted(self, "_models")
        weights = [model.robustness_weights for model in self._models]
        return np.stack(weights, axis=1) if self.outputs == "separate" else weights[0]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.target_tags.multi_output = True
        return tags

    def predict(self, X: ArrayLike, return_std: bool = False, exact: bool = False) -> Any:
        """Predict labels of q points.

        Where that does not raise the error at held-out points, which ``fit`` has found out, predictions are
        blended from fits kept at training points, which is many times faster than a fit at every query.

        Parameters
        ----------
        X : array-like of shape (q, D)
        return_std : bool, default=False
            Whether to return the standard errors of the predictions too: how much they would vary with
            other noise in the labels, and beyond the training rows how far f may have moved on the way.
            How far labels lie from predictions: :meth:`predict_interval`.
        exact : bool, default=False
            Whether to make a fit at every query, as :meth:`localize`, :meth:`predict_interval` and
            ``return_std`` always do.

        Returns
        -------
        y : ndarray of shape (q,) or (q, K)
            Lazy for a dask array or dataframe X: this model is sent to its blocks. So are the answers of
            :meth:`predict_interval` and :meth:`localize`.
        std : ndarray like y
            Only with ``return_std``.

        Warns
        -----
        ExtrapolationWarning
            Once a call, if queries lie beyond the training rows: how many, and which is the farthest
            (:attr:`LocalFits.remoteness` tells it for each). Lazy answers do not warn.
        """
        requested = Requested(blended=not (exact or return_std), uncertainty=return_std)
        if is_lazy(X):
            return self._lazy_answers(X, requested).predicted(return_std)
        fits = self._fits(X, requested)
        return (fits.value, fits.std) if return_std else fits.value

    def predict_interval(self, X: ArrayLike, coverage: ArrayLike = 0.9) -> Any:
        """Predict intervals that hold a new label with the given probability.

        The width follows the local noise, and how far the rows are that the fit uses and how badly they
        surround the query. How many times as wide an interval is has been calibrated with the residuals of
        points left out, alone and with whole blocks of rows around them, so no distribution is assumed.

        Parameters
        ----------
        X : array-like of shape (q, D)
        coverage : float or sequence of k floats, default=0.9
            Probabilities between 0 and 1.

        Returns
        -------
        ndarray of shape (q, 2), or (q, k, 2) for a sequence of coverages
            Lower and upper ends. With K outputs (q, K, 2) or (q, K, k, 2).
        """
        check_is_fitted(self, "_decisions")
        view = self._snapshot()
        levels, requested = check_coverage(coverage), Requested(uncertainty=True)
        with view._own_threads():
            multipliers = [model.multipliers(levels) for model in view._models]
        if is_lazy(X):
            return view._lazy_answers(X, requested).intervals(coverage, multipliers)
        return view._interval(view._fits(X, requested), coverage, multipliers)

    def _interval(self, fits: LocalFits, coverage: ArrayLike, multipliers: Sequence[Array]) -> Array:
        """Intervals around fits, from the multipliers (3, k, K) of each model."""
        parts = [fits.output(k) for k in range(len(self.output_names_))]
        scale = np.concatenate([decisions.units.label_scale for decisions in self._decisions])
        noise = np.concatenate(
            [
                expect_deviation(part.noise[:, None] / unit, part.variance_factor) * unit
                for part, unit in zip(parts, scale, strict=True)
            ],
            axis=1,
        )
        gap, drift = (
            np.stack([getattr(part, name) for part in parts], axis=1) for name in ("gap_error", "drift")
        )
        half = interval_widths(noise, gap, drift, np.concatenate(multipliers, axis=2))
        if np.isinf(half).any():
            warnings.warn(
                f"coverage={coverage!r} asks for more than {self.n_samples_} training rows can tell; such "
                "intervals are infinite",
                UserWarning,
                stacklevel=3,
            )
        center = np.stack([part.value for part in parts], axis=1)[:, :, None]
        interval = np.stack([center - half, center + half], axis=-1)
        if np.ndim(coverage) == 0:
            interval = interval[:, :, 0]
        return interval[:, 0] if self._flat_output else interval

    def predict_gradient(self, X: ArrayLike, return_std: bool = False) -> Any:
        """Predict gradients of q points: the derivatives of what :meth:`predict` answers.

        For optimizers and sensitivities. The derivative is exact where predictions are blended or come from
        a process of all rows; beyond the training rows it is found by differences of predictions. Where
        every query has a local fit of its own (``predict`` then jumps a little where neighbors come and
        go), it is the slope of that fit. Where predictions bend at the values of training rows
        (``choice_.final.kind`` is "jagged"), it is the mean of the slopes on both sides there.
        :meth:`localize` tells gradients averaged over the choices that came close, which explain f better
        and are no derivative of any one predictor.

        Parameters
        ----------
        X : array-like of shape (q, D)
        return_std : bool, default=False
            Whether to return standard errors too, those of :meth:`localize`: how much gradients vary with
            the noise of the labels, from fits to halves of the rows.

        Returns
        -------
        gradient : ndarray of shape (q, D), or (q, K, D)
            In the units of y and X.
        std : ndarray like gradient
            Only with ``return_std``.
        """
        check_is_fitted(self, "_models")
        view = self._snapshot()
        queries, threads = read_queries(view, X), count_threads(view.n_jobs)
        with view._own_threads(), ProgressBar("predict", view.verbose, view.callback) as progress:
            parts = [
                model.with_threads(threads).gradients(queries, stretch)
                for model, stretch in zip(view._models, progress.parts(len(view._models)), strict=True)
            ]
        together = np.concatenate(parts, axis=1)
        gradient = together[:, 0] if view._flat_output else together
        return (gradient, self.localize(X, errors=True).gradient_std) if return_std else gradient

    def active_subspace(self, k: int = 2) -> ActiveSubspace:
        """Find the k directions along which f varies most over all training points.

        Parameters
        ----------
        k : int, default=2
            Number of directions, at most that of the features.

        Returns
        -------
        ActiveSubspace
            Eigenvalues of the averaged outer product of gradients, with intervals, the leading directions,
            and ``transform``, which turns rows into k active variables.
        """
        check_is_fitted(self, "_models")
        if isinstance(k, bool) or not isinstance(k, Integral) or not 1 <= k <= self.n_features_in_:
            raise ValueError(
                f"k must be a whole number from 1 to {self.n_features_in_}, the number of features, "
                f"got {k!r}"
            )
        if len(self._models) > 1:
            raise ValueError(
                "active_subspace needs one model, but outputs='separate' has one for each output: fit the "
                "outputs one by one, or take outputs='shared'"
            )
        model = self._models[0]
        if self.strategy == "query" or model.features is None:
            raise ValueError(f"active_subspace is not possible: {self._why_no_errors()}")
        with self._own_threads():
            found = model.with_threads(count_threads(self.n_jobs))
            return find_subspace(found, int(k), self._feature_names(), model.decisions.settings.seed)

    @staticmethod
    def paper_parameters() -> dict[str, Any]:
        """Return the parameters of Algorithm 1 with the paper's constants, for the constructor with ``**``.

        The estimator then follows Algorithm 1 line by line, as :func:`localegop.reference.local_egop` does;
        what both add is a ridge of 1e-8, without which regressions on few points have no solution.
        """
        return {
            "strategy": "query",
            "schedule": "power",
            "n_iter": 150,
            "n_subsamples": 300,
            "weighting": "literal",
            "momentum": 0.7,
            "initial_scale": 0.2,
            "initial_metric": "identity",
            "exclusion_radius": 1.6,
            "degree": 1,
            "ridge": 1e-8,
            "max_neighbors": None,
        }
