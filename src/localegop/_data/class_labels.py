"""Labels of classes, read and checked: names, one-hot columns, weights of classes."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_consistent_length, column_or_1d, validate_data

from localegop._data.inputs import check_weight_range, named_errors, read_weights
from localegop._data.sums import sum_columns

Array = NDArray[np.float64]

FEWEST_ROWS = 2  # of a class
SHOWN = 3  # rows of each class that scikit-learn is asked about


def read_class_rows(
    estimator: BaseEstimator, X: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None, *, drop: bool
) -> tuple[Array, NDArray[Any], Array]:
    """Features, labels (n,) of any type, weights; rows that lack something are refused, or of weight 0."""
    if y is None:
        raise ValueError(f"{type(estimator).__name__} requires y to be passed, but the target y is None")
    allowed = "allow-nan" if drop else True
    with named_errors("X"):
        features = validate_data(
            estimator, X, dtype=np.float64, ensure_min_samples=2, ensure_all_finite=allowed
        )
        features = np.array(features) if drop else np.asarray(features)
    with named_errors("y"):
        labels = column_or_1d(y, warn=True)
    with named_errors("X and y"):
        check_consistent_length(features, labels)
    weight = read_weights(sample_weight, features)
    if labels.dtype.kind == "f" and np.isinf(labels).any():
        raise ValueError(
            f"Input y contains infinity in {np.count_nonzero(np.isinf(labels))} of {len(labels)} rows: "
            "labels must be classes, such as text or whole numbers"
        )
    unknown = missing_labels(labels)
    if drop:
        lacking = unknown | np.isnan(features).any(axis=1)
        if lacking.all():
            raise ValueError(f"missing='drop' leaves nothing: all {len(features)} rows have missing values")
        features[lacking] = 0.0
        return features, labels, np.where(lacking, 0.0, weight)
    if unknown.any():
        raise ValueError(
            f"Input y contains NaN or None: the class of {np.count_nonzero(unknown)} of {len(labels)} rows "
            f"is not known, the first of them row {np.flatnonzero(unknown)[0]}; fill classes in, or let "
            "fit leave such rows out with missing='drop'"
        )
    return features, labels, weight


def missing_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Which labels (n,) are missing: None, NaN, or what pandas has for it."""
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind != "O":
        return np.zeros(len(labels), dtype=bool)
    return np.array([_is_missing(label) for label in labels], dtype=bool)


def _is_missing(label: Any) -> bool:
    if label is None or type(label).__name__ in ("NAType", "NaTType"):
        return True
    return isinstance(label, float) and label != label


@dataclass(frozen=True)
class ClassCounts:
    """Labels that rows of positive weight have, sorted, each once, with how often they occur.

    Parameters
    ----------
    labels : ndarray of shape (k,)
    rows : ndarray of shape (k,)
        Numbers of rows.
    weight : ndarray of shape (3, k)
        Sums of their weights, with what rounding took from them, so that those of parts add up to the same
        in any order.
    """

    labels: NDArray[Any]
    rows: NDArray[np.int64]
    weight: Array

    @classmethod
    def of(cls, labels: NDArray[Any], weight: Array) -> ClassCounts:
        """Count the labels (n,) of rows with weights (n,)."""
        used = weight > 0.0
        found, number = _sorted_labels(labels[used])
        order = np.argsort(number, kind="stable")
        parts = np.split(weight[used][order], np.cumsum(np.bincount(number, minlength=len(found)))[:-1])
        sums = [sum_columns(part[:, None])[:, 0] for part in parts[: len(found)]]
        return cls(found, np.bincount(number, minlength=len(found)), np.reshape(sums, (-1, 3)).T)

    @classmethod
    def merged(cls, parts: Sequence[ClassCounts]) -> ClassCounts:
        """Add up the counts of parts of the rows."""
        found, number = _sorted_labels(join_labels([part.labels for part in parts]))
        rows = np.concatenate([part.rows for part in parts])
        weight = np.concatenate([part.weight for part in parts], axis=1)
        sums = [sum_columns(weight[:, number == k].reshape(-1, 1))[:, 0] for k in range(len(found))]
        together = np.array([rows[number == k].sum() for k in range(len(found))], dtype=np.int64)
        return cls(found, together, np.reshape(sums, (-1, 3)).T)

    @property
    def total(self) -> Array:
        """Total weights (k,)."""
        return np.array([math.fsum(column) for column in self.weight.T.tolist()])


def join_labels(parts: Sequence[NDArray[Any]]) -> NDArray[Any]:
    """Put labels of parts one after the other; those of several types stay what they are."""
    filled = [part for part in parts if len(part)] or [*parts[:1]]
    kinds = {part.dtype.kind for part in filled}
    return np.concatenate([part.astype(object) if len(kinds) > 1 else part for part in filled])


def _sorted_labels(labels: NDArray[Any]) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Labels that occur, sorted, and the number of each."""
    try:
        found, number = np.unique(labels, return_inverse=True)
    except TypeError as error:
        kinds = ", ".join(sorted({type(label).__name__ for label in labels}))
        raise ValueError(
            f"y has labels of types that cannot be sorted, {kinds}: give all of them as one type, as text"
        ) from error
    return found, number


def find_classes(counts: ClassCounts) -> NDArray[Any]:
    """Classes (K,), sorted, from the labels that occur; those that are no classes are refused."""
    classes = counts.labels
    if not len(classes):
        raise ValueError("no row of positive weight with a known class is left, but two classes are needed")
    if classes.dtype == object and all(type(one) in (bool, int, float) for one in classes):
        classes = np.array(classes.tolist())
    try:
        check_classification_targets(np.repeat(classes, np.minimum(counts.rows, SHOWN)))
    except ValueError as error:
        raise ValueError(f"{error} For labels that are quantities take LocalEGOPRegressor.") from error
    _check_classes(classes.tolist(), counts)
    return classes


def class_numbers(labels: NDArray[Any], weight: Array, classes: NDArray[Any]) -> NDArray[np.intp]:
    """Numbers (n,) of the classes of rows, -1 for rows of weight 0."""
    used = weight > 0.0
    found, number = np.unique(labels[used], return_inverse=True)
    known = {label: k for k, label in enumerate(classes.tolist())}
    numbers = np.full(len(labels), -1)
    numbers[used] = np.array([known[label] for label in found.tolist()], dtype=np.intp)[number]
    return numbers


def _check_classes(classes: list[Any], counts: ClassCounts) -> None:
    """Refuse labels of one class only, and classes with a single row."""
    if len(classes) < 2:
        raise ValueError(
            f"y has one class only, {classes[0]!r}, in the {counts.rows.sum()} rows of positive weight: at "
            "least two classes are needed to tell them apart"
        )
    few = np.flatnonzero((counts.rows < FEWEST_ROWS) & (counts.total < FEWEST_ROWS))
    if len(few):
        names = ", ".join(repr(classes[k]) for k in few[:5]) + (", ..." if len(few) > 5 else "")
        raise ValueError(
            f"each class needs at least {FEWEST_ROWS} rows, but {len(few)} of {len(classes)} classes have "
            f"one: {names}; leave such rows out, or merge their class with another"
        )


def one_hot(numbers: NDArray[np.intp], count: int) -> Array:
    """One-hot labels (n, K) for numbers of classes; zeros where there is none."""
    labels: Array = (numbers[:, None] == np.arange(count)).astype(float)
    return labels


def class_factors(class_weight: Any, classes: NDArray[Any], total: Array) -> Array:
    """Factors (K,) of the weights of rows of each class, which have these total weights (K,).

    They leave the weight of all rows together as it is. Weight 2 counts like a row given twice, so factors
    that made all rows heavier would make single rows count as many, and neighborhoods shrink to them.
    """
    if class_weight is None:
        return np.ones(len(classes))
    balanced = isinstance(class_weight, str)
    factors = 1.0 / total if balanced else _given_factors(class_weight, classes)
    found: Array = factors * (math.fsum(total.tolist()) / math.fsum((factors * total).tolist()))
    return found


def weigh_classes(weight: Array, factors: Array, numbers: NDArray[np.intp]) -> Array:
    """Weights (n,) of rows, multiplied by the factors (K,) of their classes."""
    found: Array = weight * factors[numbers]
    check_weight_range(found)
    return found


def _given_factors(class_weight: Mapping[Any, float], classes: NDArray[Any]) -> Array:
    """Factors (K,) as a mapping gives them; 1 for classes that it does not name."""
    known = {label: k for k, label in enumerate(classes.tolist())}
    unknown = [label for label in class_weight if label not in known]
    if unknown:
        names = ", ".join(map(repr, unknown[:5]))
        raise ValueError(
            f"class_weight names {names}, which y has not among its {len(classes)} classes "
            f"({', '.join(map(repr, classes.tolist()[:10]))}): leave it out, or see whether types differ"
        )
    factors = np.ones(len(classes))
    for label, factor in class_weight.items():
        if not (np.isreal(factor) and 0.0 < factor < np.inf):
            raise ValueError(f"class_weight must have positive numbers, got {factor!r} for class {label!r}")
        factors[known[label]] = factor
    return factors
