"""Blended predictions of a model: what was decided about them, and the fits they are blended from."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from localegop._engine.blend import KeptCenters
from localegop._engine.choice import Choice
from localegop._engine.gradient_field import GradientField
from localegop._engine.local_data import LocalData

Array = NDArray[np.float64]

FAR = 2.0  # times the distance up to which centers answer alone: from there on they do not answer at all


class Blending:
    """The decision to blend, and the centers, whose fits are made when they are first needed.

    What is answered follows from the decision and the model alone, whenever the fits were made, so a copy
    or a file needs no more than the decision. Two threads that need the fits at once may both make them.

    Parameters
    ----------
    near : float
        Squared distance of the nearest center, in its own metric, up to which centers answer alone.
    """

    def __init__(self, near: float) -> None:
        self.near = near
        self._centers: KeptCenters | None = None

    def __reduce__(self) -> tuple[object, ...]:
        return (Blending, (self.near,))

    def prepare(self, data: LocalData, field: GradientField, choice: Choice) -> Blending:
        """Make the fits of all centers now, so that the first prediction is fast already."""
        self._known(data, choice).keep(data, field, choice)
        return self

    def values(
        self, data: LocalData, field: GradientField, choice: Choice, queries: Array
    ) -> tuple[Array, Array]:
        """Values (q, K) in units of the recursion, and shares (q,) that centers cannot answer for."""
        blended = self._known(data, choice).blend(data, field, choice, queries)
        return blended.value, self._uncovered(blended.distance)

    def gradients(
        self, data: LocalData, field: GradientField, choice: Choice, queries: Array
    ) -> tuple[Array, Array]:
        """Gradients (q, K, r) of the values, and shares (q,) as :meth:`values` gives them."""
        blended = self._known(data, choice).blend(data, field, choice, queries, gradients=True)
        return blended.gradient, self._uncovered(blended.distance)

    def _uncovered(self, distance: Array) -> Array:
        return fade(distance, self.near, FAR * self.near)

    def _known(self, data: LocalData, choice: Choice) -> KeptCenters:
        centers = self._centers
        if centers is None:
            centers = self._centers = KeptCenters(data, choice)
        return centers


def fade(values: Array, start: float, end: float) -> Array:
    """Rise smoothly from 0, where values are up to the start, to 1, where they are from the end on."""
    t = np.clip((values - start) / (end - start), 0.0, 1.0)
    share: Array = t * t * (3.0 - 2.0 * t)
    return share
