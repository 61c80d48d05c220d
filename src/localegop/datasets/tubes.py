"""Sampling of tubes around manifolds: what all generators of noisy-manifold data share."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from sklearn.utils import Bunch

from localegop._arguments import Array, check_count, check_real, refusal

from .manifolds import Manifold
from .polynomials import SmoothFunction, make_cubic
from .tube_function import TubeFunction

XyOrBunch: TypeAlias = Any  # (X, y), or a Bunch: only the value of return_bunch tells which


@dataclass(frozen=True, eq=False)
class TubeSample:
    """Points near a manifold together with their projections.

    Parameters
    ----------
    manifold : Manifold
        The manifold.
    coordinates : array of shape (n, k)
        Coordinates of the projections.
    clean : array of shape (n, D)
        The projections.
    data : array of shape (n, D)
        The points.
    """

    manifold: Manifold
    coordinates: Array
    clean: Array
    data: Array


def sample_tube(manifold: Manifold, n_samples: int, radius: float, rng: np.random.Generator) -> TubeSample:
    """Draw points of a manifold and move them uniformly within their normal balls.

    Parameters
    ----------
    manifold : Manifold
        Where the clean points lie, as distributed by ``manifold.sample``.
    n_samples : int
        Number of points.
    radius : float
        Radius of the normal balls, less than the reach of the manifold.
    rng : numpy.random.Generator
        Source of randomness.

    Returns
    -------
    TubeSample
        The points and their projections.

    Examples
    --------
    >>> import numpy as np
    >>> from localegop.datasets.surfaces import Torus
    >>> from localegop.datasets.tubes import sample_tube
    >>> sample = sample_tube(Torus(), 100, 0.2, np.random.default_rng(0))
    >>> bool((np.linalg.norm(sample.data - sample.clean, axis=1) <= 0.2).all())
    True
    """
    n_samples = check_count("n_samples", n_samples, 1)
    why = ", the reach of the manifold, so that nearest points are unique"
    radius = check_real("radius", radius, least=0.0, below=manifold.reach, why=why)
    coordinates = manifold.sample(n_samples, rng)
    clean = manifold.point(coordinates)
    data = clean + manifold.normal_noise(coordinates, radius, rng)
    return TubeSample(manifold, coordinates, clean, data)


def check_polynomial(
    polynomial: SmoothFunction | None,
    n_features: int,
    rng: np.random.Generator,
    *,
    low: float = -3.0,
    high: float = 3.0,
) -> SmoothFunction:
    """Return the label function given, checked, or a random cubic."""
    if polynomial is None:
        return make_cubic(n_features, low=low, high=high, random_state=rng)
    needed = ("__call__", "gradient", "hessian", "n_features")
    if not all(hasattr(polynomial, name) for name in needed):
        allowed = "a Polynomial (see make_cubic) or a callable with n_features, gradient and hessian"
        raise refusal("polynomial", polynomial, allowed)
    if polynomial.n_features != n_features:
        raise ValueError(
            f"polynomial has n_features={polynomial.n_features}: give one of {n_features} variables."
        )
    return polynomial


def label(
    sample: TubeSample,
    function: SmoothFunction,
    noise: float,
    rng: np.random.Generator,
    parameters: Mapping[str, Any],
    return_bunch: bool,
    *,
    noise_std: float | None = None,
) -> XyOrBunch:
    """Label a sample by the function of its clean points; return (X, y) or everything known."""
    noise = check_real("noise", noise, least=0.0)
    noise_free = function(sample.clean)
    if noise_std is None:
        noise_std = noise * float(noise_free.std())
    target = noise_free + noise_std * rng.standard_normal(len(noise_free))
    if not return_bunch:
        return sample.data, target
    f = TubeFunction(sample.manifold, function)
    return Bunch(
        data=sample.data,
        target=target,
        clean=sample.clean,
        noise_free_target=noise_free,
        noise_std=noise_std,
        function=f,
        gradient=f.gradient,
        hessian=f.hessian,
        gradients=f.gradient(sample.data),
        coordinates=sample.coordinates,
        tangent=sample.manifold.tangent_basis(sample.coordinates),
        normal=sample.manifold.normal_basis(sample.coordinates),
        manifold=sample.manifold,
        polynomial=function,
        parameters=dict(parameters),
    )
