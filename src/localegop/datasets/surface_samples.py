"""Data around surfaces and subspaces: sphere, torus, Swiss band, multi-index functions."""

from __future__ import annotations

import numpy as np

from localegop._arguments import RandomStateLike, as_generator, check_count, check_real

from .manifolds import EmbeddedManifold, random_frame
from .plane_curves import Spiral
from .polynomials import MultiIndexFunction, SmoothFunction
from .surfaces import Band, FlatSpace, Sphere, Torus
from .tubes import TubeSample, XyOrBunch, check_polynomial, label, sample_tube


def make_noisy_sphere(
    n_samples: int = 1000,
    n_features: int = 3,
    *,
    intrinsic_dimension: int = 2,
    noise: float = 0.0,
    radius: float = 0.5,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points around a unit sphere, labeled by their nearest point on it.

    The sphere S^d lies in the first d + 1 coordinates of R^D. Points are uniform on it, then moved
    by a vector uniform in the ball of their normal space.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_features : int, default 3
        Dimension D of the points, at least ``intrinsic_dimension + 1``.
    intrinsic_dimension : int, default 2
        Dimension d of the sphere.
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    radius : float, default 0.5
        Radius of the ball of normal displacements, less than the sphere's reach 1.
    polynomial : Polynomial, optional
        Label function on R^D; a random cubic by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call.
    return_bunch : bool, default False
        Whether to return a Bunch, see `make_helix`.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, n_features) and labels, or all that is known about them.

    Examples
    --------
    >>> from localegop.datasets.surface_samples import make_noisy_sphere
    >>> X, y = make_noisy_sphere(200, 6, intrinsic_dimension=3, random_state=0)
    >>> X.shape, y.shape
    ((200, 6), (200,))
    """
    rng = as_generator(random_state)
    intrinsic_dimension = check_count("intrinsic_dimension", intrinsic_dimension, 1)
    n_features = check_count("n_features", n_features, intrinsic_dimension + 1)
    sphere = Sphere(intrinsic_dimension)
    manifold = EmbeddedManifold(sphere, np.eye(n_features, intrinsic_dimension + 1))
    parameters = {"radius": radius, "noise": noise, "intrinsic_dimension": intrinsic_dimension}
    function = check_polynomial(polynomial, n_features, rng)
    sample = sample_tube(manifold, n_samples, radius, rng)
    return label(sample, function, noise, rng, parameters, return_bunch)


def make_torus(
    n_samples: int = 1000,
    n_features: int = 3,
    *,
    major_radius: float = 1.5,
    minor_radius: float = 0.75,
    noise: float = 0.0,
    radius: float = 0.3,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points around a torus in R^D, labeled by their nearest point on it.

    A torus of revolution is carried into R^D by a random isometry. Points are uniform on it by
    area, then moved by a vector uniform in the ball of their normal space.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_features : int, default 3
        Dimension D of the points, at least 3.
    major_radius, minor_radius : float, default 1.5 and 0.75
        Radii of the circle in the middle of the tube and of the tube, the first one larger.
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    radius : float, default 0.3
        Radius of the ball of normal displacements, less than the reach of the torus.
    polynomial : Polynomial, optional
        Label function on R^D; a random cubic by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call.
    return_bunch : bool, default False
        Whether to return a Bunch, see `make_helix`.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, n_features) and labels, or all that is known about them.

    Examples
    --------
    >>> from localegop.datasets.surface_samples import make_torus
    >>> X, y = make_torus(200, 20, random_state=0)
    >>> X.shape, y.shape
    ((200, 20), (200,))
    """
    rng = as_generator(random_state)
    n_features = check_count("n_features", n_features, 3)
    minor_radius = check_real("minor_radius", minor_radius, above=0.0)
    major_radius = check_real("major_radius", major_radius, above=minor_radius)
    torus = Torus(major_radius, minor_radius)
    manifold = EmbeddedManifold(torus, random_frame(n_features, 3, rng))
    function = check_polynomial(polynomial, n_features, rng)
    sample = sample_tube(manifold, n_samples, radius, rng)
    parameters = {"noise": noise, "radius": radius}
    parameters |= {"major_radius": major_radius, "minor_radius": minor_radius}
    return label(sample, function, noise, rng, parameters, return_bunch)


def make_swiss_band(
    n_samples: int = 1000,
    n_features: int = 10,
    *,
    turns: float = 1.0,
    width: float = 2.0,
    scale: float = 0.2,
    noise: float = 0.0,
    radius: float = 0.3,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points around a rolled-up band in R^D, labeled by their nearest point on it.

    The band is the Swiss roll (scale t cos t, scale t sin t, s), t from 3 pi / 2, carried into R^D
    by a random isometry. Points are uniform on it by area, then moved by a vector uniform in the
    ball of their normal space.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_features : int, default 10
        Dimension D of the points, at least 3.
    turns : float, default 1.0
        Length of the spiral in turns.
    width : float, default 2.0
        Width of the band.
    scale : float, default 0.2
        Size of the spiral, whose arms are 2 pi scale apart.
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    radius : float, default 0.3
        Radius of the ball of normal displacements, less than the reach of the band.
    polynomial : Polynomial, optional
        Label function on R^D; a random cubic by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call.
    return_bunch : bool, default False
        Whether to return a Bunch, see `make_helix`.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, n_features) and labels, or all that is known about them.

    Examples
    --------
    >>> from localegop.datasets.surface_samples import make_swiss_band
    >>> band = make_swiss_band(200, random_state=0, return_bunch=True)
    >>> band.data.shape, band.tangent.shape
    ((200, 10), (200, 10, 2))
    """
    rng = as_generator(random_state)
    n_features = check_count("n_features", n_features, 3)
    turns = check_real("turns", turns, above=0.0)
    width = check_real("width", width, above=0.0)
    scale = check_real("scale", scale, above=0.0)
    band = Band(Spiral(scale, turns), width)
    manifold = EmbeddedManifold(band, random_frame(n_features, 3, rng))
    function = check_polynomial(polynomial, n_features, rng)
    sample = sample_tube(manifold, n_samples, radius, rng)
    parameters = {"noise": noise, "radius": radius, "turns": turns, "width": width, "scale": scale}
    return label(sample, function, noise, rng, parameters, return_bunch)


def make_multi_index(
    n_samples: int = 1000,
    n_features: int = 10,
    *,
    n_indices: int = 2,
    noise: float = 0.0,
    polynomial: SmoothFunction | None = None,
    random_state: RandomStateLike = None,
    return_bunch: bool = False,
) -> XyOrBunch:
    """Generate points of a cube, labeled by a function of a few fixed directions.

    The points are uniform in [-1, 1]^D and f(x) = p(V'x), with V a random matrix of orthonormal
    columns and p a random cubic polynomial: the flat case of a noisy manifold.

    Parameters
    ----------
    n_samples : int, default 1000
        Number of points.
    n_features : int, default 10
        Dimension D of the points, at least ``n_indices``.
    n_indices : int, default 2
        Number of directions, the columns of V.
    noise : float, default 0.0
        Standard deviation of the label noise, in units of that of the noise-free labels.
    polynomial : Polynomial, optional
        The function p of ``n_indices`` variables; a random cubic by default.
    random_state : int, None, Generator or RandomState, default None
        An int gives the same data in every call.
    return_bunch : bool, default False
        Whether to return a Bunch, see `make_helix`. Its ``directions`` are V, its ``clean`` points
        the projections V V'x.

    Returns
    -------
    (X, y) or Bunch
        Points of shape (n_samples, n_features) and labels, or all that is known about them.

    Examples
    --------
    >>> from localegop.datasets.surface_samples import make_multi_index
    >>> sample = make_multi_index(200, 10, n_indices=3, random_state=0, return_bunch=True)
    >>> sample.data.shape, sample.directions.shape
    ((200, 10), (10, 3))
    """
    rng = as_generator(random_state)
    n_samples = check_count("n_samples", n_samples, 1)
    n_indices = check_count("n_indices", n_indices, 1)
    n_features = check_count("n_features", n_features, n_indices)
    directions = random_frame(n_features, n_indices, rng)
    manifold = EmbeddedManifold(FlatSpace(n_indices), directions)
    link = check_polynomial(polynomial, n_indices, rng)
    data = rng.uniform(-1.0, 1.0, size=(n_samples, n_features))
    coordinates = data @ directions
    sample = TubeSample(manifold, coordinates, manifold.point(coordinates), data)
    function = MultiIndexFunction(link, directions)
    result = label(sample, function, noise, rng, {"noise": noise}, return_bunch)
    if return_bunch:
        result.update(directions=directions, polynomial=link)
    return result
