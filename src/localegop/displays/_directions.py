"""Which two directions a picture shows, and the projection of a localization onto them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from localegop._engine.metric import spectrum
from localegop.displays._common import Array, percent, position

if TYPE_CHECKING:
    from localegop.results import LocalFits

# Directions in which distance does not count have infinite variance. This many feature standard deviations
# look infinite in a picture, and leave enough digits to the short axis of the ellipse.
WIDEST = 1e3


@dataclass(frozen=True)
class Plane:
    """Two directions: ``rows`` (2, D) maps offsets from ``origin`` (D,) to what is shown."""

    rows: Array
    origin: Array
    names: tuple[str, str]

    def shown(self, points: Array) -> Array:
        """Coordinates of points (..., D) in the picture."""
        seen: Array = (points - self.origin) @ self.rows.T
        return seen

    def projected_covariance(self, metric: Array, feature_scale: Array) -> Array:
        """Covariance (2, 2) of the localization in the picture."""
        scale = np.where(feature_scale > 0.0, feature_scale, 1.0)
        values, vectors = np.linalg.eigh(metric * np.outer(scale, scale))
        root = (self.rows * scale) @ vectors / np.sqrt(np.maximum(values, WIDEST**-2))
        covariance: Array = root @ root.T
        return covariance


def plane_of(fits: LocalFits, index: int, directions: Any) -> Plane:
    """Plane of two features, given by number or name, or of the leading directions of the AGOP."""
    names = fits.feature_names
    if len(names) < 2:
        raise ValueError("a localization is drawn in two directions, but these fits have one feature")
    if directions is None:
        directions = (0, 1) if len(names) == 2 else "leading"
    if isinstance(directions, str):
        if directions != "leading":
            raise ValueError(f"directions must be 'leading' or two features, got {directions!r}")
        return _leading(fits, index)
    if not isinstance(directions, Sequence | np.ndarray) or len(directions) != 2:
        raise ValueError(
            f"directions must be 'leading' or two features, by name or number, got {directions!r}"
        )
    first, second = (position("a direction", given, names) for given in directions)
    if first == second:
        raise ValueError(f"directions must be two different features, got {directions!r}")
    rows = np.eye(len(names))[[first, second]]
    return Plane(rows, np.zeros(len(names)), (names[first], names[second]))


def _leading(fits: LocalFits, index: int) -> Plane:
    """Plane in feature standard deviations, with the query at the origin."""
    scale = fits.feature_scale[index]
    values, vectors = spectrum(fits.agop[index] * np.outer(scale, scale))
    total = values.sum()
    if not total > 0.0:
        raise ValueError(
            f"query {index} has no leading directions, as no slope was found there: choose two features "
            "with directions=(..., ...)"
        )
    rows = vectors[:, :2].T / np.where(scale > 0.0, scale, 1.0)
    names = [
        f"direction {rank + 1} ({percent(values[rank] / total)} of squared slope), sd\n"
        + combination(vectors[:, rank], fits.feature_names)
        for rank in range(2)
    ]
    return Plane(rows, fits.query[index], (names[0], names[1]))


def combination(vector: Array, names: Sequence[str], most: int = 3) -> str:
    """Describe a direction by its largest entries: '0.9 a - 0.4 b + ...'."""
    order = np.argsort(-np.abs(vector), kind="stable")
    parts: list[str] = []
    for entry in order[:most]:
        if abs(vector[entry]) < 0.05:
            break
        sign = (
            ("-" if vector[entry] < 0.0 else "") if not parts else " - " if vector[entry] < 0.0 else " + "
        )
        parts.append(f"{sign}{abs(vector[entry]):.2f} {names[entry]}")
    more = " + …" if np.any(np.abs(vector[order[len(parts) :]]) >= 0.05) else ""
    return "".join(parts) + more
