"""DaskLocalEGOPRegressor: the estimator for rows and queries on a Dask cluster."""

from __future__ import annotations

from typing import Any, ClassVar, Self

import dask.array as da
import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import r2_score
from sklearn.utils.validation import check_is_fitted

from localegop._predict.model import Requested
from localegop._predict.uncertainty import check_coverage
from localegop.distributed.gathering import lazy_residuals
from localegop.distributed.inputs import is_lazy
from localegop.distributed.on_cluster import EXTRA, EXTRA_CONSTRAINTS, ClusterEstimator, derive
from localegop.regressor import LocalEGOPRegressor

Array = NDArray[np.float64]

SUMMARY = """Local regression on a Dask cluster, for data that need not fit into one machine's memory.

Same parameters, methods and results as :class:`localegop.LocalEGOPRegressor`. Rows are
partitioned in space and stay on the cluster, where fits around the anchors of the field and
predictions are made, these lazily."""
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


class DaskLocalEGOPRegressor(ClusterEstimator, LocalEGOPRegressor):
    """Replaced below."""

    _plain = LocalEGOPRegressor
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocalEGOPRegressor._parameter_constraints,
        **EXTRA_CONSTRAINTS,
    }

    def __init__(self, strategy: str = "field", **parameters: Any) -> None:
        extra = {name: parameters.pop(name, default) for name, default in EXTRA.items()}
        LocalEGOPRegressor.__init__(self, strategy, **parameters)
        self.n_partitions = extra["n_partitions"]
        self.client = extra["client"]

    def _fit(
        self, X: Any, y: Any, sample_weight: Any, gradients: Any = None, directions: Any = None
    ) -> Self:
        self._validate_params()
        if self.strategy != "field":
            raise ValueError(
                f"strategy={self.strategy!r} has no part that a cluster could learn: use "
                "strategy='field', or fit a LocalEGOPRegressor and call its predict with a dask array"
            )
        return super()._fit(X, y, sample_weight, gradients, directions)

    def _tell_residuals(self) -> None:
        self.loo_residuals_ = lazy_residuals(self._partitioned, self._flat_output)

    @property
    def robustness_weights_(self) -> Array:
        """Known in one process only: see :meth:`to_local`."""
        raise AttributeError(
            "robustness_weights_ are known by row in one process only: ask to_local().robustness_weights_"
        )

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

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Coefficient of determination of predictions, computed on the cluster."""
        y, sample_weight = (v.compute() if is_lazy(v) else v for v in (y, sample_weight))
        return float(r2_score(y, np.asarray(self.predict(X).compute()), sample_weight=sample_weight))

    def explore(self, *given: Any, **options: Any) -> Any:
        """Look into predictions on a page, after :meth:`to_local`; see :class:`LocalEGOPRegressor`."""
        return self.to_local().explore(*given, **options)


derive(DaskLocalEGOPRegressor, LocalEGOPRegressor, SUMMARY, EXAMPLE)
