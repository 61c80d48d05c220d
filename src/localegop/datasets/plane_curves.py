"""Plane curves: a closed one with lobes, and the spiral of the Swiss roll."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from localegop._arguments import Array

from .curves import Curve

_TURN = 2.0 * np.pi


@dataclass(frozen=True)
class LobedCurve(Curve):
    """The closed curve r(t) (cos t, sin t) with r(t) = 1 + amplitude cos(lobes t).

    Parameters
    ----------
    lobes : int
        Number of lobes.
    amplitude : float
        How far they stick out, in [0, 1).

    Examples
    --------
    >>> from localegop.datasets.plane_curves import LobedCurve
    >>> round(LobedCurve(lobes=3, amplitude=0.25).reach, 3)  # the radius of curvature of a dent
    0.375
    """

    lobes: int
    amplitude: float

    @property
    def n_features(self) -> int:
        """Dimension of the plane."""
        return 2

    @property
    def span(self) -> tuple[float, float]:
        """Once around."""
        return 0.0, _TURN

    @property
    def grid(self) -> Array:
        """Parameters once around."""
        return np.linspace(0.0, _TURN, 240 * (self.lobes + 2), endpoint=False)

    def derivative(self, t: Array, order: int) -> Array:
        """Return the derivatives of one order, shape (n, 2).

        As complex numbers the points are a Fourier series of three terms.
        """
        frequencies = np.array([1, 1 + self.lobes, 1 - self.lobes])
        weights = np.array([1.0, 0.5 * self.amplitude, 0.5 * self.amplitude])
        waves = np.exp(1j * t[:, None] * frequencies)
        return _plane(waves @ (weights * (1j * frequencies) ** order))


@dataclass(frozen=True)
class Spiral(Curve):
    """The spiral scale t (cos t, sin t), t from 3 pi / 2.

    Parameters
    ----------
    scale : float
        The arms are 2 pi scale apart.
    turns : float
        Length in turns.

    Examples
    --------
    >>> from localegop.datasets.plane_curves import Spiral
    >>> Spiral(scale=1.0, turns=1.0).reach < 3.1416  # half the distance of the arms
    True
    """

    scale: float
    turns: float

    @property
    def n_features(self) -> int:
        """Dimension of the plane."""
        return 2

    @property
    def span(self) -> tuple[float, float]:
        """From 3 pi / 2, as many turns as asked for."""
        return 0.75 * _TURN, (0.75 + self.turns) * _TURN

    @property
    def grid(self) -> Array:
        """Parameters of the span and a twelfth of a turn on either side."""
        low, high = self.span
        margin = _TURN / 12.0
        return np.linspace(low - margin, high + margin, int(360 * (self.turns + 1)))

    def derivative(self, t: Array, order: int) -> Array:
        """Return the derivatives of one order, shape (n, 2)."""
        # By Leibniz, the derivatives of t exp(it) are (t + order / i) i^order exp(it).
        return _plane(self.scale * (t - 1j * order) * 1j**order * np.exp(1j * t))


def _plane(points: Array) -> Array:
    """Complex numbers, shape (n,), as points of the plane, shape (n, 2)."""
    return np.column_stack([points.real, points.imag])
