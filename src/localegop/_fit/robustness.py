"""Robustness weights: rows whose labels lie far from what their neighbors say count less, or nothing.

Residuals of rows left out are compared with the spread of those around, and the fit is repeated with the
weights that follow from them, as LOWESS does. The first residuals are those from local medians, which half
of the labels may not move; the next ones those of isotropic linear fits, the last ones those of the final
fits. Weights multiply the weights of the rows, so everything that a fit does is made robust by them at
once: gradients, polynomials, kriging, and the errors at held-out points by which choices are compared.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.choice import Choice
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField, spread_points
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._engine.settings import Settings
from localegop._engine.sites import Site
from localegop._engine.work import PolynomialFits
from localegop._fit.backend import Backend, D, M_co
from localegop._fit.initial_units import find_initial_units, start_without_labels
from localegop._fit.leave_one_out import final_fits
from localegop._fit.pilot_fits import run_pilot
from localegop._predict.decisions import FORGOTTEN, Decisions
from localegop._predict.uncertainty import correct_noise
from localegop._selection.folds import FEWEST_POINTS
from localegop._selection.holdout import is_wide

Array = NDArray[np.float64]
Points = NDArray[np.int64]
# Squared residuals (m, K) at the centers of a site, which are training points of these numbers, each
# without its own label.
Squares = Callable[[Site, Points], Array]

ROUNDS = 2  # of isotropic linear fits, before all else
FULL_WEIGHT = 1.345  # standard deviations within which a row counts in full: Huber's constant
OUTLYING = 10.0  # standard deviations beyond which a label counts for nothing
NORMAL = 1.4826  # standard deviation of a normal variable over the median of its size
NEIGHBORS = 15  # rows whose median label that of a row is compared with
AROUND = 50  # residuals that the spread at a place is the median of
MOST_COMPARED = 2000  # rows whose residuals tell the spread
STEADY = 0.25  # of the spread over all rows, the least that there is anywhere
NEGLIGIBLE = 1e-3  # standard deviations of the labels: spreads below that are no noise
BLOCK = 20_000  # rows whose residuals are found at a time


def huber_weights(distance: Array) -> Array:
    """Weights of residuals that are so many standard deviations: Huber's, next to nothing far out.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop._fit.robustness import huber_weights
    >>> huber_weights(np.array([0.0, 2.69, 1e3])).tolist()
    [1.0, 0.5, 1e-30]
    """
    weights = FULL_WEIGHT / np.maximum(distance, FULL_WEIGHT)
    return np.where(distance > OUTLYING, FORGOTTEN, weights)


def first_weights(backend: Backend[D, M_co], settings: Settings) -> Array:
    """Robustness weights (n,) by residuals from local medians, then by those of isotropic linear fits."""
    data = start_without_labels(backend, settings)
    if data.n < FEWEST_POINTS:
        return np.ones(data.n)
    distances = find_distances(backend, data, _squares_from_medians)
    for _ in range(ROUNDS):
        weighted = backend.reweighted(huber_weights(distances))
        _, _, data = find_initial_units(weighted, settings)
        pilot = run_pilot(weighted, data, settings.ridges)
        distances = find_distances(weighted, data, LinearSquares(pilot.size, pilot.ridge))
    return huber_weights(distances)


def reweigh(backend: Backend[D, M_co], data: D, decisions: Decisions, squares: FinalSquares) -> Array:
    """Robustness weights (n,) by residuals of final fits.

    A label that is far out, but helps to predict those around, is no error: it may be one of few where f
    is steep. It gets Huber's weight.
    """
    if data.n < FEWEST_POINTS:
        return np.ones(data.n)
    distances = find_distances(backend, data, squares)
    weights, suspects = huber_weights(distances), np.flatnonzero(distances > OUTLYING)
    if len(suspects) and len(suspects) < data.n // 2:
        harm = _harm(backend, data, decisions, squares, weights)
        helpful = suspects[harm <= 0.0]
        weights[helpful] = FULL_WEIGHT / distances[helpful]
    return weights


def find_distances(backend: Backend[D, M_co], data: D, squares: Squares) -> Array:
    """Sizes (n,) of the residuals of all rows over the spread around them; the largest of any output."""
    points = spread_points(data.n, MOST_COMPARED)
    site = backend.own_site(data, points)
    sizes = np.sqrt(squares(site, points))
    spread = Spread(backend.as_data(site), sizes)
    if len(points) == data.n:
        return spread.distances(site.rows, sizes)
    distances = np.empty(data.n)
    for first in range(0, data.n, BLOCK):
        block = np.arange(first, min(first + BLOCK, data.n))
        site = backend.own_site(data, block)
        distances[block] = spread.distances(site.rows, np.sqrt(squares(site, block)))
    return distances


def _harm(
    backend: Backend[D, M_co], data: D, decisions: Decisions, squares: FinalSquares, weights: Array
) -> Array:
    """How much farther off labels around each suspect are if all suspects count than if none does."""
    suspect = weights == FORGOTTEN
    others, suspects = np.flatnonzero(~suspect), np.flatnonzero(suspect)
    witnesses = others[spread_points(len(others), MOST_COMPARED)]
    sizes = []
    for counted in (weights, np.where(suspect, 1.0, weights)):
        again = backend.reweighted(counted).in_units(decisions.units, decisions.settings)
        if is_wide(squares.choice, squares.field):
            again = again.seeing(decisions.settings.farthest(data.n))
        site = backend.own_site(again, witnesses)
        sizes.append(np.sqrt(squares(site, witnesses)))
    without, with_all = sizes
    spread = Spread(backend.as_data(site), without).at(site.rows)
    bounded = [np.minimum(each / spread, OUTLYING) for each in (with_all, without)]
    change = np.mean(bounded[0] - bounded[1], axis=1)
    at = backend.own_site(data, suspects).rows
    near = backend.as_data(site).nearest(at, min(NEIGHBORS, len(witnesses)))
    harm: Array = change[near].mean(axis=1)
    return harm


@dataclass(frozen=True)
class Spread:
    """The spread of residuals around any row, from their sizes (m, K) at some rows."""

    rows: LocalData
    sizes: Array

    def distances(self, rows: Array, sizes: Array) -> Array:
        """Sizes (q, K) of residuals at rows (q, D) over the spread there: the largest (q,) of an output."""
        found: Array = (sizes / self.at(rows)).max(axis=1)
        return found

    def at(self, rows: Array) -> Array:
        """Return standard deviations (q, K) of the residuals around rows (q, D), from medians."""
        near = self.rows.nearest(rows, min(AROUND, self.rows.n))
        everywhere = np.median(self.sizes, axis=0)
        around = np.stack([np.median(each[near], axis=1) for each in self.sizes.T], axis=1)
        spread: Array = np.maximum(NORMAL * np.maximum(around, STEADY * everywhere), NEGLIGIBLE)
        return spread


def _squares_from_medians(site: Site, points: Points) -> Array:
    """Squared differences (m, K) of labels from the median of those around; see :data:`Squares`."""
    none = np.zeros((len(site), 0, 0))
    (medians,) = site.run(LocalMedians(), none, Widths.of_scale(1.0, len(site)))
    squares: Array = (site.labels - medians) ** 2
    return squares


@dataclass(frozen=True)
class LocalMedians:
    """Medians (center, output) of the labels of the nearest rows, of each output by itself.

    See :class:`localegop._engine.sites.Work`; shapes and widths do not matter.
    """

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`localegop._engine.sites.Work`."""
        return 24.0 * NEIGHBORS * (data.outputs + 1)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`localegop._engine.sites.Work`."""
        assert centers.left_out is not None
        near = data.nearest(centers.rows, min(NEIGHBORS + 1, data.max_visible))
        labels = np.where((near == centers.left_out[:, None])[:, :, None], np.nan, data.labels[near])
        return (np.nanmedian(labels, axis=1),)


@dataclass(frozen=True)
class LinearSquares:
    """Squared residuals of isotropic linear fits; see :data:`Squares`."""

    size: float
    ridge: float

    def __call__(self, site: Site, points: Points) -> Array:
        """See :data:`Squares`."""
        value, factor = site.run(
            PolynomialFits((self.ridge,), variances=True),
            isotropic_shapes(len(site), site.data.dimension),
            Widths.of_sizes((self.size,), len(site)),
        )
        return correct_noise(site.labels - value[:, 0, 0, 0], factor[:, 0, 0, 0])


@dataclass(frozen=True)
class FinalSquares:
    """Squared residuals of final fits around a learned field; see :data:`Squares`.

    Parameters
    ----------
    field : GradientField
    choice : Choice
    anchors : ndarray of shape (a,)
        Numbers of the training points that the anchors are, rising.
    gather : callable
        Takes some of the training points into this process, which global processes need.
    """

    field: GradientField
    choice: Choice
    anchors: Points
    gather: Callable[[Any, Points], LocalData]

    def __call__(self, site: Site, points: Points) -> Array:
        """See :data:`Squares`."""
        if isinstance(self.choice.final, GlobalKriging):
            everything = self.gather(site.data, np.arange(site.data.n))
            found = everything.solved(self.choice.final).without_own(points)
            return correct_noise(site.labels - found.value, found.variance_factor)
        at = np.minimum(np.searchsorted(self.anchors, points), len(self.anchors) - 1)
        own = np.where(self.anchors[at] == points, at, -1)
        shapes = self.field.shapes_at(site.rows, self.choice.step, own)
        value, _, factor = final_fits(site, self.field, self.choice, shapes)
        return correct_noise(site.labels - value, factor)
