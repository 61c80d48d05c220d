"""What users give, read and checked: rows, weights, names, seeds, numbers of threads."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any

import numpy as np
from joblib import cpu_count
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils._openmp_helpers import _openmp_effective_n_threads
from sklearn.utils.validation import (
    _check_sample_weight,
    _check_y,
    assert_all_finite,
    check_array,
    check_consistent_length,
    validate_data,
)

from localegop._data.rows import LARGEST_WEIGHT, SMALLEST_WEIGHT, DistinctRows, merge_rows
from localegop._data.sums import check_range

Array = NDArray[np.float64]

FEW_ROWS = 4  # with fewer, a warning
LARGEST_SLOPE = 1e100  # of given gradients
MOST_THREADS = 64  # where there are fewer processors: more only wait for each other
PRINTED_ARRAY = re.compile(r"\s*(\[|array=|[-+]?[\d.]|$)")  # lines of an array in an error message


def read_rows(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Features, labels and weights as arrays of finite numbers."""
    _require_labels(estimator, y)
    with named_errors("X"):
        features = np.asarray(validate_data(estimator, X, dtype=np.float64, ensure_min_samples=2))
    with named_errors("y"):
        given = _check_y(y, multi_output=True, y_numeric=True, estimator=estimator)
        labels = _as_columns(np.asarray(given, dtype=np.float64))
        assert_all_finite(labels, input_name="y")  # objects and words are numbers only now
    with named_errors("X and y"):
        check_consistent_length(features, labels)
    return features, labels, read_weights(sample_weight, features)


def read_incomplete_rows(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    """Features, labels and weights as arrays; rows with missing values become zero, of weight 0."""
    _require_labels(estimator, y)
    allowed = {"dtype": np.float64, "ensure_all_finite": "allow-nan"}
    with named_errors("X"):
        features = np.array(validate_data(estimator, X, ensure_min_samples=2, **allowed))
    with named_errors("y"):
        labels = _as_columns(np.array(check_array(y, ensure_2d=False, input_name="y", **allowed)))
    with named_errors("X and y"):
        check_consistent_length(features, labels)
    weight = read_weights(sample_weight, features).copy()
    lacking = np.isnan(features).any(axis=1) | np.isnan(labels.reshape(len(labels), -1)).any(axis=1)
    if lacking.all():
        raise ValueError(f"missing='drop' leaves nothing: all {len(features)} rows have missing values")
    features[lacking], labels[lacking], weight[lacking] = 0.0, 0.0, 0.0
    return features, labels, weight


@dataclass(frozen=True)
class SlopesAsGiven:
    """Slopes (n, K, m) along directions (n, m, D), or along the features for None, in the user's units."""

    values: Array | None = None
    directions: Array | None = None

    def of_outputs(self, part: Any) -> SlopesAsGiven:
        """Take those of some outputs."""
        return self if self.values is None else replace(self, values=self.values[:, part])


def read_slopes(gradients: Any, directions: Any, X: Array, y: Array) -> SlopesAsGiven:
    """Slopes of labels y (n,) or (n, K) at rows X (n, D), NaN where unknown; empty if none are known."""
    if gradients is None and directions is not None:
        raise ValueError(
            "directions were given without gradients: pass the slopes along them, of shape (n, m), as "
            "gradients, or leave directions=None"
        )
    if gradients is None:
        return SlopesAsGiven()
    along = None if directions is None else _read_directions(directions, X)
    found = _read_gradients(gradients, X, y, along)
    if along is not None:
        _check_directions(along, found)
    return SlopesAsGiven() if np.isnan(found).all() else SlopesAsGiven(found, along)


def _read_numbers(name: str, given: Any, *, nan: bool) -> Array:
    """Numbers of any shape, finite but for NaN where allowed, and not too large to be squared."""
    with named_errors(name):
        found = np.asarray(
            check_array(
                given,
                dtype=np.float64,
                ensure_2d=False,
                allow_nd=True,
                ensure_all_finite="allow-nan" if nan else True,
                input_name=name,
            )
        )
    largest = float(np.nanmax(np.abs(found), initial=0.0))
    if largest > LARGEST_SLOPE:
        raise ValueError(
            f"{name} must be at most {LARGEST_SLOPE:g} in size, got {largest:g}: give X or y in other units"
        )
    return found


def _read_directions(directions: Any, X: Array) -> Array:
    """Directions (n, m, D) along which slopes at rows X (n, D) are known."""
    found = _read_numbers("directions", directions, nan=False)
    n, features = X.shape
    if found.ndim != 3 or found.shape[::2] != (n, features):
        raise ValueError(
            f"directions must have the shape ({n}, m, {features}), m directions in the space of features "
            f"for each row, got {found.shape}"
        )
    return found


def _read_gradients(gradients: Any, X: Array, y: Array, directions: Array | None) -> Array:
    """Slopes (n, K, m) along directions or, if they are None, features."""
    found = _read_numbers("gradients", gradients, nan=True)
    outputs, what = 1 if y.ndim == 1 else y.shape[1], "feature" if directions is None else "direction"
    each = X.shape[1] if directions is None else directions.shape[1]
    allowed: list[tuple[int, ...]] = [(len(X), outputs, each)]
    if outputs == 1:
        allowed.insert(0, (len(X), each))
    if found.shape not in allowed:
        raise ValueError(
            f"gradients must have the shape {' or '.join(map(str, allowed))}, one slope for each row, "
            f"output and {what}, NaN where it is unknown, got {found.shape}"
        )
    return found.reshape(allowed[-1])


def _check_directions(directions: Array, gradients: Array) -> None:
    """Refuse directions of length zero, or too short to be squared, along which a slope is known."""
    longest = np.abs(directions).max(axis=2, initial=0.0)
    wrong = np.argwhere((longest < 1.0 / LARGEST_SLOPE) & ~np.isnan(gradients).all(axis=1))
    if len(wrong):
        row, number = (int(k) for k in wrong[0])
        raise ValueError(
            f"directions must not be zero: {len(wrong)} are, such as number {number} of row {row}; set its "
            "slope in gradients to NaN if it is unknown"
        )


def read_queries(estimator: BaseEstimator, X: ArrayLike) -> Array:
    """Features of queries as an array of finite numbers, as many as those of the fit."""
    with named_errors("X"):
        return np.asarray(validate_data(estimator, X, dtype=np.float64, reset=False))


def read_weights(sample_weight: ArrayLike | None, X: Array) -> Array:
    """Weights (n,) of the rows, one where none are given."""
    with named_errors("sample_weight"):
        if sample_weight is not None and np.iscomplexobj(np.asarray(sample_weight)):
            raise ValueError("Complex data not supported")
        weights = _check_sample_weight(sample_weight, X, dtype=np.float64, ensure_non_negative=True)
    weights = np.asarray(weights, dtype=np.float64)
    check_weight_range(weights)
    return weights


def check_weight_range(weights: Array) -> None:
    """Refuse weights whose sums or products could not be represented."""
    wrong = weights[(weights > 0.0) & ((weights < SMALLEST_WEIGHT) | (weights > LARGEST_WEIGHT))]
    if len(wrong):
        raise ValueError(
            f"sample_weight must be 0 or from {SMALLEST_WEIGHT:g} to {LARGEST_WEIGHT:g}, but {len(wrong)} "
            f"of {len(weights)} are not, such as {wrong[0]:g}: divide all weights by their mean, and set "
            "to 0 those of rows that are to be left out"
        )


def _require_labels(estimator: BaseEstimator, y: ArrayLike | None) -> None:
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")


def _as_columns(labels: Array) -> Array:
    if labels.ndim not in (1, 2) or labels.size == 0:
        raise ValueError(
            f"there must be one label a row, or several in columns, got an array of shape {labels.shape}"
        )
    return labels


@contextmanager
def named_errors(argument: str) -> Iterator[None]:
    """Let errors of scikit-learn's checks say which argument they are about, without its values."""
    try:
        with np.errstate(over="ignore", invalid="ignore"):  # in sums that tell whether all is finite
            yield
    except (ValueError, TypeError) as error:
        lines = [line for line in str(error).splitlines() if not PRINTED_ARRAY.match(line)]
        text = "\n".join(lines)
        if "contains NaN" in text:
            text = f"{lines[0]} Fill missing values in, or let fit leave such rows out with missing='drop'."
        if not re.search(rf"\b({argument.replace(' and ', '|')})\b", text):
            text = f"{argument}: {text}"
        kind = TypeError if isinstance(error, TypeError) else ValueError
        raise kind(text) from error


def distinct_rows_to_fit(
    X: Array, y: Array, weight: Array, slopes: SlopesAsGiven | None = None
) -> DistinctRows:
    """Distinct rows, or an error if they are too few to fit."""
    slopes = SlopesAsGiven() if slopes is None else slopes
    rows = merge_rows(X, y, weight, slopes.values, slopes.directions)
    if len(rows.sample_weight) < 2 and rows.sample_weight.sum() < 2:
        raise ValueError(
            f"{len(rows.sample_weight)} row of positive weight and without missing values is left, but at "
            "least 2 are needed"
        )
    check_range(rows.features, rows.labels)
    return rows


def warn_of_few_rows(count: int) -> None:
    """Warn if there are so few distinct rows that no fit can be judged."""
    if count < FEW_ROWS:
        warnings.warn(
            f"only {count} distinct rows to fit: nothing can be held out to choose by, and predictions, "
            "errors and gradients mean little; give more rows if there are any",
            UserWarning,
            stacklevel=5,  # who called fit
        )


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
