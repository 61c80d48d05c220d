"""What users give, read and checked: rows, weights, names, seeds, numbers of threads."""

from __future__ import annotations

from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import (
    _check_sample_weight,
    check_array,
    check_consistent_length,
    validate_data,
)

from localegop._data.rows import DistinctRows, merge_rows

Array = NDArray[np.float64]

MOST_THREADS = 64  # where there are fewer processors: more only wait for each other


def read_rows(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Features, labels and weights as arrays of finite numbers."""
    X, y = validate_data(
        estimator, X, y, dtype=np.float64, multi_output=True, y_numeric=True, ensure_min_samples=2
    )
    X, y = np.asarray(X), np.asarray(y, dtype=np.float64)
    return X, y, read_weights(sample_weight, X)


def read_incomplete_rows(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Features, labels and weights as arrays; rows with missing values become zero, of weight 0."""
    allowed = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
    features = np.array(validate_data(estimator, X, ensure_min_samples=2, **allowed))
    labels = np.array(check_array(y, ensure_2d=False, input_name="y", **allowed))
    check_consistent_length(features, labels)
    weight = read_weights(sample_weight, features).copy()
    lacking = np.isnan(features).any(axis=1) | np.isnan(labels.reshape(len(labels), -1)).any(axis=1)
    if lacking.all():
        raise ValueError(f"missing='drop' leaves nothing: all {len(features)} rows have missing values")
    features[lacking], labels[lacking], weight[lacking] = 0.0, 0.0, 0.0
    return features, labels, weight


def read_weights(sample_weight: ArrayLike | None, X: Array) -> Array:
    """Weights (n,) of the rows, one where none are given."""
    weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    return np.asarray(weights, dtype=np.float64)


def distinct_rows_to_fit(X: Array, y: Array, weight: Array) -> DistinctRows:
    """Distinct rows, or an error if they are too few to fit."""
    rows = merge_rows(X, y, weight)
    if len(rows.sample_weight) < 2 and rows.sample_weight.sum() < 2:
        raise ValueError(
            f"{len(rows.sample_weight)} row of positive weight and without missing values is left, but at "
            "least 2 are needed"
        )
    return rows


def name_outputs(y: Any, count: int, flat: bool) -> tuple[str, ...]:
    """Names of the columns of y, if it has any."""
    columns = getattr(y, "columns", None)
    if columns is not None and len(columns) == count:
        return tuple(map(str, columns))
    name = getattr(y, "name", None)
    if flat:
        return ("y" if name is None else str(name),)
    return tuple(f"y{k}" for k in range(count))


def is_lazy(X: Any) -> bool:
    """Whether X is a dask collection; dask need not be installed to tell."""
    return hasattr(type(X), "__dask_graph__")


def seed_from(random_state: Any) -> int:
    """Turn ``random_state`` as scikit-learn knows it into a seed."""
    if isinstance(random_state, Integral):
        return int(random_state)
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31))
    return int(np.random.SeedSequence().generate_state(1)[0])


def count_threads(n_jobs: int | None) -> int:
    """Turn ``n_jobs`` as joblib knows it into a number of threads.

    None means as many as scikit-learn would use: all processors, or what ``OMP_NUM_THREADS``, threadpoolctl
    or the worker of joblib that this runs in allows.
    """
    if n_jobs is None:
        return int(_openmp_effective_n_threads())
    if n_jobs == 0:
        raise ValueError(
            "n_jobs must be None, a positive number of threads or negative as in joblib, got 0"
        )
    processors = int(cpu_count())
    wanted = n_jobs if n_jobs > 0 else processors + 1 + n_jobs
    return max(1, min(wanted, max(MOST_THREADS, processors)))
