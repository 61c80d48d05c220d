"""Classes whose probabilities vary along a curve only: continuous index learning of classes."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from sklearn.utils import Bunch

from localegop._arguments import Array, RandomStateLike, as_generator, check_count, check_points, check_real

from .curve_samples import make_annulus, make_helix
from .tubes import XyOrBunch, check_polynomial

REFERENCE = 1000  # points over which logits are standardized


def make_class_helix(
    n_samples: int = 1000,
    n_features: int = 5,
    *,
    n_classes: int = 3,
    sharpness: float = 2.0,
    radius: float = 0.5,
    scale: float = 0.8,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points around a helix in R^D, of classes that depend on their nearest point on it.

    Points are those of :func:`make_helix`. The logit of each class is a random cubic polynomial of the
    nearest point, of mean 0 and standard deviation ``sharpness``; labels are drawn from the probabilities.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_features : int, default 5
        Dimension D of the points, at least 2.
    n_classes : int, default 3
        Number of classes, at least 2.
    sharpness : float, default 2.0
        Standard deviation of the logits: with 0 labels are pure chance, with 10 nearly none.
    radius, scale : float
        As in :func:`make_helix`.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call, and the same probabilities for any ``n_samples``.
    return_bunch : bool, default False
        Whether to return a Bunch instead of (X, y).

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, n_features) and labels 0, 1, ... A Bunch has ``data``, ``target``,
        ``clean`` (nearest points on the curve), ``probabilities`` of shape (n_samples, n_classes),
        ``probability``, a callable that gives those of any points around the curve, and ``parameters``.

    Examples
    --------
    >>> from localegop.datasets import make_class_helix
    >>> helix = make_class_helix(200, 5, random_state=0, return_bunch=True)
    >>> helix.data.shape, helix.probabilities.shape
    ((200, 5), (200, 3))
    """
    rng = as_generator(random_state)
    geometry: dict[str, Any] = {"n_features": n_features, "radius": radius, "scale": scale}

    def points(count: int) -> Bunch:
        return make_helix(count, **geometry, random_state=rng, return_bunch=True)

    return _draw(points, n_samples, n_classes, sharpness, rng, geometry, return_bunch)


def make_class_annulus(
    n_samples: int = 1000,
    *,
    n_classes: int = 3,
    sharpness: float = 2.0,
    angle: float = 180.0,
    radius_range: tuple[float, float] = (0.6, 1.8),
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points of a sector of an annulus, of classes that depend on their direction.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_classes, sharpness, random_state, return_bunch
        As in :func:`make_class_helix`.
    angle : float, default 180.0
        Width of the sector in degrees.
    radius_range : (float, float), default (0.6, 1.8)
        As in :func:`make_annulus`.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, 2) and labels, or all that is known; see :func:`make_class_helix`.

    Examples
    --------
    >>> from localegop.datasets import make_class_annulus
    >>> X, y = make_class_annulus(300, n_classes=2, random_state=0)
    >>> X.shape, sorted(set(y.tolist()))
    ((300, 2), [0, 1])
    """
    rng = as_generator(random_state)
    geometry: dict[str, Any] = {"angle": angle, "radius_range": radius_range}

    def points(count: int) -> Bunch:
        return make_annulus(count, **geometry, random_state=rng, return_bunch=True)

    return _draw(points, n_samples, n_classes, sharpness, rng, geometry, return_bunch)


def _draw(
    points: Callable[[int], Bunch],
    n_samples: int,
    n_classes: int,
    sharpness: float,
    rng: np.random.Generator,
    geometry: Mapping[str, Any],
    return_bunch: bool,
) -> XyOrBunch:
    """Draw logits, points and labels, in this order."""
    n_classes = check_count("n_classes", n_classes, 2)
    sharpness = check_real("sharpness", sharpness, least=0.0)
    reference = points(REFERENCE)
    dimension = reference.data.shape[1]
    cubics = [check_polynomial(None, dimension, rng) for _ in range(n_classes)]
    before = np.column_stack([cubic(reference.clean) for cubic in cubics])
    mean, std = before.mean(axis=0), before.std(axis=0)

    def probability_on_curve(clean: Array) -> Array:
        values = np.column_stack([cubic(clean) for cubic in cubics])
        logits = sharpness * (values - mean) / std
        powers = np.exp(logits - logits.max(axis=1, keepdims=True))
        found: Array = powers / powers.sum(axis=1, keepdims=True)
        return found

    def probability(X: ArrayLike) -> Array:
        """Probabilities (k, n_classes) of the classes at points (k, D) around the curve."""
        manifold = reference.manifold
        return probability_on_curve(manifold.point(manifold.project(check_points("X", X, dimension))))

    sample = points(n_samples)
    probabilities = probability_on_curve(sample.clean)
    drawn = rng.random((len(probabilities), 1))
    target = np.minimum((probabilities.cumsum(axis=1) < drawn).sum(axis=1), n_classes - 1)
    if not return_bunch:
        return sample.data, target
    return Bunch(
        data=sample.data,
        target=target,
        clean=sample.clean,
        probabilities=probabilities,
        probability=probability,
        parameters={**geometry, "n_classes": n_classes, "sharpness": sharpness},
    )
