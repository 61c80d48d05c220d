"""DaskLocalEGOPClassifier: class probabilities for rows and queries on a Dask cluster."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.metrics import accuracy_score

from localegop._data.class_labels import (
    ClassCounts,
    class_factors,
    class_numbers,
    find_classes,
    one_hot,
    weigh_classes,
)
from localegop._predict.model import Requested
from localegop.classifier import LocalEGOPClassifier
from localegop.distributed.cluster import Cluster
from localegop.distributed.inputs import Blocks, align, is_lazy
from localegop.distributed.on_cluster import EXTRA, EXTRA_CONSTRAINTS, ClusterEstimator, derive
from localegop.distributed.tables import Table

Array = NDArray[np.float64]

SUMMARY = """Class probabilities on a Dask cluster, for data that need not fit into one machine's memory.

Same parameters, methods and results as :class:`localegop.LocalEGOPClassifier`; every query has a
fit of its own, so ``exact`` makes no difference. Rows are partitioned in space and stay on the
cluster, where labels are counted and read, and where fits and predictions are made. All answers are
lazy: dask arrays, or series and dataframes with the index of the queries where these come in one."""
EXAMPLE = """
>>> import dask.array as da
>>> from dask.distributed import Client
>>> from localegop.datasets import make_class_helix
>>> from localegop.distributed import DaskLocalEGOPClassifier
>>> X, y = make_class_helix(120, 3, random_state=0)
>>> with Client(processes=False, dashboard_address=None, n_workers=1, threads_per_worker=1) as client:
...     model = DaskLocalEGOPClassifier(n_iter=0, final="polynomial", degree=1, client=client)
...     model = model.fit(da.from_array(X[:100], (50, 3)), da.from_array(y[:100], 50))
...     p = model.predict_proba(da.from_array(X[100:], (20, 3))).compute()
>>> p.shape
(20, 3)
"""


class DaskLocalEGOPClassifier(ClusterEstimator, LocalEGOPClassifier):
    """Replaced below."""

    _plain = LocalEGOPClassifier
    _parameter_constraints: ClassVar[dict[str, list[Any]]] = {
        **LocalEGOPClassifier._parameter_constraints,
        **EXTRA_CONSTRAINTS,
    }

    def __init__(self, **parameters: Any) -> None:
        extra = {name: parameters.pop(name, default) for name, default in EXTRA.items()}
        LocalEGOPClassifier.__init__(self, **parameters)
        self.n_partitions = extra["n_partitions"]
        self.client = extra["client"]

    def _is_flat(self, y: Any) -> bool:
        return False

    def _blocks(
        self, cluster: Cluster, X: Any, y: Any, sample_weight: Any
    ) -> tuple[Blocks, list[str] | None]:
        if not any(map(is_lazy, (X, y, sample_weight))):  # checked, and read as one-hot labels
            return super()._blocks(cluster, X, y, sample_weight)
        blocks, names = align(cluster, X, y, sample_weight, self.missing, classes=True)
        counts = ClassCounts.merged(cluster.gather(cluster.each(_count_labels, blocks.tables)))
        self.classes_ = find_classes(counts)
        factors = class_factors(self.class_weight, self.classes_, counts.total)
        tables = cluster.each(_encode_labels, blocks.tables, self.classes_, factors)
        return replace(blocks, tables=tables, outputs=len(self.classes_)), names

    def _is_lazy(self, X: Any) -> bool:
        return True

    def _lazy_answers(self, X: Any, requested: Requested) -> Any:
        return self._answers(X, requested)

    def score(self, X: Any, y: Any, sample_weight: Any = None) -> float:
        """Share of rows whose most probable class is theirs, with predictions made on the cluster."""
        y, sample_weight = (v.compute() if is_lazy(v) else v for v in (y, sample_weight))
        return float(accuracy_score(y, np.asarray(self.predict(X).compute()), sample_weight=sample_weight))


def _count_labels(table: Table) -> ClassCounts:
    return ClassCounts.of(table["y"][:, 0], table["sample_weight"])


def _encode_labels(table: Table, classes: NDArray[Any], factors: Array) -> Table:
    """Turn labels of a table into one-hot labels, and multiply weights by the factors of the classes."""
    weight = table["sample_weight"]
    numbers = class_numbers(table["y"][:, 0], weight, classes)
    new = {"y": one_hot(numbers, len(classes)), "sample_weight": weigh_classes(weight, factors, numbers)}
    return table | new


derive(DaskLocalEGOPClassifier, LocalEGOPClassifier, SUMMARY, EXAMPLE)
