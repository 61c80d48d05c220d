"""DaskLocalEGOPRegressor: the estimator for rows and queries on a Dask cluster."""

from __future__ import annotations

import inspect
import os
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from dask.delayed import delayed
from distributed import Client
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from localegop._data import archive
from localegop._data.inputs import name_outputs
from localegop._estimator import NO_ERRORS
from localegop._explain.overall import Overall
from localegop._fit.plan import fit_field
from localegop._predict.model import Requested
from localegop._predict.parameters import decode_parameters
from localegop._predict.uncertainty import check_coverage
from localegop._progress import ProgressBar
from localegop.distributed import files, queries
from localegop.distributed.backend import ClusterBackend
from localegop.distributed.cluster import Cluster, connect
from localegop.distributed.gathering import gather_model, lazy_residuals
from localegop.distributed.inputs import align, is_lazy
from localegop.distributed.models import PartitionedModel
from localegop.distributed.predicting import lazy_fits
from localegop.distributed.sorting import sort_rows
from localegop.distributed.splitting import partition_count
from localegop.regressor import LocalEGOPRegressor
from localegop.results import FeatureGroup

Array = NDArray[np.float64]

EXTRA: dict[str, None] = {"n_partitions": None, "client": None}
EXTRA_DOC = """
    n_partitions : int or None, default=None
        Number of regions in space that rows are divided into. None for one for each thread of the cluster,
        or more, up to 1,000, if those would have more than 50,000 rows each. None of them has fewer rows
        than a center looks at first. Results do not depend on it.
    client : dask.distributed.Client, str or None, default=None
        Client, or address of a scheduler; None for the current client.
"""
EXAMPLE = """
>>> import dask.array as da
>>> from dask.distributed import Client
>>> from localegop.datasets import make_helix
>>> from localegop.distributed import DaskLocalEGOPRegressor
>>> X, y = make_helix(120, 3, random_state=0)
>>> with Client(processes=False, dashboard_address=None, n_workers=1, threads_per_worker=1) as client:
...     model = DaskLocalEGOPRegressor(degree=1, ridge=1e-4, initial_metric="identity", client=client)
...     model = model.fit(da.from_array(X[:100], (50, 3)), da.from_array(y[:100], 50))
...     value = model.predict(da.from_array(X[100:], (20, 3))).compute()
>>> value.shape
(20,)
"""


class DaskLocalEGOPRegressor(LocalEGOPRegressor):
    """Replaced below."""

    _partitioned: list[PartitionedModel]

    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocalEGOPRegressor._parameter_constraints,
        "n_partitions": [Interval(Integral, 1, None, closed="left"), None],
        "client": [object, None],
    }

    def __init__(self, strategy: str = "field", **parameters: Any) -> None:
        extra = {name: parameters.pop(name, default) for name, default in EXTRA.items()}
        super().__init__(strategy, **parameters)
        self.n_partitions = extra["n_partitions"]
        self.client = extra["client"]

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, gradients: Any = None, directions: Any = None
    ) -> Self:
        self._validate_params()
        if gradients is not None or directions is not None:
            raise ValueError(
                "gradients cannot be used on a cluster: fit a LocalEGOPRegressor, whose predict takes dask "
                "arrays, or leave gradients=None"
            )
        if self.strategy != "field":
            raise ValueError(
                f"strategy={self.strategy!r} has no part that a cluster could learn: use "
                "strategy='field', or fit a LocalEGOPRegressor and call its predict with a dask array"
            )
        flat, names_of = getattr(y, "ndim", 1) == 1, y
        if not any(map(is_lazy, (X, y, sample_weight))):
            X, y, sample_weight = self._checked(X, y, sample_weight)
            flat = y.ndim == 1
        else:
            self.__dict__.pop("feature_names_in_", None)
        with connect(self.client) as cluster:
            self._fit_on(cluster, X, y, sample_weight)
        self._flat_output = flat
        self.output_names_ = name_outputs(names_of, self._n_outputs, flat)
        self._publish()
        self.loo_residuals_ = lazy_residuals(self._partitioned, flat)
        return self

    def _fit_on(self, cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> None:
        settings = replace(self._settings(), threads=self._task_threads)
        blocks, names = align(cluster, X, y, sample_weight, self.missing)
        threads = sum(cluster.client.nthreads().values())
        count = partition_count(blocks.n, threads, settings.nearest, self.n_partitions)
        outputs = list(range(blocks.outputs)) if self.outputs == "separate" else [None]
        with ProgressBar("fit", self.verbose, self.callback) as progress:
            stretches = progress.parts(len(outputs))
            self._partitioned = [
                fit_field(ClusterBackend(sort_rows(cluster, blocks, count, output)), settings, stretch)
                for output, stretch in zip(outputs, stretches, strict=True)
            ]
        self._decisions = [model.decisions for model in self._partitioned]
        self._n_outputs = blocks.outputs
        self.n_samples_, self.n_features_in_ = blocks.n, blocks.dimension
        if names is not None:
            self.feature_names_in_ = np.array(names, dtype=object)

    @property
    def robustness_weights_(self) -> Array:
        """Known in one process only: see :meth:`to_local`."""
        raise AttributeError(
            "robustness_weights_ are known by row in one process only: ask to_local().robustness_weights_"
        )

    @property
    def _task_threads(self) -> int:
        """Threads of one task: a worker runs as many tasks at a time as it has threads."""
        return 1 if self.n_jobs is None else self._settings().threads

    def predict(self, X: Any, return_std: bool = False, exact: bool = True) -> Any:
        """Predict labels of q points, lazily.

        Parameters
        ----------
        X : dask array or dataframe, or array-like, of shape (q, D)
        return_std : bool, default=False
            Whether to return the standard errors of the predictions too.
        exact : bool, default=True
            Makes no difference: every query has a fit of its own.

        Returns
        -------
        y : dask array of shape (q,) or (q, K); for a dataframe, a dask series or dataframe with its index
        std : like y
            Only with ``return_std``.
        """
        return self._answers(X, Requested(uncertainty=return_std)).predicted(return_std)

    def predict_interval(self, X: Any, coverage: ArrayLike = 0.9) -> da.Array:
        """Predict intervals that hold a new label with the given probability, lazily.

        Parameters
        ----------
        X : dask array or dataframe, or array-like, of shape (q, D)
        coverage : float or sequence of k floats, default=0.9

        Returns
        -------
        dask array of shape (q, 2), or (q, k, 2) for a sequence of coverages
            Lower and upper ends. With K outputs (q, K, 2) or (q, K, k, 2).
        """
        check_is_fitted(self, "_decisions")
        levels = check_coverage(coverage)
        factors = [model.calibration.multipliers(levels) for model in self._partitioned]
        return self._answers(X, Requested(uncertainty=True)).intervals(coverage, factors)

    def localize(self, X: Any, *, trace: bool = False, errors: bool | None = None) -> Any:
        """Fit at q points and return predictions, gradients and metrics, lazily.

        Parameters
        ----------
        X : dask array or dataframe, or array-like, of shape (q, D)
        trace : bool, default=False
            Whether to record every step of the recursion.
        errors : bool or None, default=None
            True is refused: gradients are those of the model itself, without standard errors.

        Returns
        -------
        list of Delayed
            One :class:`localegop.results.LocalFits` for each block of X; None where a block is empty.
        """
        if errors:
            raise ValueError(f"errors=True is not possible: {NO_ERRORS}")
        return self._answers(X, Requested(uncertainty=True, everything=True, trace=trace)).fits

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of predictions, computed on the cluster."""
        y, sample_weight = (v.compute() if is_lazy(v) else v for v in (y, sample_weight))
        return float(r2_score(y, np.asarray(self.predict(X).compute()), sample_weight=sample_weight))

    def global_importance(
        self, return_std: bool = False, *, as_frame: bool = False, errors: bool | None = None
    ) -> Any:
        """Share (D,) of each feature in the squared slope of f; see :class:`LocalEGOPRegressor`.

        It is that of the model itself; standard errors are not known on a cluster and NaN.
        """
        check_is_fitted(self, "_decisions")
        if errors:
            raise ValueError(f"errors=True is not possible: {NO_ERRORS}")
        return self._told(*Overall.alone(self._partitioned).importance(), return_std, as_frame)

    def grouped_importance(self, correlation: float = 0.8) -> list[FeatureGroup]:
        """Refuse: a fit on a cluster does not know the correlations of the features."""
        check_is_fitted(self, "_decisions")
        raise ValueError(f"grouped_importance is not possible: {NO_ERRORS}")

    def explore(self, *given: Any, **options: Any) -> Any:
        """Look into predictions on a page, after :meth:`to_local`; see :class:`LocalEGOPRegressor`."""
        return self.to_local().explore(*given, **options)

    def to_local(self) -> LocalEGOPRegressor:
        """Return a plain estimator with all data in this process, which must have enough memory for it."""
        check_is_fitted(self, "_decisions")
        local = self._without_data()
        settings = local._settings()
        local._decisions = [replace(decisions, settings=settings) for decisions in self._decisions]
        local._models = [
            replace(gather_model(model), decisions=decisions)
            for model, decisions in zip(self._partitioned, local._decisions, strict=True)
        ]
        local._publish()
        return local

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the fitted model to a folder that all workers see: an index and one file per partition."""
        header = self._header()
        arrays: dict[str, Array] = {}
        folder = Path(path).resolve()
        folder.mkdir(parents=True, exist_ok=True)
        for k, model in enumerate(self._partitioned):
            about, parts = files.write_model(folder, k, model)
            header["models"].append(about)
            arrays |= parts
        archive.write(folder / files.INDEX, header, arrays)

    @classmethod
    def load(cls, path: str | os.PathLike[str], client: Client | str | None = None) -> Self:
        """Read a model that :meth:`save` wrote; its partitions are read by the workers of ``client``."""
        folder, header, arrays = files.read_index(Path(path).resolve())
        with archive.explained(folder):
            parameters = decode_parameters(header["parameters"], cls._parameter_constraints)
            model = cls(**parameters, client=client)
            model._validate_params()
            settings = replace(model._settings(), threads=model._task_threads)
        with connect(client) as cluster:
            model._partitioned = [
                files.read_model(cluster, folder, k, about, arrays, settings, header["n_samples"])
                for k, about in enumerate(header["models"])
            ]
        model._decisions = [each.decisions for each in model._partitioned]
        with archive.explained(folder):
            model._restore_names(header)
        model.loo_residuals_ = lazy_residuals(model._partitioned, model._flat_output)
        return model

    def _without_data(self) -> LocalEGOPRegressor:
        """Return a plain estimator with everything except the data."""
        check_is_fitted(self, "_decisions")
        parameters = {name: v for name, v in self.get_params(deep=False).items() if name not in EXTRA}
        plain = LocalEGOPRegressor(**parameters | {"callback": None})  # it is sent to workers
        plain._decisions = self._decisions
        plain._flat_output = self._flat_output
        for name in ("n_features_in_", "n_samples_", "output_names_", "feature_names_in_"):
            if hasattr(self, name):
                setattr(plain, name, getattr(self, name))
        return plain

    def _answers(self, X: Any, requested: Requested) -> queries.Answers:
        """Lazy local fits at blocks of queries."""
        plain = self._without_data()
        asked = queries.read_queries(X, self.n_features_in_, getattr(self, "feature_names_in_", None))
        presenter, fits = delayed(plain), []
        for block in asked.blocks:
            each = [lazy_fits(block, model, requested) for model in self._partitioned]
            fits.append(delayed(queries.present, pure=False)(presenter, each))
        return queries.Answers(asked, fits, plain)


def _docstring() -> str:
    """Docstring of the plain estimator, with the differences."""
    doc = inspect.cleandoc(LocalEGOPRegressor.__doc__ or "")
    rest = doc.split("Parameters\n----------\n", 1)[1]
    parameters, rest = rest.split("\nAttributes\n", 1)
    attributes = rest.split("\nExamples\n", 1)[0]
    summary = (
        "Local regression on a Dask cluster, for data that need not fit into one machine's memory.\n\n"
        "Same parameters, methods and results as :class:`localegop.LocalEGOPRegressor`. Rows are\n"
        "partitioned in space and stay on the cluster, where fits around the anchors of the field and\n"
        "predictions are made, these lazily.\n\nParameters\n----------\n"
    )
    end = f"Examples\n--------{EXAMPLE}"
    return f"{summary}{parameters}{inspect.cleandoc(EXTRA_DOC)}\n\nAttributes\n{attributes}\n{end}"


def _signature() -> inspect.Signature:
    known = inspect.signature(LocalEGOPRegressor.__init__)
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=v) for name, v in EXTRA.items()]
    return known.replace(parameters=[*known.parameters.values(), *more])


DaskLocalEGOPRegressor.__doc__ = _docstring()
DaskLocalEGOPRegressor.__init__.__signature__ = _signature()  # type: ignore[attr-defined]
