"""Where the data end: which queries lie beyond them, how far, and what is said there.

A query is beyond the data if its third nearest training row is farther, in the units of the recursion, than
``reach``: twice as far as is usual among training rows. Where the rows surround it, as in a gap, it is
fitted where it is. Elsewhere the fit is made nearer to the data, and its value is carried on to the query
along the slope found there.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop._engine.centers import Centers, Widths
from localegop._engine.local_data import LocalData
from localegop._engine.recursion import isotropic_shapes
from localegop._predict.blending import fade

Array = NDArray[np.float64]

NEIGHBORS = 3  # one row may be an outlier, or the twin of another
LOOKED_AT = 100  # nearest rows, of which some may be at the same place
USUAL = 0.995  # share of training rows whose neighbors are as near as is usual
OUTLYING = 10.0  # medians of the spacing at which one of few rows is an outlier
FACTOR = 2.0  # how much farther than that a query may be
# Squared distance of a query to the mean of its neighborhood, in units of the variance there, up to which
# the rows surround it, and from which on they do not.
SURROUNDED, OUTSIDE = 6.0, 12.0
NEIGHBORHOOD_SIZE = 60.0  # effective, of that neighborhood
SMALL_RIDGE = 1e-6


@dataclass(frozen=True)
class Support:
    """Where q queries are seen from, in the units of the recursion.

    Attributes
    ----------
    remoteness : ndarray of shape (q,)
        Distance to the third nearest row over the reach: more than 1 beyond the data.
    rows : ndarray of shape (q, D)
        Where to fit: the queries, those beyond the data moved toward it.
    way : ndarray of shape (q, D)
        From there to the queries; zero within the data.
    """

    remoteness: Array
    rows: Array
    way: Array

    @property
    def beyond(self) -> NDArray[np.bool_]:
        """Which queries lie beyond the data."""
        return self.remoteness > 1.0

    def carry_on(self, value: Array, gradient: Array) -> Array:
        """Values (q, K) at the queries, from those where the fits are and their gradients (q, K, D)."""
        beyond = np.flatnonzero(self.beyond)
        carried = value.copy()
        carried[beyond] += np.einsum("qkd,qd->qk", gradient[beyond], self.way[beyond])
        return carried

    def drift(self, squared_slope: Array) -> Array:
        """How far f may have moved (q, K) on the way to the queries, from its mean squared slope there."""
        length = np.sqrt(np.sum(self.way**2, axis=1))
        moved: Array = np.sqrt(squared_slope) * length[:, None]
        return moved


def neighbors_for(data: LocalData) -> int:
    """Count the nearest rows, other than itself, up to the one by which a row is judged; 0 if alone."""
    return min(NEIGHBORS, data.max_visible - 1)


@dataclass(frozen=True)
class Spacing:
    """Distances (m,) of training points to the third nearest place, other than their own, of others.

    Labels may have been measured several times at one place; zero if that holds for all points looked at.
    See :class:`localegop._engine.sites.Work`; shapes and widths do not matter.
    """

    def bytes_each(self, data: LocalData) -> float:
        """See :class:`localegop._engine.sites.Work`."""
        return 24.0 * LOOKED_AT * float(data.dimension)

    def __call__(
        self, data: LocalData, centers: Centers, shapes: Array, widths: Widths
    ) -> tuple[Array, ...]:
        """See :class:`localegop._engine.sites.Work`."""
        near = data.rows[data.nearest(centers.rows, min(LOOKED_AT, data.max_visible))]
        distances = np.sqrt(np.sum((near - centers.rows[:, None]) ** 2, axis=2))
        # points are sorted: equal ones follow each other
        repeated = (near[:, 1:] == near[:, :-1]).all(axis=2)
        distances[:, 1:][repeated] = np.inf
        distances.sort(axis=1)  # the first is the point itself
        last = np.minimum(np.isfinite(distances).sum(axis=1) - 1, neighbors_for(data))
        return (np.take_along_axis(distances, last[:, None], axis=1)[:, 0],)


def reach_from(distances: Array) -> float:
    """How far queries may be from the data, from the spacing of training rows; infinite if it is zero."""
    usual = float(np.quantile(distances, USUAL, method="higher"))
    if len(distances) * (1.0 - USUAL) < 1.0:  # this is the largest of all, which may be that of an outlier
        usual = min(usual, OUTLYING * float(np.median(distances)))
    return FACTOR * usual if usual > 0.0 else np.inf


def one_sidedness(data: LocalData, centers: Centers) -> Array:
    """Squared distances (q,) of centers to the means of round neighborhoods, over the variance there.

    They follow from the variance factor of a linear fit, which is 1 plus this over the effective size.
    """
    widths = Widths.of_sizes((min(NEIGHBORHOOD_SIZE, data.largest_size),), len(centers))
    shapes = isotropic_shapes(len(centers), data.dimension)
    linear = data.localize(centers, shapes, widths, degree=1, ridges=(SMALL_RIDGE,), variances=True)
    squared: Array = linear.variance_factor[:, 0, 0, 0] * linear.effective_size[:, 0] - 1.0
    return squared


def is_surrounded(data: LocalData, centers: Centers, distances: Array, reach: float) -> NDArray[np.bool_]:
    """Tell which centers (q,), at such distances to their third nearest rows, are fitted where they are."""
    inside = distances <= reach
    far = np.flatnonzero(~inside)
    if len(far):
        inside[far] = one_sidedness(data, centers.pick(far)) <= SURROUNDED
    return inside


def find_support(data: LocalData, rows: Array, reach: float) -> Support:
    """See which queries (q, D) lie beyond the data, and where to fit for them."""
    count = neighbors_for(data)
    if count == 0 or not np.isfinite(reach) or not len(rows):
        return Support(np.zeros(len(rows)), rows, np.zeros_like(rows))
    nearest = data.nearest(rows, count)
    distances = np.sqrt(np.sum((data.rows[nearest] - rows[:, None]) ** 2, axis=2).max(axis=1))
    remoteness = distances / reach
    beyond = np.flatnonzero(remoteness > 1.0)
    if not len(beyond):
        return Support(remoteness, rows, np.zeros_like(rows))
    share = fade(one_sidedness(data, data.centers(rows[beyond])), SURROUNDED, OUTSIDE)[:, None]
    # From distance d to reach^2 / d: nothing jumps at the reach, and far out the fit is at the edge.
    way, edge = np.zeros_like(rows), data.rows[nearest[beyond]].mean(axis=1)
    way[beyond] = share * (1.0 - remoteness[beyond, None] ** -2) * (rows[beyond] - edge)
    return Support(remoteness, rows - way, way)
