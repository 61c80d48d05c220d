"""What the estimators for a Dask cluster share: fitting, explanations, files, lazy answers."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable
from dataclasses import replace
from numbers import Integral
from pathlib import Path
from typing import Any, ClassVar, Self

import numpy as np
from dask.delayed import delayed
from distributed import Client
from numpy.typing import NDArray
from sklearn.utils._param_validation import Interval
from sklearn.utils.validation import check_is_fitted

from localegop._data import archive
from localegop._estimator import NO_ERRORS, READERS, LocalEGOPEstimator
from localegop._explain.overall import Overall
from localegop._fit.plan import fit_field
from localegop._predict.model import Requested
from localegop._predict.parameters import decode_parameters
from localegop._progress import ProgressBar
from localegop.distributed import files, queries
from localegop.distributed.backend import ClusterBackend
from localegop.distributed.cluster import Cluster, connect
from localegop.distributed.gathering import gather_model
from localegop.distributed.inputs import Blocks, align, is_lazy
from localegop.distributed.models import PartitionedModel
from localegop.distributed.predicting import lazy_fits
from localegop.distributed.sorting import sort_rows
from localegop.distributed.splitting import partition_count
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
EXTRA_CONSTRAINTS: dict[str, list[Any]] = {
    "n_partitions": [Interval(Integral, 1, None, closed="left"), None],
    "client": [object, None],
}
LEARNED_NAMES = (
    *("n_features_in_", "n_samples_", "output_names_", "feature_names_in_"),
    *("classes_", "target_name_"),
)


class ClusterEstimator(LocalEGOPEstimator):
    """Fits on a cluster, whatever labels mean.

    Comes before the plain estimator among the bases of a class, which :func:`derive` completes.
    """

    _plain: ClassVar[Callable[..., Any]]
    _partitioned: list[PartitionedModel]
    n_partitions: int | None
    client: Any

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, gradients: Any = None, directions: Any = None
    ) -> Self:
        self._validate_params()
        if gradients is not None or directions is not None:
            raise ValueError(
                "gradients cannot be used on a cluster: fit a LocalEGOPRegressor, whose predict takes dask "
                "arrays, or leave gradients=None"
            )
        names_of = y
        if not any(map(is_lazy, (X, y, sample_weight))):
            X, y, sample_weight = self._checked(X, y, sample_weight)
        else:
            self.__dict__.pop("feature_names_in_", None)
        self._flat_output = self._is_flat(y)
        with connect(self.client) as cluster:
            self._fit_on(cluster, X, y, sample_weight)
        self.output_names_ = self._output_names(names_of, self._n_outputs)
        self._publish()
        self._tell_residuals()
        return self

    def _fit_on(self, cluster: Cluster, X: Any, y: Any, sample_weight: Any) -> None:
        settings = replace(self._settings(), threads=self._task_threads)
        blocks, names = self._blocks(cluster, X, y, sample_weight)
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

    def _is_flat(self, y: Any) -> bool:
        """Whether y has one column only, given as such."""
        return bool(getattr(y, "ndim", 1) == 1)

    def _blocks(
        self, cluster: Cluster, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Blocks, list[str] | None]:
        """Rows on the cluster, with labels as numbers, and the names of the features."""
        return align(cluster, X, y, sample_weight, self.missing)

    def _tell_residuals(self) -> None:
        """Set what tells the residuals of the training rows, if there is something."""

    @property
    def _task_threads(self) -> int:
        """Threads of one task: a worker runs as many tasks at a time as it has threads."""
        return 1 if self.n_jobs is None else self._settings().threads

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

    def to_local(self) -> Any:
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
            has_classes = header.get("classes") is not None
            reader = f"Dask{READERS[has_classes]}"
            archive.require(has_classes == cls._classifies, f"it is to be read with {reader}.load")
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
        model._tell_residuals()
        return model

    def _without_data(self) -> Any:
        """Return a plain estimator with everything except the data."""
        check_is_fitted(self, "_decisions")
        parameters = {name: v for name, v in self.get_params(deep=False).items() if name not in EXTRA}
        plain = self._plain(**parameters | {"callback": None})  # it is sent to workers
        plain._decisions = self._decisions
        plain._flat_output = self._flat_output
        for name in LEARNED_NAMES:
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


def derive(cls: type[ClusterEstimator], plain: type, summary: str, example: str) -> None:
    """Give a class docstring and parameters of the plain estimator, with the differences."""
    doc = inspect.cleandoc(plain.__doc__ or "")
    parameters, rest = doc.split("Parameters\n----------\n", 1)[1].split("\nAttributes\n", 1)
    attributes = rest.split("\nExamples\n", 1)[0]
    parameters += inspect.cleandoc(EXTRA_DOC)
    cls.__doc__ = (
        f"{summary}\n\nParameters\n----------\n{parameters}\n\nAttributes\n{attributes}\n"
        f"Examples\n--------{example}"
    )
    known = inspect.signature(plain.__init__)  # type: ignore[misc]
    more = [inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=v) for name, v in EXTRA.items()]
    signature = known.replace(parameters=[*known.parameters.values(), *more])
    cls.__init__.__signature__ = signature  # type: ignore[attr-defined]
