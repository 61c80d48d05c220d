"""What the page is told about single queries: local fits as JSON, with the training rows they look at.

One shape for all hosts: ``{"fits": [...], "training": {"index", "rows", "labels"}}``, where the training
rows are those that are neighbors of some of the fits. A fit has the query, profiles (predictions along each
feature) and, for every output, all that :class:`localegop.LocalFits` knows.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.metric import spectrum
from localegop._explorer.outputs import Classes, Numbers
from localegop.results import LocalFits, Neighbors, Status

Array = NDArray[np.float64]

MOST_NEIGHBORS = 30  # heaviest training rows told for a query
MOST_PROFILES = 24  # features with a slider: the most important ones
PLACES = 9  # at which predictions along a feature are known
WIDEST = 3.0  # feature standard deviations at which a neighborhood ends in pictures, as the data do


@dataclass(frozen=True)
class Axes:
    """Directions that the page can draw: coordinates are (x - origin) weights'.

    Parameters
    ----------
    names : tuple of str
    weights : ndarray of shape (m, D)
    origin : ndarray of shape (m, D)
    """

    names: tuple[str, ...]
    weights: Array
    origin: Array


@dataclass(frozen=True)
class Answerer:
    """Answers about queries of one fitted estimator.

    Parameters
    ----------
    outputs : Numbers or Classes
        Of the estimator.
    axes : Axes
    low, high : ndarray of shape (D,)
        Between which features are varied.
    """

    outputs: Numbers | Classes
    axes: Axes
    low: Array
    high: Array

    @property
    def model(self) -> Any:
        """The estimator."""
        return self.outputs.model

    @cached_property
    def training(self) -> tuple[Array, Array]:
        """Rows (n, D) and labels (n, K) as given to ``fit``; NaN where a row was left out."""
        return training_rows(self.model), training_labels(self.model)

    @cached_property
    def _varied(self) -> NDArray[np.intp]:
        """Features that have profiles."""
        importance = global_importance(self.model)
        if importance is None:
            return np.arange(min(len(self.low), MOST_PROFILES))
        return np.sort(np.argsort(-importance, kind="stable")[:MOST_PROFILES])

    def answer(self, X: Array, *, profiles: bool = True) -> dict[str, Any]:
        """Tell all about queries X (q, D)."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # what they say, the page shows for each query
            fits = self.model.localize(X, trace=True)
            bounds = self.outputs.bounds(fits)
            curves = self._profiles(fits) if profiles and self.model.strategy == "field" else None
        outputs = [
            self._describe_output(fits.output(k), {name: each[:, k] for name, each in bounds.items()})
            for k in range(len(fits.output_names))
        ]
        used: set[int] = set()
        found = []
        for i in range(len(X)):
            one = [output[i] for output in outputs]
            used.update(int(row) for each in one for row in each["neighbors"]["index"])
            curve = None if curves is None else curves[i]
            found.append({"query": fits.query[i].tolist(), "outputs": one, "profiles": curve})
        return {"fits": found, "training": self._training(sorted(used))}

    def _training(self, index: Sequence[int]) -> dict[str, Any]:
        rows, labels = self.training
        return {"index": list(index), "rows": short(rows[index]), "labels": short(labels[index])}

    def _describe_output(self, fits: LocalFits, bounds: dict[str, NDArray[Any]]) -> list[dict[str, Any]]:
        """Tell about one output, query by query."""
        scale = fits.feature_scale
        values, vectors = spectrum(fits.agop * scale[:, :, None] * scale[:, None])
        errors = {"gradient_std": fits.gradient_std, "importance_std": fits.importance_std}
        columns = {
            "value": fits.value,
            "std": fits.std,
            "noise": fits.noise,
            "gradient": fits.gradient,
            "importance": fits.importance,
            "feature_scale": scale,
            "effective_size": fits.effective_size,
            "step": fits.step,
            "loo_error": fits.loo_error,
            "intrinsic_dimension": fits.intrinsic_dimension,
            "remoteness": fits.remoteness,
            "spectrum": values,
            **bounds,
            **{name: column for name, column in errors.items() if not np.isnan(column).all()},
        }
        described = []
        for i in range(len(fits)):
            safe = np.where(scale[i] > 0.0, scale[i], 1.0)
            local = vectors[i, :, :2].T / safe
            about = {name: column[i].tolist() for name, column in columns.items()}
            about["status"] = Status(fits.status[i]).name.lower()
            about["status_text"] = Status(fits.status[i]).message
            about["directions"] = short(local)
            about["covariance"] = short(self._covariance(fits.metric[i], safe, local), 5)
            about["neighbors"] = _describe_neighbors(fits.neighbors(i))
            about["steps"] = self._steps(fits, i, safe, local)
            described.append(about)
        return described

    def _covariance(self, metric: Array, scale: Array, local: Array) -> Array:
        """Lower triangle of the neighborhood's covariance in the axes, then in the local directions.

        Directions in which distance does not count would be endless, and the least tilt of one would
        stretch its shadow on the map, so the neighborhood is held within the data.
        """
        weights = np.vstack([self.axes.weights, local])
        values, vectors = np.linalg.eigh(metric * np.outer(scale, scale))
        root = (weights * scale) @ vectors / np.sqrt(np.maximum(values, 0.0) + WIDEST**-2)
        triangle: Array = (root @ root.T)[np.tril_indices(len(weights))]
        return triangle

    def _steps(self, fits: LocalFits, i: int, scale: Array, local: Array) -> list[dict[str, Any]]:
        """Tell the steps of the recursion at one query."""
        trace = fits.trace
        if trace is None:
            return []
        return [
            {
                "effective_size": float(trace.effective_size[t, i]),
                "loo_error": float(trace.loo_error[t, i]),
                "value": float(trace.value[t, i]),
                "covariance": short(self._covariance(trace.metric[t, i], scale, local), 5),
            }
            for t in range(len(trace.metric))
        ]

    def _profiles(self, fits: LocalFits) -> list[dict[str, Any]]:
        """Predictions along every varied feature, the others as they are: one feature at a time."""
        X, varied = fits.query, self._varied
        share = np.linspace(0.0, 1.0, PLACES)
        places = self.low[varied, None] + (self.high - self.low)[varied, None] * share
        moved = np.repeat(X[:, None, None, :], len(varied), axis=1).repeat(PLACES, axis=2)
        for k, j in enumerate(varied):
            moved[:, k, :, j] = places[k]
        values = self.outputs.values(moved.reshape(-1, X.shape[1]))
        curves = values.reshape(len(X), len(varied), PLACES, -1)
        return [
            {
                "features": varied.tolist(),
                "places": places.tolist(),
                "values": np.moveaxis(curve, -1, 0).tolist(),
            }
            for curve in curves
        ]


def _describe_neighbors(near: Neighbors) -> dict[str, Any]:
    return {
        "count": len(near),
        "index": near.index[:MOST_NEIGHBORS].tolist(),
        "weight": near.weight[:MOST_NEIGHBORS].tolist(),
    }


def training_rows(model: Any) -> Array:
    """Rows (n, D) that a model was fitted to, from what it keeps of them.

    Of directions that the fit has left out, where f varies nowhere, only the mean is known. NaN where a row
    was left out.
    """
    first = model._models[0]
    units = first.decisions.units
    rows = np.einsum("ia,ab->ib", first.data.rows, np.linalg.pinv(units.transform)) + units.center
    if units.curves is not None:
        rows = units.curves.inverse(rows)
    return _as_given(rows, first.position)


def training_labels(model: Any) -> Array:
    """Labels (n, K) that a model was fitted to; NaN where a row was left out."""
    return np.hstack(
        [_as_given(each.decisions.units.values(each.data.labels), each.position) for each in model._models]
    )


def _as_given(values: Array, position: NDArray[np.intp]) -> Array:
    return np.where(position[:, None] < 0, np.nan, values[position])


def global_importance(model: Any) -> Array | None:
    """Return the importance (D,) over all training rows; None with the query strategy."""
    return None if model.strategy == "query" else np.asarray(model.global_importance())


def short(values: Array, digits: int = 7) -> Any:
    """Numbers for pictures: few digits, which keeps files small."""
    flat = [float(f"{value:.{digits}g}") for value in values.ravel().tolist()]
    return np.array(flat).reshape(values.shape).tolist()
