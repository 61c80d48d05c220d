"""Explanations of a model, averaged over what might have been chosen, with their standard errors."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from localegop._engine.chunks import chunks
from localegop._engine.gradient_field import FEWEST_GRADIENTS
from localegop._explain.replicas import Replicas, can_replicate, learn_replicas
from localegop._explain.spread import error_from_halves
from localegop._predict.model import Model
from localegop._predict.uncertainty import SURROUNDINGS_SIZE
from localegop._progress import SILENT, Progress
from localegop.results import LocalFits, intrinsic_dimensions, shares_of

Array = NDArray[np.float64]

SMALL = 1e-200  # squared slopes that can be divided by


@dataclass(frozen=True)
class Slopes:
    """What models (m,) say at q queries, in the user's units.

    Gradients (m, q, K, D), AGOPs (m, q, D, D), and what counts as a standard deviation of a feature
    (m, q, D).
    """

    gradient: Array
    agop: Array
    scale: Array

    @property
    def importance(self) -> Array:
        """Shares (m, q, D) of the features in the squared slopes."""
        return shares_of(_squares(self.agop, self.scale))

    @property
    def dimension(self) -> Array:
        """Intrinsic dimensions (m, q)."""
        return intrinsic_dimensions(self.agop, self.scale)


class Explainer:
    """What explains a model; replicas of the fit are learned when they are first needed.

    What is answered follows from the model alone, whenever they were learned, so a copy or a file needs no
    more than the model. Two threads that need them at once may both learn them.
    """

    def __init__(self, model: Model) -> None:
        self.model = model

    def __reduce__(self) -> tuple[object, ...]:
        return (Explainer, (self.model,))

    @property
    def knows_errors(self) -> bool:
        """Whether the model has what it takes to tell standard errors."""
        return can_replicate(self.model)

    @property
    def is_ready(self) -> bool:
        """Whether the replicas are known."""
        return "replicas" in vars(self)

    def prepare(self, threads: int, progress: Progress = SILENT) -> None:
        """Learn the replicas now, unless they are known."""
        if not self.is_ready:
            vars(self)["replicas"] = learn_replicas(self.model.with_threads(threads), progress)

    @cached_property
    def replicas(self) -> Replicas:
        """Replicas of the fit."""
        return learn_replicas(self.model)

    def explained(self, fits: LocalFits, threads: int) -> LocalFits:
        """Fits of the model with gradients and all that follows from them averaged, and their errors."""
        replicas, X = self.replicas, fits.query
        rivals = _look(replicas.rivals, X, threads)
        halves = _look(replicas.halves, X, threads, crowd=0.5)
        return replace(
            fits,
            gradient=_weighted(rivals.gradient, replicas.shares),
            agop=average_agop(rivals.agop, replicas.shares, fits.feature_scale),
            intrinsic_dimension=_mean_of_known(rivals.dimension, replicas.shares),
            gradient_std=error_from_halves(halves.gradient),
            importance_std=error_from_halves(halves.importance),
            intrinsic_dimension_std=error_from_halves(halves.dimension),
        )

    @cached_property
    def overall(self) -> tuple[Array, Array]:
        """AGOPs over all training points, per standard deviation of the features, from several fits.

        That of all rows (D, D), averaged over rivals, and those of the halves (2 pairs, D, D).
        """
        replicas = self.replicas
        rivals = np.stack([model.overall_agop for model in replicas.rivals])
        one = np.ones(rivals.shape[-1])
        whole = average_agop(rivals, replicas.shares, one)
        return whole, np.stack([model.overall_agop for model in replicas.halves])


def _look(models: Sequence[Model], X: Array, threads: int, crowd: float = 1.0) -> Slopes:
    """Look at queries X (q, D) with several models; ``crowd`` is the share of all rows they have seen."""
    found = [_slopes(model.with_threads(threads), X, crowd) for model in models]
    scales = [model.decisions.units.scale_at(model.decisions.feature_scale, X) for model in models]
    return Slopes(
        np.stack([one for one, _ in found]), np.stack([one for _, one in found]), np.stack(scales)
    )


def _slopes(model: Model, X: Array, crowd: float) -> tuple[Array, Array]:
    """Gradients (q, K, D) at queries X (q, D) and AGOPs (q, D, D) around them, in the user's units."""
    features, units = X.shape[1], model.decisions.units
    gradient = np.empty((len(X), model.data.outputs, features))
    agop = np.empty((len(X), features, features))
    for part in chunks(len(X), 32 * model.data.dimension**2 + 64 * model.data.max_visible):
        slopes, around = model.slopes_at(X[part], _size(model, crowd))
        gradient[part] = units.gradients(slopes, X[part])
        agop[part] = units.metrics(around, X[part]) * units.label_unit
    return gradient, agop


def _size(model: Model, crowd: float) -> float:
    """Return the number of anchors that AGOPs are averaged over; see ``gradients_around``."""
    assert model.field is not None
    share = float(model.field.anchors.n / model.field.n)
    size = crowd * SURROUNDINGS_SIZE * share
    return size if share == 1.0 else max(size, FEWEST_GRADIENTS)


def average_agop(agops: Array, weights: Sequence[float], scale: Array) -> Array:
    """Average AGOPs (m, ..., D, D) so that importances are averages of importances.

    What is averaged are AGOPs of trace one, with features in units of their ``scale`` (..., D), and traces.
    """
    traces = _squares(agops, scale).sum(axis=-1)
    usual = ((traces > SMALL) & (traces < 1.0 / SMALL)).all(axis=0)  # else quotients may overflow
    alike = np.where(usual, 1.0 / np.where(usual, traces, 1.0), 1.0)
    mean: Array = _weighted(agops * alike[..., None, None], weights)
    return mean * np.where(usual, _weighted(traces, weights), 1.0)[..., None, None]


def _squares(agops: Array, scale: Array) -> Array:
    """Squared slopes (..., D) in units of the features' scale."""
    squares: Array = np.maximum(np.diagonal(agops, axis1=-2, axis2=-1), 0.0) * scale**2
    return squares


def _mean_of_known(values: Array, weights: Sequence[float]) -> Array:
    """Weighted mean over the first axis of what is not NaN; NaN if nothing is known."""
    known = np.isfinite(values)
    total = _weighted(known.astype(float), weights)
    mean: Array = _weighted(np.where(known, values, 0.0), weights)
    return np.divide(mean, total, out=np.full_like(mean, np.nan), where=total > 0.0)


def _weighted(values: Array, weights: Sequence[float]) -> Array:
    """Weighted mean over the first axis, in fixed order."""
    total: Array = np.zeros_like(values[0])
    for weight, value in zip(weights, values, strict=True):
        total = total + weight * value
    return total
