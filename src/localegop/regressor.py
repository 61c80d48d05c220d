"""LocalEGOPRegressor: parameters, validation and outputs in scikit-learn's manner. No numerics here."""

from __future__ import annotations

import os
import warnings
from collections.abc import Sequence
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from functools import cached_property
from importlib.metadata import version
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, RegressorMixin
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from localegop._data import archive
from localegop._data.inputs import (
    count_threads,
    distinct_rows_to_fit,
    is_lazy,
    name_outputs,
    read_gradients,
    read_incomplete_rows,
    read_queries,
    read_rows,
    seed_from,
    warn_of_few_rows,
)
from localegop._data.table_columns import Columns
from localegop._engine.blas import limited_blas
from localegop._engine.query_sampling import WEIGHTINGS
from localegop._engine.settings import Settings
from localegop._explain.explainer import Explainer
from localegop._explain.overall import Overall, correlations_of
from localegop._explain.replicas import FEWEST_ROWS
from localegop._explain.subspace import ActiveSubspace, find_subspace
from localegop._fit.plan import fit_model
from localegop._predict.file_rules import check_file
from localegop._predict.model import Requested
from localegop._predict.parameters import decode_parameters, encode_parameters
from localegop._predict.storage import check_saved, pack_model, unpack_model
from localegop._predict.uncertainty import check_coverage, expect_deviation, interval_widths
from localegop._progress import Callback, ProgressBar
from localegop._selection.isotropic_baseline import gain
from localegop._summary import summarize
from localegop.results import (
    ExtrapolationWarning,
    FeatureGroup,
    LocalFits,
    Status,
    importance_frame,
    stack_outputs,
)
from localegop.schedules import Geometric, PowerLaw

if TYPE_CHECKING:
    from localegop._explorer.explorer import Explorer

Array = NDArray[np.float64]

NO_ERRORS = "a fit on a cluster keeps no rows as given; fit a LocalEGOPRegressor"


class LocalEGOPRegressor(RegressorMixin, BaseEstimator):  # type: ignore[misc]
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
        rows, up to 2,500 of them, in one metric that is learned from the slopes of f. "auto" takes what has
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
        "strategy": [StrOptions({"field", "query"})],
        "schedule": [StrOptions({"effective_size", "power", "geometric"}), object],
        "n_iter": [Interval(Integral, 0, None, closed="left"), None],
        "n_subsamples": [Interval(Integral, 1, None, closed="left")],
        "weighting": [StrOptions(set(WEIGHTINGS))],
        "momentum": [Interval(Real, 0, 1, closed="right")],
        "initial_scale": [Interval(Real, 0, None, closed="neither")],
        "initial_metric": [StrOptions({"auto", "identity", "variance", "power"}), "array-like"],
        "exclusion_radius": [Interval(Real, 0, None, closed="neither"), None],
        "covariance_cap": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [str, callable],
        "degree": [StrOptions({"auto"}), Interval(Integral, 0, 2, closed="both")],
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "final": [StrOptions({"auto", "polynomial", "kriging", "global"})],
        "max_neighbors": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"}), None],
        "loss": [StrOptions({"squared", "huber"})],
        "outputs": [StrOptions({"shared", "separate"})],
        "missing": [StrOptions({"error", "drop"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [callable, None],
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
            suggest axes and, up to some thousand rows, join a process of all rows as equations of their
            own, if that lowers the error at held-out rows: so useless or wrong ones do next to no harm.
            With several outputs a slope counts if it is known for all. Slopes of a constant column are
            ignored, and where all are NaN it is as if none were given. Needs the field strategy.

        Returns
        -------
        self
        """
        fresh = self._snapshot()
        for name in [name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")]:
            delattr(fresh, name)  # of an earlier fit
        with fresh._own_threads():
            fresh._fit(X, y, sample_weight, gradients)
        # At once: others may be predicting meanwhile, and a fit that fails leaves all as it was.
        self.__dict__ = fresh.__dict__
        return self

    def _snapshot(self) -> Self:
        """Return this estimator as it is now, which another fit does not change."""
        view = object.__new__(type(self))
        view.__dict__ = dict(vars(self))
        return view

    def _fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        gradients: ArrayLike | None,
    ) -> Self:
        self._validate_params()
        settings = self._settings()
        features, labels, weight = self._checked(X, y, sample_weight)
        slopes = self._given_gradients(gradients, features, labels)
        columns = labels.reshape(len(labels), -1)
        parts = [[k] for k in range(columns.shape[1])] if self.outputs == "separate" else [slice(None)]
        rows = [
            distinct_rows_to_fit(
                features, columns[:, part], weight, None if slopes is None else slopes[:, part]
            )
            for part in parts
        ]
        warn_of_few_rows(min(len(one.X) for one in rows))
        with ProgressBar("fit", self.verbose, self.callback) as progress:
            stretches = progress.parts(len(rows))
            self._models = [
                fit_model(one, settings, stretch) for one, stretch in zip(rows, stretches, strict=True)
            ]
        self._decisions = [model.decisions for model in self._models]
        self._flat_output = labels.ndim == 1
        self.n_samples_ = len(features)
        self.output_names_ = name_outputs(y, columns.shape[1], self._flat_output)
        self._publish()
        return self

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array]:
        """Features, labels and weights as arrays; rows to be left out have weight 0."""
        if self.missing == "drop":
            return read_incomplete_rows(self, X, y, sample_weight)
        return read_rows(self, X, y, sample_weight)

    def _given_gradients(self, gradients: ArrayLike | None, X: Array, y: Array) -> Array | None:
        """Gradients (n, K, D) that were given with the rows, or None."""
        if gradients is not None and self.strategy == "query":
            raise ValueError(
                "gradients need strategy='field', got strategy='query', which learns nothing before "
                "a query comes: take strategy='field', or leave gradients=None"
            )
        return read_gradients(gradients, X, y)

    def _publish(self) -> None:
        """Set the fitted attributes that tell what was decided."""
        single = len(self._decisions) == 1
        choices = tuple(decisions.choice for decisions in self._decisions)
        metrics = tuple(decisions.initial_metric for decisions in self._decisions)
        self.choice_ = choices[0] if single else choices
        self.initial_metric_ = metrics[0] if single else metrics
        gains = tuple(gain(each.isotropic_error, each.choice.error) for each in self._decisions)
        self.gain_over_isotropic_ = gains[0] if single else gains
        self.__dict__.pop("_kept_explainers", None)  # of an earlier fit

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
        """Intervals around fits, from the multipliers (2, k, K) of each model."""
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
        go), it is the slope of that fit. :meth:`localize` tells gradients averaged over the choices that
        came close, which explain f better and are no derivative of any one predictor.

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

    def localize(self, X: ArrayLike, *, trace: bool = False, errors: bool | None = None) -> LocalFits:
        """Fit at q points and tell all: predictions, gradients, metrics and how they came about.

        Under noise several choices are about equally good, and which of them a fit takes is chance. So
        gradients, AGOPs and all that follows from them are averages over the choices that came close, and
        have standard errors, found by repeating the fit on halves of the rows. The first call learns these
        fits, which takes about as long as ``fit``; values and metrics are those of the model itself.

        Parameters
        ----------
        X : array-like of shape (q, D)
        trace : bool, default=False
            Whether to record every step of the recursion.
        errors : bool or None, default=None
            Whether to average and to find standard errors. False is faster and tells the gradients of the
            model itself. None means True where it can be done: with the field strategy, from 20 rows on,
            unless X is lazy.

        Returns
        -------
        LocalFits
            For a dask array or dataframe, a list of lazy ones, one a block; None where a block is empty.
        """
        requested = Requested(uncertainty=True, everything=True, trace=trace)
        if is_lazy(X):
            if errors:
                raise ValueError("errors=True needs X in memory, got a lazy one: compute it first")
            return cast(LocalFits, self._lazy_answers(X, requested).fits)
        check_is_fitted(self, "_decisions")
        return self._fits(X, replace(requested, errors=self._with_errors(errors)))

    def global_importance(
        self, return_std: bool = False, *, as_frame: bool = False, errors: bool | None = None
    ) -> Any:
        """Share (D,) of each feature in the squared slope of f, averaged over the training points.

        Features are compared per standard deviation; the shares sum to one. As in :meth:`localize`, they
        are averages over the choices that came close, unless ``errors=False``. Needs the field strategy,
        which has gradients at the training points; zero everywhere if f is flat. Of features that move
        together see :meth:`grouped_importance`.

        Parameters
        ----------
        return_std : bool, default=False
            Whether to return standard errors too.
        as_frame : bool, default=False
            Whether to return a pandas DataFrame with the column ``importance``, and ``importance_std`` with
            ``return_std``, one row a feature, the most important first.
        errors : bool or None, default=None
            Whether to average and to find standard errors, as in :meth:`localize`. False takes no time.

        Returns
        -------
        importance : ndarray of shape (D,), or DataFrame
        std : ndarray of shape (D,)
            Only with ``return_std`` and not as a DataFrame; NaN if they are not known.
        """
        return self._told(*self._overall(errors).importance(), return_std, as_frame)

    def grouped_importance(self, correlation: float = 0.8) -> list[FeatureGroup]:
        """Tell the importance of groups of features that move together, the largest first.

        Of features that move together any may carry the slope, so their single shares are exchangeable. A
        group's share is that of the squared changes of f when its features move as they do together, which
        does not depend on which of them carries the slope.

        Parameters
        ----------
        correlation : float, default=0.8
            Features whose correlation is at least as large, whatever its sign, belong to one group.

        Returns
        -------
        list of FeatureGroup
        """
        if not 0.0 < correlation <= 1.0:
            raise ValueError(f"correlation must lie in (0, 1], got {correlation!r}")
        overall, model = self._overall(), self._models[0]
        if model.features is None:
            raise ValueError(f"grouped_importance is not possible: {self._why_no_errors()}")
        return overall.groups(self._feature_names(), correlations_of(model), correlation)

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

    def _with_errors(self, errors: bool | None) -> bool:
        """Whether to average explanations and find their errors: as asked, or if it can be done."""
        known = all(one.knows_errors for one in self._explainers)
        if errors and not known:
            raise ValueError(f"errors=True is not possible: {self._why_no_errors()}")
        return known if errors is None else errors

    def _overall(self, errors: bool | None = None) -> Overall:
        """Return what explains the model over all training rows."""
        check_is_fitted(self, "_decisions")
        if self.strategy == "query":
            raise ValueError(
                "global_importance needs gradients at the training points, which strategy='query' does "
                "not learn: use strategy='field', or average localize(X).importance"
            )
        if not self._with_errors(errors):
            return Overall.alone(self._models)
        self._prepare_explainers()
        return Overall.of(self._explainers)

    def _told(self, shares: Array, std: Array, return_std: bool, as_frame: bool) -> Any:
        """Return shares of features and their standard errors, as arrays or as a table."""
        shares = np.nan_to_num(shares)
        if as_frame:
            return importance_frame(shares, self._feature_names(), std if return_std else None)
        return (shares, std) if return_std else shares

    @property
    def feature_importances_(self) -> Array:
        """What :meth:`global_importance` returns; the query strategy has none."""
        check_is_fitted(self, "_decisions")
        if self.strategy == "query":
            raise AttributeError(
                "strategy='query' has no feature_importances_: use strategy='field', or average "
                "localize(X).importance"
            )
        return cast(Array, self.global_importance())

    def _feature_names(self) -> tuple[str, ...]:
        """Names of the features, made up where X had none.

        Tools that call ``predict`` with arrays set ``feature_names_in_`` of a copy to None (SHAP does).
        """
        given = getattr(self, "feature_names_in_", None)
        return tuple(map(str, [f"x{j}" for j in range(self.n_features_in_)] if given is None else given))

    @property
    def _explainers(self) -> list[Explainer]:
        """Return what explains the models; kept, as it learns something when it is first needed."""
        kept: list[Explainer] | None = vars(self).get("_kept_explainers")
        if kept is None:
            kept = self._kept_explainers = [Explainer(model) for model in self._models]
        return kept

    def _prepare_explainers(self) -> None:
        """Learn now what explanations need."""
        missing = [one for one in self._explainers if not one.is_ready]
        if not missing:
            return
        threads = count_threads(self.n_jobs)
        with self._own_threads(), ProgressBar("explain", self.verbose, self.callback) as progress:
            for one, stretch in zip(missing, progress.parts(len(missing)), strict=True):
                one.prepare(threads, stretch)

    def _why_no_errors(self) -> str:
        """Say why standard errors of explanations cannot be had."""
        if self.strategy == "query":
            return "strategy='query' learns nothing at the training points; use strategy='field'"
        if any(model.features is None for model in self._models):
            return NO_ERRORS
        return f"it takes {FEWEST_ROWS} different rows"

    def summary(self) -> str:
        """Tell in plain words what was fitted, what was chosen and how well it did: text to print.

        Rows, features, units, neighborhoods, the final fit, its error at held-out rows and the gain over
        round neighborhoods, noise, rows that lie very far out, outlying labels, and what to read next.
        """
        check_is_fitted(self, "_decisions")
        return summarize(self)

    def explore(
        self,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        view: str = "scatter",
        title: str | None = None,
    ) -> Explorer:
        """Look into predictions on a page: shown in a notebook, served to a browser, or written to a file.

        Parameters
        ----------
        X : array-like of shape (q, D), optional
            Rows to look at, of which at most 5,000 are shown; by default the training rows.
        y : array-like of shape (q,) or (q, K), optional
            Their labels, if known.
        coverage : float, default=0.9
            Of the intervals.
        view : {"scatter", "image", "table"}, default="scatter"
            What to start with; "image" shows rows that lie on a grid as pixels.
        title : str, optional

        Returns
        -------
        Explorer
            Shows itself in a notebook; has the methods ``serve()`` and ``save(path)``.
        """
        check_is_fitted(self, "_models")
        from localegop._explorer.explorer import Explorer

        return Explorer(self._snapshot(), X, y, coverage=coverage, view=view, title=title)

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a file that :meth:`load` reads: arrays and JSON, no pickle.

        Kernels and schedules that are user-defined code cannot be saved this way.
        """
        header = self._header()
        arrays: dict[str, Array] = {}
        for k, model in enumerate(self._models):
            about, parts = pack_model(model, f"{k}_")
            header["models"].append(about)
            arrays |= parts
        check_saved(header, arrays, self._decisions, self._parameter_constraints)
        archive.write(path, header, arrays)

    def _header(self) -> dict[str, Any]:
        """Return what a file has to say beside the models."""
        check_is_fitted(self, "_decisions")
        seed = self._decisions[0].settings.seed
        names = getattr(self, "feature_names_in_", None)
        return {
            "localegop": version("localegop"),
            "parameters": encode_parameters(self.get_params(deep=False), seed),
            "n_samples": self.n_samples_,
            "n_features": self.n_features_in_,
            "flat_output": self._flat_output,
            "output_names": list(self.output_names_),
            "feature_names": None if names is None else names.tolist(),
            "models": [],
            "columns": None if self._columns() is None else self._columns().encode(),
        }

    def _columns(self) -> Any:
        """How a table became the features, which the command line sets; None where nobody has said."""
        return getattr(self, "columns_", None)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model that :meth:`save` wrote.

        A file that is damaged, cut short or something else raises a ValueError that says so. No code from
        the file is run, whoever made it.
        """
        header, arrays = archive.read(path)
        with archive.explained(path):
            check_file(header, arrays)
            model = cls(**decode_parameters(header["parameters"], cls._parameter_constraints))
            model._validate_params()
            model._restore(header, arrays)
        return model

    def _restore(self, header: dict[str, Any], arrays: dict[str, Array]) -> None:
        settings = self._settings()
        self._models = [
            unpack_model(about, arrays, f"{k}_", settings, header["n_samples"])
            for k, about in enumerate(header["models"])
        ]
        self._decisions = [model.decisions for model in self._models]
        self._restore_names(header)

    def _restore_names(self, header: dict[str, Any]) -> None:
        """Set what does not concern single models, and check that these fit to it."""
        self._flat_output = header["flat_output"]
        self.n_samples_ = header["n_samples"]
        self.n_features_in_ = header["n_features"]
        self.output_names_ = tuple(header["output_names"])
        if header["feature_names"] is not None:
            self.feature_names_in_ = np.array(header["feature_names"], dtype=object)
        if header.get("columns") is not None:
            self.columns_ = Columns.decode(header["columns"])
        widths = {len(decisions.units.center) for decisions in self._decisions}
        outputs = [len(decisions.units.label_scale) for decisions in self._decisions]
        together = self.outputs == "shared" or set(outputs) == {1}
        one = self.outputs == "separate" or len(outputs) == 1
        fit = widths == {self.n_features_in_} and sum(outputs) == len(self.output_names_)
        archive.require(fit and together and one, "its models do not fit together")
        self._publish()

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

    def _fits(self, X: ArrayLike, requested: Requested) -> LocalFits:
        check_is_fitted(self, "_decisions")
        _ = self._explainers if requested.errors else ()  # kept here, so that they learn only once
        view = self._snapshot()
        parts = view._raw_fits(read_queries(view, X), requested)
        if not requested.everything:  # where all is told, the status tells this too
            remoteness = np.max([part.remoteness for part in parts], axis=0)
            warning = ExtrapolationWarning.about(remoteness)
            if warning is not None:
                warnings.warn(warning, stacklevel=3)
        return view._presented(parts)

    def _lazy_answers(self, X: Any, requested: Requested) -> Any:
        """Lazy answers for blocks of queries."""
        check_is_fitted(self, "_decisions")
        from localegop.distributed.queries import map_blocks

        return map_blocks(self, X, requested)

    def _raw_fits(self, X: Array, requested: Requested) -> list[LocalFits]:
        """Fits of each model at checked queries."""
        threads = count_threads(self.n_jobs)
        bar = ProgressBar("predict", self.verbose, self.callback)
        with self._own_threads(), bar as progress:
            missing = [one for one in self._explainers if not one.is_ready] if requested.errors else []
            stretches = progress.parts(len(missing) + len(self._models))
            for one, stretch in zip(missing, stretches[: len(missing)], strict=True):
                one.prepare(threads, stretch)
            fits = [
                model.with_threads(threads).fits(X, requested, stretch)
                for model, stretch in zip(self._models, stretches[len(missing) :], strict=True)
            ]
            if not requested.errors:
                return fits
            return [one.explained(part, threads) for one, part in zip(self._explainers, fits, strict=True)]

    def _own_threads(self) -> AbstractContextManager[None]:
        """Keep BLAS to the threads of this estimator too, while it works."""
        known = self.n_jobs is None or isinstance(self.n_jobs, Integral)  # all else is refused elsewhere
        n_jobs = self.n_jobs if known and self.n_jobs != 0 else None
        return limited_blas(n_jobs, count_threads(n_jobs))

    def _presented(self, parts: list[LocalFits]) -> LocalFits:
        """Fits of all models, with names, as the user gets them."""
        names = self._feature_names()
        parts = [replace(fits, feature_names=names, output_names=self.output_names_) for fits in parts]
        few = int(np.count_nonzero(parts[0].status == int(Status.FEW_NEIGHBORS)))
        if few:
            warnings.warn(
                f"{few} of {len(parts[0])} queries have fewer than two training points within "
                f"exclusion_radius={self.exclusion_radius}; their nearest points were used",
                UserWarning,
                stacklevel=4,
            )
        if len(parts) > 1:
            alone = [
                replace(part, output_names=(name,)).output(0)
                for part, name in zip(parts, self.output_names_, strict=True)
            ]
            return stack_outputs(alone)
        return parts[0].output(0) if self._flat_output else parts[0]

    def _settings(self) -> Settings:
        """Check what single constraints do not tell, and resolve names and numbers."""
        own: dict[str, Any] = {entry.name: getattr(self, entry.name, None) for entry in fields(Settings)}
        resolved = {
            "schedule": self._schedule(),
            "seed": seed_from(self.random_state),
            "threads": count_threads(self.n_jobs),
        }
        process = self.final in ("kriging", "global")
        if process and self.strategy == "query":
            raise ValueError(
                f"final={self.final!r} needs strategy='field', got strategy='query': its length and ridge "
                "are chosen at held-out points, which the query strategy does not have; take final='auto' "
                "or 'polynomial'"
            )
        if self.weighting != "unbiased" and self.strategy == "field":
            raise ValueError(
                f"weighting={self.weighting!r} concerns the samples of strategy='query', but "
                "strategy='field' takes none: leave weighting='unbiased', or take strategy='query'"
            )
        if process and self.degree != "auto":
            raise ValueError(
                f"degree={self.degree!r} is that of a polynomial, but final={self.final!r} is none: "
                "take degree='auto' or final='polynomial'"
            )
        return Settings(**(own | resolved))

    def _schedule(self) -> Any:
        """Return the schedule as an object, "effective_size" as it is: its sizes depend on the data."""
        named = {"power": PowerLaw(), "geometric": Geometric()}
        given = self.schedule
        schedule = named.get(given, given) if isinstance(given, str) else given
        known = isinstance(given, str) and schedule == "effective_size"
        if not (known or callable(schedule) or hasattr(schedule, "effective_size")):
            raise ValueError(
                "schedule must be 'effective_size', 'power', 'geometric', a callable t -> bandwidth or an "
                f"object with a method effective_size(t), got {given!r}"
            )
        return schedule
