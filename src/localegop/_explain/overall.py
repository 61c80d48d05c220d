"""Importance over all training rows: of single features, and of groups of features that move together."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.sparse.csgraph import connected_components

from localegop._explain.explainer import Explainer
from localegop._explain.spread import error_from_halves
from localegop._predict.model import Model
from localegop.results import FeatureGroup, shares_of

Array = NDArray[np.float64]


class HasOverallAgop(Protocol):
    """A model, in this process or on a cluster."""

    @property
    def overall_agop(self) -> Array:
        """AGOP (D, D) over the training points, per standard deviation of the features."""


@dataclass(frozen=True)
class Overall:
    """AGOPs over all training rows, per standard deviation of the features.

    Parameters
    ----------
    whole : ndarray of shape (D, D)
        From all rows.
    halves : ndarray of shape (2 pairs, D, D) or None
        From complementary halves of the rows; None if that cannot be had.
    """

    whole: Array
    halves: Array | None = None

    @classmethod
    def of(cls, explainers: Sequence[Explainer]) -> Overall:
        """Add up the averaged AGOPs of several outputs, and those of the halves."""
        pairs = [one.overall for one in explainers]
        return cls(sum_up([whole for whole, _ in pairs]), sum_up([halves for _, halves in pairs]))

    @classmethod
    def alone(cls, models: Sequence[HasOverallAgop]) -> Overall:
        """Add up the AGOPs of models themselves, whose errors are not known."""
        return cls(sum_up([model.overall_agop for model in models]))

    def importance(self) -> tuple[Array, Array]:
        """Shares (D,) of features in the squared slope, and their standard errors, NaN if not known."""
        return self._shares(lambda agops: np.diagonal(agops, axis1=-2, axis2=-1))

    def groups(self, names: Sequence[str], correlations: Array, least: float) -> list[FeatureGroup]:
        """Find groups of features whose correlations are at least so large, the most important first."""
        count, group = connected_components(np.abs(correlations) >= least, directed=False)
        member = group[:, None] == np.arange(count)
        shares, errors = self._shares(lambda agops: _grouped(agops, correlations, member))
        return [
            FeatureGroup(
                tuple(name for name, inside in zip(names, member[:, k], strict=True) if inside),
                float(shares[k]),
                float(errors[k]),
            )
            for k in np.argsort(-shares, kind="stable")
        ]

    def _shares(self, squares: Callable[[Array], Array]) -> tuple[Array, Array]:
        """Shares of squared slopes, a function of AGOPs, and their standard errors."""
        shares = shares_of(np.maximum(squares(self.whole), 0.0))
        if self.halves is None:
            return shares, np.full_like(shares, np.nan)
        found = shares_of(np.maximum(squares(self.halves), 0.0))
        return shares, error_from_halves(found)


def _grouped(agops: Array, correlations: Array, member: NDArray[np.bool_]) -> Array:
    """Mean squared changes (..., group) of f when the features of a group move as they do together."""
    within = member.astype(float)
    changes: Array = np.einsum("...ab,ab,ag,bg->...g", agops, correlations, within, within, optimize=False)
    return changes


def correlations_of(model: Model) -> Array:
    """Correlations (D, D) of the features, on their curves if they have any; zero for constant ones."""
    assert model.features is not None
    curves = model.decisions.units.curves
    rows = model.features if curves is None else curves(model.features)
    weight = model.data.sample_weight / model.data.sample_weight.sum()
    size = np.maximum(np.abs(rows).max(axis=0), np.finfo(float).tiny)
    centered = rows / size - np.einsum("n,na->a", weight, rows / size)
    spread = np.sqrt(np.einsum("n,na,na->a", weight, centered, centered))
    centered = np.divide(centered, spread, out=np.zeros_like(centered), where=spread > 1e-14)
    found: Array = np.einsum("n,na,nb->ab", weight, centered, centered, optimize=False)
    np.fill_diagonal(found, 1.0)
    return found


def sum_up(parts: Sequence[Array]) -> Array:
    """Sum of arrays, in their order."""
    total: Array = np.sum(np.stack(parts), axis=0)
    return total
