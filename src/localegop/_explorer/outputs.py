"""What a model's outputs are on the page: numbers with intervals, or probabilities of classes with sets."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop.results import LocalFits

Array = NDArray[np.float64]


@dataclass(frozen=True)
class Numbers:
    """Outputs of a LocalEGOPRegressor.

    Parameters
    ----------
    model : LocalEGOPRegressor
    coverage : float
        Of the intervals.
    """

    model: Any
    coverage: float

    @property
    def target(self) -> str:
        """What is predicted, by name."""
        return ", ".join(self.model.output_names_)

    @cached_property
    def _multipliers(self) -> list[Array]:
        return [model.multipliers(np.array([self.coverage])) for model in self.model._models]

    def values(self, X: Array) -> Array:
        """Predictions (q, K), a fit for each."""
        return np.asarray(self.model.predict(X, exact=True)).reshape(len(X), -1)

    def bounds(self, fits: LocalFits) -> dict[str, NDArray[Any]]:
        """Intervals (q, K, 2)."""
        found = self.model._interval(fits, self.coverage, self._multipliers)
        return {"interval": found.reshape(len(fits), -1, 2)}

    def labels(self, y: ArrayLike, count: int) -> Array:
        """Labels (q, K) as given with so many rows; NaN where not known."""
        outputs = len(self.model.output_names_)
        labels = np.asarray(y, dtype=float).reshape(len(np.asarray(y)), -1)
        if labels.shape != (count, outputs):
            raise ValueError(
                f"y must have {count} rows and {outputs} columns, as X and the fitted labels, got an array "
                f"of shape {np.shape(y)}"
            )
        return labels


@dataclass(frozen=True)
class Classes:
    """Outputs of a LocalEGOPClassifier.

    Parameters
    ----------
    model : LocalEGOPClassifier
    coverage : float
        Of the sets of classes.
    """

    model: Any
    coverage: float

    @property
    def target(self) -> str:
        """What is predicted, by name."""
        return str(self.model.target_name_)

    def values(self, X: Array) -> Array:
        """Probabilities (q, K), a fit for each."""
        return np.asarray(self.model.predict_proba(X, exact=True))

    def bounds(self, fits: LocalFits) -> dict[str, NDArray[Any]]:
        """Whether classes belong to the set of each query, (q, K)."""
        return {"in_set": self.model._calibration.sets(fits.value, np.array([self.coverage]))[:, 0]}

    def labels(self, y: ArrayLike, count: int) -> Array:
        """One-hot labels (q, K) of classes as given with so many rows; NaN where not known to the model."""
        given = np.asarray(y)
        if given.shape not in ((count,), (count, 1)):
            raise ValueError(
                f"y must have {count} rows, as X, and one column, got an array of shape {given.shape}"
            )
        names = {name: k for k, name in enumerate(self.model.output_names_)}
        known = names | {label: k for k, label in enumerate(self.model.classes_.tolist())}
        number = np.array([known.get(label, -1) for label in given.ravel().tolist()], dtype=int)
        one_hot: Array = np.eye(len(names))[number]
        one_hot[number < 0] = np.nan
        return one_hot


def outputs_of(model: Any, coverage: float) -> Numbers | Classes:
    """Return what the outputs of a fitted estimator are."""
    return (Classes if hasattr(model, "classes_") else Numbers)(model, coverage)
