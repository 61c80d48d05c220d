"""What a page starts from: the rows to look at, their predictions, the axes they are drawn in."""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from functools import cached_property
from importlib.metadata import version
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from localegop._data.inputs import read_queries
from localegop._engine.metric import spectrum
from localegop._explorer.answers import (
    Answerer,
    Axes,
    global_importance,
    short,
    training_labels,
    training_rows,
)
from localegop._explorer.outputs import Classes, Numbers, outputs_of
from localegop._predict.model import Requested
from localegop._predict.uncertainty import check_coverage
from localegop._progress import SILENT, Progress
from localegop.results import Status

Array = NDArray[np.float64]

MOST_ROWS = 5_000  # drawn at once
MOST_NUMBERS = 500_000  # features of all rows sent to a page
MOST_AXES = 24  # features offered as axes: the most important ones
SAMPLE = 100  # rows from which directions of all data are found
BLOCK = 64  # rows that are answered at a time
OFTEN = (1.0, 99.0)  # percentiles between which sliders move
VIEWS = ("scatter", "image", "table")
CARDINAL = ("first", "second")


@dataclass(frozen=True)
class Scene:
    """Rows to look at and a model that answers about them.

    Parameters
    ----------
    outputs : Numbers or Classes
        Of the estimator.
    X : ndarray of shape (q, D)
    y : ndarray of shape (q, K) or None
        Labels, if known; NaN where not. One-hot for classes.
    numbers : ndarray of shape (q,)
        Numbers of the rows as the user counts them.
    view : {"scatter", "image", "table"}
        What the page starts with.
    title : str
    first : int
        Number of the first row as the user counts.
    """

    outputs: Numbers | Classes
    X: Array
    y: Array | None
    numbers: NDArray[np.int64]
    view: str
    title: str
    first: int

    @classmethod
    def of(
        cls,
        model: Any,
        X: Any = None,
        y: ArrayLike | None = None,
        *,
        coverage: float = 0.9,
        most: int | None = None,
        view: str = "scatter",
        title: str | None = None,
        numbers: ArrayLike | None = None,
        first: int = 0,
    ) -> Scene:
        """Check what is given and take at most so many rows, evenly spread; without X the training rows."""
        check_coverage(coverage)
        if view not in VIEWS:
            raise ValueError(f"view must be one of {VIEWS}, got {view!r}")
        rows = training_rows(model) if X is None else read_queries(model, X)
        outputs = outputs_of(model, coverage)
        labels = (
            training_labels(model) if X is None else None if y is None else outputs.labels(y, len(rows))
        )
        known = np.flatnonzero(np.isfinite(rows).all(axis=1))
        limit = min(most or MOST_ROWS, max(1, MOST_NUMBERS // rows.shape[1]))
        if len(known) > limit:
            known = known[np.linspace(0, len(known) - 1, limit).astype(int)]
        name = title or f"{type(model).__name__}: {outputs.target}"
        labels = None if labels is None else labels[known]
        counted = np.arange(first, first + len(rows)) if numbers is None else np.asarray(numbers)
        return cls(outputs, rows[known], labels, counted[known], view, name, first)

    @property
    def model(self) -> Any:
        """The estimator."""
        return self.outputs.model

    @cached_property
    def answerer(self) -> Answerer:
        """Answer about single queries."""
        rows = training_rows(self.model)
        seen = np.vstack([rows[np.isfinite(rows).all(axis=1)], self.X])
        low, high = np.percentile(seen, OFTEN, axis=0)
        return Answerer(self.outputs, self._axes(), low, high)

    def _axes(self) -> Axes:
        """Features, the most important ones if there are many, and two directions of all rows."""
        names, importance = self.model._feature_names(), global_importance(self.model)
        chosen = np.arange(len(names))
        if len(names) > MOST_AXES:
            order = chosen if importance is None else np.argsort(-importance, kind="stable")
            chosen = np.sort(order[:MOST_AXES])
        weights, origin = np.eye(len(names))[chosen], np.zeros((len(chosen), len(names)))
        shown = [names[j] for j in chosen]
        if len(names) > 2:
            directions, texts = self._directions(names)
            weights, shown = np.vstack([weights, directions]), [*shown, *texts]
            origin = np.vstack([origin, np.repeat(self.X.mean(axis=0)[None], len(texts), axis=0)])
        return Axes(tuple(shown), weights, origin)

    def _directions(self, names: tuple[str, ...]) -> tuple[Array, list[str]]:
        """Two leading directions (2, D) of the AGOP averaged over a sample of the rows, and their names."""
        from localegop.displays._directions import combination

        some = np.unique(np.linspace(0, len(self.X) - 1, SAMPLE).astype(int))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fits = self.model.localize(self.X[some])
        scale = fits.feature_scale
        agop = fits.agop * scale[..., None, :] * scale[..., None]
        _, vectors = spectrum(agop.mean(axis=tuple(range(agop.ndim - 2))))
        mean = scale.mean(axis=tuple(range(scale.ndim - 1)))
        rows = vectors[:, :2].T / np.where(mean > 0.0, mean, 1.0)
        texts = [
            f"{CARDINAL[k]} direction, sd: {combination(vectors[:, k], names)}" for k in range(len(rows))
        ]
        return rows, texts

    def start(self) -> dict[str, Any]:
        """Return what every page needs, without answers about single rows."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            fits = self.model._fits(self.X, Requested(uncertainty=True))
        answerer, (importance, error) = self.answerer, self._importance()
        axes = answerer.axes
        status = fits.status if fits.status.ndim == 1 else fits.status.max(axis=1)
        return {
            "version": version("localegop"),
            "title": self.title,
            "view": self.view,
            "first": self.first,
            "summary": self.model.summary(),
            "coverage": self.outputs.coverage,
            "features": list(self.model._feature_names()),
            "outputs": list(self.model.output_names_),
            "classes": isinstance(self.outputs, Classes),
            "target": self.outputs.target,
            "importance": importance,
            "importance_std": error,
            "axes": [
                {"name": name, "weights": weights.tolist(), "origin": origin.tolist()}
                for name, weights, origin in zip(axes.names, axes.weights, axes.origin, strict=True)
            ],
            "range": np.column_stack([answerer.low, answerer.high]).tolist(),
            "numbers": self.numbers.tolist(),
            "rows": self.X.tolist(),
            "values": fits.value.reshape(len(self.X), -1).tolist(),
            "labels": None if self.y is None else self.y.tolist(),
            "beyond": (status == int(Status.EXTRAPOLATED)).tolist(),
        }

    def _importance(self) -> tuple[Any, Any]:
        """Global importance, and its standard error where the model can tell."""
        if self.model.strategy == "query":
            return None, None
        importance, error = self.model.global_importance(return_std=True)
        return importance.tolist(), None if np.isnan(error).any() else error.tolist()

    def everything(self, progress: Progress = SILENT) -> dict[str, Any]:
        """Return the start and the answers about all rows: what a file needs."""
        fits: list[Any] = []
        used: set[int] = set()
        count = len(self.X)
        parts = (slice(start, min(start + BLOCK, count)) for start in range(0, count, BLOCK))
        for part in progress.over(parts, count):
            answer = self.answerer.answer(self.X[part])
            fits += answer["fits"]
            used.update(answer["training"]["index"])
        index = sorted(used)
        rows, labels = self.answerer.training
        training = {"index": index, "rows": short(rows[index]), "labels": short(labels[index])}
        return {**self.start(), "fits": fits, "training": training}
