"""What estimators share: fitting, explanations, files, threads, as scikit-learn does. No numerics here."""

from __future__ import annotations

import os
import warnings
from contextlib import AbstractContextManager
from dataclasses import fields, replace
from importlib.metadata import version
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any, ClassVar, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._param_validation import Interval, StrOptions
from sklearn.utils.validation import check_is_fitted

from localegop._data import archive
from localegop._data.inputs import (
    SlopesAsGiven,
    count_threads,
    distinct_rows_to_fit,
    is_lazy,
    name_outputs,
    read_incomplete_rows,
    read_queries,
    read_rows,
    read_slopes,
    seed_from,
    warn_of_few_rows,
)
from localegop._data.table_columns import Columns
from localegop._engine.blas import limited_blas
from localegop._engine.settings import Settings
from localegop._explain.explainer import Explainer
from localegop._explain.overall import Overall, correlations_of
from localegop._explain.replicas import FEWEST_ROWS
from localegop._fit.plan import fit_model
from localegop._predict.file_rules import check_file
from localegop._predict.model import Requested
from localegop._predict.parameters import decode_parameters, encode_parameters
from localegop._predict.storage import check_saved, pack_model, unpack_model
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

READERS = ("LocalEGOPRegressor", "LocalEGOPClassifier")  # of files without and with classes
NO_ERRORS = "a fit on a cluster keeps no rows as given; fit a LocalEGOPRegressor"


class LocalEGOPEstimator(BaseEstimator):  # type: ignore[misc]
    """Fits models by the engine, explains them and keeps them in files, whatever their labels mean.

    Subclasses have what :class:`localegop._engine.settings.Settings` needs as parameters, or as attributes
    of the class.
    """

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        "schedule": [StrOptions({"effective_size", "power", "geometric"}), object],
        "n_iter": [Interval(Integral, 0, None, closed="left"), None],
        "momentum": [Interval(Real, 0, 1, closed="right")],
        "initial_scale": [Interval(Real, 0, None, closed="neither")],
        "initial_metric": [StrOptions({"auto", "identity", "variance", "power"}), "array-like"],
        "exclusion_radius": [Interval(Real, 0, None, closed="neither"), None],
        "covariance_cap": [Interval(Real, 0, None, closed="neither"), None],
        "kernel": [str, callable],
        "degree": [StrOptions({"auto"}), Interval(Integral, 0, 2, closed="both")],
        "ridge": [StrOptions({"auto"}), Interval(Real, 0, None, closed="left")],
        "max_neighbors": [Interval(Integral, 2, None, closed="left"), StrOptions({"auto"}), None],
        "missing": [StrOptions({"error", "drop"})],
        "random_state": ["random_state"],
        "n_jobs": [Integral, None],
        "verbose": ["verbose"],
        "callback": [callable, None],
    }
    _classifies: ClassVar[bool] = False
    strategy: str
    outputs: str
    missing: str
    n_jobs: int | None
    verbose: int
    callback: Callback | None
    degree: Any
    exclusion_radius: float | None
    final: str
    random_state: Any
    schedule: Any
    weighting: str

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
        return self._fit_afresh(X, y, sample_weight)

    def _fit_afresh(
        self,
        X: ArrayLike,
        y: ArrayLike,
        sample_weight: ArrayLike | None,
        gradients: ArrayLike | None = None,
        directions: ArrayLike | None = None,
    ) -> Self:
        """Fit a copy and become that at once.

        Others may be predicting meanwhile, and a fit that fails leaves all as it was.
        """
        fresh = self._snapshot()
        for name in [name for name in vars(fresh) if name.endswith("_") and not name.startswith("_")]:
            delattr(fresh, name)  # of an earlier fit
        with fresh._own_threads():
            fresh._fit(X, y, sample_weight, gradients, directions)
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
        directions: ArrayLike | None,
    ) -> Self:
        self._validate_params()
        settings = self._settings()
        features, labels, weight = self._checked(X, y, sample_weight)
        slopes = self._given_slopes(gradients, directions, features, labels)
        columns = labels.reshape(len(labels), -1)
        parts = [[k] for k in range(columns.shape[1])] if self.outputs == "separate" else [slice(None)]
        rows = [
            distinct_rows_to_fit(features, columns[:, part], weight, slopes.of_outputs(part))
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
        self.output_names_ = self._output_names(y, columns.shape[1])
        self._publish()
        return self

    def _checked(
        self, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array, Array]:
        """Features, labels and weights as arrays; rows to be left out have weight 0."""
        if self.missing == "drop":
            return read_incomplete_rows(self, X, y, sample_weight)
        return read_rows(self, X, y, sample_weight)

    def _given_slopes(
        self, gradients: ArrayLike | None, directions: ArrayLike | None, X: Array, y: Array
    ) -> SlopesAsGiven:
        """Slopes that were given with the rows, if any."""
        if gradients is not None and self.strategy == "query":
            raise ValueError(
                "gradients need strategy='field', got strategy='query', which learns nothing before "
                "a query comes: take strategy='field', or leave gradients=None"
            )
        return read_slopes(gradients, directions, X, y)

    def _output_names(self, y: ArrayLike, count: int) -> tuple[str, ...]:
        """Names of so many columns of labels."""
        return name_outputs(y, count, self._flat_output)

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
            Their labels, or classes, if known.
        coverage : float, default=0.9
            Of the intervals, or sets of classes.
        view : {"scatter", "image", "table"}, default="scatter"
            What to start with; "image" shows rows that lie on a grid as pixels.
        title : str, optional

        Returns
        -------
        Explorer
            Shows itself in a notebook; has the methods ``serve()`` and ``save(path)``.
        """
        check_is_fitted(self, "_decisions")
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
            has_classes = header.get("classes") is not None
            reader = READERS[has_classes]
            archive.require(has_classes == cls._classifies, f"it is to be read with {reader}.load")
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
