"""Fits kept at centers and blended at queries: a short search and a few evaluations instead of a fit each.

The centers are training points. Each has its final fit, a function of the query, and its learned metric at
the scale of its neighborhood. A query is answered by the few centers that are nearest in their own metrics,
with weights that fall to zero before another center takes the place of the last of them, so that what comes
out is continuous.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from localegop import _core
from localegop._engine.choice import Choice
from localegop._engine.final_fits import MAX_KRIGING_POINTS, Kriging, Logistic
from localegop._engine.global_kriging import GlobalKriging
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData

Array = NDArray[np.float64]

MOST_CENTERS = 1000
MOST_BYTES = 64e6  # of kept fits
CANDIDATES = 48  # nearest centers of a query, of which
ACTIVE = 6  # so many answer


@dataclass(frozen=True)
class Blended:
    """Answers to q queries, in units of the recursion.

    Attributes
    ----------
    value : ndarray of shape (q, K)
    distance : ndarray of shape (q,)
        Squared distance of the nearest center, in its own metric at the scale of its neighborhood; infinite
        where there is no center to ask.
    gradient : ndarray of shape (q, K, D)
        Of the value, empty unless asked for.
    """

    value: Array
    distance: Array
    gradient: Array


class KeptCenters:
    """Centers of a blend, with their fits once :meth:`keep` has made them. Answers are the same either way.

    Parameters
    ----------
    data : LocalData
    choice : Choice
        The final fit.
    """

    def __init__(self, data: LocalData, choice: Choice) -> None:
        count = min(data.n, MOST_CENTERS, int(MOST_BYTES / bytes_each(data, choice)))
        self.rows = data.rows[np.arange(count) * data.n // count]  # rows are sorted: all over the data
        nothing = np.zeros((count, 0))
        self._points = _core.Points(self.rows, nothing, np.ones(count))
        self._kept: _core.KeptFits | None = None

    def keep(self, data: LocalData, field: GradientField, choice: Choice) -> None:
        """Make the fits of all centers, so that answers come fast."""
        if self._kept is None:
            self._kept = _keep_fits(data, field, choice, self.rows)

    def blend(
        self,
        data: LocalData,
        field: GradientField,
        choice: Choice,
        queries: Array,
        *,
        gradients: bool = False,
    ) -> Blended:
        """Answer queries (q, D) in units of the recursion; a few of them without keeping any fits."""
        threads = data.threads
        lists = np.empty((len(queries), CANDIDATES + 1), dtype=np.int32)
        _core.nearest(self._points, queries, lists, threads)
        kept = self._kept
        if kept is None:
            needed = np.unique(lists)
            if 2 * len(needed) > len(self.rows):
                self.keep(data, field, choice)
                return self.blend(data, field, choice, queries, gradients=gradients)
            kept = _keep_fits(data, field, choice, self.rows[needed])
            lists = np.searchsorted(needed, lists).astype(np.int32)
        return Blended(*kept.blend(queries, lists, ACTIVE, threads, gradients))


def can_blend(data: LocalData, choice: Choice) -> bool:
    """Whether there are enough centers for a blend, and room for them."""
    if isinstance(choice.final, GlobalKriging):
        return False  # which answers as fast
    if isinstance(choice.final, Logistic):
        return False  # whose logits would have to be kept
    enough = 3 * (CANDIDATES + 1)
    room = MOST_BYTES / bytes_each(data, choice)
    return data.n >= enough and room >= min(data.n, MOST_CENTERS) // 4 and data.radius is None


def bytes_each(data: LocalData, choice: Choice) -> int:
    """Memory of one kept fit."""
    dimension, outputs = int(data.dimension), data.outputs
    place_and_metric, value_and_slopes = dimension + dimension**2, outputs * (1 + dimension)
    assert not isinstance(choice.final, GlobalKriging)
    if isinstance(choice.final, Kriging):
        more = (dimension + outputs) * MAX_KRIGING_POINTS
    else:
        more = (1 + outputs) * dimension * choice.final.n_quadratic_directions
    return 8 * (place_and_metric + value_and_slopes + more)


def _keep_fits(data: LocalData, field: GradientField, choice: Choice, rows: Array) -> _core.KeptFits:
    """Make the final fits at rows (m, D) and keep them."""
    centers = data.centers(rows)
    shapes = field.shapes_at(rows, choice.step)
    widths = choice.widths(field.update, len(rows), field)
    return choice.fit_with(field.anchors).keep(data, centers, shapes, widths)
